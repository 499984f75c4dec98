package shrink

import (
	"slices"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
)

// token is something that operations need and others provide. held is a value of a key, denied is
// any other value of the key, and overwritten (level lin) is that the value was overwritten.
type token struct {
	key   history.Key
	value history.Value
	kind  tokenKind
}

type tokenKind uint8

const (
	held tokenKind = iota
	denied
	overwritten
	// spelt is a value with the same text, for a read that cannot have the version that the database names. It keeps the writers
	// that the read can have otherwise.
	spelt
)

// needs has which operations of a history need which others. Operations are indices into
// History.AllOps.
type needs struct {
	h     *history.History
	rules Rules
	txnOf []int32 // by operation

	// onKey[keyFrom[k]:keyFrom[k+1]] are the operations on key k. Their tokens are added to the
	// tables when the key is first needed.
	keyFrom, onKey []int32
	known          []bool               // by key
	denies         map[history.Key]bool // keys with reads that only say which value they did not find
	// Denied tokens have the value 0 in the tables, because nearly every write of a key provides
	// each of them.
	providers, needers map[token][]int32
	choices            []*choice
	oneKeys            map[int32]*oneKey // by the first operation of a transaction on a key
}

func newNeeds(h *history.History, rules Rules) *needs {
	ops := h.AllOps()
	n := &needs{h: h, rules: rules, txnOf: make([]int32, len(ops)), onKey: make([]int32, len(ops)),
		keyFrom: make([]int32, h.KeyCount()+1), known: make([]bool, h.KeyCount()),
		denies: map[history.Key]bool{}, providers: map[token][]int32{}, needers: map[token][]int32{}, oneKeys: map[int32]*oneKey{}}
	for _, op := range ops {
		n.keyFrom[op.Key]++
		if op.Kind == history.ReadNot {
			n.denies[op.Key] = true
		}
	}
	n.choices = choicesOf(h)
	for _, c := range n.choices {
		for _, list := range h.Choice(c.ref) {
			for i := range list {
				n.denies[h.Op(&list[i]).Key] = true
			}
		}
	}
	end := int32(0)
	for k := range n.keyFrom {
		end += n.keyFrom[k]
		n.keyFrom[k] = end
	}
	for at := len(ops) - 1; at >= 0; at-- {
		k := ops[at].Key
		n.keyFrom[k]--
		n.onKey[n.keyFrom[k]] = int32(at)
	}
	for i := range h.Txns {
		first := h.FirstOp(&h.Txns[i])
		for j := range h.Ops(&h.Txns[i]) {
			n.txnOf[first+j] = int32(i)
		}
	}
	return n
}

// learn adds the operations on a key to the tables.
func (n *needs) learn(k history.Key) {
	if n.known[k] {
		return
	}
	n.known[k] = true
	for _, at := range n.onKey[n.keyFrom[k]:n.keyFrom[k+1]] {
		n.provides(at, func(t token) { n.providers[t] = append(n.providers[t], at) })
	}
	for _, at := range n.onKey[n.keyFrom[k]:n.keyFrom[k+1]] {
		if t, ok := n.need(at); ok {
			n.needers[t.entry()] = append(n.needers[t.entry()], at)
		}
	}
}

// entry is the token under which t is in the tables.
func (t token) entry() token {
	if t.kind == denied {
		t.value = 0
	}
	return t
}

// eachProvider calls f with the operations that provide a token.
func (n *needs) eachProvider(t token, f func(at int32)) {
	n.learn(t.key)
	for _, w := range n.providers[t.entry()] {
		if t.kind != denied || n.h.AllOps()[w].Value != t.value {
			f(w)
		}
	}
}

// eachNeeder calls f with the operations that need operation at, without those of denied tokens that were gone through.
func (n *needs) eachNeeder(at int32, through denials, f func(at int32)) {
	ops := n.h.AllOps()
	n.provides(at, func(t token) {
		if t.kind == denied && !through.news(t.key, ops[at].Value) {
			return
		}
		for _, r := range n.needers[t] {
			if t.kind != denied || ops[r].Value != ops[at].Value {
				f(r)
			}
		}
	})
}

// need returns the token that an operation needs, if it needs one. At level lin an insertion found
// the key absent. A failed compare-and-set does not have to be right after the value that it did
// not find was overwritten.
func (n *needs) need(at int32) (token, bool) {
	op := n.h.AllOps()[at]
	lin := n.rules.Level == level.LIN
	switch {
	case op.Kind == history.Read && n.unwritten(op):
		return token{op.Key, n.h.SameText(op.Value), spelt}, true
	case op.Kind == history.Read:
		if n.rules.Level.Repeatable() {
			return token{op.Key, op.Value, held}, !n.rules.Possible || n.firstRead(at)
		}
		return token{op.Key, op.Value, held}, !n.rules.Possible || !n.behindWrite(at)
	case op.Kind == history.ReadNot && lin:
		return token{op.Key, op.Value, overwritten}, true
	case op.Kind == history.ReadNot:
		return token{op.Key, op.Value, denied}, !n.rules.Possible || !n.behindWrite(at)
	}
	return token{op.Key, history.Absent, held}, lin && n.h.Txns[n.txnOf[at]].OpCount() == 1
}

// provides calls f with the table entries of the tokens that an operation provides. Only writes
// provide tokens.
func (n *needs) provides(at int32, f func(token)) {
	ops := n.h.AllOps()
	op := ops[at]
	if op.Kind != history.Write || n.rules.Possible && (n.h.Txns[n.txnOf[at]].Status == history.Aborted || n.lastWrite(at) != at) {
		return
	}
	f(token{op.Key, op.Value, held})
	if n.h.Distinct() {
		f(token{op.Key, n.h.SameText(op.Value), spelt})
	}
	switch {
	case !n.denies[op.Key]:
	case n.rules.Level != level.LIN:
		f(token{op.Key, 0, denied})
	case int(at) > n.first(at):
		f(token{op.Key, ops[at-1].Value, overwritten})
	default:
		f(token{op.Key, history.Absent, overwritten})
	}
}

// first is the index of the first operation of the same transaction.
func (n *needs) first(at int32) int { return n.h.FirstOp(&n.h.Txns[n.txnOf[at]]) }

// initially reports whether the initial state provides a token.
func (n *needs) initially(t token) bool {
	return (t.kind == held || t.kind == spelt) && n.h.Initial(t.key) == t.value
}

// unwritten reports whether nobody wrote what a read returned, as the versions of reads tell it.
func (n *needs) unwritten(op history.Op) bool {
	if !n.h.Distinct() {
		return false
	}
	n.learn(op.Key)
	return len(n.providers[token{op.Key, op.Value, held}]) == 0
}

// onItsKey returns the operations of the same transaction on the same key.
func (n *needs) onItsKey(at int32) []int32 {
	k := n.h.AllOps()[at].Key
	list := n.onKey[n.keyFrom[k]:n.keyFrom[k+1]]
	first := n.first(at)
	from, _ := slices.BinarySearch(list, int32(first))
	to, _ := slices.BinarySearch(list, int32(first+n.h.Txns[n.txnOf[at]].OpCount()))
	return list[from:to]
}

// firstRead reports whether a read is the first operation of its transaction that determines the
// key's value.
func (n *needs) firstRead(at int32) bool {
	list := n.onItsKey(at)
	if o := n.oneKey(list); o != nil {
		return o.first == at
	}
	return firstSaying(n.h.AllOps(), list) == at
}

// behindWrite reports whether the transaction of an operation wrote its key before the operation.
func (n *needs) behindWrite(at int32) bool {
	list := n.onItsKey(at)
	first := int32(-1)
	if o := n.oneKey(list); o != nil {
		first = o.firstWrite
	} else {
		first = firstWrite(n.h.AllOps(), list)
	}
	return first >= 0 && first < at
}

// base returns the operation of the same transaction without which an operation is not kept. For a read without a
// need that is what says which value it returns: the write before it, or the first read of the key. For a write it is
// an earlier read that shows that a missing transaction wrote the value, too. Without it, readers of the value would
// seem to have read from this one.
func (n *needs) base(at int32) (int32, bool) {
	ops := n.h.AllOps()
	if ops[at].Kind == history.Write {
		return n.readBefore(at)
	}
	if _, needy := n.need(at); needy {
		return 0, false
	}
	list := n.onItsKey(at)
	if o := n.oneKey(list); o != nil {
		base, found := n.bases(o, list)[at]
		return base, found
	}
	base, found := at, false
	for _, other := range list {
		switch {
		case other >= at:
			return base, found
		case ops[other].Kind == history.Write, ops[other].Kind == history.Read && !found:
			base, found = other, true
		}
	}
	return base, found
}

// readBefore returns the first read of what a write wrote in the same transaction, before any write of the key, if it
// shows that a missing transaction wrote the value: the history was cut off, and the value is not the initial one or
// the final write of another transaction that can have committed.
func (n *needs) readBefore(at int32) (int32, bool) {
	ops := n.h.AllOps()
	if n.h.Closed || n.h.Initial(ops[at].Key) == ops[at].Value {
		return 0, false
	}
	list := n.onItsKey(at)
	if o := n.oneKey(list); o != nil {
		read, found := o.early[ops[at].Value]
		return read, found && !n.writtenElsewhere(at)
	}
	for _, other := range list {
		switch {
		case ops[other].Kind == history.Write:
			return 0, false
		case ops[other].Kind == history.Read && ops[other].Value == ops[at].Value:
			return other, !n.writtenElsewhere(at)
		}
	}
	return 0, false
}

// writtenElsewhere reports whether another transaction, which did not abort, has what a write wrote as its final write
// of the key.
func (n *needs) writtenElsewhere(at int32) bool {
	op, found := n.h.AllOps()[at], false
	n.eachProvider(token{op.Key, op.Value, held}, func(w int32) {
		t := n.txnOf[w]
		found = found || t != n.txnOf[at] && n.h.Txns[t].Status != history.Aborted && n.lastWrite(w) == w
	})
	return found
}

// lastWrite returns the last write to the same key in the same transaction.
func (n *needs) lastWrite(at int32) int32 {
	list := n.onItsKey(at)
	last := int32(-1)
	if o := n.oneKey(list); o != nil {
		last = o.lastWrite
	} else {
		last = lastWrite(n.h.AllOps(), list)
	}
	if last < 0 {
		return at
	}
	return last
}
