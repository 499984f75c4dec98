package linear

import (
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

const none = int32(-1)

// index is the dependency graph of BuildDependency, stored by versions. A
// version is the final write of a counted transaction to a key, or a key's
// initial value; versions 0 to KeyCount-1 are the initial ones, the others
// are numbered in the order of their transactions.
//
// Edges are not stored. With v a version that S reads from outside:
//
//	WR   writer[v] → S
//	WW   writer[v] → next[v]     (always beside a WR edge)
//	RW   S → next[v]             unless S is next[v]
//	SO   S → nextOf[S]
type index struct {
	c *check
	h *history.History

	counted []bool // the transaction committed, or is unknown and was read from
	// pulled is, by unknown transaction that counts, the read that made it so.
	pulled map[int32]verdict.Edge
	writer []int32 // by version: the transaction, or none for the initial ones
	next   []int32 // by version: the transaction that overwrote it, or none
	nextOf []int32 // by transaction: its successor in the session, or none

	// opVersion is, for each operation of a counted transaction, the version
	// that it reads from outside or finally writes; none for all others.
	opVersion []int32

	// readers[readersFrom[v]:readersFrom[v+1]] read version v from outside.
	readersFrom []int32
	readers     []int32

	anomalies   []verdict.Anomaly
	byKind      map[verdict.Kind]int // index of the first of a kind in anomalies
	orphans     int                  // reads of values without a known writer
	firstOrphan int32

	unseen others
	// versions is kept at level LIN only.
	versions *versionTable
}

func buildIndex(c *check) (*index, error) {
	h := c.h
	x := &index{c: c, h: h, byKind: map[verdict.Kind]int{}, pulled: map[int32]verdict.Edge{}}
	table, err := x.writes()
	if err != nil {
		return nil, err
	}
	if err := x.reads(table); err != nil {
		return nil, err
	}
	if c.lvl == level.LIN {
		x.versions = table
	}
	x.overwrites()
	x.collectReaders()
	x.sessions()
	return x, nil
}

// writes checks the shapes, numbers the versions, and returns the table that
// finds them.
func (x *index) writes() (*versionTable, error) {
	h, keys := x.h, x.h.KeyCount()
	initial := make([]history.Value, keys)
	for k := range initial {
		initial[k] = h.Initial(history.Key(k))
	}
	total := 0
	for i := range h.Txns {
		if h.Txns[i].Status != history.Aborted {
			for _, op := range h.Ops(&h.Txns[i]) {
				if op.Kind == history.Write {
					total++ // intermediate writes too: an upper bound
				}
			}
		}
	}
	x.counted = make([]bool, len(h.Txns))
	x.opVersion = make([]int32, len(h.AllOps()))
	for i := range x.opVersion {
		x.opVersion[i] = none
	}
	x.writer = make([]int32, keys, keys+total)
	for k := range x.writer {
		x.writer[k] = none
	}
	table := newVersionTable(total, initial)
	for i := range h.Txns {
		if i%pollEvery == 0 {
			if err := x.c.stopped(); err != nil {
				return nil, err
			}
		}
		t := &h.Txns[i]
		if t.Status == history.Aborted {
			continue
		}
		x.counted[i] = t.Status == history.Committed
		ops, at := h.Ops(t), h.FirstOp(t)
		if why := x.c.shape(h.Symbols, ops); why != "" {
			return nil, x.c.misshapen(i, why)
		}
		for j, op := range ops {
			if op.Kind != history.Write || !finalWrite(ops, j) {
				continue
			}
			v := int32(len(x.writer))
			if old := table.insert(op.Key, op.Value, v); old != none {
				return nil, x.c.notUnique(int32(i), x.writer[old], op)
			}
			x.writer = append(x.writer, int32(i))
			x.opVersion[at+j] = v
		}
	}
	return table, nil
}

// finalWrite reports whether ops[j] is the last write of its key in ops.
func finalWrite(ops []history.Op, j int) bool {
	for _, op := range ops[j+1:] {
		if op.Kind == history.Write && op.Key == ops[j].Key {
			return false
		}
	}
	return true
}

// reads finds the version of every read from outside in counted transactions,
// and the anomalies of single reads. Reading from an unknown transaction makes
// it count, and its own reads with it.
func (x *index) reads(table *versionTable) error {
	var pulled []int32
	for i := range x.h.Txns {
		if i%pollEvery == 0 {
			if err := x.c.stopped(); err != nil {
				return err
			}
		}
		if x.h.Txns[i].Status == history.Committed {
			pulled = x.readsOf(int32(i), table, pulled)
		}
	}
	for len(pulled) > 0 {
		i := pulled[len(pulled)-1]
		pulled = x.readsOf(i, table, pulled[:len(pulled)-1])
	}
	return nil
}

func (x *index) readsOf(i int32, table *versionTable, pulled []int32) []int32 {
	t := &x.h.Txns[i]
	ops, at := x.h.Ops(t), x.h.FirstOp(t)
	for j, op := range ops {
		if op.Kind != history.Read {
			continue
		}
		if own := lastOn(ops[:j], op.Key); own >= 0 {
			if ops[own].Value != op.Value {
				x.internal(i, own, j)
			}
			continue
		}
		v := table.find(op.Key, op.Value)
		if v == none || x.writer[v] == i {
			x.unexplained(i, j)
			continue
		}
		x.opVersion[at+j] = v
		if w := x.writer[v]; w != none && !x.counted[w] {
			x.counted[w] = true
			x.pulled[w] = verdict.Edge{Kind: verdict.WR, From: w, To: i, Key: op.Key, Value: op.Value}
			pulled = append(pulled, w)
		}
	}
	return pulled
}

// lastOn returns the index of the last operation on k in ops, or -1.
func lastOn(ops []history.Op, k history.Key) int {
	for j := len(ops) - 1; j >= 0; j-- {
		if ops[j].Key == k {
			return j
		}
	}
	return -1
}

// overwrites finds, for each version, the transaction that overwrote it, and
// the divergences (Definition 10).
func (x *index) overwrites() {
	x.next = make([]int32, len(x.writer))
	for v := range x.next {
		x.next[v] = none
	}
	for i := range x.h.Txns {
		if !x.counted[i] {
			continue
		}
		t := &x.h.Txns[i]
		ops, at := x.h.Ops(t), x.h.FirstOp(t)
		for j, op := range ops {
			v := x.opVersion[at+j]
			if op.Kind != history.Read || v == none || !writes(ops[j+1:], op.Key) {
				continue
			}
			if first := x.next[v]; first != none {
				x.divergence(v, first, int32(i), op)
			} else {
				x.next[v] = int32(i)
			}
		}
	}
}

func writes(ops []history.Op, k history.Key) bool {
	for _, op := range ops {
		if op.Kind == history.Write && op.Key == k {
			return true
		}
	}
	return false
}

// collectReaders groups the reads from outside by version.
func (x *index) collectReaders() {
	from := make([]int32, len(x.writer)+1)
	x.eachRead(func(_, v int32) { from[v+1]++ })
	for v := 1; v < len(from); v++ {
		from[v] += from[v-1]
	}
	x.readers = make([]int32, from[len(from)-1])
	// from[v] moves from the beginning of v's group to its end, which is the
	// beginning of the next group; shifting it back by one restores it.
	x.eachRead(func(i, v int32) {
		x.readers[from[v]] = i
		from[v]++
	})
	copy(from[1:], from)
	from[0] = 0
	x.readersFrom = from
}

// eachRead calls f(transaction, version) for every read from outside.
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

// sessions links the counted transactions of each session in nextOf. Session
// order leaves only transactions of known outcome, since an unknown one may
// have ended at any later time: eachSuccessor reads the links so.
func (x *index) sessions() {
	x.nextOf = make([]int32, len(x.h.Txns))
	for i := range x.nextOf {
		x.nextOf[i] = none
	}
	if !x.c.lvl.SessionOrder() {
		return
	}
	last := make([]int32, x.h.SessionCount())
	for s := range last {
		last[s] = none
	}
	for i := range x.h.Txns {
		if x.counted[i] {
			s := x.h.Txns[i].Session
			if p := last[s]; p != none {
				x.nextOf[p] = int32(i)
			}
			last[s] = int32(i)
		}
	}
}

// eachSuccessor calls f for the transactions that follow i directly in session
// order: those of unknown outcome up to the next of known outcome, and that.
func (x *index) eachSuccessor(i int32, f func(j int32)) {
	if x.h.Txns[i].Status == history.Unknown {
		return
	}
	for j := x.nextOf[i]; j != none; j = x.nextOf[j] {
		f(j)
		if x.h.Txns[j].Status != history.Unknown {
			return
		}
	}
}
