package linear

import (
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/checker/values"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

const none = int32(-1)

// index is the dependency graph of BuildDependency, stored by versions. A version is a key's
// initial value, or the final write of a transaction to a key. Versions 0 to KeyCount-1 are the
// initial ones. The others are numbered in the order of their transactions.
//
// Edges are not stored. For a version v that transaction S reads from another transaction they are:
//
//	WR   writer[v] → S
//	WW   writer[v] → next[v]     (always beside a WR edge)
//	RW   S → next[v]             unless S is next[v]
//	SO   the latest committed transaction before S in its session → S
//
// Reads that only say which versions they did not see have edges of their own (classes.go).
type index struct {
	c *check
	h *history.History

	// counted are the transactions that committed, and those of unknown outcome that a counted
	// transaction read from. pulled has, for the latter, that write-read edge.
	counted []bool
	pulled  map[int32]verdict.Edge

	writer []int32 // by version: the transaction, or none for the initial ones
	next   []int32 // by version: the transaction that overwrote it, or none
	// pure is, by version, how many transactions read it and did not overwrite it.
	pure []int32
	// opVersion is, for each operation of a counted transaction, the version that it reads from
	// another transaction or finally writes. It is none for all other operations.
	opVersion []int32

	// readers[readersFrom[v]:readersFrom[v+1]] are the transactions that read version v from
	// another transaction; nil before collectReaders.
	readersFrom []int32
	readers     []int32

	*single.Collector
	versions *values.Table
	scans    bool // the history has statements with conditions
	places   places
	// rewritten has, for each transaction with more than short operations and with writes: for each
	// operation, whether a later one writes the same key.
	rewritten map[int32][]bool
	classes   *classes // nil if there are no class reads
}

func buildIndex(c *check) (*index, error) {
	x := &index{c: c, h: c.h, Collector: single.NewCollector(c.h), pulled: map[int32]verdict.Edge{}, scans: c.h.HasPredicates(), places: places{h: c.h}}
	if err := x.writes(); err != nil {
		return nil, err
	}
	x.next = make([]int32, len(x.writer))
	fill(x.next, none)
	x.pure = make([]int32, len(x.writer))
	if err := x.reads(); err != nil {
		return nil, err
	}
	x.placeClasses()
	return x, nil
}

func fill(s []int32, v int32) {
	for i := range s {
		s[i] = v
	}
}

// writes checks the shapes of the transactions, numbers the versions, and fills the table that
// finds them.
func (x *index) writes() error {
	h := x.h
	x.counted = make([]bool, len(h.Txns))
	x.opVersion = make([]int32, len(h.AllOps()))
	fill(x.opVersion, none)
	x.versions = values.New(h)
	x.writer = make([]int32, h.KeyCount(), h.KeyCount()+x.versions.Writes())
	fill(x.writer, none)
	for i := range h.Txns {
		if i%pollEvery == 0 {
			if err := x.c.stopped(); err != nil {
				return err
			}
		}
		t := &h.Txns[i]
		if t.Status == history.Aborted {
			continue
		}
		x.counted[i] = t.Status == history.Committed
		ops, at := h.Ops(t), h.FirstOp(t)
		if why := x.c.shape(x, int32(i), ops); why != "" {
			return x.c.misshapen(i, why)
		}
		if len(ops) > short {
			x.findRewritten(int32(i), ops)
		}
		for j, op := range ops {
			if op.Kind != history.Write || x.writesLater(int32(i), ops, j) {
				continue // a read, or a write that its own transaction overwrote later
			}
			v := int32(len(x.writer))
			if old := x.versions.Insert(op.Key, op.Value, v); old != none {
				return x.c.notUnique(int32(i), x.writer[old], op)
			}
			x.writer = append(x.writer, int32(i))
			x.opVersion[at+j] = v
		}
	}
	return nil
}

// reads finds the version that each read of a counted transaction returned, and which transaction
// overwrote it. It also finds the anomalies of single reads, and pairs of transactions that
// overwrote one version (Definition 10). A transaction of unknown outcome counts if a counted one
// read from it. Then its own reads are looked at, too.
func (x *index) reads() error {
	var pulled []int32
	for i := range x.h.Txns {
		if i%pollEvery == 0 {
			if err := x.c.stopped(); err != nil {
				return err
			}
		}
		switch status := x.h.Txns[i].Status; {
		case status == history.Committed:
			pulled = x.readsOf(int32(i), pulled)
		case status == history.Unknown && !x.h.Closed:
			x.doubt(int32(i))
		}
	}
	for len(pulled) > 0 {
		i := pulled[len(pulled)-1]
		pulled = x.readsOf(i, pulled[:len(pulled)-1])
	}
	return nil
}

// doubt reports the reads of a transaction of unknown outcome whose values nobody else is known to
// have written.
func (x *index) doubt(i int32) {
	ops := x.h.Ops(&x.h.Txns[i])
	for j, op := range ops {
		if op.Kind != history.Read || single.Writes(ops[:j], op.Key) {
			continue
		}
		if v := x.versions.Find(op.Key, op.Value); v == none || x.writer[v] == i {
			x.Doubt(i, j)
		}
	}
}

func (x *index) readsOf(i int32, pulled []int32) []int32 {
	t := &x.h.Txns[i]
	ops, at := x.h.Ops(t), x.h.FirstOp(t)
	if x.h.HasTwice() {
		x.Twice(i)
	}
	if x.c.lvl == level.LIN && len(ops) == 1 && ops[0].Kind == history.Write {
		// An insertion read that the key was absent
		if v := x.versions.Find(ops[0].Key, history.Absent); v != none {
			pulled = x.pull(v, i, ops[0].Key, history.Absent, pulled)
		}
	}
	long := len(ops) > short
	if long {
		x.places.begin()
	}
	var denied []int // reads from outside that only say what they did not see
	for j, op := range ops {
		if op.Kind == history.Write && !long {
			continue
		}
		var own int
		if long {
			own = x.places.before(ops, j)
		} else {
			own = latest(ops[:j], op.Key)
		}
		if own >= 0 {
			if op.Kind != history.Write && ops[own].Value == op.Value == (op.Kind == history.ReadNot) {
				x.Internal(i, own, j)
			}
			continue
		}
		if op.Kind != history.Read {
			if op.Kind == history.ReadNot {
				denied = append(denied, j)
			}
			continue
		}
		v := x.versions.Find(op.Key, op.Value)
		if v == none || x.writer[v] == i {
			x.Unexplained(i, j)
			continue
		}
		x.opVersion[at+j] = v
		pulled = x.pull(v, i, op.Key, op.Value, pulled)
		switch {
		case !x.writesLater(i, ops, j):
			x.pure[v]++
		case x.next[v] == none:
			x.next[v] = i
		default:
			x.divergence(v, x.next[v], i, op)
		}
	}
	if len(denied) > 0 && x.c.lvl != level.LIN {
		x.classReads(i, ops, denied)
	}
	return pulled
}

// pull makes the writer of v, from which i read, count.
func (x *index) pull(v, i int32, k history.Key, value history.Value, pulled []int32) []int32 {
	w := x.writer[v]
	if w == none || w == i || x.counted[w] {
		return pulled
	}
	x.counted[w] = true
	x.pulled[w] = verdict.Edge{Kind: verdict.WR, From: w, To: i, Key: k, Value: value}
	return append(pulled, w)
}

// collectReaders groups the reads of other transactions' writes by version.
func (x *index) collectReaders() {
	from := make([]int32, len(x.writer)+1)
	x.eachRead(func(_, v int32) { from[v+1]++ })
	for v := 1; v < len(from); v++ {
		from[v] += from[v-1]
	}
	x.readers = make([]int32, from[len(from)-1])
	// from[v] moves from the beginning of v's group to its end, which is the beginning of the next
	// group. Shifting from by one restores it.
	x.eachRead(func(i, v int32) {
		x.readers[from[v]] = i
		from[v]++
	})
	copy(from[1:], from)
	from[0] = 0
	x.readersFrom = from
}

// eachRead calls f(transaction, version) for every read of another transaction's write.
func (x *index) eachRead(f func(i, v int32)) {
	for i := range x.h.Txns {
		if !x.counted[i] {
			continue
		}
		t := &x.h.Txns[i]
		at := x.h.FirstOp(t)
		for j, op := range x.h.Ops(t) {
			if v := x.opVersion[at+j]; op.Kind == history.Read && v != none {
				f(int32(i), v)
			}
		}
	}
}

// readersOf returns the transactions that read v from another transaction.
func (x *index) readersOf(v int32) []int32 {
	return x.readers[x.readersFrom[v]:x.readersFrom[v+1]]
}
