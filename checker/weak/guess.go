package weak

import (
	"slices"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
)

// guesses chooses a version for each open read, transaction by transaction in the order o. It follows, roughly, what
// a transaction must see: of each key the latest write, in that order, of the transactions that it read from and,
// but for RC, of those before it in its session and that these read from.
func (c *candidates) guesses(o *order) {
	x := c.x
	openFrom := make([]int32, len(x.h.Txns)+1) // by transaction, and one more: its first open read
	for n := range x.open {
		openFrom[x.open[n].txn+1]++
	}
	for t := range x.h.Txns {
		openFrom[t+1] += openFrom[t]
	}
	var open []int32
	sessions := make([]map[history.Key]float64, x.h.SessionCount())
	visits, seen := int32(0), make([]int32, len(x.h.Txns)) // by transaction: the latest visit that saw it
	visit := func(t int32) {
		visits++
		open = open[:0]
		for n := openFrom[t]; n < openFrom[t+1]; n++ {
			open = append(open, n)
		}
		slices.SortFunc(open, func(a, b int32) int { return int(x.open[a].op - x.open[b].op) })
		must := map[history.Key]float64{}
		on := x.h.Txns[t].Session
		if x.c.lvl != level.RC {
			if sessions[on] == nil {
				sessions[on] = map[history.Key]float64{}
			}
			must = sessions[on]
		}
		see := func(w int32) {
			if w == none || seen[w] == visits {
				return
			}
			seen[w] = visits
			for v := x.versionsFrom[w]; v < x.versionsFrom[w+1]; v++ {
				k := x.key[v]
				if old, ok := must[k]; !ok || old < c.rank[w] {
					must[k] = c.rank[w]
				}
			}
		}
		reads := x.readsBy(t)
		if x.c.lvl != level.RC {
			for _, r := range reads {
				see(r.writer)
			}
			reads = nil
		}
		for _, n := range open {
			r := &x.open[n]
			for len(reads) > 0 && reads[0].op < r.op {
				see(reads[0].writer)
				reads = reads[1:]
			}
			least, ok := must[x.key[r.version]]
			if !ok {
				least = -2
			}
			if v := c.first(r, least); v != none {
				c.guess[n] = v
				see(x.writer[v])
			}
		}
		if x.c.lvl != level.RC && x.h.Txns[t].Status == history.Committed {
			see(t)
		}
	}
	for _, t := range o.txns {
		visit(t)
	}
	for t := range x.counted {
		if o.rank[t] < 0 {
			visit(int32(t))
		}
	}
}
