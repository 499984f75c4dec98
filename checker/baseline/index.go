package baseline

import (
	"slices"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/history"
)

// initial stands for the initial transaction among the sources of a read. It
// precedes every other and so needs no node.
const initial = int32(-1)

// index is what the transactions that may have committed did, as others see it.
type index struct {
	h   *history.History
	lvl level.Level

	txns []int32 // by transaction: its index in h.Txns
	// optional are the transactions of unknown outcome. broken ones among them
	// read what cannot be; orphaned ones what nobody is known to have written.
	optional, broken, orphaned []bool

	writers [][]int32 // by key: the transactions that write it, in the history's order
	reads   []read
}

// read is what a transaction saw of a key before it wrote it.
type read struct {
	txn int32
	key history.Key
	// sources are the places, among the writers of key, of those that wrote the
	// value that was read, or initial. Reads of one value share the list; own is
	// the transaction's own place in it, from which it cannot have read, or none.
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

// finals fills writers, and returns for each value of a key the places of its
// writers there, with initial as the first where the key begins with it.
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

// externalReads finds what transactions read before they wrote it. What shows
// an anomaly by itself goes to found; a transaction of unknown outcome that
// read such a thing cannot have committed.
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
				// Places rise as transactions do.
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

// untouched are the sources of a key's initial value that nobody writes again.
var untouched = []int32{initial}
