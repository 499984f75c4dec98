package linear

import (
	"slices"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// divergence reports that first and second both read version v and overwrote it.
func (x *index) divergence(v, first, second int32, read history.Op) {
	txns := []int32{first, second}
	var context []verdict.Edge
	if w := x.writer[v]; w != none {
		txns = []int32{w, first, second}
		for _, to := range txns[1:] {
			context = append(context, verdict.Edge{Kind: verdict.WR, From: w, To: to, Key: read.Key, Value: read.Value})
		}
	}
	rw := verdict.Edge{Kind: verdict.RW, Key: read.Key, Value: read.Value}
	there, back := rw, rw
	there.From, there.To = first, second
	back.From, back.To = second, first
	x.Found(verdict.Anomaly{Kind: verdict.Divergence, Txns: txns, Cycle: []verdict.Edge{there, back}, Context: context})
}

// support adds the edges that show that the transactions of unknown outcome in a committed.
func (x *index) support(a *verdict.Anomaly) {
	seen := map[int32]bool{}
	work := slices.Clone(a.Txns)
	for n := 0; n < len(work); n++ {
		if e, ok := x.pulled[work[n]]; ok && !seen[e.From] {
			seen[e.From] = true
			a.Support = append(a.Support, e)
			work = append(work, e.To)
		}
	}
}
