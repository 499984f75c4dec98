package polygraph

import (
	"context"

	"github.com/isohound/isohound/checker/sat"
)

// Combining writes (Cobra paper, section 3.1). If a transaction reads a key from T and writes it,
// it is the next writer of the key after T. No other writer W can come between them. At
// serializability the read would return W's value. At snapshot isolation W cannot have committed
// between T's commit and the snapshot, for the same reason. W also cannot overlap with either of
// them, because all three write the key. So such writers form a chain that nothing interrupts. Of
// two chains, one comes before the other as a whole. At prefix consistency another writer may commit
// between T's reader's snapshot and its commit, so writes are not combined there.
//
// This needs unique values: another writer of T's value may come between T and its reader. So
// writes are combined only on keys where each value, including the initial value, has one writer,
// and where every writer counts. There each read of a transaction that counts has one source.

// writeChain is a chain of writers of a key. Each of them read what the one before it wrote.
// readers are the reads of these writes.
type writeChain struct {
	members []int32   // transactions
	writes  []int32   // by member: its write
	readers [][]int32 // by member: reads by transactions that count
}

func (c *writeChain) head() int32 { return c.members[0] }
func (c *writeChain) tail() int32 { return c.members[len(c.members)-1] }

// read reports whether any write of the chain was read.
func (c *writeChain) read() bool { return len(c.members) > 1 || len(c.readers[0]) > 0 }

// combined are the write chains of a key.
type combined struct {
	chains []writeChain
	at     map[int32]spot // by transaction
}

type spot struct{ chain, pos int32 }

// combining has the chains of the keys that were looked at so far, and the variables for the order
// of two chains.
type combining struct {
	keys  []*combined // nil: not looked at
	pairs []chainPair
	vars  map[[5]int32]int32 // by heads and tails, and the key without Coalesce
}

// chainPair has the nodes of two edges: from tail to otherHead if the first chain comes first, from
// otherTail to head if it does not.
type chainPair struct{ tail, otherHead, otherTail, head int32 }

func newCombining(keys int) *combining {
	return &combining{keys: make([]*combined, keys), vars: map[[5]int32]int32{}}
}

// writeChainsOn returns the chains of a key, or nil if its writes are not combined.
func (x *search) writeChainsOn(k int32) *combined {
	if x.pipe == nil || x.pipe.combine == nil {
		return nil
	}
	c := x.pipe.combine.keys[k]
	if c == nil {
		c = x.m.combine(k)
		x.pipe.combine.keys[k] = c
	}
	if len(c.chains) == 0 {
		return nil
	}
	return c
}

// combine returns the chains of a key. There are none if its writes cannot be combined.
func (m *model) combine(k int32) *combined {
	c := &combined{at: map[int32]spot{}}
	for w := m.keyFrom[k]; w < m.keyFrom[k+1]; w++ {
		if m.optional[m.writer[w]] || m.initially(m.class[w]) || len(m.classFrom.of(m.class[w])) > 1 {
			return c
		}
	}
	for _, r := range m.readsOn.of(k) {
		if m.reads[r].class >= m.values() {
			return c
		}
	}
	next := map[int32]int32{} // by write: the next writer in its chain
	follows := map[int32]bool{}
	readers := map[int32][]int32{} // by write
	writeOf := map[int32]int32{}
	for w := m.keyFrom[k]; w < m.keyFrom[k+1]; w++ {
		writeOf[m.writer[w]] = w
	}
	for _, r := range m.readsOn.of(k) {
		rd := &m.reads[r]
		if rd.source < 0 || m.optional[rd.txn] {
			continue
		}
		readers[rd.source] = append(readers[rd.source], r)
		// Two transactions that overwrote one version contradict each other. The second one begins
		// a chain of its own. The search then finds that neither order works.
		if _, taken := next[rd.source]; !taken {
			if _, writes := writeOf[rd.txn]; writes {
				next[rd.source] = rd.txn
				follows[rd.txn] = true
			}
		}
	}
	for w := m.keyFrom[k]; w < m.keyFrom[k+1]; w++ {
		if follows[m.writer[w]] {
			continue
		}
		var l writeChain
		for v := w; ; {
			t := m.writer[v]
			c.at[t] = spot{int32(len(c.chains)), int32(len(l.members))}
			l.members = append(l.members, t)
			l.writes = append(l.writes, v)
			l.readers = append(l.readers, readers[v])
			u, ok := next[v]
			if !ok {
				break
			}
			v = writeOf[u]
		}
		c.chains = append(c.chains, l)
	}
	return c
}

// wroteFirst returns the literal that t writes key k before u does.
func (x *search) wroteFirst(k, t, u int32) sat.Lit {
	c := x.writeChainsOn(k)
	if c == nil {
		return x.precedes(k, x.g.commit(t), x.g.turn(u))
	}
	a, b := c.at[t], c.at[u]
	switch {
	case a.chain != b.chain:
		return x.chainFirst(k, &c.chains[a.chain], &c.chains[b.chain])
	case a.pos < b.pos:
		return x.truth
	}
	return x.truth.Not()
}

// chainFirst returns the literal that chain a comes before chain b.
func (x *search) chainFirst(k int32, a, b *writeChain) sat.Lit {
	g := x.g
	if g.split == 0 && len(a.members) == 1 && len(b.members) == 1 {
		return x.precedes(k, a.head(), b.head())
	}
	flip := a.head() > b.head()
	if flip {
		a, b = b, a
	}
	p := chainPair{g.commit(a.tail()), g.start(b.head()), g.commit(b.tail()), g.start(a.head())}
	if x.reach != nil {
		if x.reaches(p.tail, p.otherHead) {
			return signed(x.truth, flip)
		}
		if x.reaches(p.otherTail, p.head) {
			return signed(x.truth.Not(), flip)
		}
	}
	id := [5]int32{a.head(), a.tail(), b.head(), b.tail(), none}
	if !x.pipe.cfg.Has(Coalesce) {
		id[4] = k
	}
	v, ok := x.pipe.combine.vars[id]
	if !ok {
		v = x.newVar(variable{isWriteChains, int32(len(x.pipe.combine.pairs)), 0})
		x.pipe.combine.pairs = append(x.pipe.combine.pairs, p)
		x.pipe.combine.vars[id] = v
		x.added = true
		if x.reach != nil { // a path between any two members decides the order of the chains
			if x.reaches(p.head, p.otherTail) {
				x.s.Add(sat.Pos(v))
			}
			if x.reaches(p.otherHead, p.tail) {
				x.s.Add(sat.Pos(v).Not())
			}
		}
	}
	return signed(sat.Pos(v), flip)
}

func signed(l sat.Lit, negate bool) sat.Lit {
	if negate {
		return l.Not()
	}
	return l
}

// edgeOf returns the edge that a literal about an order stands for.
func (x *search) edgeOf(l sat.Lit) (from, to int32) {
	v := x.vars[l.Var()]
	if v.kind == isWriteChains {
		p := &x.pipe.combine.pairs[v.a]
		if l.Positive() {
			return p.tail, p.otherHead
		}
		return p.otherTail, p.head
	}
	if l.Positive() {
		return v.a, v.b
	}
	return v.b, v.a
}

// encodeWriteChains is encodePairs for a key with combined writes. The readers of a member come
// before the next member, and so before all later chains. So only the readers of a tail, and only
// the head of the other chain, need clauses.
func (x *search) encodeWriteChains(k int32, c *combined) error {
	m, g := x.m, x.g
	for i := range c.chains {
		a := &c.chains[i]
		for n := range a.members[:len(a.members)-1] {
			for _, r := range a.readers[n] {
				if w := a.writes[n+1]; m.reads[r].txn != m.writer[w] {
					if err := x.constrain(constraint{k, r, a.writes[n], w, nil}); err != nil {
						return err
					}
				}
			}
		}
		for j := range c.chains[:i] {
			b := &c.chains[j]
			x.pipe.constraints++
			if x.ctx.Err() != nil {
				return context.Cause(x.ctx)
			}
			if !g.apart && !a.read() && !b.read() {
				continue
			}
			if l := x.chainFirst(k, a, b); l != x.truth && l != x.truth.Not() {
				x.pipe.left++
			}
			if err := x.readersFirst(k, a, b); err != nil {
				return err
			}
			if err := x.readersFirst(k, b, a); err != nil {
				return err
			}
		}
	}
	for _, r := range m.readsOn.of(k) {
		rd := &m.reads[r]
		switch {
		case rd.source == fromInitial && !m.optional[rd.txn]:
			for i := range c.chains {
				w := c.chains[i].writes[0]
				if m.writer[w] == rd.txn {
					continue
				}
				if err := x.constrain(constraint{k, r, fromInitial, w, nil}); err != nil {
					return err
				}
			}
		case m.optional[rd.txn]:
			if err := x.encodeRead(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// readersFirst adds the constraints that if chain a comes before chain b, the readers of a's tail
// come before b, too.
func (x *search) readersFirst(k int32, a, b *writeChain) error {
	n := len(a.members) - 1
	for _, r := range a.readers[n] {
		if x.m.reads[r].txn == b.head() {
			continue
		}
		if err := x.constrain(constraint{k, r, a.writes[n], b.writes[0], nil}); err != nil {
			return err
		}
	}
	return nil
}
