package shrink

import "slices"

// An operation may need very many others, such as all writes of its value. If no part without it violates the level, none
// of these is tried.

// mostProbes bounds the operations that are looked at after one trial.
const mostProbes = 8

// isNeeded reports whether it is known that no part without an operation violates the level.
func (m *minimizer) isNeeded(at int32) bool { return m.needed[at] }

// setNeeded notes that no part without an operation violates the level, and so none without what it needs.
func (m *minimizer) setNeeded(at int32) {
	m.needed[at] = true
	n := m.cur.n
	t, needy := n.need(at)
	if !needy {
		if base, ok := n.base(at); ok {
			m.needed[base] = true
		}
	} else if t.kind != denied || m.through.news(t.key, t.value) {
		n.eachProvider(t, func(w int32) { m.needed[w] = true })
	}
}

// tryWithout continues without some operations, in ascending order, if the rest violates the level. Otherwise it looks whether that is because
// of one of a few operations that need them.
func (m *minimizer) tryWithout(ops []int32) (removed bool, err error) {
	before, next := m.cur, m.cur.without(ops)
	never, err := m.tried(next)
	if err != nil || !never {
		return m.cur != before, err
	}
	if len(ops) == 1 {
		m.setNeeded(ops[0])
	}
	others := before.Size() - next.Size() - len(ops)
	if others <= 0 || others > mostProbes {
		return false, nil
	}
	for at, kept := range before.kept {
		at := int32(at)
		if !kept || next.kept[at] || m.probed[at] {
			continue
		}
		if _, removed := slices.BinarySearch(ops, at); removed {
			continue
		}
		m.probed[at] = true
		probe := before.without([]int32{at})
		j, err := m.judgement(probe, probe.Parts())
		if err != nil {
			return false, err
		}
		if !j.Violated && j.Never {
			m.setNeeded(at)
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
