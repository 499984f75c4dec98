package scans

import (
	"context"
	"fmt"
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// errNotRefuted says that a set of choices that was refuted has an execution after all.
var errNotRefuted = errors.New("choices of scans that contradict each other have an execution; this is a bug in isohound")

// violated returns the verdict that no choice has an execution, with its proof. c.h gets the choices on which
// the proof rests.
func (c *choices) violated(ctx context.Context) (*Decision, error) {
	p := &refuter{choices: c, clauses: c.pick.clauses, held: map[int]int{}, branched: map[int]bool{}, used: map[int]bool{}}
	if err := p.search(ctx, 0); err != nil {
		return nil, err
	}
	needed, err := c.judged(c.needed(p.used))
	if err != nil || needed == nil {
		return &Decision{Verdict: verdict.Violated, Reason: c.cases()}, err
	}
	a := verdict.Anomaly{Kind: verdict.NoChoice, Count: 1}
	a.Choices = c.add(p)
	d := &Decision{Verdict: verdict.Violated}
	for _, n := range needed {
		bad := &c.refuted[n]
		a.Cases = append(a.Cases, verdict.Case{Assumed: c.assumed(bad.set), Anomaly: bad.res.Anomalies[0], Opposed: bad.opposed})
		for _, t := range bad.res.Anomalies[0].Txns {
			if !slices.Contains(a.Txns, t) {
				a.Txns = append(a.Txns, t)
			}
		}
	}
	for _, r := range a.Choices {
		if t := int32(r.Txn); !slices.Contains(a.Txns, t) {
			a.Txns = append(a.Txns, t)
		}
	}
	slices.Sort(a.Txns)
	d.anomaly, d.of, d.check = &a, c.h, c.check
	return d, nil
}

// judged judges those sets again whose history has got operations since. It returns nil if the engine shows no
// anomaly of one.
func (c *choices) judged(list []int) ([]int, error) {
	for _, n := range list {
		bad := &c.refuted[n]
		if bad.of != c.h {
			again, err := c.check(c.with(bad.set))
			switch {
			case err != nil:
				return nil, err
			case again.Verdict == verdict.Satisfied:
				return nil, errNotRefuted
			}
			bad.res, bad.of = again, c.h
		}
		if len(bad.res.Anomalies) == 0 {
			return nil, nil
		}
	}
	return list, nil
}

// needed returns those of the used sets, in order, that say no more than another one.
func (c *choices) needed(used map[int]bool) (out []int) {
	says := make([]map[string]bool, len(c.refuted))
	for n := range c.refuted {
		says[n] = map[string]bool{}
		for _, a := range c.assumed(c.refuted[n].set) {
			for _, s := range a.Seen {
				says[n][fmt.Sprint(a.ScanRef, s.Kind, s.Item, string(s.Value))] = true
			}
		}
	}
	within := func(a, b map[string]bool) bool {
		for x := range a {
			if !b[x] {
				return false
			}
		}
		return true
	}
	for n := range c.refuted {
		spare := !used[n]
		for m := range c.refuted {
			spare = spare || m != n && used[m] && within(says[m], says[n]) && (m < n || len(says[m]) < len(says[n]))
		}
		if !spare {
			out = append(out, n)
		}
	}
	return out
}

// add adds the choices to the history in which the search branched. It returns them in the order of the search.
func (c *choices) add(p *refuter) []history.ChoiceRef {
	more := map[history.ScanRef][]history.Choice{}
	var order []history.ChoiceRef
	for n := range p.clauses {
		if !p.branched[n] {
			continue
		}
		var s *scan
		given := 0
		choice := history.Choice{}
		for _, all := range p.clauses[n].choices {
			var list []history.Seen
			for _, l := range all {
				x := &c.pick.literals[l]
				s, given = x.s, x.given
				for _, a := range c.assumed([]literal{*x}) {
					list = append(list, a.Seen...)
				}
			}
			choice = append(choice, list)
		}
		if given == 0 {
			choice = shortened(choice)
		}
		at := history.ScanRef{Txn: s.txn, Number: s.number}
		ref := history.ChoiceRef{Txn: s.txn, Predicate: s.number, Choice: given - 1}
		if given == 0 {
			ref.Choice = len(c.h.Predicates(s.txn)[s.number].Choices) + len(more[at])
			more[at] = append(more[at], choice)
		}
		order = append(order, ref)
	}
	c.h = c.h.WithChoices(more)
	return order
}

// shortened leaves out alternatives that say no less than another one.
func shortened(choice history.Choice) history.Choice {
	says := func(a, b []history.Seen) bool { // a says all that b says
		return !slices.ContainsFunc(b, func(s history.Seen) bool { return !slices.ContainsFunc(a, s.Equal) })
	}
	var out history.Choice
	for n, list := range choice {
		spare := false
		for m, other := range choice {
			spare = spare || m != n && says(list, other) && (m < n || !says(other, list))
		}
		if !spare {
			out = append(out, list)
		}
	}
	return out
}

// refuter searches through all ways to choose, in the order of the clauses, and turns back at a refuted set.
// So it finds which clauses and which refuted sets a proof needs.
type refuter struct {
	*choices
	clauses        []clause
	held           map[int]int // by literal: how many alternatives that were taken have it
	branched, used map[int]bool
}

func (p *refuter) search(ctx context.Context, n int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	has := func(all []int) bool { return !slices.ContainsFunc(all, func(l int) bool { return p.held[l] == 0 }) }
	for n < len(p.clauses) && slices.ContainsFunc(p.clauses[n].choices, has) {
		n++
	}
	if n == len(p.clauses) {
		return errNotRefuted
	}
	p.branched[n] = true
	for _, all := range p.clauses[n].choices {
		for _, l := range all {
			p.held[l]++
		}
		closed, err := p.closed(all)
		if err == nil && !closed {
			err = p.search(ctx, n+1)
		}
		if err != nil {
			return err
		}
		for _, l := range all {
			p.held[l]--
		}
	}
	return nil
}

// closed reports whether what is held contains a refuted set. all was taken last.
func (p *refuter) closed(all []int) (bool, error) {
	for n := range p.refuted {
		if !slices.ContainsFunc(p.refuted[n].set, func(l literal) bool { return p.held[p.pick.id(l)] == 0 }) {
			p.used[n] = true
			return true, nil
		}
	}
	for _, l := range all {
		x := p.pick.literals[l]
		for m, times := range p.held {
			y := p.pick.literals[m]
			if times == 0 || x.given > 0 || y.given > 0 || x.s != y.s || x.row != y.row || x.found == y.found {
				continue
			}
			bad := refuted{set: []literal{x, y}, opposed: true, of: p.h}
			var err error
			if bad.res, err = p.check(p.with(bad.set)); err == nil && bad.res.Verdict != verdict.Violated {
				err = errNotRefuted
			}
			p.used[len(p.refuted)] = true
			p.refuted = append(p.refuted, bad)
			return true, err
		}
	}
	return false, nil
}

// proof sets the anomalies of res, a violated verdict on h. If other levels have added operations to the history
// since the decision, the cases are judged again: a case that was a cycle may be a contradiction by now.
func (d *Decision) proof(ctx context.Context, h *history.History, res *verdict.Result) error {
	if d.anomaly == nil {
		return nil
	}
	a := *d.anomaly
	a.Cases = slices.Clone(a.Cases)
	for n := range a.Cases {
		if h == d.of {
			break
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		x := &a.Cases[n]
		again, err := d.check(h.Assume(x.Assumed))
		switch {
		case err != nil:
			return err
		case again.Verdict == verdict.Satisfied:
			return errNotRefuted
		case len(again.Anomalies) == 0:
			res.Verdict, res.Reason = verdict.Unknown, "a violation was found, but one of its cases was not judged again: "+again.Reason
			return nil
		}
		x.Anomaly = again.Anomalies[0]
	}
	res.Anomalies = []verdict.Anomaly{a}
	return nil
}
