package weak

import (
	"cmp"
	"slices"
)

// choices are versions for open reads, transaction by transaction and there in program order. The zero value has none.
type choices struct {
	from []int32 // by transaction, and one more: its first choice
	list []choice
}

type choice struct{ op, version int32 }

// choicesFor makes choices for the open reads of x: version returns that of an open read.
func (x *index) choicesFor(version func(n int) int32) choices {
	c := choices{make([]int32, len(x.h.Txns)+1), make([]choice, 0, len(x.open))}
	n := 0
	for t := range x.h.Txns {
		c.from[t] = int32(len(c.list))
		for ; n < len(x.open) && x.open[n].txn == int32(t); n++ {
			if v := version(n); v != none {
				c.list = append(c.list, choice{x.open[n].op, v})
			}
		}
		slices.SortFunc(c.list[c.from[t]:], func(a, b choice) int { return cmp.Compare(a.op, b.op) })
	}
	c.from[len(x.h.Txns)] = int32(len(c.list))
	return c
}

// of returns the choices of a transaction.
func (c *choices) of(t int32) []choice {
	if c.from == nil {
		return nil
	}
	return c.list[c.from[t]:c.from[t+1]]
}

// find returns the version of a read, and whether one is chosen.
func (c *choices) find(t int32, op int) (version int32, ok bool) {
	list := c.of(t)
	n, ok := slices.BinarySearchFunc(list, int32(op), func(a choice, op int32) int { return cmp.Compare(a.op, op) })
	if !ok {
		return none, false
	}
	return list[n].version, true
}
