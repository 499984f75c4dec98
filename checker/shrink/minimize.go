package shrink

import (
	"context"
	"slices"

	"github.com/isohound/isohound/history"
)

// Judge decides whether a sub-history violates the level.
type Judge func(ctx context.Context, sub *history.History) (Judgement, error)

// Judgement is what a Judge says.
type Judgement struct {
	Violated bool
	// Enough, if not nil, returns a part of the sub-history that a violation rests on.
	Enough func() []history.Part
	// Leap: the search goes on with that part, once it is judged, where it is clearly
	// less. Else what is not in it is left out bit by bit, in the usual order, but
	// without another judgement.
	Leap bool
}

// Minimize leaves out of p, which is closed and violates the level, what it can:
// transactions, many at once while there are many, and then single operations, as
// long as the rest violates the level. first is what judge says about p. After an
// error, the end of ctx say, p still violates the level.
//
// Leaving something out takes with it what needs it, and never makes a violation
// of what was none, so that what cannot be left out once never can. A history that
// was cut off is another matter: without an operation that only showed that a
// transaction of unknown outcome cannot have committed there may be more to tell of
// others, and all is tried again.
func (p *Part) Minimize(ctx context.Context, judge Judge, first Judgement) error {
	parts := p.Parts()
	// What is tried again and again has no keys and sessions beyond its own.
	cur := New(p.n.h.Extract(parts), p.rules)
	for t := range cur.in {
		cur.Add(int32(t))
		cur.AddAll(int32(t))
	}
	cur.Close() // which learns the keys
	m := &minimizer{ctx: ctx, judge: judge, skip: p.n.h.Closed}
	err := m.accept(cur, cur.Parts(), first)
	for left := -1; err == nil && left != m.cur.size(); {
		left = m.cur.size()
		if err = m.reduce(); err == nil {
			err = m.verify()
		}
		if p.n.h.Closed {
			break
		}
	}
	p.keepOnly(parts, m.judged)
	return err
}

func (p *Part) size() int { return p.txns + p.ops }

// keepOnly keeps of p, of which parts are all, what cur keeps of them.
func (p *Part) keepOnly(parts []history.Part, cur *Part) {
	for n, part := range parts {
		p.in[part.Txn] = cur.in[n]
		first := p.n.h.FirstOp(&p.n.h.Txns[part.Txn])
		for i, j := range part.Ops {
			p.kept[first+j] = cur.Has(int32(n), i)
		}
		p.count[part.Txn] = cur.count[n]
	}
	p.txns, p.ops = cur.txns, cur.ops
}

type minimizer struct {
	ctx   context.Context
	judge Judge
	cur   *Part // the least so far that violates the level
	// rests is the part of cur that the latest judgement rests on, or nil. What holds
	// it violates the level without being judged; skip says to rely on that.
	rests  *Part
	skip   bool
	judged *Part // the least so far that was judged
}

// try goes on with next if that violates the level.
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

// accept goes on with next, of which parts are all, and which was judged.
func (m *minimizer) accept(next *Part, parts []history.Part, j Judgement) error {
	m.cur, m.judged, m.rests = next, next, nil
	if j.Enough == nil {
		return nil
	}
	m.rests = next.Clone()
	m.rests.only(parts, j.Enough())
	if j.Leap && m.rests.txns <= next.txns*19/20 {
		return m.leap()
	}
	return nil
}

// leap goes on with what the latest judgement rests on, if another judgement says
// that this suffices: it takes another way, and meets only what is left.
func (m *minimizer) leap() error {
	rests := m.rests
	m.rests = nil
	return m.try(rests)
}

// verify judges what is left, if that was not done. If it does not violate the level
// after all, everything since the latest judgement is tried again, and judged.
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

// holds reports whether everything in other is kept.
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
	return true
}

// only keeps of p, of which parts are all, some parts of them, and what closes
// that.
func (p *Part) only(parts, some []history.Part) {
	clear(p.in)
	clear(p.kept)
	clear(p.count)
	p.txns, p.ops = 0, 0
	for _, s := range some {
		t := parts[s.Txn].Txn
		p.Add(t)
		for _, i := range s.Ops {
			p.Add(t, parts[s.Txn].Ops[i])
		}
	}
	p.Close()
}

// fewTxns are so few that groups of them are not worth a trial.
const fewTxns = 4

// reduce tries to leave out transactions and then operations, each once.
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
		first := m.cur.n.h.FirstOp(&m.cur.n.h.Txns[t])
		for j := range m.cur.n.h.Ops(&m.cur.n.h.Txns[t]) {
			if !m.cur.Has(t, j) {
				continue
			}
			next := m.cur.Clone()
			next.drop(int32(first + j))
			if err := m.try(next); err != nil {
				return err
			}
		}
	}
	return nil
}
