package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/budget"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/counterexample"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/rounds"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/snapshots"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/memory"
	"github.com/isohound/isohound/results"
)

// judging is the state of judging one history.
type judging struct {
	app   *app
	c     *checking
	limit budget.Limit // of memory, for each level and for each explanation
	path  string
	h     *history.History // nil if it could not be read completely
	rest  *scans.Rest      // the scans that are judged on demand, or nil
	ahead *certify.Ahead   // what was verified while an execution was guessed, or nil
	show  *checkProgress
	parse time.Duration
	// finish and tell are the arguments of judge.
	finish func(*history.History, *results.Outcome)
	tell   func(results.Outcome) error

	// settled is the time that it took to settle the scans, by level.
	settled map[level.Level]time.Duration
	// replaced are results of levels in whose place another one came. Their time counts, too.
	replaced map[level.Level]*verdict.Result
	// own are what a window shows by itself, by levels that it violates.
	own       map[level.Level]*history.History
	levels    *checker.Levels
	explainer *counterexample.Explainer
	// known are the verdicts of levels, including those found by explanations.
	known checker.Known
	// outcomes are the final outcomes, nil for a level whose proof did not hold. told counts the
	// levels of c.levels already reported.
	outcomes map[level.Level]*results.Outcome
	// snapshots is what compared has found.
	snapshots *results.Snapshots
	told      int
	// untold is the error of tell. Nothing is told after it.
	untold error
}

// unread reports every level as unknown, because the history was not read.
func (j *judging) unread(why error) error {
	for _, lvl := range j.c.levels {
		j.outcome(&verdict.Result{Level: lvl, Engine: string(j.c.engine), Reason: why.Error()}).Unread = true
	}
	return j.flush()
}

// all judges the history at each level. It begins with the strongest, since a satisfied level
// implies those below it. Violations are explained after all levels have been judged. After
// that, unknown levels may follow from the known ones. Each outcome is reported as soon as it is
// final and those before it in c.levels have been reported.
func (j *judging) all(ctx context.Context) error {
	if err := j.settle(ctx); err != nil {
		return errors.Wrap(err, j.path)
	}
	j.levels, j.known = checker.NewLevels(j.h), checker.Known{}
	j.explainer = counterexample.NewExplainer(j.h, func(ctx context.Context, lvl level.Level, opt checker.Options) (*verdict.Result, error) {
		if slices.Contains(j.c.levels, lvl) {
			return j.levels.Check(ctx, lvl, j.options())
		}
		opt.Certify, opt.Progress, opt.Accel, opt.Versions = j.c.certify || j.rest != nil, j.show.stage, j.c.accel, j.c.versions
		if j.rest != nil {
			opt.Agree, opt.Decided = j.rest.Decide, j.rest.Settled
		}
		return checker.Check(ctx, j.h, lvl, opt)
	})
	verdicts := map[level.Level]*verdict.Result{}
	err := j.each(level.Descending(j.c.levels), func(lvl level.Level) error {
		r, err := j.levels.Check(ctx, lvl, j.options())
		if err != nil {
			return err
		}
		if r.Verdict == verdict.Violated && j.c.own != nil {
			if r, err = j.byItself(ctx, r); err != nil {
				return err
			}
		}
		verdicts[lvl], j.known[lvl] = r, r.Verdict
		if r.Verdict == verdict.Satisfied && !j.waits(lvl) || r.Verdict == verdict.Violated && j.c.explain <= 0 {
			j.outcome(r)
		}
		return nil
	})
	explain := func(lvl level.Level) error {
		r := verdicts[lvl]
		if r == nil || r.Verdict != verdict.Violated || j.c.explain <= 0 {
			return nil
		}
		return j.explain(ctx, r, j.outcome(r))
	}
	if err == nil {
		err = j.each(j.c.levels, explain)
	}
	if err == nil {
		err = j.stand(ctx, verdicts)
	}
	if err == nil {
		err = j.each(j.c.levels, func(lvl level.Level) (err error) {
			if r := verdicts[lvl]; r == nil || r.Verdict != verdict.Unknown {
				return nil
			}
			open := verdicts[lvl]
			if verdicts[lvl], err = j.levels.Settle(ctx, lvl, j.known, j.options()); err != nil {
				return err
			}
			if verdicts[lvl] != open {
				j.replaced[lvl] = open
			}
			if verdicts[lvl].Verdict == verdict.Unknown && lvl.Weak() && j.rest != nil {
				return j.byRows(ctx, verdicts[lvl])
			}
			j.outcome(verdicts[lvl])
			return explain(lvl)
		})
	}
	if err == nil {
		return nil
	}
	// Final verdicts are reported in spite of the error.
	for _, lvl := range j.c.levels {
		if _, final := j.outcomes[lvl]; final {
			continue
		}
		if j.outcomes[lvl] = nil; verdicts[lvl] != nil {
			j.outcome(verdicts[lvl])
		}
	}
	if ferr := j.flush(); ferr != nil {
		return ferr
	}
	return errors.Wrap(err, j.path)
}

// byItself looks whether what a window shows by itself is violated, too, if r, a violation of the whole, proves nothing of the
// run. Then that takes the place of the window.
func (j *judging) byItself(ctx context.Context, r *verdict.Result) (*verdict.Result, error) {
	h := j.c.own(r.Level)
	if h == nil {
		return r, nil
	}
	opt := j.options()
	opt.Witness, opt.Agree, opt.Decided, opt.Verify = false, nil, nil, nil
	if opt.Timeout > 0 {
		opt.Timeout = max(opt.Timeout-r.Took, time.Millisecond)
	}
	got, err := checker.Check(ctx, h, r.Level, opt)
	if err != nil || got.Verdict != verdict.Violated {
		return r, err
	}
	j.own[r.Level], j.replaced[r.Level] = h, r
	return got, nil
}

// of is the history in which a level is violated.
func (j *judging) of(lvl level.Level) *history.History {
	if h := j.own[lvl]; h != nil {
		return h
	}
	return j.h
}

// byRows judges a weak level without scans, because what these did not find leaves it open. r is the
// verdict with scans, unknown. It stays if the rest is not satisfied.
func (j *judging) byRows(ctx context.Context, r *verdict.Result) error {
	if j.known[r.Level] == verdict.Violated {
		r.Reason = "the counterexample at another level violates it, too, but what scans did not find leaves it open whether this alone does"
		j.outcome(r)
		return nil
	}
	why := fmt.Sprintf("at %s, scans of a large history, and counts, are judged by the rows that they returned alone", r.Level)
	if h, w := j.rest.Others(j.h, r.Level, why); h != nil {
		got := *r
		got.Verdict, got.Reason, got.Witness = verdict.Satisfied, "", w
		begun := time.Now()
		stages := verdict.NewStages(&got, j.show.stage)
		stages.Begin("certify")
		err := certify.Result(ctx, h, &got)
		if stages.Done("certify"); err == nil {
			got.Certified = true
			got.Took += time.Since(begun)
			j.outcomeOf(h, &got)
			return nil
		}
		if !errors.Is(err, certify.ErrScans) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return &checker.ProofError{Level: r.Level, Verdict: got.Verdict, Err: err}
		}
	}
	h := j.rest.Unjudged(why)
	opt := j.options()
	opt.Agree, opt.Decided = nil, nil
	got, err := checker.Check(ctx, h, r.Level, opt)
	if err != nil {
		return err
	}
	if got.Verdict != verdict.Satisfied {
		j.outcome(r)
		return nil
	}
	j.replaced[r.Level] = r
	j.outcomeOf(h, got)
	return nil
}

// waits reports whether a satisfied outcome waits for the verdicts on other levels.
func (j *judging) waits(lvl level.Level) bool {
	return j.c.stand && j.c.explain > 0 && !j.c.window && lvl != level.LIN && !lvl.Search()
}

// stand makes the outcomes that waited. If no level is violated, they get the standing of the history: a weak level
// that is promised does not say which stronger ones the history satisfies.
func (j *judging) stand(ctx context.Context, verdicts map[level.Level]*verdict.Result) error {
	var standing *results.Standing
	took, begun := time.Duration(0), time.Now()
	if !slices.ContainsFunc(j.c.levels, func(lvl level.Level) bool {
		return verdicts[lvl] == nil || verdicts[lvl].Verdict != verdict.Satisfied || !j.waits(lvl)
	}) {
		j.show.stage("levels")
		limited, stopWatch := budget.Memory(ctx, j.limit)
		s, err := j.explainer.Standing(limited, j.known, j.c.explain)
		stopWatch()
		if err != nil && !j.broken(err) {
			return err
		}
		j.known.Learn(s)
		standing = results.NewStanding(s)
		took = time.Since(begun)
	}
	return j.each(j.c.levels, func(lvl level.Level) error {
		if r := verdicts[lvl]; r != nil && r.Verdict == verdict.Satisfied && j.waits(lvl) {
			o := j.outcome(r)
			o.Standing, o.ExplainSeconds = standing, took.Seconds()
			took = 0 // it is told once
		}
		return nil
	})
}

var errSettleTimeout = errors.New("the time for checking ran out while the scans were judged")

// settle adds, before levels are judged, the operations that scans need at these levels.
func (j *judging) settle(ctx context.Context) error {
	if j.rest == nil {
		return nil
	}
	j.show.stage("scans")
	opt := j.options()
	opt.Certify, opt.Witness, opt.Agree, opt.Decided = false, true, nil, nil
	given := j.h
	if opt.Versions == checker.Assume {
		given = given.AssumeOrder()
	}
	j.settled = map[level.Level]time.Duration{}
	var satisfied []level.Level
	for _, lvl := range level.Descending(j.c.levels) {
		if slices.ContainsFunc(satisfied, func(l level.Level) bool { return engine.Implies(given, l, lvl) }) {
			continue
		}
		limited, cancel := ctx, context.CancelFunc(func() {})
		if opt.Timeout > 0 { // for all checks of the level
			limited, cancel = context.WithTimeoutCause(ctx, opt.Timeout, errSettleTimeout)
		}
		within, begun := limited, time.Now()
		h, err := j.rest.Settle(limited, lvl, j.h, func(h *history.History) (*verdict.Result, error) {
			return checker.Check(within, h, lvl, opt)
		})
		cancel()
		j.settled[lvl] = time.Since(begun)
		within = ctx // Decide checks again when the level is judged
		if j.h = h; errors.Is(err, errSettleTimeout) {
			j.rest.Undecided(lvl, err.Error())
		} else if err != nil {
			return err
		}
		if j.rest.Settled(lvl) != nil {
			satisfied = append(satisfied, lvl)
		}
	}
	j.rest.Done()
	return nil
}

// each calls do for each level, and after each call reports the outcomes that are final. If a
// proof does not hold, it reports that, and the level gets no outcome unless it already has one.
func (j *judging) each(levels []level.Level, do func(level.Level) error) error {
	for _, lvl := range levels {
		if err := do(lvl); err != nil {
			if !j.broken(err) {
				return err
			}
			if _, final := j.outcomes[lvl]; !final {
				j.outcomes[lvl] = nil
			}
		}
		if err := j.flush(); err != nil {
			return err
		}
	}
	return nil
}

// outcome makes the final outcome of a verdict.
func (j *judging) outcome(r *verdict.Result) *results.Outcome { return j.outcomeOf(j.of(r.Level), r) }

func (j *judging) outcomeOf(h *history.History, r *verdict.Result) *results.Outcome {
	o := results.NewOutcome(j.path, h, r)
	if h != nil && h == j.own[r.Level] { // counts are those of the window
		whole := results.NewOutcome(j.path, j.h, &verdict.Result{Level: r.Level})
		o.Ops, o.Predicates = whole.Ops, whole.Predicates
	}
	o.Snapshots = j.compared()
	if took := j.settled[r.Level].Seconds(); took > 0 {
		o.Stages["scans"] += took
		o.CheckSeconds += took
	}
	if first := j.replaced[r.Level]; first != nil {
		for _, s := range first.Stages {
			o.Stages[s.Name] += s.Took.Seconds()
		}
		o.CheckSeconds += first.Took.Seconds()
	}
	if j.c.window && r.Verdict == verdict.Satisfied && r.Level.Weak() {
		begun := time.Now()
		why, err := rounds.Ends(j.app.work, h, r.Level, r.Witness)
		if err != nil {
			why = err.Error()
		}
		if why != "" {
			o.Verdict, o.Reason, o.Certified = verdict.Unknown, why, false
		}
		took := time.Since(begun).Seconds()
		o.Stages["cut"] += took
		o.CheckSeconds += took
	}
	j.outcomes[r.Level] = &o
	return &o
}

// compared is how the reads agree with the snapshots that the database told, nil if it told none.
func (j *judging) compared() *results.Snapshots {
	if j.h == nil || j.c.versions == checker.Ignore || !j.h.HasVisible() {
		return nil
	}
	if j.snapshots == nil {
		j.snapshots = results.NewSnapshots(j.h, snapshots.Compare(j.h))
	}
	return j.snapshots
}

// flush reports the outcomes that are final, in the order of c.levels.
func (j *judging) flush() error {
	for ; j.told < len(j.c.levels) && j.untold == nil; j.told++ {
		o, final := j.outcomes[j.c.levels[j.told]]
		if !final {
			return nil
		}
		if o == nil {
			continue
		}
		o.ParseSeconds, o.PeakRSSMB = j.parse.Seconds(), float64(memory.Peak())/1e6
		if j.c.window && j.h != nil && (o.Claim != nil || o.Assumes != nil) {
			o.ClaimSpan = results.NewClaimSpan(j.h)
		}
		if j.finish != nil {
			j.finish(j.of(j.c.levels[j.told]), o)
		}
		if !j.c.window {
			j.app.found(j.c.codeOf(o.Verdict))
		}
		j.show.pause()
		j.untold = j.tell(*o)
	}
	return j.untold
}

// options are the options of the check at one level. The time limit includes the reading.
func (j *judging) options() checker.Options {
	opt := checker.Options{Memory: j.limit, Engine: j.c.engine, Versions: j.c.versions, Certify: j.c.certify || j.rest != nil, Witness: j.c.window, Pipeline: j.c.pipeline, Progress: j.show.stage, Accel: j.c.accel, Warn: j.warn, Verify: j.ahead.Result}
	if j.rest != nil {
		opt.Agree, opt.Decided = j.rest.Decide, j.rest.Settled
	}
	if j.c.timeout > 0 {
		opt.Timeout = max(j.c.timeout-j.parse, time.Millisecond)
	}
	return opt
}

// explain adds counterexamples and the standing among the levels to the outcome of r, a violated
// verdict. If there is not enough memory for that, the outcome has only the verdict.
func (j *judging) explain(ctx context.Context, r *verdict.Result, o *results.Outcome) error {
	j.show.stage("explain")
	begun := time.Now()
	defer func() { o.ExplainSeconds = time.Since(begun).Seconds() }()
	limited, stopWatch := budget.Memory(ctx, j.limit)
	defer stopWatch()
	at := *r
	at.Level = r.ProofLevel()
	explainer := j.explainer
	own := j.own[r.Level]
	if own != nil {
		explainer = counterexample.NewExplainer(own, func(ctx context.Context, lvl level.Level, opt checker.Options) (*verdict.Result, error) {
			opt.Certify, opt.Progress = j.c.certify, j.show.stage
			return checker.Check(ctx, own, lvl, opt)
		})
	}
	x, err := explainer.Explain(limited, &at, counterexample.Wishes{Timeout: j.c.explain, Survey: min(j.c.explain/2, surveyFor), Asked: j.c.levels, Known: checker.Known{r.Level: verdict.Violated}})
	if errors.As(err, new(*budget.MemoryError)) {
		if o.Reason != "" {
			o.Reason += "; "
		}
		o.Reason += "the violation is not explained: " + err.Error()
		return nil
	}
	switch {
	case err != nil:
	case own != nil: // it may satisfy levels that the window violates
		o.Explain(own, x)
	default:
		j.known.Learn(x.Standing)
		o.Explain(j.h, x)
	}
	return err
}

// surveyFor is the time limit for counting the anomalies of a level.
const surveyFor = 5 * time.Second

// warn reports, once, a request that cannot be fulfilled.
func (j *judging) warn(line string) {
	if _, told := j.app.warned.LoadOrStore(line, true); !told {
		j.show.pause()
		fmt.Fprintf(j.app.msg, "isohound: %s\n", line)
	}
}

// broken reports whether err is a proof that does not hold, and prints it.
func (j *judging) broken(err error) bool {
	var proof *checker.ProofError
	if !errors.As(err, &proof) {
		return false
	}
	j.app.found(exitInternal)
	j.show.pause()
	fmt.Fprintf(j.app.msg, "isohound: %s: %v\n", j.path, err)
	return true
}
