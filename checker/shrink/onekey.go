package shrink

import "github.com/isohound/isohound/history"

// few is how many operations a transaction may have on a key before what is known of them is kept. Fewer are looked at each time.
const few = 64

// oneKey is what is known of the operations of a transaction on a key.
type oneKey struct {
	firstWrite int32 // or -1
	// without has, by operation, those that are not kept without it; see needs.base. It is nil until it is needed.
	without map[int32][]int32
}

// oneKey returns what is known of some operations, those that onItsKey returns; nil if they are few.
func (n *needs) oneKey(list []int32) *oneKey {
	if len(list) <= few {
		return nil
	}
	o := n.oneKeys[list[0]]
	if o == nil {
		o = &oneKey{firstWrite: firstWrite(n.h.AllOps(), list)}
		n.oneKeys[list[0]] = o
	}
	return o
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
	if o.without == nil {
		o.without = map[int32][]int32{}
		ops := n.h.AllOps()
		base, found := int32(0), false // of the next operation, as in base
		for _, r := range list {
			write := ops[r].Kind == history.Write
			if b, ok := n.readBefore(r); write && ok {
				o.without[b] = append(o.without[b], r)
			} else if _, needy := n.need(r); !write && found && !needy {
				o.without[base] = append(o.without[base], r)
			}
			if write || ops[r].Kind == history.Read && !found {
				base, found = r, true
			}
		}
	}
	for _, r := range o.without[at] {
		f(r)
	}
}
