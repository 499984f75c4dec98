package isotest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/counterexample"
	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/settled"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Result is a verdict with what explains it.
type Result struct {
	Level   level.Level
	Verdict verdict.Verdict // verdict.Satisfied, Violated or Unknown
	// Reason says why the verdict is unknown.
	Reason string
	// Unjudged says how many statements with conditions were judged by the rows that they returned alone, and why, or is "".
	Unjudged string
	// Anomalies are, for a violated level, one anomaly of each name.
	Anomalies []Anomaly
	// Txns is how many transactions were judged.
	Txns int
}

// Anomaly is an anomaly with the smallest part of the history that shows it.
type Anomaly struct {
	Name string // as in docs/anomalies.md
	Text string // what happened, and why the level does not allow it
	// History lists the transactions and operations of the counterexample.
	History string
}

// explainFor bounds the time for making counterexamples small.
const explainFor = 5 * time.Second

// Check judges what has been recorded so far at a level. Its proof is verified by independent code. The end of ctx makes
// the verdict unknown. The error says that the recorder was used wrongly, or that isohound has a bug.
func (r *Recorder) Check(ctx context.Context, lvl level.Level) (*Result, error) {
	h, err := r.History()
	if err != nil {
		return nil, err
	}
	return Check(ctx, h, lvl)
}

// Check judges any history, such as one that package history/file has read, as Recorder.Check does, with its
// statements with conditions. A later window of a run is judged as a part of it: where its violation does not prove that
// the run violates the level, the verdict is unknown.
func Check(ctx context.Context, h *history.History, lvl level.Level) (*Result, error) {
	if weaker := lvl.WithoutRealTime(); weaker != lvl && !h.Timed() { // only a violation without real time decides
		r, err := Check(ctx, h, weaker)
		if err != nil || r.Verdict == verdict.Violated {
			if err == nil {
				r.Level, r.Reason = lvl, "follows from "+weaker.String()
			}
			return r, err
		}
	}
	h, run := entered(h)
	j, err := judged(ctx, h, lvl)
	if err == nil && run != nil && j.verdict.Verdict == verdict.Violated {
		j, err = weighed(ctx, run, h, j)
	}
	if ctx.Err() != nil {
		return &Result{Level: lvl, Verdict: verdict.Unknown, Reason: context.Cause(ctx).Error(), Txns: len(h.Txns)}, nil
	}
	if err != nil {
		return nil, err
	}
	r := &Result{Level: lvl, Verdict: j.verdict.Verdict, Reason: j.verdict.Reason, Txns: len(h.Txns)}
	if j.h.Scans != nil {
		r.Unjudged = j.h.Scans.Reason
	}
	if r.Verdict != verdict.Violated {
		return r, nil
	}
	x, err := counterexample.NewExplainer(j.h, j.check).Explain(ctx, j.verdict, counterexample.Wishes{Timeout: explainFor, Known: checker.Known{lvl: verdict.Violated}})
	if ctx.Err() == nil && err != nil {
		return nil, err
	}
	if err == nil {
		for _, c := range x.Counterexamples {
			r.Anomalies = append(r.Anomalies, Anomaly{c.Anomaly.Name(), c.Anomaly.Text, explain.Listing(c.History)})
		}
	}
	return r, nil
}

// judgement is a verdict, the history that it is of, and what judges that at other levels.
type judgement struct {
	h       *history.History
	check   func(context.Context, level.Level, checker.Options) (*verdict.Result, error)
	verdict *verdict.Result
}

// judged judges a history with its statements with conditions.
func judged(ctx context.Context, h *history.History, lvl level.Level) (*judgement, error) {
	x, err := settled.Of(ctx, h, lvl, 0)
	if err != nil {
		return nil, err
	}
	return judgedBy(ctx, x.History, lvl, x.Check)
}

// judgedBy judges a history by check, with a proof.
func judgedBy(ctx context.Context, h *history.History, lvl level.Level, check func(context.Context, level.Level, checker.Options) (*verdict.Result, error)) (*judgement, error) {
	j := &judgement{h: h, check: func(ctx context.Context, lvl level.Level, opt checker.Options) (*verdict.Result, error) {
		opt.Certify = true
		return check(ctx, lvl, opt)
	}}
	v, err := j.check(ctx, lvl, checker.Options{})
	j.verdict = v
	return j, err
}

// String says the verdict, and for a violated level the anomalies.
func (r *Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s (%d transactions)", r.Level, r.Verdict, r.Txns)
	if r.Reason != "" {
		fmt.Fprintf(&b, ": %s", r.Reason)
	}
	if r.Unjudged != "" {
		fmt.Fprintf(&b, "; %s", r.Unjudged)
	}
	for _, a := range r.Anomalies {
		fmt.Fprintf(&b, "\n\n%s\n%s\n%s", a.Name, indented(a.Text), indented(a.History))
	}
	return b.String()
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}

// TB is what Holds needs of a *testing.T.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Holds fails the test unless the level is satisfied. An unknown verdict fails it, too. The message has the anomalies.
func Holds(t TB, r *Recorder, lvl level.Level) {
	t.Helper()
	v, err := r.Check(context.Background(), lvl)
	switch {
	case err != nil:
		t.Fatalf("%v", err)
	case v.Verdict != verdict.Satisfied:
		t.Fatalf("%s", v)
	}
}
