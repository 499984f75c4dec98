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
	a := verdict.Anomaly{Kind: verdict.NoChoice, Count: 1}
	a.Choices = c.add(p)
	d := &Decision{Verdict: verdict.Violated}
	for n := range c.refuted {
		if bad := &c.refuted[n]; p.used[n] && len(bad.res.Anomalies) == 0 {
			return &Decision{Verdict: verdict.Violated, Reason: c.cases()}, nil // the engine shows none
		}
	}
	for _, n := range c.needed(p.used) {
		bad := &c.refuted[n]
		a.Cases = append(a.Cases, verdict.Case{Assumed: c.assumed(bad.set), Anomaly: bad.res.Anomalies[0], Opposed: bad.opposed})
		d.at = append(d.at, bad.at)
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
	d.anomaly = &a
	return d, nil
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
			bad := refuted{set: []literal{x, y}, opposed: true}
			bad.at = p.with(bad.set)
			var err error
			if bad.res, err = p.check(bad.at); err == nil && bad.res.Verdict != verdict.Violated {
				err = errNotRefuted
			}
			p.used[len(p.refuted)] = true
			p.refuted = append(p.refuted, bad)
			return true, err
		}
	}
	return false, nil
}

// anomalies returns the proof of a decision as one of h, in which other levels may have added operations.
func (d *Decision) anomalies(h *history.History) []verdict.Anomaly {
	if d.anomaly == nil {
		return nil
	}
	a := *d.anomaly
	a.Cases = slices.Clone(a.Cases)
	for n := range a.Cases {
		x := &a.Cases[n]
		x.Anomaly = moved(d.at[n], h.Assume(x.Assumed), x.Assumed, x.Anomaly)
	}
	return []verdict.Anomaly{a}
}

// moved returns an anomaly of a history as one of another one, to whose predicates operations were added since.
// Both have the same assumptions.
func moved(from, to *history.History, assumed []history.Assumed, a verdict.Anomaly) verdict.Anomaly {
	at := func(r verdict.OpRef) verdict.OpRef {
		i, op, shift := int(r.Txn), r.Op, 0
		for n, p := range from.Predicates(i) {
			q := to.Predicates(i)[n]
			if op < p.Ops[0] {
				break
			}
			taken := 0
			for k := range assumed {
				if assumed[k].Txn == i && assumed[k].Number == n {
					taken = len(assumed[k].Seen)
				}
			}
			if op < p.Ops[0]+taken { // an assumption: these come first
				shift = q.Ops[0] - p.Ops[0]
				break
			}
			shift = q.Ops[1] - p.Ops[1] // what was added comes before what was there
		}
		return verdict.OpRef{Txn: r.Txn, Op: op + shift}
	}
	a.Ops = slices.Clone(a.Ops)
	for n := range a.Ops {
		a.Ops[n] = at(a.Ops[n])
	}
	forced := map[int]verdict.OpRef{}
	for n, r := range a.Forced {
		forced[n] = at(r)
	}
	if a.Forced != nil {
		a.Forced = forced
	}
	return a
}
