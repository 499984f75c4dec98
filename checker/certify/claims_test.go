package certify_test

import (
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestClaims: whatever an anomaly claims, it is never accepted against a history
// that has an execution. The claims are random ones, and those that hold of a
// history that differs a little.
func TestClaims(t *testing.T) {
	rng := rand.New(rand.NewPCG(randhist.Seed(t, rand.Uint64()), 5))
	tried, violated, borrowed, open := 0, 0, 0, 0
	for range randhist.Count(t, 4_000) {
		h := randhist.New(rng)
		lvl := level.All()[rng.IntN(len(level.All()))]
		if lvl == level.LIN || lvl.RealTime() && !h.Timed() {
			continue
		}
		possible := h
		if !h.Closed {
			possible = randhist.Completed(h)
			open++
		}
		allowed, decided := certify.Judge(possible, lvl, 5_000_000)
		if !decided {
			continue
		}
		if !allowed {
			violated++ // claims may be right
			continue
		}
		refused := func(a verdict.Anomaly) {
			t.Helper()
			tried++
			r := &verdict.Result{Level: lvl, Verdict: verdict.Violated, Anomalies: []verdict.Anomaly{a}}
			if certify.Result(h, r) == nil {
				t.Errorf("%s, closed %v: accepted %+v\n%s", lvl, h.Closed, a, dsl.Format(h))
			}
		}
		for range 40 {
			refused(claim(rng, h))
		}
		other, err := polygraph.Check(t.Context(), randhist.Damage(rng, h, 2), lvl, polygraph.Options{Witness: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range other.Anomalies {
			if !h.Closed && a.Kind != verdict.Contradiction {
				continue // see claim
			}
			borrowed++
			refused(a)
			if len(a.Txns) > 0 {
				a.Txns = a.Txns[:len(a.Txns)-1] // but not its operations
				refused(a)
			}
		}
	}
	t.Logf("%d claims, %d of them of other histories; %d histories cut off, %d violated", tried, borrowed, open, violated)
	if tried < 1000 || borrowed < 20 || open < 20 {
		t.Error("too few")
	}
}

// claim makes up an anomaly.
func claim(rng *rand.Rand, h *history.History) verdict.Anomaly {
	n := len(h.Txns)
	txn := func() int32 { return int32(rng.IntN(n)) }
	var a verdict.Anomaly
	switch rng.IntN(4) {
	case 0: // some transactions, whole or in part, and perhaps operations of others
		a.Kind = verdict.Contradiction
		kept, whole, foreign := 1+rng.IntN(4), rng.IntN(2) == 0, rng.IntN(4) == 0
		for i := range h.Txns {
			listed := rng.IntN(5) < kept
			if listed {
				a.Txns = append(a.Txns, int32(i))
			}
			for j := range h.Ops(&h.Txns[i]) {
				if (listed || foreign) && (whole || rng.IntN(4) > 0) {
					a.Ops = append(a.Ops, verdict.OpRef{Txn: int32(i), Op: j})
				}
			}
		}
	case 1:
		a.Kind = []verdict.Kind{verdict.Cycle, verdict.Cycle, verdict.Cycle, verdict.Divergence}[rng.IntN(4)]
		at := []int32{txn()}
		for range 1 + rng.IntN(2) {
			at = append(at, txn())
		}
		for i, from := range at {
			a.Cycle = append(a.Cycle, edge(rng, h, from, at[(i+1)%len(at)]))
		}
		a.Txns = at
	default:
		a.Kind = verdict.Kind(1 + rng.IntN(int(verdict.ImpossibleFailure)))
		if !h.Closed { // of a value that somebody is known to have written nobody else is taken to have written it
			a.Kind = verdict.Contradiction
		}
		for range 1 + rng.IntN(2) {
			i := txn()
			a.Txns = append(a.Txns, i)
			a.Ops = append(a.Ops, verdict.OpRef{Txn: i, Op: rng.IntN(h.Txns[i].OpCount())})
		}
	}
	return a
}

// edge makes up an edge, mostly about something that both ends access.
func edge(rng *rand.Rand, h *history.History, from, to int32) verdict.Edge {
	e := verdict.Edge{From: from, To: to, Kind: verdict.EdgeKind(1 + rng.IntN(int(verdict.RW)))}
	ops := h.Ops(&h.Txns[[]int32{from, to}[rng.IntN(2)]])
	op := ops[rng.IntN(len(ops))]
	e.Key, e.Value = op.Key, op.Value
	return e
}
