package shrink_test

import (
	"context"
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/shrink"
	"github.com/isohound/isohound/history"
)

// long makes a recording of transactions that each read what one before it wrote to the same of a few keys, and update
// it. The two with the numbers a and b read the key "old", which the first transaction wrote, and overwrite it.
func long(t *testing.T, txns int, a, b int64, timed bool) *history.History {
	t.Helper()
	const keys, sessions = 10, 4
	sym := history.NewSymbols()
	builder := history.NewBuilder(history.Header{}, sym, txns)
	last := make([]history.Value, keys)
	name := func(k int) history.Key { return sym.Key(string(rune('a' + k))) }
	for id := int64(1); id <= int64(txns); id++ {
		k := int(id) % keys
		rec := history.Record{ID: id, Session: id % sessions, Status: history.Committed, Begin: history.NoTime, End: history.NoTime}
		if timed {
			rec.Begin, rec.End = 10*id, 10*id+5
		}
		old := sym.Key("old")
		switch id {
		case 1:
			rec.Ops = []history.Op{{Kind: history.Write, Key: old, Value: sym.Int(1)}}
		case a, b:
			rec.Ops = []history.Op{{Kind: history.Read, Key: old, Value: sym.Int(1)}, {Kind: history.Write, Key: old, Value: sym.Int(id)}}
		}
		if last[k] != 0 {
			rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: name(k), Value: last[k]})
		}
		last[k] = sym.Int(id)
		rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: name(k), Value: last[k]})
		if err := builder.Add(&rec); err != nil {
			t.Fatal(err)
		}
	}
	return builder.Done(true, nil)
}

// TestNarrow: a violation in a short stretch of a long recording is found there with few judgements, although it rests on
// what the first transaction wrote. A violation that needs both ends of the recording stays what it is.
func TestNarrow(t *testing.T) {
	const txns = 6000
	for _, tc := range []struct {
		a, b  int64
		timed bool
		most  int // transactions afterwards
	}{
		{4000, 4003, true, 150}, {10, 12, true, 150}, {5999, 6000, false, 150}, {3, 5000, true, txns},
	} {
		h := long(t, txns, tc.a, tc.b, tc.timed)
		judgements := 0
		judge := func(_ context.Context, sub *history.History) (shrink.Judgement, error) {
			judgements++
			found := map[int64]int{}
			for i := range sub.Txns {
				for _, op := range sub.Ops(&sub.Txns[i]) {
					if sub.KeyName(op.Key) == "old" {
						found[sub.Txns[i].ID]++
					}
				}
			}
			return shrink.Judgement{Violated: found[1] == 1 && found[tc.a] == 2 && found[tc.b] == 2}, nil
		}
		p := shrink.New(h, shrink.Rules{Level: level.SI, Possible: true})
		for i := range h.Txns {
			p.AddAll(int32(i))
		}
		p.Close()
		first, _ := judge(t.Context(), h)
		if !first.Violated {
			t.Fatal("no violation was planted")
		}
		narrower, err := p.Narrow(t.Context(), judge, first)
		j, _ := judge(t.Context(), h.Sub(p.Parts()))
		if n := len(p.Txns()); err != nil || !narrower || !j.Violated || n > tc.most || judgements > 40 {
			t.Errorf("%+v: %d transactions after %d judgements, violated %v, narrower %v, %v", tc, n, judgements, j.Violated, narrower, err)
		}
		if narrower, err := p.Narrow(t.Context(), judge, j); tc.most < txns && (narrower || err != nil) {
			t.Errorf("%+v: a short stretch is narrowed again, %v", tc, err)
		}
		if err := p.Minimize(t.Context(), judge, j); err != nil || len(p.Txns()) != 3 {
			t.Errorf("%+v: %v are left, %v", tc, p.Parts(), err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	h := long(t, txns, 4000, 4003, true)
	p := shrink.New(h, shrink.Rules{Level: level.SI, Possible: true})
	for i := range h.Txns {
		p.AddAll(int32(i))
	}
	p.Close()
	n := 0
	violated := func(context.Context, *history.History) (shrink.Judgement, error) {
		if n++; n > 2 {
			cancel()
		}
		return shrink.Judgement{Violated: true}, nil
	}
	if _, err := p.Narrow(ctx, violated, shrink.Judgement{Violated: true}); err == nil || len(p.Txns()) >= txns {
		t.Errorf("interrupted: %d transactions, %v", len(p.Txns()), err)
	}
}
