package counterexample

import (
	"context"
	"slices"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// cut is a part of a history: some transactions with some of their operations.
type cut struct {
	ctx context.Context
	h   *history.History
	lvl level.Level
	ops map[int32][]int // by transaction: indices of its operations, ascending
	// readers are, by value of a key, the operations that may be kept only with
	// every writer of it; deniers those that may be kept only with everything that
	// overwrote it. They are found when the part is closed.
	readers, deniers map[cell][]verdict.OpRef
}

// cell is a value of a key.
type cell struct {
	key   history.Key
	value history.Value
}

func (c *cut) all(t int32) []history.Op { return c.h.Ops(&c.h.Txns[t]) }

func (c *cut) clone() *cut {
	n := &cut{ctx: c.ctx, h: c.h, lvl: c.lvl, readers: c.readers, deniers: c.deniers, ops: make(map[int32][]int, len(c.ops))}
	for t, ops := range c.ops {
		n.ops[t] = slices.Clone(ops)
	}
	return n
}

// txns lists the transactions, in the order of the history.
func (c *cut) txns() []int32 {
	out := make([]int32, 0, len(c.ops))
	for t := range c.ops {
		out = append(out, t)
	}
	slices.Sort(out)
	return out
}

// add keeps operation j of t, and t itself where j is negative. At LIN a
// transaction is kept whole.
func (c *cut) add(t int32, j int) {
	ops, known := c.ops[t]
	if !known {
		ops = []int{}
		if c.lvl == level.LIN {
			for n := range c.all(t) {
				ops = append(ops, n)
			}
		}
	}
	if i, found := slices.BinarySearch(ops, j); !found && j >= 0 {
		ops = slices.Insert(ops, i, j)
	}
	c.ops[t] = ops
}

// seed keeps what the anomaly names: its transactions and, of them, the
// operations behind its edges and those that show it.
func (c *cut) seed(a *verdict.Anomaly) {
	for _, t := range a.Txns {
		c.add(t, -1)
	}
	for _, r := range a.Ops {
		c.add(r.Txn, r.Op)
		if a.Kind != verdict.Contradiction {
			c.addKey(r.Txn, c.all(r.Txn)[r.Op].Key)
		}
	}
	if a.Kind == verdict.Contradiction {
		return
	}
	for _, e := range slices.Concat(a.Cycle, a.Support) {
		c.add(e.From, -1)
		c.add(e.To, -1)
		if e.Kind != verdict.SO && e.Kind != verdict.RT {
			c.addEnds(e.From, e)
			c.addEnds(e.To, e)
		}
	}
}

// addEnds keeps what t shows of an edge: that it read the version from outside,
// and what it finally wrote to the key.
func (c *cut) addEnds(t int32, e verdict.Edge) {
	first, last := -1, -1
	for j, op := range c.all(t) {
		if op.Key != e.Key {
			continue
		}
		if first < 0 {
			first = j
		}
		if op.Kind == history.Write {
			last = j
		}
	}
	if first >= 0 && c.all(t)[first].Kind == history.Read && c.all(t)[first].Value == e.Value {
		c.add(t, first)
	}
	c.add(t, last)
}

// addKey keeps what t did to a key.
func (c *cut) addKey(t int32, k history.Key) {
	for j, op := range c.all(t) {
		if op.Key == k {
			c.add(t, j)
		}
	}
}

// widen keeps all operations of its transactions, and what closes that. It
// reports whether that was any more.
func (c *cut) widen() bool {
	before := c.size()
	for _, t := range c.txns() {
		for j := range c.all(t) {
			c.add(t, j)
		}
	}
	c.close()
	return c.size() > before
}

func (c *cut) size() int {
	n := 0
	for _, ops := range c.ops {
		n += len(ops)
	}
	return n
}

// close adds the writers of what is read, until there are no more.
func (c *cut) close() {
	for before := -1; before < c.size(); {
		before = c.size()
		c.depend()
		keys := make([]bool, c.h.KeyCount()) // a quick first test
		for _, list := range []map[cell][]verdict.OpRef{c.readers, c.deniers} {
			for at := range list {
				keys[at.key] = true
			}
		}
		for i := range c.h.Txns {
			for j, op := range c.h.Ops(&c.h.Txns[i]) {
				if keys[op.Key] && len(c.dependents(int32(i), j)) > 0 {
					c.addWrite(int32(i), j)
				}
			}
		}
	}
}

// depend finds what depends on writes.
func (c *cut) depend() {
	c.readers, c.deniers = map[cell][]verdict.OpRef{}, map[cell][]verdict.OpRef{}
	for t, kept := range c.ops {
		ops := c.all(t)
		for _, j := range kept {
			at, ref := cell{ops[j].Key, ops[j].Value}, verdict.OpRef{Txn: t, Op: j}
			switch {
			case ops[j].Kind == history.Read:
				c.readers[at] = append(c.readers[at], ref)
			case ops[j].Kind == history.ReadNot:
				c.deniers[at] = append(c.deniers[at], ref)
			case c.lvl == level.LIN && len(ops) == 1: // an insertion found nothing
				at.value = history.Absent
				c.readers[at] = append(c.readers[at], ref)
			}
		}
	}
}

// dependents returns what may be kept only with operation j of t: nothing, if
// that is no write.
func (c *cut) dependents(t int32, j int) []verdict.OpRef {
	ops := c.all(t)
	op := ops[j]
	if op.Kind != history.Write {
		return nil
	}
	out := c.readers[cell{op.Key, op.Value}]
	if c.lvl != level.LIN {
		return out
	}
	found := history.Absent
	if j > 0 {
		found = ops[j-1].Value
	}
	return slices.Concat(out, c.deniers[cell{op.Key, found}])
}

// addWrite keeps a write, and the last one of its transaction to that key: a
// value that was overwritten must stay one.
func (c *cut) addWrite(t int32, j int) {
	c.add(t, j)
	ops := c.all(t)
	for n := len(ops) - 1; n > j; n-- {
		if ops[n].Kind == history.Write && ops[n].Key == ops[j].Key {
			c.add(t, n)
			return
		}
	}
}

// drop leaves t out, and with it what depends on its writes.
func (c *cut) drop(t int32) {
	kept, known := c.ops[t]
	if !known {
		return
	}
	delete(c.ops, t)
	for _, j := range kept {
		c.dropped(t, j)
	}
}

// dropOp leaves an operation out, and with a write what depends on it.
func (c *cut) dropOp(t int32, j int) {
	i, found := slices.BinarySearch(c.ops[t], j)
	if !found {
		return
	}
	c.ops[t] = slices.Delete(c.ops[t], i, i+1)
	c.dropped(t, j)
	if len(c.ops[t]) == 0 {
		delete(c.ops, t)
	}
}

// dropped leaves out what depends on operation j of t, which is gone. At LIN
// what depends is a whole transaction.
func (c *cut) dropped(t int32, j int) {
	for _, ref := range c.dependents(t, j) {
		if c.lvl == level.LIN {
			c.drop(ref.Txn)
		} else {
			c.dropOp(ref.Txn, ref.Op)
		}
	}
}

// history returns the part as a history of its own, which holds no other names
// than it needs.
func (c *cut) history() *history.History {
	parts := make([]history.Part, 0, len(c.ops))
	for _, t := range c.txns() {
		parts = append(parts, history.Part{Txn: t, Ops: c.ops[t]})
	}
	return c.h.Extract(parts)
}

// whole gives the key and value of an edge of the sub-history, of which the ends
// are those of the whole one, the numbers of the whole one.
func (c *cut) whole(sub *history.History, e *verdict.Edge) {
	for _, t := range []int32{e.From, e.To} {
		for _, op := range c.all(t) {
			if c.h.KeyName(op.Key) != sub.KeyName(e.Key) {
				continue
			}
			e.Key = op.Key
			if e.Value < history.MinInt && e.Value != history.Absent {
				e.Value = c.h.Raw(sub.ValueText(e.Value))
			}
			return
		}
	}
}

// shows reports whether everything that the anomaly names is still there.
func (c *cut) shows(a *verdict.Anomaly) bool {
	for _, t := range a.Txns {
		if c.ops[t] == nil {
			return false
		}
	}
	for _, r := range a.Ops {
		if !slices.Contains(c.ops[r.Txn], r.Op) {
			return false
		}
	}
	for _, e := range a.Cycle {
		if c.ops[e.From] == nil || c.ops[e.To] == nil {
			return false
		}
	}
	return true
}
