package certify

import (
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestClassEdges checks that every edge of a class read that is accepted holds in an execution of the
// history. It tries all edges at transactions that only say which versions of a key they did not see.
func TestClassEdges(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 7))
	accepted, refused := map[verdict.EdgeKind]int{}, 0
	n := randhist.Count(t, 20_000)
	for range n {
		h := randhist.Mini(rng)
		if rng.IntN(4) == 0 {
			h = randhist.Of(rng, 2, 5, 4) // with writes that follow no read, and repeated values
		}
		h = randhist.WithClassReads(rng, h)
		levels := polygraph.Engine{}.Levels()
		lvl := levels[rng.IntN(len(levels))]
		if lvl.RealTime() && !h.Timed() {
			continue
		}
		r, err := polygraph.Engine{}.Judge(t.Context(), h, lvl, engine.Options{Proof: true})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != verdict.Satisfied {
			continue
		}
		at := map[int32]int{} // by node: its position
		for n, p := range r.Witness.At(level.SI).Points {
			at[p] = n
		}
		for _, e := range classEdges(h) {
			f, err := newFacts(newStop(t.Context()), h, lvl, []verdict.Anomaly{{Cycle: []verdict.Edge{e}}})
			if err != nil {
				t.Fatal(err)
			}
			if f.edge(lvl, e) != nil {
				refused++
				continue
			}
			accepted[e.Kind]++
			before, behind := commit(e.From), start(e.To)
			if e.Kind == verdict.RW {
				before, behind = start(e.From), commit(e.To)
			}
			if at[before] >= at[behind] {
				t.Fatalf("seed %d, %s: accepted %+v, but the order is %v\n%s", seed, lvl, e, r.Witness, dsl.Format(h))
			}
		}
	}
	t.Logf("seed %d: accepted %v, refused %d", seed, accepted, refused)
	if (accepted[verdict.WR] < n/100 || accepted[verdict.RW] < n/100 || refused < n/10) && !randhist.Few(t) {
		t.Error("too few")
	}
}

// classEdges returns all edges between a transaction with a class read of a key and one that writes
// the key.
func classEdges(h *history.History) []verdict.Edge {
	var out []verdict.Edge
	f := facts{lookup: lookup{h: h}}
	for i := range int32(len(h.Txns)) {
		for k := range h.KeyCount() {
			for w := range int32(len(h.Txns)) {
				k := history.Key(k)
				if w == i || len(f.denied(i, k)) == 0 || !f.writes(w, k) {
					continue
				}
				wrote := h.Ops(&h.Txns[w])[f.at(w, k).write].Value
				out = append(out, verdict.Edge{Kind: verdict.WR, From: w, To: i, Key: k, Value: wrote})
				if read, ok := f.readFromOutside(w, k); ok {
					out = append(out, verdict.Edge{Kind: verdict.RW, From: i, To: w, Key: k, Value: read})
				}
			}
		}
	}
	return out
}
