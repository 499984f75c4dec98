package weak_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/checker/weak"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// few returns h with so many values of each key, some of them absence.
func few(h *history.History, values int64) *history.History {
	b := history.NewBuilder(h.Header, h.Symbols, len(h.Txns))
	for i := range h.Txns {
		rec := h.Record(i)
		for j := range rec.Ops {
			if v := &rec.Ops[j].Value; *v != 0 {
				if *v = h.Symbols.Int(1 + int64(*v)%values); *v == 1 {
					*v = history.Absent
				}
			}
		}
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	return b.Done(h.Closed, nil)
}

// committed makes a history of a database that keeps read committed: each read returns what was committed last, and
// transactions of all sessions take turns. They are recorded in the order in which they ended.
func committed(txns, sessions, keys int) *history.History {
	rng := rand.New(rand.NewPCG(1, 3))
	sym := history.NewSymbols()
	sym.DefaultInitial = sym.Int(0)
	for k := range keys {
		sym.Key(fmt.Sprint(k))
	}
	now := make([]history.Value, keys)
	for k := range now {
		now[k] = sym.Int(0)
	}
	var all []*history.Record
	current, own := make([]*history.Record, sessions), make([]map[history.Key]history.Value, sessions)
	next, begun := int64(0), 0
	for len(all) < txns {
		s := rng.IntN(sessions)
		if current[s] == nil {
			current[s] = &history.Record{ID: int64(begun), Session: int64(s), Begin: history.NoTime, End: history.NoTime, Due: history.NoTime, Status: history.Committed}
			own[s] = map[history.Key]history.Value{}
			begun++
		}
		t, k := current[s], history.Key(rng.IntN(keys))
		if rng.IntN(2) == 0 {
			next++
			own[s][k] = sym.Int(next)
			t.Ops = append(t.Ops, history.Op{Kind: history.Write, Key: k, Value: own[s][k]})
		} else {
			v, wrote := own[s][k]
			if !wrote {
				v = now[k]
			}
			t.Ops = append(t.Ops, history.Op{Kind: history.Read, Key: k, Value: v})
		}
		if len(t.Ops) == 6 {
			for k, v := range own[s] {
				now[k] = v
			}
			all = append(all, current[s])
			current[s] = nil
		}
	}
	b := history.NewBuilder(history.Header{}, sym, txns)
	for _, rec := range all {
		if err := b.Add(rec); err != nil {
			panic(err)
		}
	}
	return b.Done(true, nil)
}

// TestRepeatedValues judges histories in which a read has many possible sources: of serial executions, which
// all levels allow, and of read committed.
func TestRepeatedValues(t *testing.T) {
	for _, values := range []int64{2, 5, 50} {
		judge := func(what string, h *history.History, lvl level.Level) {
			t.Run(fmt.Sprintf("%s/values=%d/%s", what, values, lvl), func(t *testing.T) {
				r, err := weak.Engine{}.Judge(t.Context(), h, lvl, engine.Options{Proof: true})
				if err != nil || r.Verdict != verdict.Satisfied {
					t.Fatal(r, err)
				}
				if err := certify.Result(t.Context(), h, r); err != nil {
					t.Fatal(err)
				}
			})
		}
		h := few(general(2_000, 8, 50, 1), values)
		for _, lvl := range (weak.Engine{}).Levels() {
			judge("serial", h, lvl)
		}
		judge("committed", few(committed(2_000, 8, 50), values), level.RC)
	}
}

// TestStatements checks that at read committed the reads of one statement have no order, and those of two have.
func TestStatements(t *testing.T) {
	for text, want := range map[string]map[level.Level]verdict.Verdict{
		// The scan looked at b, then T1 committed, then it looked at a.
		"initial a=10 b=0\ns1 T1: w(a,0) w(b,10)\ns2 T2: p(v>5;)\n":         {level.RC: verdict.Satisfied, level.RA: verdict.Violated},
		"initial a=10 b=0\ns1 T1: w(a,0) w(b,10)\ns2 T2: p(v>5;) p(v>5;)\n": {level.RC: verdict.Violated, level.RA: verdict.Violated},
		"initial a=10 b=0\ns1 T1: w(a,0) w(b,10)\ns2 T2: r(a,0) p(v>5;)\n":  {level.RC: verdict.Violated, level.RA: verdict.Violated},
		"initial a=10 b=0\ns1 T1: w(a,0) w(b,10)\ns2 T2: p(v>5;) r(b,10)\n": {level.RC: verdict.Satisfied, level.RA: verdict.Violated},
	} {
		h, _, err := scans.Expand(t.Context(), dsl.MustParse(text), scans.EagerOps)
		if err != nil {
			t.Fatal(err)
		}
		for lvl, v := range want {
			r, err := weak.Engine{}.Judge(t.Context(), h, lvl, engine.Options{Proof: true})
			if err != nil || r.Verdict != v {
				t.Errorf("%s: %v %v\n%s", lvl, r, err, text)
				continue
			}
			if err := certify.Result(t.Context(), h, r); err != nil {
				t.Errorf("%s: %v\n%s", lvl, err, text)
			}
			if allowed, decided := certify.Judge(h, lvl, 10_000); !decided || allowed != (v == verdict.Satisfied) {
				t.Errorf("%s: the trial of all executions says %v\n%s", lvl, allowed, text)
			}
		}
	}
}

// TestCutOffRereads: T0 read 2 before it wrote 2, so a transaction that is missing may have written it, too. Only
// its two different reads violate the level.
func TestCutOffRereads(t *testing.T) {
	h := dsl.MustParse("open\ns2 T0: r(k,0) r(k,2) w(k,1) w(k,2)\ns2 T1: r(k,2) w(k,4)\ns2 T2: r(k,2)\n")
	r, err := weak.Engine{}.Judge(t.Context(), h, level.RA, engine.Options{Proof: true})
	if err != nil || r.Verdict != verdict.Violated || len(r.Anomalies) != 1 || r.Anomalies[0].Kind != verdict.NonRepeatableReads {
		t.Fatal(r, err)
	}
	if err := certify.Result(t.Context(), h, r); err != nil {
		t.Fatal(err)
	}
}

// TestCutOffUnknown: transactions of unknown outcome did not commit, because what they read was never right. So nobody
// wrote what a committed one read. Reads that repeat another one stay behind it.
func TestCutOffUnknown(t *testing.T) {
	for _, text := range []string{
		// T2 contradicts itself, so the others read the initial value, which T0 overwrote. What T0 did not find is
		// not in the counterexample, where it could be a value of a transaction that is missing.
		"open\ns0 T0: r(k,0) n(k,nil) w(k,1)\ns0 T2: w(k,0) n(k,0) unknown\n" +
			"s0 T3: r(k,0) w(k,1) n(k,0) w(k,nil)\ns0 T4: r(k,0) w(k,3)\n",
		// T3 read an intermediate value, and T5 read from T3.
		"initial nil\nopen\ns2 T0: r(k,nil) r(k,nil) w(k,2) r(k,2) w(k,3) w(k,2)\n" +
			"s3 T3: r(k,3) w(k,7) r(k,7) unknown\ns1 T4: r(k,7) r(k,7)\ns3 T5: r(k,7) w(k,7) unknown\n",
	} {
		h := dsl.MustParse(text)
		for _, lvl := range []level.Level{level.CC, level.RC} {
			r, err := weak.Engine{}.Judge(t.Context(), h, lvl, engine.Options{Proof: true})
			if err != nil {
				t.Fatal(err)
			}
			if lvl == level.CC && r.Verdict != verdict.Violated {
				t.Errorf("%s: %s\n%s", lvl, r.Verdict, text)
			}
			if err := certify.Result(t.Context(), h, r); err != nil {
				t.Errorf("%s: %v\n%s%+v", lvl, err, text, r.Anomalies)
			}
		}
	}
}
