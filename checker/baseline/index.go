package baseline

import (
	"maps"
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

	writers [][]int32         // by key: the transactions that write it, in the history's order
	values  [][]history.Value // by key: what they finally write
	reads   []read
	// impossible: a read without a value has no source.
	impossible bool
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
	x := &index{h: h, lvl: lvl, writers: make([][]int32, h.KeyCount()), values: make([][]history.Value, h.KeyCount())}
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
				x.values[op.Key] = append(x.values[op.Key], op.Value)
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
		if _, _, twice := x.h.Twice(int(i), true); twice {
			if x.broken[t] = true; !x.optional[t] {
				found.Twice(i)
			}
		}
		own := map[history.Key]int{}   // the operation that later reads of the key must match
		not := map[history.Key][]int{} // the reads without a value before it
		for j, op := range ops {
			n, touched := own[op.Key]
			if op.Kind == history.ReadNot {
				switch {
				case !touched:
					not[op.Key] = append(not[op.Key], j)
				case ops[n].Value == op.Value:
					x.contradicts(found, t, n, j)
				}
				continue
			}
			if !touched && op.Kind == history.Read {
				for _, i := range not[op.Key] {
					if ops[i].Value == op.Value {
						x.contradicts(found, t, i, j)
					}
				}
				delete(not, op.Key)
			}
			if op.Kind == history.Write || !touched {
				own[op.Key] = j
			}
			switch {
			case op.Kind == history.Write:
			case touched && ops[n].Value == op.Value:
			case touched:
				x.contradicts(found, t, n, j)
			default:
				r := read{t, op.Key, places[cell{op.Key, op.Value}], none}
				if r.sources == nil && op.Value == x.h.Initial(op.Key) {
					r.sources = untouched
				}
				x.excludeOwn(&r)
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
		for _, k := range slices.Sorted(maps.Keys(not)) {
			x.withoutValue(t, k, not[k])
		}
	}
}

// contradicts records that operation j of t contradicts operation n of t.
func (x *index) contradicts(found *single.Collector, t int32, n, j int) {
	i := x.txns[t]
	if !x.optional[t] {
		found.Internal(i, n, j)
		return
	}
	x.broken[t] = true
	if ops := x.h.Ops(&x.h.Txns[i]); ops[n].Kind == history.Read && ops[j].Kind == history.Read {
		found.Doubt(i, j) // as Internal does
	}
}

// excludeOwn sets r.own. Indices rise as transactions do.
func (x *index) excludeOwn(r *read) {
	if p, writes := slices.BinarySearch(x.writers[r.key], r.txn); writes {
		if _, same := slices.BinarySearch(r.sources, int32(p)); same {
			r.own = int32(p)
		}
	}
}

// withoutValue adds the read of a key that the given operations of t did not find with their
// values. Its sources are the writers of all other values.
func (x *index) withoutValue(t int32, k history.Key, list []int) {
	ops := x.ops(t)
	excluded := func(v history.Value) bool {
		return slices.ContainsFunc(list, func(j int) bool { return ops[j].Value == v })
	}
	r := read{t, k, nil, none}
	if !excluded(x.h.Initial(k)) {
		r.sources = append(r.sources, initial)
	}
	for w, v := range x.values[k] {
		if !excluded(v) {
			r.sources = append(r.sources, int32(w))
		}
	}
	x.excludeOwn(&r)
	switch {
	case r.count() > 0:
		x.reads = append(x.reads, r)
	case x.optional[t]:
		x.broken[t] = true
	default:
		x.impossible = true
	}
}

// untouched is the list of sources for an initial value that nobody writes again.
var untouched = []int32{initial}
