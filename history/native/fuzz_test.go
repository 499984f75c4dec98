package native

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/isohound/isohound/history"
)

// FuzzRead feeds the reader anything: it must return a history or an error.
func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"isohound\":1,\"initial\":0}\n{\"initial\":[[\"x\",null]]}\n{\"intent\":2,\"session\":2,\"ops\":[[\"w\",\"x\",\"a\"]]}\n" +
		"{\"txn\":1,\"session\":1,\"begin\":1,\"end\":3,\"status\":\"committed\",\"ops\":[[\"r\",\"x\",0],[\"w\",\"x\",-1.5e3]]}\n{\"closed\":{\"reason\":\"complete\",\"txns\":1}}\n"))
	f.Add([]byte("{\"isohound\":1}\n{\"txn\":1,\"ses"))
	f.Add([]byte("{\"isohound\":1,\"initial\":\"\\udc00\"}\n{\"initial\":[[\"\\ud800\",1],[\"\\ud800\",2]]}\n"))
	f.Add([]byte("{\"isohound\":1,\"left_out\":null}\n{\"txn\":1,\"session\":1,\"begin\":null,\"end\":null,\"status\":\"committed\",\"cause\":null,\"ops\":null,\"preds\":null}\n{\"closed\":null}\n"))
	f.Add([]byte("{\"isohound\":2}\n{\"intent\":1,\"session\":1,\"begin\":1,\"ops\":[[\"r\",[\"xy\",0],\"1,2,\"],[\"w\",0,[\"3,\"]]],\"line\":2}\n{\"txn\":1,\"end\":3,\"status\":\"committed\"}\n" +
		"{\"txn\":2,\"session\":1,\"status\":\"committed\",\"ops\":[[\"r\",0],[\"r\",0,[4]],[\"r\",0,[2,\"\u00e9\"]]],\"line\":4}\n"))
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0, 1, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := NewReader(bytes.NewReader(data), "fuzz", int64(len(data)))
		if err != nil {
			return
		}
		defer r.Close()
		_, _ = history.Load(context.Background(), r)
	})
}

// FuzzFast compares the fast parser of transaction and intent lines with the general one: what the
// fast one accepts, the general one must accept with the same result. What the fast one refuses must
// leave no trace.
func FuzzFast(f *testing.F) {
	for _, line := range []string{
		`{"txn":12,"session":3,"begin":5,"end":9,"status":"committed","ops":[["r","k1",5],["w","k1",-7],["n","k2",null]]}`,
		`{"txn":0,"session":-1,"node":2,"dbtxn":9,"due":1,"status":"aborted","cause":"40001 x","ops":[]}`,
		`{"txn":1,"session":1,"status":"unknown","ops":[["r","",0]]}`,
		`{"txn":1,"session":1,"status":"committed","cause":"x","commit":12,"snapshot":0,"ops":[]}`,
		`{"txn":1,"session":1,"status":"committed","commit":12,"visible":[812,820,815,817],"ops":[]}`,
		`{"txn":1,"session":1,"status":"committed","visible":[7,7]}`,
		`{"txn":1,"session":1,"status":"committed","visible":[7]}`,
		`{"txn":1,"session":1,"status":"committed","snapshot":-3}`,
		`{"txn":1,"session":1,"begin":-0,"status":"unknown","ops":[["r","\u0041",00]]}`,
		`{"txn":1,"session":1,"status":"committed","ops":[["r","t(1)","7,'a'"],["w","t(1)","a<b"],["w","k","é\u0041"]]}`,
		`{"txn":1,"session":1,"status":"committed","ops":[["r","t(1)",5]],"preds":[{"kind":"read","table":"t","where":[["a","<",-7],["b","=","x"]],"order":["-a","b"],"limit":3,"groups":["g"],"ops":[0,1]},{"kind":"update","table":"t","ops":[1,1]}]}`,
		`{"txn":1,"session":1,"status":"committed","ops":[],"preds":[]}`,
		`{"txn":1,"session":1,"status":"committed","ops":[],"preds":[{"kind":"read","table":"t","where":[["a",">=",1]],"ops":[0,0],"omitted":["t(1).g","t(2)"]}]}`,
		`{"txn":1,"session":1,"status":"committed","ops":[["r","t(1)",1]],"preds":[{"kind":"read","table":"t","ops":[0,1],"implied":1,"omitted":["t(2)"]}]}`,
		`{"intent":12,"session":3,"ops":[["r",0,7],["w",["new",3],"x"],["w",3,["y"]]],"line":7}`,
		`{"intent":12,"session":3,"node":1,"due":2,"ops":[["r",1],["w",1,["4,"]],["r",1,[4]],["w",1,[2,"x"]],["r",2]],"line":7,"preds":[]}`,
		`{"txn":12,"end":9,"status":"committed"}`,
		`{"txn":12,"end":9,"status":"committed","ops":[["r",1]],"line":8}`,
		`{"txn":12,"end":9,"status":"committed","ops":[["r",1,[1]],["r",1]]}`,
		`{"txn":12,"end":9,"status":"committed","ops":[["r",["a",3],[1,"x"]],["r",1,[99]]],"line":7}`,
		`{"txn":12,"end":9,"status":"committed","ops":[["r",["x",5],1],["r",9,1],["r",1,[]]],"line":7}`,
		`{"txn":999999999999999999,"session":1,"begin":9999999999999999999,"status":"unknown","ops":[]} `,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for version := 1; version <= Version; version++ {
			fast, general := parserAfter(version), parserAfter(version)
			// A record is reused; nothing of the previous one may remain.
			a := history.Record{ID: 5, DBTxn: 5, Node: 5, Due: 5, Cause: "stale", Claim: history.Claim{Commit: 5, Snapshot: 5, Snapped: true}, Ops: make([]history.Op, 3), Predicates: make([]history.Predicate, 2)}
			var b history.Record
			fastKind := fast.fast(line, &a)
			if fastKind == lineNone {
				untouched := parserAfter(version)
				if !reflect.DeepEqual(fast.keys, untouched.keys) || !slices.Equal(texts(fast), texts(untouched)) {
					t.Fatalf("%q is refused, and the parser remembers keys %v and texts %q", line, fast.keys, texts(fast))
				}
				continue
			}
			kind, err := general.line(line, &b)
			if err != nil || kind != fastKind {
				t.Fatalf("the general parser says %v, %v to %q", kind, err, line)
			}
			if fast.given != general.given || !reflect.DeepEqual(fast.keys, general.keys) || !slices.Equal(texts(fast), texts(general)) {
				t.Fatalf("%q\nfast    %v %v %q\ngeneral %v %v %q", line, fast.given, fast.keys, texts(fast), general.given, general.keys, texts(general))
			}
			same(t, line, a, b)
		}
	})
}

// parserAfter returns a parser that has read lines with numbers of keys and with texts, and is about
// to read line 7.
func parserAfter(version int) *recordParser {
	p := &recordParser{version: version, number: 7, resolver: resolver{sym: history.NewSymbols()}}
	var rec history.Record
	for _, op := range []string{`["r",["a",0],5]`, `["r",["é",1],"1,2,3,"]`, `["r",["c",2],"ü\"x"]`, `["r","k",1.5]`} {
		_, _ = p.line([]byte(`{"intent":1,"session":1,"ops":[`+op+`],"line":7}`), &rec) // an error in version 1
	}
	return p
}

// texts returns the latest text of each key that has one.
func texts(p *recordParser) []string {
	var out []string
	for k, v := range p.texts {
		if v != 0 {
			out = append(out, p.sym.KeyName(history.Key(k))+"="+p.sym.ValueText(v))
		}
	}
	return out
}

func same(t *testing.T, line []byte, a, b history.Record) {
	t.Helper()
	if len(a.Ops) == 0 {
		a.Ops, b.Ops = nil, nil
	}
	if len(a.Predicates) == 0 {
		a.Predicates, b.Predicates = nil, nil
	}
	for _, list := range [][]history.Predicate{a.Predicates, b.Predicates} {
		for i := range list {
			list[i].Number = 0 // only the fast parser numbers statements
		}
	}
	if !reflect.DeepEqual(a, b) {
		t.Fatalf("%q\nfast    %+v\ngeneral %+v", line, a, b)
	}
}
