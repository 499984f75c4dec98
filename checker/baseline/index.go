package baseline

import (
	"slices"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/history"
)

// initial stands for the initial transaction among the sources of a read. It precedes all others,
// so it needs no node.
const initial = int32(-1)

// index has what the transactions that may have committed read and wrote, as far as others can see
// it.
type index struct {
	h   *history.History
	lvl level.Level

	txns []int32 // by transaction: its index in h.Txns
	// optional are the transactions of unknown outcome. broken are those of them with an impossible
	// read, orphaned those with a read of a value that nobody is known to have written.
	optional, broken, orphaned []bool

	writers [][]int32 // by key: the transactions that write it, in the history's order
	reads   []read
}

// read is a transaction's read of a key before its own first write of that key.
type read struct {
	txn int32
	key history.Key
	// sources are the possible sources of the read, as indices among the writers of key, or
	// initial. Reads of one value share the list. own is the transaction's own index in it, from
	// which it cannot have read, or none.
	sources []int32
	own     int32
}

const none = int32(-2)

// count is the number of sources.
func (r *read) count() int {
	if r.own != none {
		return len(r.sources) - 1
	}
	return len(r.sources)
}

type cell struct {
	key   history.Key
	value history.Value
}

func newIndex(h *history.History, lvl level.Level, found *single.Collector) *index {
	x := &index{h: h, lvl: lvl, writers: make([][]int32, h.KeyCount())}
	for i := range h.Txns {
		if s := h.Txns[i].Status; s != history.Aborted {
			x.txns = append(x.txns, int32(i))
			x.optional = append(x.optional, s == history.Unknown)
		}
	}
	x.broken, x.orphaned = make([]bool, len(x.txns)), make([]bool, len(x.txns))
	places := x.finals()
	x.externalReads(places, found)
	return x
}

func (x *index) ops(t int32) []history.Op { return x.h.Ops(&x.h.Txns[x.txns[t]]) }

// finals fills writers. It returns, for each value of a key, the indices of its writers. If it is
// the initial value, the first one is initial.
func (x *index) finals() map[cell][]int32 {
	places := map[cell][]int32{}
	seen := make([]int32, x.h.KeyCount()) // the latest transaction with a write there, plus 1
	for t := range int32(len(x.txns)) {
		for _, op := range slices.Backward(x.ops(t)) {
			if op.Kind == history.Write && seen[op.Key] != t+1 {
				seen[op.Key] = t + 1
				c := cell{op.Key, op.Value}
				if op.Value == x.h.Initial(op.Key) && places[c] == nil {
					places[c] = []int32{initial}
				}
				places[c] = append(places[c], int32(len(x.writers[op.Key])))
				x.writers[op.Key] = append(x.writers[op.Key], t)
			}
		}
	}
	return places
}

// externalReads finds the reads of other transactions' writes. Anomalies of single reads go to
// found. A transaction of unknown outcome with such a read cannot have committed.
func (x *index) externalReads(places map[cell][]int32, found *single.Collector) {
	for t := range int32(len(x.txns)) {
		i, ops := x.txns[t], x.ops(t)
		own := map[history.Key]int{} // the operation that later reads of the key must match
		for j, op := range ops {
			n, touched := own[op.Key]
			if op.Kind == history.Write || !touched {
				own[op.Key] = j
			}
			switch {
			case op.Kind == history.Write:
			case touched && ops[n].Value == op.Value:
			case touched && x.optional[t]:
				x.broken[t] = true
			case touched:
				found.Internal(i, n, j)
			default:
				r := read{t, op.Key, places[cell{op.Key, op.Value}], none}
				if r.sources == nil && op.Value == x.h.Initial(op.Key) {
					r.sources = untouched
				}
				// Indices rise as transactions do.
				if p, writes := slices.BinarySearch(x.writers[op.Key], t); writes {
					if _, same := slices.BinarySearch(r.sources, int32(p)); same {
						r.own = int32(p)
					}
				}
				switch {
				case r.count() > 0:
					x.reads = append(x.reads, r)
				case !x.optional[t]:
					found.Unexplained(i, j)
				case x.h.Closed:
					x.broken[t] = true
				default:
					x.orphaned[t] = true
					found.Doubt(i, j)
				}
			}
		}
	}
}

// untouched is the list of sources for an initial value that nobody writes again.
var untouched = []int32{initial}
