package counterexample

import (
	"context"
	"slices"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/shrink"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// A check stops at the first cycle. A survey finds the other anomalies. It judges the history in windows
// of neighbouring transactions, each with the writers of what it read. When an anomaly is found, the reads
// that show it are dropped, and the window is judged again. So no two anomalies have such a read in
// common. At the end the whole history is judged without these reads, for anomalies that no window
// contains. Each part with fewer reads allows more executions, so what it violates, the history violates.

// windows are the numbers of transactions of windows. The next window begins in the middle. A window is judged once
// for each anomaly in it, so where there are many, small windows find most of them in less time.
var windows = []int{32, 256}

// tally counts the anomalies of one name.
type tally struct {
	count   int
	example verdict.Anomaly // one with the fewest transactions, in the numbers of the whole history
}

type survey struct {
	h       *history.History
	lvl     level.Level
	current *shrink.Part  // that of the current window
	known   checker.Known // of the whole history
	dropped map[verdict.OpRef]bool
	tallies []tally
}

// takeSurvey counts the anomalies of h at a level by name. complete says that it found all that have no
// read in common with those found. The error is the cause of ctx's end; the tallies are valid then, too.
func takeSurvey(ctx context.Context, h *history.History, lvl level.Level, known checker.Known) (list []tally, complete bool, err error) {
	s := &survey{h: h, lvl: lvl, known: known, current: shrink.New(h, shrink.Rules{Level: lvl}), dropped: map[verdict.OpRef]bool{}}
	n := len(h.Txns)
	for _, size := range windows {
		for from := 0; from < n && n > size; from += size / 2 {
			if _, err := s.window(ctx, from, min(from+size, n)); err != nil {
				return s.tallies, false, err
			}
		}
	}
	complete, err = s.window(ctx, 0, n)
	return s.tallies, complete, err
}

// window finds the anomalies of a range of transactions. complete says that what is left satisfies the
// level.
func (s *survey) window(ctx context.Context, from, to int) (complete bool, err error) {
	part := s.part(from, to)
	for {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		c := &cut{Part: part, h: s.h, lvl: s.lvl}
		sub := c.history()
		r, err := checker.Check(ctx, sub, s.lvl, checker.Options{})
		if err != nil || r.Verdict != verdict.Violated {
			return err == nil && r.Verdict == verdict.Satisfied, err
		}
		parts, found := part.Parts(), false
		for i := range r.Anomalies {
			a := &r.Anomalies[i]
			c.lift(sub, parts, a)
			dropped, counted := s.drop(part, a)
			if !counted && dropped {
				s.add(a)
			}
			found = found || dropped
		}
		if !found {
			return false, nil // it is no anomaly of reads
		}
	}
}

// part is what is left of a range of transactions, with the writers of what they read.
func (s *survey) part(from, to int) *shrink.Part {
	part := s.current
	part.Clear()
	for t := from; t < to; t++ {
		if s.h.Txns[t].Status == history.Aborted {
			continue
		}
		part.Add(int32(t))
		for n := range s.h.Ops(&s.h.Txns[t]) {
			if !s.dropped[verdict.OpRef{Txn: int32(t), Op: n}] {
				part.Add(int32(t), n)
			}
		}
	}
	part.Close()
	return part
}

// drop drops the reads that show an anomaly. dropped is false if there are none, or if an anomaly before has one of
// them. counted: one of them was dropped in another window, and came back here with the rest of its transaction, as at lin.
func (s *survey) drop(part *shrink.Part, a *verdict.Anomaly) (dropped, counted bool) {
	var reads []verdict.OpRef
	added := map[verdict.OpRef]bool{}
	add := func(ref verdict.OpRef) {
		if s.h.Ops(&s.h.Txns[ref.Txn])[ref.Op].Kind != history.Write && !added[ref] {
			added[ref] = true
			reads = append(reads, ref)
		}
	}
	for _, ref := range a.Ops {
		add(ref)
		if a.Kind == verdict.DuplicateRow { // and the other groups of the row
			s.eachOfRow(ref, func(n int) { add(verdict.OpRef{Txn: ref.Txn, Op: n}) })
		}
	}
	for _, ref := range a.Forced {
		add(ref)
	}
	for _, e := range a.Cycle {
		reader := e.To
		if e.Kind == verdict.RW {
			reader = e.From
		} else if e.Kind != verdict.WR {
			continue
		}
		for n, op := range s.h.Ops(&s.h.Txns[reader]) {
			if op.Key == e.Key {
				add(verdict.OpRef{Txn: reader, Op: n})
			}
		}
	}
	if len(reads) == 0 || slices.ContainsFunc(reads, func(ref verdict.OpRef) bool { return !part.Has(ref.Txn, ref.Op) }) {
		return false, false
	}
	for _, ref := range reads {
		counted = counted || s.dropped[ref]
		s.dropped[ref] = true
		part.Drop(ref.Txn, ref.Op)
	}
	return true, counted
}

// eachOfRow calls f with the operations of a statement that are on the same row as one of them.
func (s *survey) eachOfRow(ref verdict.OpRef, f func(n int)) {
	p, _ := s.h.PredicateOf(int(ref.Txn), ref.Op)
	ops := s.h.Ops(&s.h.Txns[ref.Txn])
	row := func(n int) string { return s.h.Schema.RowOf(s.h.KeyName(ops[n].Key)) }
	for n := p.Ops[0] + p.Implied; n < p.Ops[1]; n++ {
		if row(n) == row(ref.Op) {
			f(n)
		}
	}
}

// add counts an anomaly.
func (s *survey) add(a *verdict.Anomaly) {
	explain.Name(s.h, s.lvl, a)
	if len(a.Cycle) > 0 {
		a.Names = explain.Possible(a.Names, s.lvl, func(l level.Level) bool { return s.known.Holds(s.h, l) })
	}
	for i := range s.tallies {
		if t := &s.tallies[i]; t.example.Name() == a.Name() {
			if t.count++; len(a.Txns) < len(t.example.Txns) {
				t.example = *a
			}
			return
		}
	}
	s.tallies = append(s.tallies, tally{1, *a})
}

// survey counts all kinds of anomalies, and adds counterexamples of the kinds that are not in list yet. An
// error is none of ctx's end: what was counted then is a lower bound.
func (e *Explainer) survey(ctx context.Context, lvl level.Level, known checker.Known, list []*Counterexample) ([]*Counterexample, error) {
	tallies, complete, err := takeSurvey(ctx, e.h, lvl, known)
	if err != nil && ctx.Err() == nil {
		return list, err
	}
	list = slices.Clone(list)
	counts := make([]int, len(list))
	for i := range tallies {
		t := &tallies[i]
		at := slices.IndexFunc(list, func(c *Counterexample) bool { return c.Anomaly.Name() == t.example.Name() })
		if at < 0 && ctx.Err() == nil {
			explain.Fill(e.h, lvl, &t.example)
			more, err := e.cut(ctx, lvl, []verdict.Anomaly{t.example})
			if err != nil && ctx.Err() == nil {
				return list, err
			}
			for _, c := range e.possible(known, more) { // a smaller anomaly may have been found on the way
				if at = slices.IndexFunc(list, func(o *Counterexample) bool { return o.Anomaly.Name() == c.Anomaly.Name() }); at < 0 {
					list, counts, at = append(list, c), append(counts, 0), len(list)
				}
			}
		}
		if at >= 0 {
			counts[at] += t.count
		}
	}
	for i, n := range counts {
		c := *list[i]
		c.Anomaly.Count = max(n, c.Anomaly.Count)
		c.Anomaly.AtLeast = !complete
		list[i] = &c
	}
	return list, nil
}
