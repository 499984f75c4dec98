package shrink

import (
	"cmp"
	"context"
	"slices"

	"github.com/isohound/isohound/history"
)

// narrowFrom is from how many transactions on a part is narrowed to a stretch of the recording first.
const narrowFrom = 1 << 9

// Narrow does the first step of Minimize alone, if p is large: it keeps a short stretch of the recording that violates the
// level. It reports whether anything was removed, so that what judge said about p is out of date.
func (p *Part) Narrow(ctx context.Context, judge Judge, first Judgement) (narrower bool, err error) {
	if p.txns < narrowFrom {
		return false, nil
	}
	before := p.Size()
	err = p.reduced(ctx, judge, first, func(m *minimizer) error {
		err := m.narrow()
		if err == nil {
			err = m.verify()
		}
		return err
	})
	return p.Size() < before, err
}

// narrow looks for a short stretch of the recording that violates the level: what ended until some moment, and of that
// what ended from some moment on. Transactions before and after it stay as far as they wrote what is read in it; to remove
// transactions as reduce does would remove these reads, too. The violation of a long recording mostly shows in a short
// stretch.
func (m *minimizer) narrow() error {
	if m.cur.txns < narrowFrom {
		return nil
	}
	place := ends(m.cur.n.h)
	if err := m.halve(place); err != nil {
		return err
	}
	for t := range place {
		place[t] = -place[t]
	}
	return m.halve(place)
}

// ends returns, by transaction, its place in the order of the ends, or in that of the recording if some are not known.
func ends(h *history.History) []int {
	order, timed := make([]int, len(h.Txns)), true
	for t := range order {
		order[t] = t
		timed = timed && h.Txns[t].End != history.NoTime
	}
	if timed {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(h.Txns[a].End, h.Txns[b].End) })
	}
	place := make([]int, len(order))
	for n, t := range order {
		place[t] = n
	}
	return place
}

// halve keeps the transactions with the lowest places, as few as it finds.
func (m *minimizer) halve(place []int) error {
	few := slices.Min(place) // with places below this the level is not violated
	for {
		list := m.cur.Txns()
		slices.SortFunc(list, func(a, b int32) int { return cmp.Compare(place[a], place[b]) })
		low, _ := slices.BinarySearchFunc(list, few, func(t int32, few int) int { return cmp.Compare(place[t], few) })
		if len(list)-low <= narrowFrom/8 {
			return nil
		}
		middle := (low + len(list)) / 2
		before := m.cur
		if err := m.try(before.among(list[:middle])); err != nil {
			return err
		}
		switch {
		case m.cur == before:
			few = place[list[middle]]
		case m.cur.Size() >= before.Size():
			return nil // it needs nearly everything
		}
	}
}

// among returns the part that has of p these transactions, closed.
func (p *Part) among(txns []int32) *Part {
	out := p.n.part(p.rules)
	in := make([]bool, len(p.in))
	for _, t := range txns {
		in[t] = true
		out.Add(t)
	}
	for at, kept := range p.kept {
		if t := p.n.txnOf[at]; kept && in[t] {
			out.add(int32(at))
		}
	}
	for at, kept := range p.chosen {
		if c := p.n.choices[at]; kept && in[c.ref.Txn] {
			out.AddChoice(c.ref)
		}
	}
	out.Close()
	return out
}
