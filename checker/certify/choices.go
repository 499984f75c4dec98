package certify

import (
	"fmt"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// A statement can leave choices (history.Choice). They say something of every execution in which its
// transaction takes part: all operations of one alternative hold. So
//
//   - a choice follows from a scan if the scan cannot have returned what it did when every alternative fails
//     (exhausts);
//   - a history is violated if no way to choose has an execution. For that it is enough to know sets of
//     alternatives without an execution, such that each way to choose contains one (noChoice);
//   - a small history is judged by trying the ways to choose (tryChoices).
//
// A transaction of unknown outcome that does not take part says nothing, whatever is chosen for it. So a case
// distinction by its choices is exhaustive, too.

// mostTried bounds the ways to choose that noChoice goes through.
const mostTried = 1 << 20

// noChoice verifies an anomaly of kind verdict.NoChoice. The choices are those of the history, so implied has
// verified those that were added.
func (f *facts) noChoice(a *verdict.Anomaly) error {
	if f.lvl.Weak() || f.lvl == level.LIN || f.lvl == level.PSI {
		return errors.Errorf("level %s does not have choices of scans", f.lvl)
	}
	if len(a.Ops)+len(a.Cycle)+len(a.Context)+len(a.Support)+len(a.Forced) > 0 {
		return errors.New("it names operations, which only its cases do")
	}
	c := chooser{facts: f, numbers: map[string]int{}}
	for n := range a.Choices {
		r := a.Choices[n]
		choice := f.h.Choice(r)
		if choice == nil {
			return errors.Errorf("choice %d does not exist", n+1)
		}
		var all [][]int
		for _, list := range choice {
			all = append(all, c.number(r.Scan(), list))
		}
		c.choices = append(c.choices, all)
	}
	for n := range a.Cases {
		if err := f.caseOf(&a.Cases[n]); err != nil {
			return errors.Wrapf(err, "case %d", n+1)
		}
		var set []int
		for _, x := range a.Cases[n].Assumed {
			set = append(set, c.number(x.ScanRef, x.Seen)...)
		}
		c.cases = append(c.cases, set)
	}
	c.held = make([]int, len(c.numbers))
	return c.search(0)
}

// caseOf verifies the anomaly of a case in the history with its assumptions.
func (f *facts) caseOf(x *verdict.Case) error {
	seen := map[history.ScanRef]bool{}
	for _, s := range x.Assumed {
		if s.Txn < 0 || s.Txn >= len(f.h.Txns) || s.Number < 0 || s.Number >= len(f.h.Predicates(s.Txn)) || seen[s.ScanRef] {
			return errors.New("it assumes something of a statement that does not exist, or twice of one")
		}
		seen[s.ScanRef] = true
	}
	a := &x.Anomaly
	if a.Kind == verdict.NoChoice {
		return errors.New("it is divided into cases itself")
	}
	h := f.h.Assume(x.Assumed)
	if err := wellFormed(h, a); err != nil {
		return err
	}
	sub, err := newFacts(f.stop, h, f.lvl, []verdict.Anomaly{*a})
	if err != nil {
		return err
	}
	return sub.anomaly(a)
}

// chooser goes through all ways to choose. What an alternative says is a set of numbers.
type chooser struct {
	*facts
	numbers map[string]int
	choices [][][]int
	cases   [][]int
	held    []int // by number: how many of the alternatives that are taken say it
	tried   int
}

func (c *chooser) number(s history.ScanRef, list []history.Seen) []int {
	out := make([]int, len(list))
	for i := range list {
		name := fmt.Sprintf("%d %d %s %q %s", s.Txn, s.Number, list[i].Kind, list[i].Item, list[i].Value)
		n, known := c.numbers[name]
		if !known {
			n = len(c.numbers)
			c.numbers[name] = n
		}
		out[i] = n
	}
	return out
}

func (c *chooser) holds(set []int) bool {
	for _, n := range set {
		if c.held[n] == 0 {
			return false
		}
	}
	return true
}

// search verifies that each way to choose from the choices from number n on contains a case, together with
// what is held.
func (c *chooser) search(n int) error {
	if c.tried++; c.tried > mostTried {
		return errors.New("there are too many ways to choose")
	}
	if err := c.stop.after(1 + len(c.cases)); err != nil {
		return err
	}
	for _, set := range c.cases {
		if c.holds(set) {
			return nil
		}
	}
	for ; n < len(c.choices); n++ {
		decided := false
		for _, all := range c.choices[n] {
			decided = decided || c.holds(all)
		}
		if !decided {
			break
		}
	}
	if n == len(c.choices) {
		return errors.New("there is a way to choose that contains none of the cases")
	}
	for _, all := range c.choices[n] {
		for _, i := range all {
			c.held[i]++
		}
		err := c.search(n + 1)
		for _, i := range all {
			c.held[i]--
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// exhausts verifies that a choice that was added for the scan follows from what the statement returned. If
// every alternative fails, then a row is surely found of which an alternative says in each group that does not
// show it anyway that it was not; and no row is found of which an alternative says that it was. That must be
// impossible: a row that is missing was found, or the count is wrong.
func (s *scan) exhausts(stop *stop, choice history.Choice) error {
	x := &implications{scan: s, stop: stop, misplaced: map[int32]bool{}}
	if _, err := s.arrange(); err != nil {
		return err
	}
	hidden, found := map[item]bool{}, map[int32]bool{} // what alternatives say
	for _, list := range choice {
		if err := x.alternative(list, hidden, found); err != nil {
			return err
		}
	}
	least, most, missing := 0, 0, false
	err := s.each(stop, true, func(row int32) error {
		surely, possible, err := x.found(row, none, 0)
		if err != nil {
			return err
		}
		if possible && !surely {
			if surely, err = x.shown(row, hidden); err != nil {
				return err
			}
		}
		least, most = least+oneIf(surely), most+oneIf(possible && !found[row])
		missing = missing || surely && !s.returned(row)
		return nil
	})
	switch {
	case err != nil:
		return err
	case s.p.Partial, s.p.Kind != history.ScanCount && !missing, s.p.Kind == history.ScanCount && least <= s.p.Count && s.p.Count <= most:
		return errors.New("the statement may have returned what it did without any of the alternatives of a choice")
	}
	return nil
}

// shown reports whether a row is found unless one of the hidden groups does not show it.
func (x *implications) shown(row int32, hidden map[item]bool) (bool, error) {
	for _, g := range x.groups {
		if hidden[item{x.t.groups[g], row}] {
			continue
		}
		all := true
		see := func(v history.Value) error {
			fits, behind, err := x.visible(g, row, v)
			all = all && fits && !behind
			return err
		}
		var err error
		if own, wrote := x.own(g, row); wrote {
			err = see(own)
		} else {
			err = x.t.groups[g].versionsOf(row, see)
		}
		if err != nil || !all {
			return false, err
		}
	}
	return true, nil
}

// alternative notes what an alternative says: that one group does not show a row, or that all groups show it.
// An alternative of another kind is not needed: without it the others must suffice.
func (x *implications) alternative(list []history.Seen, hidden map[item]bool, found map[int32]bool) error {
	if len(list) == 0 {
		return errors.New("an alternative of a choice says nothing")
	}
	first, one, visible, invisible := item{}, true, true, true
	for n := range list {
		op := x.h.Op(&list[n])
		if int(op.Key) >= len(x.places) {
			return errors.Errorf("%s is no row of its table", list[n].Item)
		}
		it := x.item(op.Key)
		if it.g == nil || it.g.t != x.t || !x.matters(it.g.number) {
			return errors.Errorf("%s is no row of its table", list[n].Item)
		}
		if n == 0 {
			first = it
		}
		if it.row != first.row {
			return nil // it is about several rows
		}
		if _, wrote := x.own(it.g.number, it.row); wrote {
			return nil
		}
		one = one && it == first
		shows, hides, err := x.impliedBy(it, op)
		if err != nil {
			return err
		}
		visible, invisible = visible && shows, invisible && hides
	}
	if one && invisible {
		hidden[first] = true
	}
	if visible {
		found[first.row] = true
	}
	return nil
}

// impliedBy reports whether an operation on an item follows if the item's version shows the row (shows), and
// if it does not (hides).
func (x *implications) impliedBy(it item, op history.Op) (shows, hides bool, err error) {
	shows, hides = true, true
	deny := func(v history.Value) error {
		fits, behind, err := x.visible(it.g.number, it.row, v)
		if fits && !behind {
			shows = false
		} else {
			hides = false
		}
		return err
	}
	if op.Kind == history.ReadNot {
		err = deny(op.Value)
		return shows, hides, err
	}
	err = it.g.versionsOf(it.row, func(v history.Value) error {
		if v == op.Value {
			return nil
		}
		return deny(v)
	})
	return shows, hides, err
}

// tryChoices is try for a history with choices: it is allowed if one of the ways to choose is.
func tryChoices(stop *stop, h *history.History, lvl level.Level, budget int, insertions bool) (allowed, decided bool, err error) {
	t := &choiceTrial{stop: stop, h: h, lvl: lvl, budget: budget, insertions: insertions, at: map[history.ScanRef]int{}}
	for _, r := range h.AllChoices() {
		t.choices = append(t.choices, r)
	}
	allowed, err = t.next(0)
	return allowed, allowed || !t.gaveUp, err
}

type choiceTrial struct {
	stop       *stop
	h          *history.History
	lvl        level.Level
	budget     int // for each way to choose; the number of ways is bounded by it, too
	insertions bool
	choices    []history.ChoiceRef
	assumed    []history.Assumed
	at         map[history.ScanRef]int // in assumed
	tried      int
	gaveUp     bool
}

// next tries the alternatives of the choices from number n on. What has no execution with the first ones has
// none with more of them.
func (t *choiceTrial) next(n int) (bool, error) {
	if t.tried += 100; t.tried > t.budget {
		t.gaveUp = true
		return false, nil
	}
	allowed, decided, err := try(t.stop, t.h.Assume(t.assumed), t.lvl, t.budget, t.insertions)
	switch {
	case err != nil:
		return false, err
	case !decided:
		t.gaveUp = true
		return false, nil
	case !allowed || n == len(t.choices):
		return allowed, nil
	}
	r := t.choices[n]
	at, known := t.at[r.Scan()]
	if !known {
		at = len(t.assumed)
		t.at[r.Scan()] = at
		t.assumed = append(t.assumed, history.Assumed{ScanRef: r.Scan()})
	}
	before := t.assumed[at].Seen
	for _, list := range t.h.Choice(r) {
		t.assumed[at].Seen = append(before[:len(before):len(before)], list...)
		if allowed, err := t.next(n + 1); allowed || err != nil {
			return allowed, err
		}
	}
	t.assumed[at].Seen = before
	return false, nil
}

// met verifies that an alternative of each choice of predicate n of the transaction at index i holds in the
// current state. The choices are about items that the transaction has not written before.
func (r *replay) met(i, n int) error {
	p := &r.h.Predicates(i)[n]
	for c := range p.Choices[:len(p.Choices)-p.AddedChoices] {
		one := false
		for _, list := range p.Choices[c] {
			all := true
			for s := range list {
				op := r.h.Op(&list[s])
				current := r.h.Initial(op.Key)
				if int(op.Key) < len(r.state) {
					current = r.state[op.Key]
				}
				all = all && (current == op.Value) == (op.Kind == history.Read)
			}
			one = one || all
		}
		if !one {
			return errors.Errorf("transaction %d, %s of %s: no alternative of choice %d holds", r.h.Txns[i].ID, p.Kind, p.Asked(), c+1)
		}
	}
	return nil
}

// leavesChoices reports whether a history has choices that do not follow from its scans.
func leavesChoices(h *history.History) bool {
	for _, r := range h.AllChoices() {
		if p := &h.Predicates(r.Txn)[r.Predicate]; r.Choice < len(p.Choices)-p.AddedChoices {
			return true
		}
	}
	return false
}
