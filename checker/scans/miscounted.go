package scans

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/isohound/isohound/history"
)

// changer is an event with what the count would be more without it.
type changer struct{ at, by int }

// miscounted returns the events that changed the number of rows that a statement counts away from the number that it
// counted: first single ones without which the number is right, then several that make it right together, if some are
// found by taking one after the other (the latest first, or after a restart at random, and those whose transactions ended last
// first), then the other single ones, the latest first.
func (s *schedule) miscounted(e *entry, r *rand.Rand) (lists [][]int) {
	missing, all := s.changers(e)
	for _, m := range all {
		if m.by == missing {
			lists = append(lists, []int{m.at})
		}
	}
	movable := slices.DeleteFunc(slices.Clone(all), func(m changer) bool {
		_, _, ok := s.behind(e, m.at)
		return !ok
	})
	together := func() {
		var list []int
		left := missing
		for _, m := range movable {
			if rest := left - m.by; rest*missing >= 0 {
				list, left = append(list, m.at), rest
			}
		}
		if slices.Sort(list); left == 0 && len(list) > 1 && !slices.ContainsFunc(lists, func(l []int) bool { return slices.Equal(l, list) }) {
			lists = append(lists, list)
		}
	}
	if r != nil {
		r.Shuffle(len(movable), func(i, j int) { movable[i], movable[j] = movable[j], movable[i] })
	}
	together()
	slices.SortStableFunc(movable, func(a, b changer) int {
		return cmp.Compare(s.ends[s.txn(s.order[b.at])], s.ends[s.txn(s.order[a.at])])
	})
	together()
	for _, m := range all {
		if m.by != missing {
			lists = append(lists, []int{m.at})
		}
	}
	return lists
}

// changers returns how many rows a statement misses, and the events, the latest first, that changed its count in that direction.
func (s *schedule) changers(e *entry) (missing int, out []changer) {
	p, q := &s.past, &e.queries[e.query]
	missing = s.missing(e, q)
	after := q.count()
	var redo []history.Value
	for at := len(s.order) - 1; at >= s.back(); at-- {
		from, to := p.from[at]-p.first, len(p.log)-len(redo)
		if from < 0 {
			break
		}
		if from == to {
			continue
		}
		for k := to - 1; k >= from; k-- {
			redo = append(redo, s.values[p.log[k].key])
			s.write(p.log[k].key, p.log[k].old)
		}
		before := q.count()
		s.looks -= 1 + before + to - from // a count looks at the rows
		if by := before - after; by*missing > 0 {
			out = append(out, changer{at, by})
		}
		after = before
	}
	for n := len(redo) - 1; n >= 0; n-- {
		s.write(p.log[len(p.log)-1-n].key, redo[n])
	}
	return missing, out
}

// missing returns how many rows a statement that counts misses in the current state, with the writes of its
// transaction before it.
func (s *schedule) missing(e *entry, q *query) int {
	s.log = s.log[:0]
	for _, op := range s.h.Ops(&s.h.Txns[e.txn])[:q.p.Ops[0]] {
		if op.Kind == history.Write {
			s.put(&op)
		}
	}
	n := q.p.Count - q.count()
	s.undo()
	return n
}
