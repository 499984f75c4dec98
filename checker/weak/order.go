package weak

// edges are forced edges of the commit order, grouped by their ends: the edges to transaction t come from
// from[at[t]:at[t+1]].
type edges struct {
	at, from []int32
}

// forcedEdge says that one transaction commits before another.
type forcedEdge struct{ from, to int32 }

// newEdges groups edges. It drops repeated ones that are adjacent.
func newEdges(txns int, list []forcedEdge) *edges {
	e := &edges{at: make([]int32, txns+1), from: make([]int32, len(list))}
	for _, f := range list {
		e.at[f.to+1]++
	}
	for t := range txns {
		e.at[t+1] += e.at[t]
	}
	for _, f := range list {
		e.from[e.at[f.to]] = f.from
		e.at[f.to]++
	}
	copy(e.at[1:], e.at)
	e.at[0] = 0
	return e
}

// into returns the transactions from which edges lead to t.
func (e *edges) into(t int32) []int32 {
	if e == nil {
		return nil
	}
	return e.from[e.at[t]:e.at[t+1]]
}

// order is a topological order of session order, reads and forced edges.
type order struct {
	txns []int32
	rank []int32 // by transaction: its place in txns, or none
}

// sort returns a topological order of the transactions that count, or false if there is a cycle. It goes
// through the transactions as they are in the history, which is nearly such an order, and places those
// first that must come before.
func (x *index) sort(forced *edges) (*order, bool, error) {
	const waits = none - 1
	n := len(x.h.Txns)
	o := &order{rank: make([]int32, n), txns: make([]int32, 0, n)}
	fill(o.rank, none)
	type frame struct{ txn, edge int32 }
	var path []frame
	for i := range x.counted {
		if i%pollEvery == 0 {
			if err := x.c.stopped(); err != nil {
				return nil, false, err
			}
		}
		if !x.counted[i] || o.rank[i] != none {
			continue
		}
		path = append(path, frame{int32(i), 0})
	next:
		for len(path) > 0 {
			f := &path[len(path)-1]
			t := f.txn
			o.rank[t] = waits
			reads, more := x.readsBy(t), forced.into(t)
			if x.c.ru {
				reads = nil
			}
			for ; int(f.edge) <= len(reads)+len(more); f.edge++ {
				var p int32
				switch e := int(f.edge); {
				case e < len(reads):
					p = reads[e].writer
				case e < len(reads)+len(more):
					p = more[e-len(reads)]
				case x.c.ru:
					continue
				default:
					p = x.before[t]
				}
				if p == none || o.rank[p] >= 0 {
					continue
				}
				if o.rank[p] == waits {
					return o, false, nil
				}
				f.edge++
				path = append(path, frame{p, 0})
				continue next
			}
			o.rank[t] = int32(len(o.txns))
			o.txns = append(o.txns, t)
			path = path[:len(path)-1]
		}
	}
	return o, true, nil
}
