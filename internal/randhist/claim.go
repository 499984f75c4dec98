package randhist

import (
	"math/rand/v2"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Claim makes up an anomaly of h. The claim is rarely true.
func Claim(rng *rand.Rand, h *history.History) verdict.Anomaly {
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
		if !h.Closed { // in an open history, a value with a known writer is assumed to have no unrecorded writer
			a.Kind = verdict.Contradiction
		}
		for range 1 + rng.IntN(2) {
			i := txn()
			a.Txns = append(a.Txns, i)
			a.Ops = append(a.Ops, verdict.OpRef{Txn: i, Op: rng.IntN(max(h.Txns[i].OpCount(), 1))})
		}
	}
	return a
}

// edge makes up an edge, mostly about a key that both ends access.
func edge(rng *rand.Rand, h *history.History, from, to int32) verdict.Edge {
	e := verdict.Edge{From: from, To: to, Kind: verdict.EdgeKind(1 + rng.IntN(int(verdict.NV)))}
	if ops := h.Ops(&h.Txns[[]int32{from, to}[rng.IntN(2)]]); len(ops) > 0 {
		op := ops[rng.IntN(len(ops))]
		e.Key, e.Value = op.Key, op.Value
	}
	return e
}
