package shrink

import "slices"

// An operation may need very many others, such as all writes of its value. If no part without it violates the level, none
// of these is tried.

// mostProbes bounds the operations that are looked at after one trial.
const mostProbes = 8

// isNeeded reports whether no part without an operation, and without what needs it, can violate the level, as far as that
// is known.
func (m *minimizer) isNeeded(at int32) bool {
	if m.needed[at] {
		return true
	}
	if len(m.needed) == 0 {
		return false
	}
	needed := false
	look := func(r int32) { needed = needed || m.needed[r] }
	m.cur.n.eachNeeder(at, denials{}, look)
	m.cur.n.eachWithout(at, look)
	return needed
}

// tryWithout continues without some operations if the rest violates the level. Otherwise it looks whether that is because
// of one of a few operations that need them.
func (m *minimizer) tryWithout(ops []int32) (removed bool, err error) {
	before, next := m.cur, m.cur.without(ops)
	never, err := m.tried(next)
	if err != nil || !never {
		return m.cur != before, err
	}
	if len(ops) == 1 {
		m.needed[ops[0]] = true
	}
	others := before.Size() - next.Size() - len(ops)
	if others <= 0 || others > mostProbes {
		return false, nil
	}
	for at, kept := range before.kept {
		at := int32(at)
		if !kept || next.kept[at] || m.probed[at] || slices.Contains(ops, at) {
			continue
		}
		m.probed[at] = true
		probe := before.without([]int32{at})
		j, err := m.judgement(probe, probe.Parts())
		if err != nil {
			return false, err
		}
		if !j.Violated && j.Never {
			m.needed[at] = true
			return false, nil
		}
	}
	return false, nil
}

// without returns a copy without some operations and what needs them.
func (p *Part) without(ops []int32) *Part {
	next := p.Clone()
	next.drop(slices.Clone(ops)...)
	return next
}
