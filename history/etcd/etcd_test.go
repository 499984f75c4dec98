package etcd

import (
	"context"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

func load(folder fs.FS) (*history.History, error) {
	return history.Load(context.Background(), NewReader(folder, "report"))
}

// TestReport: each kind of request and event, in the form that etcd's tests write.
func TestReport(t *testing.T) {
	h, err := load(os.DirFS("testdata/report"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `initial nil
s2 T1 [100,200] @2: w(a,1)
s2 T2 [210,220] @<2: r(a,1)@2
s3 T3 [230,300] @3: r(a,1)@2 w(a,2)
s3 T4 [310,?] @4: w(b,4)
s2 T5 [400,500] @<3: n(a,1) r(a,2)@3
s4 T6 [630,700] @5: w(d,6)
s4 T7 [710,?]: w(c,5) unknown
s2 T8 [800,850] @<6: r(a,2)@3 r(b,4)@4 r(c,nil) r(d,nil) r(f,nil)
s5 T9 @<5: r(d,6)@5
s2 T10 [900,910] @7: n(b,nil) w(b,nil)
s2 T11 [920,930] @<7: r(b,nil)
s2 T12 [940,950] @8: r(f,nil) w(f,"value with the hash 2166136261")
s2 T13 [960,970] @<8: r(a,2)@3
s6 T14 @6: w(d,nil)
`
	if got := dsl.Format(h); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if id := h.DBTxn(3); id != 4 {
		t.Errorf("the number of T4 is %d, not its revision", id)
	}
	if h.LeftOut != "" || len(h.Notes) != 2 || !strings.Contains(h.Notes[0], "2 requests that write were lost; watches show that 1 of them committed") {
		t.Errorf("left out %q, notes %q", h.LeftOut, h.Notes)
	}
}

// part is a report of one client.
func part(operations, watch string) fs.FS {
	folder := fstest.MapFS{}
	for name, text := range map[string]string{"operations.json": operations, "watch.json": watch} {
		if text != "" {
			folder["client-7/"+name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return folder
}

const (
	// putLine puts 1 to a at revision 2.
	putLine = `{"ClientId":1,"Input":{"Type":"txn","Txn":{"OperationsOnSuccess":[{"Type":"put-operation","Put":{"Key":"a","Value":{"Value":"1"}}}]}},"Call":1,"Output":{"Txn":{"Results":[{}]},"Revision":2},"Return":2}` + "\n"
	// lostLine puts 2 to a, or does not.
	lostLine = `{"ClientId":2,"Input":{"Type":"txn","Txn":{"OperationsOnSuccess":[{"Type":"put-operation","Put":{"Key":"a","Value":{"Value":"2"}}}]}},"Call":1,"Output":{"Error":"lost"},"Return":9}` + "\n"
	// getLine reads b at revision 4.
	getLine = `{"ClientId":3,"Input":{"Type":"range","Range":{"Start":"b"}},"Call":1,"Output":{"Range":{"Count":0},"Revision":4},"Return":2}` + "\n"
)

// told is a watch of one event.
func told(kind, key, value string, revision string) string {
	return `{"Responses":[{"Events":[{"Type":"` + kind + `","Key":"` + key + `","Value":{"Value":"` + value + `"},"Revision":` + revision + `}]}]}` + "\n"
}

// TestUnknownWrites: what was written at some revision is not known, or etcd contradicts itself.
func TestUnknownWrites(t *testing.T) {
	for _, tc := range []struct{ operations, watch, leftOut, note string }{
		{putLine, "", "", ""},
		{putLine + getLine, "", "2 of 3 revisions", ""},
		{putLine + lostLine + strings.Replace(getLine, `"Revision":4`, `"Revision":3`, 1), "", "", "0 of them committed"},
		{strings.Replace(putLine, `"1"}`, `"1"},"LeaseID":5`, 1) + lostLine + strings.Replace(getLine, `"Revision":4`, `"Revision":3`, 1), "", "1 of 2 revisions", ""},
		{putLine + lostLine, told(putStep, "a", "2", "3"), "", "1 of them committed"},
		{putLine + lostLine + strings.Replace(lostLine, `"ClientId":2`, `"ClientId":4`, 1), told(putStep, "a", "2", "3"), "", "0 of them committed"},
		{putLine + lostLine, told(putStep, "a", "3", "3"), "", "0 of them committed"},
		{putLine, told(putStep, "a", "9", "2"), "", "contradicts itself 2 times"},
		{putLine, told(putStep, "b", "9", "2"), "", "a change of b that its request did not make"},
		{putLine, told(putStep, "c", "9", "2") + told(putStep, "b", "9", "2"), "", "contradicts itself 2 times: watches tell at revision 2 of a change of b"},
		{putLine, told(putStep, "a", "1", "2") + told(deleteStep, "a", "", "2"), "", "two different changes of a at revision 2"},
		{putLine + strings.Replace(putLine, `"ClientId":1`, `"ClientId":4`, 1), "", "", "two requests made revision 2"},
		{putLine + strings.Replace(getLine, `"range"`, `"downgrade"`, 1), "", `1 of the type request "downgrade"`, ""},
	} {
		h, err := load(part(tc.operations, tc.watch))
		if err != nil {
			t.Errorf("%+v: %v", tc, err)
			continue
		}
		if notes := strings.Join(h.Notes, "; "); !strings.Contains(h.LeftOut, tc.leftOut) || tc.leftOut == "" && h.LeftOut != "" || !strings.Contains(notes, tc.note) {
			t.Errorf("%+v: left out %q, notes %q", tc, h.LeftOut, notes)
		}
	}
}

// TestDamage: a damaged report is an error with its file and line.
func TestDamage(t *testing.T) {
	for want, folder := range map[string]fs.FS{
		"no folder client-1": fstest.MapFS{"x": &fstest.MapFile{}},
		"neither operations": fstest.MapFS{"client-1/x": &fstest.MapFile{}},
		"report/client-7/operations.json:2: unexpected end":                     part(putLine+putLine[:40], ""),
		"operations.json:4: this is no operation":                               part(putLine+"\n\n{}", ""),
		"operations.json:1: the line is not valid UTF-8":                        part(strings.Replace(putLine, `"1"`, "\"\xff\"", 1), ""),
		"watch.json:1: the line is not valid UTF-8":                             part(putLine, told(putStep, "\xff", "1", "2")),
		"operations.json:1: json: cannot unmarshal":                             part(`{"ClientId":"x"}`, ""),
		"operations.json:1: the request is of type range, but has no such":      part(strings.Replace(putLine, `"txn"`, `"range"`, 1), ""),
		"operations.json:1: the request is of type txn, but its answer":         part(strings.Replace(putLine, `"Output":{"Txn"`, `"Output":{"Tx"`, 1), ""),
		"operations.json:1: the transaction has 1 operations, but 0 results":    part(strings.Replace(putLine, `[{}]`, `[]`, 1), ""),
		"operations.json:1: the answer came at 0, before":                       part(strings.Replace(putLine, `"Return":2`, `"Return":0`, 1), ""),
		"operations.json:1: the revision is -1":                                 part(strings.Replace(putLine, `"Revision":2`, `"Revision":-1`, 1), ""),
		`client-7/watch.json:2: an event of type "puts" at revision 2`:          part(putLine, told(putStep, "a", "1", "2")+told("puts", "a", "1", "2")),
		"transaction 2 of session 1 begins at 1, before transaction 1 of the s": part(putLine+strings.Replace(putLine, `"1"}`, `"2"}`, 1), ""),
	} {
		_, err := load(folder)
		var fe *history.FormatError
		if !errors.As(err, &fe) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// TestManyAbsent: a small report cannot ask for more reads than fit into memory.
func TestManyAbsent(t *testing.T) {
	h, err := load(os.DirFS("testdata/report"))
	if err != nil {
		t.Fatal(err)
	}
	m := newMaker(history.NewSymbols())
	m.sorted, m.spare = []string{"a", "b", "c"}, 2
	rec := history.Record{}
	if m.found(&rec, bounds{"a", "\x00"}, &rows{}); len(rec.Ops) != 2 || m.beyond != 1 || len(h.Txns) == 0 {
		t.Errorf("%d operations, %d ranges beyond", len(rec.Ops), m.beyond)
	}
}

// FuzzRead feeds the reader anything: it must return a history or an error.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"client-2/operations.json", "client-3/operations.json"} {
		operations, err := os.ReadFile("testdata/report/" + name)
		if err != nil {
			f.Fatal(err)
		}
		watch, err := os.ReadFile("testdata/report/client-1/watch.json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(operations), string(watch))
	}
	f.Add(putLine+lostLine, told(deleteStep, "a", "", "9223372036854775807"))
	f.Fuzz(func(t *testing.T, operations, watch string) {
		_, _ = load(part(operations, watch))
	})
}
