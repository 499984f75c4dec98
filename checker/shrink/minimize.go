package shrink

import (
	"context"
	"slices"

	"github.com/isohound/isohound/history"
)

// Judge decides whether a sub-history violates the level.
type Judge func(ctx context.Context, sub *history.History) (Judgement, error)

// Judgement is the result of a Judge.
type Judgement struct {
	Violated bool
	// Enough, if not nil, returns a part of the sub-history on which a violation rests.
	Enough func() []history.Part
	// Leap: if that part is clearly smaller, it is judged, and the search continues with it.
	// Otherwise what is not in it is removed step by step, in the usual order, but without further
	// judgements.
	Leap bool
}

// Minimize removes what it can from p, which is closed and violates the level, as long as the rest
// violates the level: first transactions, many at once while there are many, then single
// operations. first is what judge says about p. After an error, such as the end of ctx, p still
// violates the level.
//
// Removing an operation also removes everything that needs it. It never creates a violation. So
// what cannot be removed once never can be later. A history that was cut off is different: without
// an operation that only showed that a transaction of unknown outcome cannot have committed, more
// may follow about other transactions. So everything is tried again.
func (p *Part) Minimize(ctx context.Context, judge Judge, first Judgement) error {
	return p.reduced(ctx, judge, first, func(m *minimizer) error {
		err := m.narrow()
		for left := -1; err == nil && left != m.cur.Size(); {
			left = m.cur.Size()
			if err = m.reduce(); err == nil {
				err = m.verify()
			}
			if p.n.h.Closed {
				break
			}
		}
		return err
	})
}

// reduced keeps of p what f leaves.
func (p *Part) reduced(ctx context.Context, judge Judge, first Judgement, f func(*minimizer) error) error {
	parts := p.Parts()
	// The part that is judged again and again has only its own keys and sessions.
	cur := New(p.n.h.Extract(parts), p.rules)
	for t := range cur.in {
		cur.Add(int32(t))
		cur.AddAll(int32(t))
	}
	for _, c := range cur.n.choices {
		cur.AddChoice(c.ref)
	}
	cur.Close() // fills the tables for the keys
	m := &minimizer{ctx: ctx, judge: judge, skip: p.n.h.Closed}
	err := m.accept(cur, cur.Parts(), first)
	if err == nil {
		err = f(m)
	}
	p.keepOnly(parts, m.judged)
	return err
}

// Size is the number of transactions and operations that are kept.
func (p *Part) Size() int { return p.txns + p.ops }

// keepOnly keeps of p only what cur keeps. parts are all parts of p.
func (p *Part) keepOnly(parts []history.Part, cur *Part) {
	for n, part := range parts {
		p.in[part.Txn] = cur.in[n]
		first := p.n.h.FirstOp(&p.n.h.Txns[part.Txn])
		for i, j := range part.Ops {
			p.kept[first+j] = cur.Has(int32(n), i)
		}
		p.count[part.Txn] = cur.count[n]
	}
	// The choices of all parts, in their order, are those of cur.
	n := 0
	for at, kept := range p.chosen {
		if kept {
			p.chosen[at] = cur.chosen[n]
			n++
		}
	}
	p.txns, p.ops = cur.txns, cur.ops
}

type minimizer struct {
	ctx   context.Context
	judge Judge
	cur   *Part // the smallest part so far that violates the level
	// rests is the part of cur on which the latest judgement rests, or nil. A part that contains it
	// violates the level. If skip is set, such a part is not judged.
	rests  *Part
	skip   bool
	judged *Part // the smallest part so far that was judged
}

// try continues with next if it violates the level.
func (m *minimizer) try(next *Part) error {
	if m.skip && m.rests != nil && next.holds(m.rests) {
		m.cur = next
		return nil
	}
	parts := next.Parts()
	j, err := m.judge(m.ctx, next.n.h.Sub(parts))
	if err == nil && m.ctx.Err() != nil {
		err = context.Cause(m.ctx)
	}
	if err != nil || !j.Violated {
		return err
	}
	return m.accept(next, parts, j)
}

// accept continues with next, which was judged. parts are all parts of next.
func (m *minimizer) accept(next *Part, parts []history.Part, j Judgement) error {
	m.cur, m.judged, m.rests = next, next, nil
	if j.Enough == nil {
		return nil
	}
	m.rests = next.Clone()
	m.rests.only(parts, j.Enough())
	if j.Leap && (m.rests.txns <= next.txns*19/20) {
		return m.leap()
	}
	return nil
}

// leap continues with the part on which the latest judgement rests, if another judgement says that
// it violates the level. That judgement may rest on even less.
func (m *minimizer) leap() error {
	rests := m.rests
	m.rests = nil
	return m.try(rests)
}

// verify judges the current part if that was not done yet. If it does not violate the level,
// everything since the latest judgement is tried again, with judgements.
func (m *minimizer) verify() error {
	if m.cur == m.judged {
		return nil
	}
	j, err := m.judge(m.ctx, m.cur.n.h.Sub(m.cur.Parts()))
	switch {
	case err == nil && m.ctx.Err() != nil:
		return context.Cause(m.ctx)
	case err != nil:
		return err
	case j.Violated:
		m.judged = m.cur
		return nil
	}
	m.cur, m.rests, m.skip = m.judged, nil, false
	return m.reduce()
}

// holds reports whether p contains other.
func (p *Part) holds(other *Part) bool {
	for t, in := range other.in {
		if in && !p.in[t] {
			return false
		}
	}
	for at, kept := range other.kept {
		if kept && !p.kept[at] {
			return false
		}
	}
	for at, kept := range other.chosen {
		if kept && !p.chosen[at] {
			return false
		}
	}
	return true
}

// only keeps of p only some of its parts, closed. parts are all parts of p.
func (p *Part) only(parts, some []history.Part) {
	p.Clear()
	for _, s := range some {
		t := parts[s.Txn].Txn
		p.Add(t)
		for _, i := range s.Ops {
			p.Add(t, parts[s.Txn].Ops[i])
		}
	}
	p.Close()
}

// fewTxns: with fewer transactions, removing them in groups is not worth a trial. fewOps is the same for the operations of
// a transaction.
const (
	fewTxns = 4
	fewOps  = 16
)

// reduceOps tries to remove the operations of a transaction, in groups of a size.
func (m *minimizer) reduceOps(t int32, size int) error {
	first := m.cur.n.h.FirstOp(&m.cur.n.h.Txns[t])
	var list []int
	for j := range m.cur.n.h.Ops(&m.cur.n.h.Txns[t]) {
		if m.cur.Has(t, j) {
			list = append(list, j)
		}
	}
	for group := range slices.Chunk(list, size) {
		if group = slices.DeleteFunc(group, func(j int) bool { return !m.cur.Has(t, j) }); len(group) == 0 {
			continue
		}
		next := m.cur.Clone()
		for _, j := range group {
			next.drop(int32(first + j))
		}
		if err := m.try(next); err != nil {
			return err
		}
	}
	return nil
}

// reduce tries to remove each transaction and then each operation once.
func (m *minimizer) reduce() error {
	for size := m.cur.txns / 2; size >= 1; size /= 2 {
		if size > 1 && m.cur.txns < fewTxns {
			continue
		}
		list := m.cur.Txns()
		for from := 0; from < len(list); from += size {
			group := slices.DeleteFunc(slices.Clone(list[from:min(from+size, len(list))]), func(t int32) bool { return !m.cur.in[t] })
			if len(group) == 0 {
				continue
			}
			next := m.cur.Clone()
			for _, t := range group {
				next.dropTxn(t)
			}
			if err := m.try(next); err != nil {
				return err
			}
		}
	}
	for _, t := range m.cur.Txns() {
		if m.cur.whole(t) {
			continue
		}
		for size := int(m.cur.count[t]) / 2; size >= fewOps; size /= 2 {
			if err := m.reduceOps(t, size); err != nil {
				return err
			}
		}
		if err := m.reduceOps(t, 1); err != nil {
			return err
		}
	}
	for at := range m.cur.chosen {
		if !m.cur.chosen[at] {
			continue
		}
		next := m.cur.Clone()
		next.dropChoice(at)
		if err := m.try(next); err != nil {
			return err
		}
	}
	return nil
}
