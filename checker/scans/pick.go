package scans

import (
	"context"
	"slices"
)

// picker finds sets of literals that have one choice of each clause and no nogood, which is a set without
// an execution. It tries the clauses first that were often part of a nogood.
type picker struct {
	ids      map[literal]int
	literals []literal
	clauses  []clause
	nogoods  [][]int
	having   [][]int // by literal: the nogoods that have it

	held  []bool // by literal: it is in the set
	set   []int
	rows  map[rowOf][2]int // how many literals of the set say that the row was not found, or was found
	steps int
}

// clause has choices of which one must hold. All literals of a choice must hold.
type clause struct {
	choices [][]int
	weight  int // how many nogoods had a choice of it
}

type rowOf struct {
	s   *scan
	row int32
}

func newPicker() *picker { return &picker{ids: map[literal]int{}, rows: map[rowOf][2]int{}} }

func (p *picker) id(l literal) int {
	n, ok := p.ids[l]
	if !ok {
		n = len(p.literals)
		p.ids[l] = n
		p.literals, p.having, p.held = append(p.literals, l), append(p.having, nil), append(p.held, false)
	}
	return n
}

func (p *picker) indices(list []literal) []int {
	out := make([]int, len(list))
	for i := range list {
		out[i] = p.id(list[i])
	}
	return out
}

func (p *picker) addClause(choices [][]literal) {
	c := clause{}
	for _, all := range choices {
		c.choices = append(c.choices, p.indices(all))
	}
	p.clauses = append(p.clauses, c)
}

// addNogood adds a part of the latest set.
func (p *picker) addNogood(list []literal) {
	bad := p.indices(list)
	for _, l := range bad {
		p.having[l] = append(p.having[l], len(p.nogoods))
	}
	p.nogoods = append(p.nogoods, bad)
	for n := range p.clauses {
		if slices.ContainsFunc(p.clauses[n].choices, func(all []int) bool {
			return slices.ContainsFunc(all, func(l int) bool { return slices.Contains(bad, l) })
		}) {
			p.clauses[n].weight++
		}
	}
}

// next returns a set. It returns false if there is none, or if the search was given up, because it took
// mostSteps or ctx ended.
func (p *picker) next(ctx context.Context) (set []literal, found, gaveUp bool) {
	slices.SortStableFunc(p.clauses, func(a, b clause) int { return b.weight - a.weight })
	p.set, p.steps = p.set[:0], 0
	clear(p.held)
	clear(p.rows)
	if !p.try(ctx, 0) {
		return nil, false, p.steps > mostSteps || ctx.Err() != nil
	}
	for _, l := range p.set {
		set = append(set, p.literals[l])
	}
	return set, true, false
}

// try adds one choice of each clause from clause n on.
func (p *picker) try(ctx context.Context, n int) bool {
	if p.steps++; p.steps > mostSteps || ctx.Err() != nil {
		return false
	}
	held := func(all []int) bool { return !slices.ContainsFunc(all, func(l int) bool { return !p.held[l] }) }
	for n < len(p.clauses) && slices.ContainsFunc(p.clauses[n].choices, held) {
		n++
	}
	if n == len(p.clauses) {
		return true
	}
	for _, all := range p.clauses[n].choices {
		before := len(p.set)
		if p.add(all) && p.try(ctx, n+1) {
			return true
		}
		p.undo(before)
	}
	return false
}

// add adds literals to the set, and reports whether the set still can have an execution.
func (p *picker) add(all []int) bool {
	for _, l := range all {
		if p.held[l] {
			continue
		}
		x := &p.literals[l]
		says, at := 0, rowOf{x.s, x.row}
		if x.found {
			says = 1
		}
		told := p.rows[at]
		told[says]++
		p.held[l], p.set, p.rows[at] = true, append(p.set, l), told
		if told[1-says] > 0 || slices.ContainsFunc(p.having[l], func(n int) bool {
			return !slices.ContainsFunc(p.nogoods[n], func(m int) bool { return !p.held[m] })
		}) {
			return false
		}
	}
	return true
}

// undo removes the literals that were added after the first n.
func (p *picker) undo(n int) {
	for _, l := range p.set[n:] {
		x := &p.literals[l]
		says, at := 0, rowOf{x.s, x.row}
		if x.found {
			says = 1
		}
		told := p.rows[at]
		told[says]--
		p.held[l], p.rows[at] = false, told
	}
	p.set = p.set[:n]
}
