package shrink

import (
	"slices"

	"github.com/isohound/isohound/history"
)

// few is how many operations a transaction may have on a key before what is known of them is kept. Fewer are looked at each time.
const few = 64

// oneKey is what is known of the operations of a transaction on a key.
type oneKey struct {
	// first is the first one that is no ReadNot. It and the writes are -1 if there are none.
	first, firstWrite, lastWrite int32
	// early has, by value, the first read of it before any write.
	early map[history.Value]int32
	// base has, by operation, the one without which it is not kept, see needs.base; without is its inverse. They are nil
	// until they are needed.
	base    map[int32]int32
	without map[int32][]int32
}

// oneKey returns what is known of some operations, those that onItsKey returns; nil if they are few.
func (n *needs) oneKey(list []int32) *oneKey {
	if len(list) <= few {
		return nil
	}
	o := n.oneKeys[list[0]]
	if o == nil {
		ops := n.h.AllOps()
		o = &oneKey{first: firstSaying(ops, list), firstWrite: firstWrite(ops, list), lastWrite: lastWrite(ops, list)}
		o.early = map[history.Value]int32{}
		for _, at := range list {
			if ops[at].Kind == history.Write {
				break
			}
			if _, known := o.early[ops[at].Value]; !known && ops[at].Kind == history.Read {
				o.early[ops[at].Value] = at
			}
		}
		n.oneKeys[list[0]] = o
	}
	return o
}

// firstSaying returns the first operation that determines the value of the key, or -1.
func firstSaying(ops []history.Op, list []int32) int32 {
	for _, at := range list {
		if ops[at].Kind != history.ReadNot {
			return at
		}
	}
	return -1
}

func lastWrite(ops []history.Op, list []int32) int32 {
	for _, at := range slices.Backward(list) {
		if ops[at].Kind == history.Write {
			return at
		}
	}
	return -1
}

func firstWrite(ops []history.Op, list []int32) int32 {
	for _, at := range list {
		if ops[at].Kind == history.Write {
			return at
		}
	}
	return -1
}

// eachWithout calls f with the operations that are not kept without operation at.
func (n *needs) eachWithout(at int32, f func(at int32)) {
	list := n.onItsKey(at)
	o := n.oneKey(list)
	if o == nil {
		for _, r := range list {
			if base, ok := n.base(r); ok && base == at {
				f(r)
			}
		}
		return
	}
	n.bases(o, list)
	for _, r := range o.without[at] {
		f(r)
	}
}

// bases returns o.base for these operations.
func (n *needs) bases(o *oneKey, list []int32) map[int32]int32 {
	if o.base != nil {
		return o.base
	}
	o.base, o.without = map[int32]int32{}, map[int32][]int32{}
	depends := func(r, base int32) {
		o.base[r] = base
		o.without[base] = append(o.without[base], r)
	}
	ops := n.h.AllOps()
	base, found := int32(0), false // of the next operation, as in base
	for _, r := range list {
		write := ops[r].Kind == history.Write
		if write {
			if b, ok := n.readBefore(r); ok {
				depends(r, b)
			}
		} else if _, needy := n.need(r); found && !needy {
			depends(r, base)
		}
		if write || ops[r].Kind == history.Read && !found {
			base, found = r, true
		}
	}
	return o.base
}
