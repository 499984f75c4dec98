package counterexample

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Explanation is what is reported about a violated verdict, in addition to the verdict.
type Explanation struct {
	// Standing has the levels that the whole history violates and satisfies.
	checker.Standing
	// Counterexamples are those of the verdict's anomalies, one of each name.
	Counterexamples []*Counterexample
	// Uncut says why there are none, if that is not for lack of time.
	Uncut string
	// Late says that the time ended before there was any.
	Late bool
}

// Judge judges the history at a level. opt has only what this explanation needs and what is known
// already. The judge sets the rest.
type Judge func(ctx context.Context, lvl level.Level, opt checker.Options) (*verdict.Result, error)

// Explainer explains the violated verdicts on one history. It keeps its judgements and
// counterexamples, so that other verdicts can use them.
type Explainer struct {
	h      *history.History
	judge  Judge
	judged map[level.Level]*verdict.Result
	cuts   map[anomalyAt]*Counterexample
}

// anomalyAt is an anomaly that violates a level.
type anomalyAt struct {
	anomaly *verdict.Anomaly
	level   level.Level
}

// NewExplainer returns an explainer for h. judge judges h.
func NewExplainer(h *history.History, judge Judge) *Explainer {
	return &Explainer{h, judge, map[level.Level]*verdict.Result{}, map[anomalyAt]*Counterexample{}}
}

// Wishes say what an explanation should have.
type Wishes struct {
	// Timeout bounds all work except the judgement of the levels in Asked; 0 is no limit.
	Timeout time.Duration
	// Survey bounds the time for counting all anomalies, within Timeout. 0 counts none.
	Survey time.Duration
	// Known are earlier verdicts on the history.
	Known checker.Known
	// Asked are levels that are judged in any case, so this explanation's limit does not apply to
	// them.
	Asked []level.Level
}

// Explain cuts out the counterexamples of r, a violated verdict, and finds which levels the history
// violates and satisfies. A level that a counterexample violates is violated by the history. The
// other levels are judged. If r has no anomalies, as with the baseline engine, the polygraph engine
// finds one. What does not fit into the time is left out. The error is a *checker.ProofError, the
// cause of ctx's end, or a bug.
func (e *Explainer) Explain(ctx context.Context, r *verdict.Result, w Wishes) (*Explanation, error) {
	limited, stop := ctx, context.CancelFunc(func() {})
	if w.Timeout > 0 {
		limited, stop = context.WithTimeout(ctx, w.Timeout)
	}
	defer stop()
	known := checker.Known{r.Level: verdict.Violated}
	maps.Copy(known, w.Known)
	anomalies := r.Anomalies
	if len(anomalies) == 0 {
		found, err := checker.Check(limited, e.h, r.Level, checker.Options{Engine: checker.Polygraph})
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		if err == nil {
			anomalies = found.Anomalies
		}
	}
	list, err := e.cut(limited, r.Level, anomalies)
	if err != nil && (limited.Err() == nil || ctx.Err() != nil) { // else the verdict stands without a counterexample
		return nil, err
	}
	for _, c := range list {
		for l, v := range c.Known {
			if v == verdict.Violated {
				known[l] = v
			}
		}
	}
	judged := map[level.Level]*verdict.Result{}
	// A history that violates the weakest level violates all.
	first := append(slices.Clone(w.Asked), level.Weakest(e.weaker(r.Level))...)
	err = known.Judge(e.h, first, func(l level.Level) (*verdict.Result, error) {
		within, opt := limited, checker.Options{Violated: known.Violated(e.h)}
		if slices.Contains(w.Asked, l) {
			within = ctx
		} else {
			// Anomalies are needed only for the weakest violated level.
			opt.VerdictOnly = !engine.Implies(e.h, r.Level, l) || slices.ContainsFunc(e.weaker(l), func(m level.Level) bool { return !known.Holds(e.h, m) })
		}
		got, err := e.level(within, l, opt)
		judged[l] = got
		return got, err
	})
	if err != nil {
		return nil, err
	}
	out := &Explanation{Standing: known.Standing(e.h)}
	more, err := e.weakest(limited, r.Level, out.Standing, judged, list)
	if out.Counterexamples = append(more, list...); len(out.Counterexamples) == 0 && engine.InventsReads(e.h, r.Level) {
		out.Uncut = fmt.Sprintf("at %s anomalies of lists with append are not made minimal, since a part of the history would not show which reads are those of appends", r.Level)
	}
	out.Counterexamples = e.possible(known, out.Counterexamples)
	if err == nil && w.Survey > 0 && !engine.InventsReads(e.h, r.Level) {
		within, stop := context.WithTimeout(limited, w.Survey)
		defer stop()
		out.Counterexamples, err = e.survey(within, r.Level, known, out.Counterexamples)
	}
	if limited.Err() != nil && ctx.Err() == nil {
		err = nil // out of time
		out.Late = len(out.Counterexamples) == 0 && out.Uncut == ""
	}
	return out, err
}

// possible takes names from the counterexamples that known levels forbid, which hold for the whole history, and so for each
// part of it. One that then has the name of an earlier one is left out.
func (e *Explainer) possible(known checker.Known, list []*Counterexample) []*Counterexample {
	out := list[:0:0]
	for _, c := range list {
		if c.byCycle {
			other := *c
			other.Anomaly.Names = explain.Possible(c.Anomaly.Names, c.Weakest, func(l level.Level) bool { return known.Holds(e.h, l) })
			c = &other
		}
		if !slices.ContainsFunc(out, func(o *Counterexample) bool { return o.Anomaly.Name() == c.Anomaly.Name() && o.Level == c.Level }) {
			out = append(out, c)
		}
	}
	return out
}

// Standing judges the other levels of a history that violates none of the levels in known, the weakest first,
// since one that is violated settles all that are stronger. Levels for which the time ends are undecided. The error
// is a *checker.ProofError.
func (e *Explainer) Standing(ctx context.Context, known checker.Known, timeout time.Duration) (checker.Standing, error) {
	limited, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	known = maps.Clone(known)
	ascending := level.Descending(level.All())
	slices.Reverse(ascending)
	err := known.Judge(e.h, ascending, func(l level.Level) (*verdict.Result, error) {
		return e.level(limited, l, checker.Options{VerdictOnly: true, Violated: known.Violated(e.h)})
	})
	return known.Standing(e.h), err
}

// weaker lists the levels that l implies, without l itself.
func (e *Explainer) weaker(l level.Level) []level.Level {
	return slices.DeleteFunc(level.All(), func(m level.Level) bool { return m == l || !engine.Implies(e.h, l, m) })
}

// level judges the history at a level. It keeps the verdict, unless that is unknown.
func (e *Explainer) level(ctx context.Context, l level.Level, opt checker.Options) (*verdict.Result, error) {
	if r := e.judged[l]; r != nil && (opt.VerdictOnly || r.Verdict != verdict.Violated || len(r.Anomalies) > 0) {
		return r, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r, err := e.judge(ctx, l, opt)
	if err == nil && r.Verdict != verdict.Unknown {
		e.judged[l] = r
	}
	return r, err
}

// weakest returns counterexamples for the weakest levels in s that are weaker than lvl and that no
// counterexample in list violates: they say more. It considers only the levels in judged.
func (e *Explainer) weakest(ctx context.Context, lvl level.Level, s checker.Standing, judged map[level.Level]*verdict.Result, list []*Counterexample) ([]*Counterexample, error) {
	var out []*Counterexample
	for _, l := range s.Not {
		refutes := func(c *Counterexample) bool { return engine.Implies(e.h, l, c.Weakest) }
		if judged[l] == nil || !engine.Implies(e.h, lvl, l) || slices.ContainsFunc(list, refutes) || slices.ContainsFunc(out, refutes) {
			continue
		}
		r, err := e.level(ctx, l, checker.Options{Violated: slices.Concat(s.Not, s.AlsoNot)})
		if err != nil {
			return out, err
		}
		more, err := e.cut(ctx, l, r.Anomalies)
		if out = append(more, out...); err != nil {
			return out, err
		}
	}
	return out, nil
}

// cut returns the counterexamples of anomalies at a level, one of each name. After an error it
// returns those made so far.
func (e *Explainer) cut(ctx context.Context, lvl level.Level, anomalies []verdict.Anomaly) ([]*Counterexample, error) {
	if engine.InventsReads(e.h, lvl) { // a part of the history may look as if an append had read
		return nil, nil
	}
	var out []*Counterexample
	for n := range anomalies {
		at := anomalyAt{&anomalies[n], lvl}
		if e.cuts[at] == nil {
			c, err := Of(ctx, e.h, lvl, &anomalies[n], Options{Timeout: MinimizeFor})
			if errors.Is(err, errOpen) {
				continue // the anomaly stands without a counterexample
			}
			if err != nil {
				return out, err
			}
			e.cuts[at] = c
		}
		c := e.cuts[at]
		same := func(o *Counterexample) bool { return o.Anomaly.Name() == c.Anomaly.Name() }
		if !slices.ContainsFunc(out, same) {
			out = append(out, c)
		}
	}
	return out, nil
}
