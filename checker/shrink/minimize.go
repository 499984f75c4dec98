package shrink

import (
	"context"
	"slices"

	"github.com/isohound/isohound/history"
)

// Judge decides whether a sub-history violates the level. enough, if not nil,
// returns a part of it that this rests on.
type Judge func(ctx context.Context, sub *history.History) (violated bool, enough func() []history.Part, err error)

// Minimize leaves out of p, which is closed and violates the level, what it can:
// transactions, many at once while there are many, and then single operations, as
// long as the rest violates the level. enough is what judge said about p, if that
// is known. After an error, the end of ctx say, p still violates the level.
//
// Leaving something out takes with it what needs it, and never makes a violation
// of what was none, so that what cannot be left out once never can. A history that
// was cut off is another matter: without an operation that only showed that a
// transaction of unknown outcome cannot have committed there may be more to tell of
// others, and all is tried again.
func (p *Part) Minimize(ctx context.Context, judge Judge, enough func() []history.Part) error {
	parts := p.Parts()
	// What is tried again and again has no keys and sessions beyond its own.
	m := &minimizer{ctx: ctx, judge: judge, cur: New(p.n.h.Extract(parts), p.rules)}
	for t := range m.cur.in {
		m.cur.Add(int32(t))
		m.cur.AddAll(int32(t))
	}
	m.cur.Close() // which learns the keys
	err := m.refine(m.cur.Parts(), enough)
	for left := -1; err == nil && left != m.cur.size(); {
		left = m.cur.size()
		if err = m.reduce(); p.n.h.Closed {
			break
		}
	}
	p.keepOnly(parts, m.cur)
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
}

// try goes on with next if that violates the level.
func (m *minimizer) try(next *Part) error {
	parts := next.Parts()
	violated, enough, err := m.judge(m.ctx, next.n.h.Sub(parts))
	if err == nil && m.ctx.Err() != nil {
		err = context.Cause(m.ctx)
	}
	if err != nil || !violated {
		return err
	}
	m.cur = next
	return m.refine(parts, enough)
}

// refine goes on with what the judgement of the current part rests on, as long as
// that is clearly less: another judgement takes another way, and meets only what is
// left. parts are all that is kept now.
func (m *minimizer) refine(parts []history.Part, enough func() []history.Part) error {
	if enough == nil {
		return nil
	}
	less := m.cur.Clone()
	less.only(parts, enough())
	if less.txns > m.cur.txns*19/20 {
		return nil
	}
	return m.try(less)
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
