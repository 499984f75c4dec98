package history_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/randhist"
)

// TestStatementNumbers: in every history, whoever made it, two predicates have one number exactly if they point to
// one statement. The hint of a source may be anything.
func TestStatementNumbers(t *testing.T) {
	seed := randhist.Seed(t, 19)
	rng := rand.New(rand.NewPCG(seed, 1))
	check := func(name string, h *history.History) {
		t.Helper()
		of, numbers := make([]*history.Statement, h.StatementCount()), map[*history.Statement]int32{}
		for i := range h.Txns {
			for _, p := range h.Predicates(i) {
				n, known := numbers[p.Statement]
				if known && n != p.Number || of[p.Number] != nil && of[p.Number] != p.Statement {
					t.Fatalf("seed %d: %s: number %d is not that of one statement", seed, name, p.Number)
				}
				of[p.Number], numbers[p.Statement] = p.Statement, p.Number
			}
		}
		if len(numbers) == 0 {
			t.Fatalf("seed %d: %s has no predicates", seed, name)
		}
	}
	load := func(name string, src history.Source) *history.History {
		t.Helper()
		h, err := history.Load(context.Background(), src)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, name, err)
		}
		check(name, h)
		return h
	}
	list := make([]*history.Statement, 300)
	for i := range list {
		list[i] = &history.Statement{Kind: history.ScanRead}
	}
	for range 20 {
		sym := history.NewSymbols()
		b := history.NewBuilder(history.Header{}, sym, 0)
		for i := range int64(200) {
			rec := history.Record{ID: i, Session: i % 3, Status: history.Committed, Begin: history.NoTime, End: history.NoTime,
				Ops: []history.Op{{Kind: history.Read, Key: sym.Key("k"), Value: history.Absent}}}
			for range rng.IntN(3) {
				n := rng.IntN(len(list))
				rec.Predicates = append(rec.Predicates, history.Predicate{Statement: list[n], Number: []int32{0, int32(n), -1, 1 << 30, int32(rng.IntN(400))}[rng.IntN(5)]})
			}
			if err := b.Add(&rec); err != nil {
				t.Fatal(err)
			}
		}
		h := b.Done(true, nil)
		check("the history", h)
		var parts []history.Part
		for i := range h.Txns {
			if len(h.Predicates(i)) > 0 && rng.IntN(4) == 0 {
				parts = append(parts, history.Part{Txn: int32(i)})
			}
		}
		sub := h.Sub(parts)
		check("a part", sub)
		check("an extract", h.Extract(parts))
		load("the history again", history.NewReplay(h))
		load("the part again", history.NewReplay(sub))
		check("the history, after others were made of it", h)
		if n := sub.StatementCount(); n > 3*len(parts) {
			t.Errorf("seed %d: a part of %d transactions has %d numbers", seed, len(parts), n)
		}
	}
}
