package certify

import (
	"cmp"
	"iter"
	"slices"
	"sort"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
)

// direct verifies that who reads from a transaction sees its other writes: at level rc in later reads, at
// level ra in all reads.
func (c *commitOrder) direct() error {
	oldest := newByKey[int32](c.h.KeyCount()) // the earliest sources of the reads that have to see
	known := make([]int32, len(c.h.Txns))     // by transaction: the latest one that read from it, plus 1
	var first []bool                          // by read: it is the first one from its source
	for i := range int32(len(c.h.Txns)) {
		reads := c.reads.of(i)
		if len(reads) < 2 {
			continue
		}
		oldest.reset()
		first = first[:0]
		for _, r := range reads {
			first = append(first, r.source != none && known[r.source] != i+1)
			if r.source != none {
				known[r.source] = i + 1
			}
			if c.lvl != level.RA {
				continue
			}
			if other, ok := oldest.of(r.key); ok && other != r.source {
				return c.twoSources(i, r.key)
			}
			oldest.set(r.key, r.source)
		}
		for end := len(reads); end > 0; {
			begin, seeing := end-1, reads
			if c.lvl == level.RC {
				begin, seeing = c.statementOf(i, reads, end-1), reads[end:]
			}
			for n := begin; n < end; n++ {
				if first[n] {
					if err := c.atomic(i, reads[n].source, seeing, oldest); err != nil {
						return err
					}
				}
			}
			for _, r := range reads[begin:end] {
				if old, ok := oldest.of(r.key); !ok || c.position(r.source) < c.position(old) {
					oldest.set(r.key, r.source)
				}
			}
			end = begin
		}
	}
	return nil
}

// statementOf returns the first read of the statement to which read n of a transaction belongs. No order among
// them is known.
func (c *commitOrder) statementOf(i int32, reads []sourced, n int) int {
	for n > 0 && c.h.HasPredicates() && oneStatement(c.h, i, int(reads[n-1].op), int(reads[n].op)) {
		n--
	}
	return n
}

// atomic verifies that reads of the transaction at i are not of versions before those of w. oldest has
// their sources.
func (c *commitOrder) atomic(i, w int32, reads []sourced, oldest *byKey[int32]) error {
	writes := c.writes.of(w)
	if len(reads) < len(writes) {
		for _, r := range reads {
			if c.position(r.source) < c.at[w] && c.writesKey(w, r.key) {
				return c.late(i, r.key, w)
			}
		}
		return c.stop.after(1 + len(reads))
	}
	for _, k := range writes {
		if source, ok := oldest.of(k); ok && c.position(source) < c.at[w] {
			return c.late(i, k, w)
		}
	}
	return c.stop.after(1 + len(writes))
}

// guarantees verifies the session guarantees, one session after another. wrote has the writes of the session so far, and read those of the transactions that it read from.
func (c *commitOrder) guarantees() error {
	has := func(l level.Level) bool { return c.lvl == l || c.lvl == level.Session }
	ryw := has(level.RYW) || c.lvl == level.RA
	wrote, read := newByKey[int32](c.h.KeyCount()), newByKey[int32](c.h.KeyCount())
	var undo []entry
	known := make([]int32, len(c.h.Txns)) // by transaction: the latest session that read from it, plus 1
	for s, txns := range c.h.BySession() {
		wrote.reset()
		read.reset()
		for _, i := range txns {
			if c.at[i] == none {
				continue
			}
			// What the transaction itself has to see.
			if ryw {
				if err := c.after(wrote, i); err != nil {
					return err
				}
			}
			if has(level.MR) {
				if err := c.after(read, i); err != nil {
					return err
				}
			}
			// What its readers have to see.
			if has(level.MW) {
				for reader := range c.eachReader(i) {
					if err := c.after(wrote, reader); err != nil {
						return err
					}
				}
			}
			committed := c.h.Txns[i].Status == history.Committed
			undo = undo[:0]
			if has(level.MR) || has(level.WFR) {
				for _, r := range c.reads.of(i) {
					if r.source == none || known[r.source] == int32(s)+1 {
						continue
					}
					if committed {
						known[r.source] = int32(s) + 1
					}
					for _, k := range c.writes.of(r.source) {
						old, ok := read.of(k)
						if !ok {
							old = none
						}
						if c.position(old) >= c.at[r.source] {
							continue
						}
						if read.set(k, r.source); !committed {
							undo = append(undo, entry{k, old})
						}
					}
					if err := c.stop.after(1 + len(c.writes.of(r.source))); err != nil {
						return err
					}
				}
			}
			if has(level.WFR) {
				for reader := range c.eachReader(i) {
					if err := c.after(read, reader); err != nil {
						return err
					}
				}
			}
			// No session order leads from a transaction of unknown outcome.
			for _, e := range slices.Backward(undo) {
				read.set(e.key, e.writer)
			}
			if committed {
				for _, k := range c.writes.of(i) {
					wrote.set(k, i)
				}
			}
		}
	}
	return nil
}

// eachReader goes through the transactions that read from the one at i. readers has one of them again for each of its reads.
func (c *commitOrder) eachReader(i int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		list := c.readers.of(i)
		for n, reader := range list {
			if (n == 0 || list[n-1] != reader) && !yield(reader) {
				return
			}
		}
	}
}

// entry is one of a byKey.
type entry struct {
	key    history.Key
	writer int32
}

// uncommitted verifies that all values that were read were written, and that who overwrote what it read
// commits later. A value that may come from a transaction that did not commit, or that was overwritten
// before its commit, says nothing about the order.
func (c *commitOrder) uncommitted() error {
	type write struct {
		value history.Value
		by    int32 // none if it says nothing
	}
	writes := collect(c.h.KeyCount(), func(f func(k int32, w write)) {
		for i := range c.h.Txns {
			c.own.reset()
			for _, op := range slices.Backward(c.h.Ops(&c.h.Txns[i])) {
				if op.Kind != history.Write {
					continue
				}
				w := write{op.Value, none}
				if _, overwritten := c.own.of(op.Key); !overwritten && c.h.Txns[i].Status == history.Committed {
					w.by = int32(i)
				}
				c.own.set(op.Key, op.Value)
				f(int32(op.Key), w)
			}
		}
	})
	for k := range int32(c.h.KeyCount()) {
		slices.SortFunc(writes.of(k), func(a, b write) int { return cmp.Compare(a.value, b.value) })
	}
	for _, i := range c.order {
		err := c.eachOutside(i, func(n int, op history.Op) error {
			list := writes.of(int32(op.Key))
			known, first := c.h.Initial(op.Key) == op.Value, true
			for m := sort.Search(len(list), func(m int) bool { return list[m].value >= op.Value }); m < len(list) && list[m].value == op.Value; m++ {
				by := list[m].by
				known = known || by == none || by == i || c.at[by] < c.at[i]
				first = false
			}
			switch {
			case known || op.Kind == history.ReadNot:
			case first:
				return errors.Errorf("transaction %d: operation %d on key %s read what nobody wrote", c.h.Txns[i].ID, n+1, c.h.KeyName(op.Key))
			case c.writesKey(i, op.Key):
				return errors.Errorf("transaction %d overwrote a version of key %s that the witness places later", c.h.Txns[i].ID, c.h.KeyName(op.Key))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
