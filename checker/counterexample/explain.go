package counterexample

import (
	"context"
	"slices"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Explanation is what is told of a violated verdict beyond the verdict itself.
type Explanation struct {
	// Standing says which levels the whole history violates and satisfies.
	checker.Standing
	// Counterexamples are those of the verdict's anomalies, one of each name.
	Counterexamples []*Counterexample
}

// Judge judges the history at hand at a level. verdictOnly: the anomalies of a
// violation are not needed.
type Judge func(ctx context.Context, lvl level.Level, verdictOnly bool) (*verdict.Result, error)

// Wishes say what is wanted of an explanation.
type Wishes struct {
	// Timeout bounds all the work but that on the levels in Asked; 0 is no limit.
	Timeout time.Duration
	// Known are verdicts on the history that were given already.
	Known checker.Known
	// Asked are levels that are judged in any case, and so without a limit of
	// this explanation's.
	Asked []level.Level
	// Judge judges the history at other levels.
	Judge Judge
}

// Explain cuts out the counterexamples of r, a violated verdict on h, and finds
// where h stands among the levels: what a counterexample refutes the history
// violates, and the others are judged. Where r has no anomalies, as those of the
// baseline engine, the polygraph engine finds one. What time does not suffice
// for is left out. The error is a *checker.ProofError, the cause of ctx's end, or
// a bug.
func Explain(ctx context.Context, h *history.History, r *verdict.Result, w Wishes) (*Explanation, error) {
	limited, stop := ctx, context.CancelFunc(func() {})
	if w.Timeout > 0 {
		limited, stop = context.WithTimeout(ctx, w.Timeout)
	}
	defer stop()
	out, known := &Explanation{}, checker.Known{r.Level: verdict.Violated}
	for l, v := range w.Known {
		known[l] = v
	}
	anomalies := r.Anomalies
	if len(anomalies) == 0 {
		found, err := checker.Check(limited, h, r.Level, checker.Options{Engine: checker.Polygraph})
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		if err == nil {
			anomalies = found.Anomalies
		}
	}
	for n := range anomalies {
		if err := out.cut(limited, h, r.Level, &anomalies[n]); err != nil {
			if limited.Err() != nil && ctx.Err() == nil {
				break // out of time: the verdict stands without its picture
			}
			return nil, err
		}
	}
	for _, c := range out.Counterexamples {
		for l, v := range c.Known {
			if v == verdict.Violated {
				known[l] = v
			}
		}
	}
	judged := map[level.Level]*verdict.Result{}
	err := known.Judge(h, w.Asked, func(l level.Level) (got *verdict.Result, err error) {
		switch {
		case slices.Contains(w.Asked, l):
			got, err = w.Judge(ctx, l, false)
		case limited.Err() != nil:
			err = context.Cause(limited)
		default:
			got, err = w.Judge(limited, l, true)
		}
		judged[l] = got
		return got, err
	})
	if err != nil {
		return nil, err
	}
	out.Standing = known.Standing()
	return out, out.weaker(limited, h, r.Level, judged, w.Judge)
}

// weaker puts in front what refutes levels below lvl that no counterexample so
// far refutes: it says more.
func (x *Explanation) weaker(ctx context.Context, h *history.History, lvl level.Level, judged map[level.Level]*verdict.Result, judge Judge) error {
	found := x.Counterexamples
	for _, l := range x.Not {
		r := judged[l]
		refutes := func(c *Counterexample) bool { return l.Implies(c.Weakest) }
		if r == nil || !lvl.Implies(l) || slices.ContainsFunc(found, refutes) {
			continue
		}
		x.Counterexamples = nil
		var err error
		if len(r.Anomalies) == 0 {
			r, err = judge(ctx, l, false)
		}
		for n := 0; err == nil && n < len(r.Anomalies); n++ {
			err = x.cut(ctx, h, l, &r.Anomalies[n])
		}
		found = append(x.Counterexamples, found...)
		if err != nil {
			x.Counterexamples = found
			if ctx.Err() != nil {
				return nil // out of time
			}
			return err
		}
	}
	x.Counterexamples = found
	return nil
}

// cut adds the counterexample of an anomaly, unless it turns out to be another
// example of one that is there.
func (x *Explanation) cut(ctx context.Context, h *history.History, lvl level.Level, a *verdict.Anomaly) error {
	c, err := Of(ctx, h, lvl, a, Options{Timeout: MinimizeFor})
	if err != nil {
		return err
	}
	same := func(o *Counterexample) bool { return o.Anomaly.Name() == c.Anomaly.Name() }
	if !slices.ContainsFunc(x.Counterexamples, same) {
		x.Counterexamples = append(x.Counterexamples, c)
	}
	return nil
}
