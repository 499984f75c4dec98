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
	// Never, if not Violated, says that no part of the sub-history violates the level either. A judge that says it once
	// judges so that it holds of all that do not violate the level.
	Never bool
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
	m := &minimizer{ctx: ctx, judge: judge, skip: p.n.h.Closed, needed: map[int32]bool{}, probed: map[int32]bool{}, through: denials{}}
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
	// needed are operations without which no part of cur violates the level, and probed are those for which that was
	// looked at. through are the denied tokens of needed whose providers are in needed.
	needed, probed map[int32]bool
	through        denials
}

// try continues with next if it violates the level.
func (m *minimizer) try(next *Part) error {
	_, err := m.tried(next)
	return err
}

// tried is try. never: no part of next violates the level.
func (m *minimizer) tried(next *Part) (never bool, err error) {
	if m.skip && m.rests != nil && next.holds(m.rests) {
		m.cur = next
		return false, nil
	}
	parts := next.Parts()
	j, err := m.judgement(next, parts)
	if err != nil || !j.Violated {
		return j.Never, err
	}
	return false, m.accept(next, parts, j)
}

// judgement judges a part. parts are all its parts.
func (m *minimizer) judgement(next *Part, parts []history.Part) (Judgement, error) {
	j, err := m.judge(m.ctx, next.n.h.Sub(parts))
	if err == nil && m.ctx.Err() != nil {
		err = context.Cause(m.ctx)
	}
	return j, err
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
	j, err := m.judgement(m.cur, m.cur.Parts())
	switch {
	case err != nil:
		return err
	case j.Violated:
		m.judged = m.cur
		return nil
	}
	m.cur, m.rests, m.skip = m.judged, nil, false
	m.needed, m.probed, m.through = map[int32]bool{}, map[int32]bool{}, denials{}
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
	for group := range slices.Chunk(m.cur.opsOf(t), size) {
		group = slices.DeleteFunc(group, func(at int32) bool { return !m.cur.kept[at] })
		if len(group) == 0 || slices.ContainsFunc(group, m.isNeeded) {
			continue
		}
		if _, err := m.tryWithout(group); err != nil {
			return err
		}
	}
	return nil
}

// reduceEach tries to remove each operation of a transaction, one after the other. After successes it tries several
// at once, if the judge said Never before: a part violates the level if a part of it does, so each of them alone could be
// removed, too.
func (m *minimizer) reduceEach(t int32) error {
	list, size := m.cur.opsOf(t), 1
	for len(list) > 0 {
		n := min(size, len(list))
		var group []int32
		for _, at := range list[:n] {
			if m.cur.kept[at] && !m.isNeeded(at) {
				group = append(group, at)
			}
		}
		removed := true
		if len(group) > 0 {
			var err error
			if removed, err = m.tryWithout(group); err != nil {
				return err
			}
		}
		switch {
		case !removed && len(group) > 1:
			size = len(group) / 2
			continue
		case !removed || len(m.needed) == 0:
			size = 1
		case len(group) > 0:
			size *= 2
		}
		list = list[n:]
	}
	return nil
}

// opsOf lists the kept operations of a transaction.
func (p *Part) opsOf(t int32) []int32 {
	first := p.n.h.FirstOp(&p.n.h.Txns[t])
	var list []int32
	for j := range p.n.h.Ops(&p.n.h.Txns[t]) {
		if p.kept[first+j] {
			list = append(list, int32(first+j))
		}
	}
	return list
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
		if err := m.reduceEach(t); err != nil {
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
