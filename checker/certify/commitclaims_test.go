package certify_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// claim makes up an anomaly of a weak level: a cycle with one or two forced edges, or with a read of an
// initial value. Many edges are true.
func claim(rng *rand.Rand, h *history.History) verdict.Anomaly {
	a := verdict.Anomaly{Kind: verdict.Cycle, Forced: map[int]verdict.OpRef{}}
	txn := func() int32 { return int32(rng.IntN(len(h.Txns))) }
	known := edgesOf(h)
	// path adds a random path that begins at a transaction, and returns its end.
	path := func(to *[]verdict.Edge, at int32, most int) int32 {
		for range rng.IntN(most + 1) {
			var out []verdict.Edge
			for _, e := range known {
				if e.From == at {
					out = append(out, e)
				}
			}
			if len(out) == 0 {
				break
			}
			e := out[rng.IntN(len(out))]
			*to = append(*to, e)
			at = e.To
		}
		return at
	}
	first := txn()
	at := first
	for range 1 + rng.IntN(2) {
		reader := path(&a.Context, at, 3)
		ops := h.Ops(&h.Txns[reader])
		if len(ops) == 0 {
			continue
		}
		n := rng.IntN(len(ops))
		value := ops[n].Value
		source := txn()
		for i := range h.Txns {
			for _, op := range h.Ops(&h.Txns[i]) {
				if op.Kind == history.Write && op.Key == ops[n].Key && op.Value == ops[n].Value {
					source = int32(i)
				}
				if int32(i) == at && op.Kind == history.Write && op.Key == ops[n].Key {
					value = op.Value
				}
			}
		}
		if h.Initial(ops[n].Key) == ops[n].Value && rng.IntN(4) > 0 {
			a.Cycle = append(a.Cycle, a.Context...)
			a.Cycle = append(a.Cycle, verdict.Edge{From: reader, To: at, Kind: verdict.RW, Key: ops[n].Key, Value: ops[n].Value})
			break
		}
		a.Forced[len(a.Cycle)] = verdict.OpRef{Txn: reader, Op: n}
		a.Cycle = append(a.Cycle, verdict.Edge{From: at, To: source, Kind: verdict.WW, Key: ops[n].Key, Value: value})
		if back, ok := shortest(known, source, first); ok {
			a.Cycle = append(a.Cycle, back...)
			break
		}
		at = path(&a.Cycle, source, 2)
	}
	if len(a.Context) > 0 && rng.IntN(4) == 0 {
		n := rng.IntN(len(a.Context))
		a.Context = append(a.Context[:n:n], a.Context[n+1:]...)
	}
	for _, e := range a.Cycle {
		a.Txns = append(a.Txns, e.From)
	}
	return a
}

// shortest returns a path between two transactions.
func shortest(edges []verdict.Edge, from, to int32) ([]verdict.Edge, bool) {
	paths := map[int32][]verdict.Edge{from: nil}
	for work := []int32{from}; len(work) > 0; work = work[1:] {
		for _, e := range edges {
			if _, known := paths[e.To]; !known && e.From == work[0] {
				paths[e.To] = append(slices.Clone(paths[e.From]), e)
				work = append(work, e.To)
			}
		}
	}
	path, ok := paths[to]
	return path, ok
}

// edgesOf lists edges of session order and of reads, and some more.
func edgesOf(h *history.History) []verdict.Edge {
	var out []verdict.Edge
	for i := range h.Txns {
		for j := range h.Txns {
			if i < j && h.Txns[i].Session == h.Txns[j].Session {
				out = append(out, verdict.Edge{From: int32(i), To: int32(j), Kind: verdict.SO})
			}
			for _, w := range h.Ops(&h.Txns[i]) {
				for _, r := range h.Ops(&h.Txns[j]) {
					if w.Kind == history.Write && r.Kind == history.Read && w.Key == r.Key && w.Value == r.Value {
						out = append(out, verdict.Edge{From: int32(i), To: int32(j), Kind: verdict.WR, Key: w.Key, Value: w.Value})
					}
				}
			}
		}
	}
	return out
}

// TestCommitClaims checks that no claim about a history that a weak level allows is accepted.
func TestCommitClaims(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 6))
	right, wrong := map[level.Level]int{}, map[level.Level]int{}
	for range randhist.Count(t, 15_000) / 5 {
		h := weakHistory(rng)
		if rng.IntN(2) == 0 {
			h = randhist.New(rng)
		}
		possible := h
		if !h.Closed {
			possible = randhist.Completed(h)
		}
		lvl := weakLevels[rng.IntN(len(weakLevels))]
		allowed, decided := certify.Judge(possible, lvl, 1_000_000)
		if !decided || len(h.Txns) == 0 {
			continue
		}
		for range 60 {
			a := claim(rng, h)
			if rng.IntN(6) == 0 {
				a = randhist.Claim(rng, h)
			}
			accepted := certify.Result(t.Context(), h, &verdict.Result{Level: lvl, Verdict: verdict.Violated, Anomalies: []verdict.Anomaly{a}}) == nil
			switch {
			case accepted && allowed:
				t.Fatalf("seed %d, %s: accepted %+v\n%s", seed, lvl, a, dsl.Format(h))
			case accepted && len(a.Context) > 0:
				right[lvl]++
			case allowed:
				wrong[lvl]++
			}
		}
	}
	t.Logf("refused %v, accepted %v", wrong, right)
	sum := 0
	for _, lvl := range weakLevels {
		sum += right[lvl]
		if wrong[lvl] < 1000 && !randhist.Few(t) {
			t.Errorf("%s: only %d claims refused", lvl, wrong[lvl])
		}
	}
	if sum < 15 && !randhist.Few(t) { // a run with few histories accepts some 50
		t.Errorf("only %d claims accepted", sum)
	}
}
