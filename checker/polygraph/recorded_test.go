package polygraph_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// traffic makes a history without times of n transactions. Each reads one of three keys and writes
// one, the same key if few is not 0. They are recorded up to delay positions late, in the order of
// their sessions. Values are taken modulo few, or are all different if few is 0.
func traffic(rng *rand.Rand, n, few, delay int) *history.History {
	type recorded struct {
		history.Record
		at int
	}
	sym := history.NewSymbols()
	sym.DefaultInitial = sym.Int(0)
	keys := []history.Key{sym.Key("1"), sym.Key("2"), sym.Key("3")}
	now, all, last := make([]int64, len(keys)), make([]recorded, n), map[int64]int{}
	for i := range all {
		r, w := rng.IntN(len(keys)), rng.IntN(len(keys))
		v := int64(i + 1)
		if few > 0 {
			w, v = r, (now[r]+1)%int64(few)
		}
		s := 1 + rng.Int64N(20)
		at := max(i+rng.IntN(delay+1), last[s])
		last[s] = at
		all[i] = recorded{history.Record{Session: s, Status: history.Committed, Begin: history.NoTime, End: history.NoTime, Ops: []history.Op{
			{Kind: history.Read, Key: keys[r], Value: sym.Int(now[r])}, {Kind: history.Write, Key: keys[w], Value: sym.Int(v)}}}, at}
		now[w] = v
	}
	slices.SortStableFunc(all, func(a, b recorded) int { return a.at - b.at })
	b := history.NewBuilder(history.Header{}, sym, n)
	for i := range all {
		all[i].ID = int64(i + 1)
		if err := b.Add(&all[i].Record); err != nil {
			panic(err)
		}
	}
	return b.Done(true, nil)
}

// TestRecordedOrder checks that without times the order of the record decides if it is an
// execution, and is the hint if it is nearly one.
func TestRecordedOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	for _, tc := range []struct {
		name       string
		few, delay int
		conflicts  int64 // an upper bound; none means that no search was begun
	}{
		{"a counter modulo 10", 10, 0, 0},
		{"different values", 0, 0, 0},
		{"different values, recorded late", 0, 20, 600},
	} {
		h := traffic(rng, 20_000, tc.few, tc.delay)
		for _, lvl := range []level.Level{level.SER, level.SI, level.PC} {
			r, err := polygraph.Engine{}.Judge(t.Context(), h, lvl, engine.Options{Proof: true})
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != verdict.Satisfied || (r.Search == nil) != (tc.conflicts == 0) || r.Search != nil && r.Search.Conflicts > tc.conflicts {
				t.Errorf("%s at %s: %s, search %v", tc.name, lvl, r.Verdict, r.Search)
			}
			if err := certify.Result(t.Context(), h, r); err != nil {
				t.Errorf("%s at %s: %v", tc.name, lvl, err)
			}
		}
	}
}

// TestSerialGuess checks the witness at snapshot levels of a history for which a serial execution is
// guessed.
func TestSerialGuess(t *testing.T) {
	h := traffic(rand.New(rand.NewPCG(3, 1)), 400, 3, 3)
	for _, lvl := range []level.Level{level.SI, level.SINoSO, level.PC} {
		r, err := polygraph.Engine{}.Judge(t.Context(), h, lvl, engine.Options{Proof: true})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != verdict.Satisfied || r.Search != nil {
			t.Errorf("%s: %s, search %v", lvl, r.Verdict, r.Search)
		}
		if err := certify.Result(t.Context(), h, r); err != nil {
			t.Errorf("%s: %v", lvl, err)
		}
	}
}
