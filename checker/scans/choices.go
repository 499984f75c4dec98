package scans

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// literal says of a row whether a statement found it: that it did (found), or that it did not, because
// of the versions in one group.
//
// A choice that the history has already is not about a row: given is its number, from 1, and group the
// alternative.
type literal struct {
	s     *scan
	row   int32
	group int // of an absence
	found bool
	given int
}

// absences appends the ways in which a row may not have been found.
func (s *scan) absences(to []literal, r int32) []literal {
	list, _, _ := s.alternatives(r)
	for _, a := range list {
		to = append(to, literal{s: s, row: r, group: a.group})
	}
	return to
}

// miscounted returns the choices of which one must hold if the statement counted other rows than those
// that it sees, or nil.
func (s *scan) miscounted(play *replay) [][]literal {
	var seen, others []int32
	for _, r := range s.count.free {
		if play.finds(s, r) {
			seen = append(seen, r)
		} else {
			others = append(others, r)
		}
	}
	var clause []literal
	switch {
	case len(seen) > s.count.need:
		for _, r := range seen {
			clause = s.absences(clause, r)
		}
	case len(seen) < s.count.need:
		for _, r := range others {
			clause = append(clause, literal{s: s, row: r, found: true})
		}
	}
	return single(clause)
}

// single makes a clause of literals of which one must hold.
func single(list []literal) [][]literal {
	out := make([][]literal, len(list))
	for i := range list {
		out[i] = list[i : i+1]
	}
	return out
}

// ops returns the operations that say that a literal holds.
func (l *literal) ops() []history.Op {
	s := l.s
	if l.given > 0 {
		return s.givenOps(l.given, l.group)
	}
	implied, added, rows := s.implied, s.added, s.rows
	s.implied, s.added = nil, nil
	for _, g := range s.groups {
		item := s.index.item(s.t, l.row, g)
		if _, own := s.own[item]; own || !l.found && g != l.group {
			continue
		}
		if no, yes := s.split(l.row, g, l.found); l.found {
			s.class(item, yes, no)
		} else {
			s.class(item, no, yes)
		}
	}
	out := s.added
	s.implied, s.added, s.rows = implied, added, rows
	return out
}

func (l *literal) String() string {
	if l.given > 0 {
		return fmt.Sprintf("T%d saw alternative %d of choice %d", l.s.h.Txns[l.s.txn].ID, l.group+1, l.given)
	}
	what := "did not find"
	if l.found {
		what = "found"
	}
	return fmt.Sprintf("T%d %s %s", l.s.h.Txns[l.s.txn].ID, what, l.s.t.rows[l.row].name)
}

// choices tries all ways to choose until one has an execution. A set of choices without an execution is
// not tried again (nogoods), nor is any larger set.
type choices struct {
	*Rest
	lvl     level.Level
	h       *history.History
	check   func(*history.History) (*verdict.Result, error)
	pick    *picker
	refuted []refuted // the nogoods
}

// refuted is a set of literals without an execution.
type refuted struct {
	set []literal
	// res is the verdict on the history of, with what the set says.
	res     *verdict.Result
	of      *history.History
	opposed bool // it says of a row that it was found, and that it was not
}

// leastChoices bounds the sets of choices that are checked in a large history. In a small one it is
// choiceOps divided by its operations, up to mostChoices. mostSteps bounds the search for the next set.
const (
	leastChoices = 50
	mostChoices  = 10_000
	choiceOps    = 1 << 20
	mostSteps    = 1 << 16
)

// decide returns the verdict on the history with its choices. c.h gets operations that hold in any case.
func (c *choices) decide(ctx context.Context) (*Decision, error) {
	for range max(leastChoices, min(mostChoices, choiceOps/(1+len(c.Rest.h.AllOps())))) {
		set, found, gaveUp := c.pick.next(ctx)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if gaveUp {
			break
		}
		if !found {
			return c.violated(ctx)
		}
		chosen := c.with(set)
		res, err := c.check(chosen)
		if err != nil {
			return nil, err
		}
		switch {
		case res.Verdict == verdict.Unknown || res.Verdict == verdict.Satisfied && res.Witness == nil:
			return &Decision{Reason: "what scans found leaves a choice, and with one of them: " + res.Reason}, nil
		case res.Verdict == verdict.Violated:
			core, err := c.core(set, res)
			if err != nil {
				return nil, err
			}
			if len(core.set) == 0 {
				return nil, nil // the history is violated without any choice
			}
			c.refuted = append(c.refuted, core)
			c.pick.addNogood(core.set)
			continue
		}
		w, fits, err := c.repaired(ctx, chosen, c.lvl, res.Witness)
		if err != nil {
			return nil, err
		}
		if fits {
			return &Decision{Verdict: verdict.Satisfied, Witness: w, res: res}, nil
		}
		f, err := c.findings(ctx, c.h, w)
		if err != nil {
			return nil, err
		}
		if f.more == nil && len(f.clauses) == 0 {
			return &Decision{Verdict: verdict.Satisfied, Witness: w, res: res}, nil
		}
		for _, clause := range f.clauses {
			c.pick.addClause(clause)
		}
		if f.more != nil {
			if c.h = c.extend(c.h, f.more); c.gaveUp {
				return nil, nil
			}
		}
	}
	return &Decision{Reason: "what scans found leaves a choice, and too many of them would have to be tried"}, nil
}

// with returns the history with what a set of literals says. Its proofs need not cover scans.
func (c *choices) with(set []literal) *history.History { return c.h.Assume(c.assumed(set)) }

// assumed is what a set of literals says of each scan.
func (c *choices) assumed(set []literal) []history.Assumed {
	var out []history.Assumed
	for i := range set {
		at := history.ScanRef{Txn: set[i].s.txn, Number: set[i].s.number}
		n := slices.IndexFunc(out, func(a history.Assumed) bool { return a.ScanRef == at })
		if n < 0 {
			n = len(out)
			out = append(out, history.Assumed{ScanRef: at})
		}
		for _, op := range set[i].ops() {
			if s := c.h.NewSeen(op); !slices.ContainsFunc(out[n].Seen, s.Equal) {
				out[n].Seen = append(out[n].Seen, s)
			}
		}
	}
	return out
}

// core returns a part of a set that has no execution either: the literals of the transactions that
// take part in the violation, if a check confirms that.
func (c *choices) core(set []literal, res *verdict.Result) (refuted, error) {
	whole := refuted{set: set, res: res, of: c.h}
	if len(res.Anomalies) == 0 {
		return whole, nil
	}
	a, in := &res.Anomalies[0], map[int32]bool{}
	for _, i := range a.Txns {
		in[i] = true
	}
	for _, e := range a.Cycle {
		in[e.From], in[e.To] = true, true
	}
	for _, op := range a.Ops {
		in[op.Txn] = true
	}
	part := slices.DeleteFunc(slices.Clone(set), func(l literal) bool { return !in[int32(l.s.txn)] })
	if len(part) == len(set) {
		return whole, nil
	}
	again, err := c.check(c.with(part))
	if err != nil || again.Verdict != verdict.Violated {
		return whole, err
	}
	return refuted{set: part, res: again, of: c.h}, nil
}

// cases says why no choice has an execution.
func (c *choices) cases() string {
	const most = 4
	var texts []string
	for _, bad := range c.refuted[:min(most, len(c.refuted))] {
		words := make([]string, len(bad.set))
		for i := range bad.set {
			words[i] = bad.set[i].String()
		}
		texts = append(texts, strings.Join(words, " and "))
	}
	text := "what scans found leaves a choice, and no choice has an execution"
	if len(texts) > 0 {
		text += "; none has it if " + strings.Join(texts, ", nor if ")
	}
	if n := len(c.refuted) - most; n > 0 {
		text += fmt.Sprintf(", nor in %d more cases", n)
	}
	return text
}
