package checker

import (
	"context"
	"fmt"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel/choose"
	"github.com/isohound/isohound/checker/budget"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/replay"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Options limit and direct a check. The zero value is a check without limits
// and without verification of its proof.
type Options struct {
	Engine Engine // "" is Auto
	// Timeout bounds the time of the check; 0 is no limit. If it is reached, the verdict is unknown.
	Timeout time.Duration
	// Memory bounds the memory of the process in the same way.
	Memory budget.Limit
	// Versions says what to do with the order that the database claims.
	Versions Versions
	// Pipeline configures the polygraph engine, for comparison.
	Pipeline polygraph.Config
	// Accel chooses how the polygraph engine computes reachability; "" is auto.
	Accel choose.Choice
	// VerdictOnly leaves out anomalies, which is faster. Certify overrides it.
	VerdictOnly bool
	// Violated are levels that the history is known to violate. The check does not try them on the
	// way to its verdict.
	Violated []level.Level
	// Certify verifies the proof with independent code.
	Certify bool
	// Verify, if set, takes the place of certify.Result.
	Verify func(ctx context.Context, h *history.History, r *verdict.Result) error
	// Witness asks for the witness of a satisfied verdict, also if it is not verified.
	Witness bool
	// Decided, if set, may have the verdict on a level already, with a witness, or is nil. Then no engine
	// is asked. The proof is verified as always.
	Decided func(level.Level) *verdict.Result
	// Agree, if set, may change a verdict before its proof is verified. It returns false if it did.
	Agree func(ctx context.Context, h *history.History, r *verdict.Result) (same bool, err error)
	// Progress, if set, is called with the name of each stage that begins.
	Progress func(stage string)
	// Warn, if set, is called with a line about an option that cannot be followed. Any goroutine
	// may call it.
	Warn func(line string)
}

// ProofError says that the proof of a verdict does not hold. The verdict must not be used, because
// isohound has a bug.
type ProofError struct {
	Level   level.Level
	Verdict verdict.Verdict
	Err     error
}

func (e *ProofError) Error() string {
	return "the proof of the verdict " + e.Verdict.String() + " at level " + e.Level.String() +
		" does not hold; this is a bug in isohound, please report it with the history: " + e.Err.Error()
}

func (e *ProofError) Unwrap() error { return e.Err }

var errTimeout = errors.New("the time for checking ran out")

// Check judges h at lvl. If time or memory runs out, or if no engine can judge the history, the
// verdict is unknown. The error is a *ProofError, or the cause of ctx's end.
func Check(ctx context.Context, h *history.History, lvl level.Level, opt Options) (*verdict.Result, error) {
	begun := time.Now()
	if opt.Versions == Assume {
		h = h.AssumeOrder()
	}
	limited, stop := opt.limit(ctx)
	defer stop()
	var r *verdict.Result
	var err error
	if opt.Decided != nil {
		r = opt.Decided(lvl)
	}
	asked := r == nil
	if asked {
		if r, err = decide(limited, h, lvl, &opt); err == nil {
			doubt(h, r)
		}
	}
	if err == nil && asked && opt.Agree != nil {
		if _, err = opt.Agree(limited, h, r); err != nil {
			r, err = undecided(lvl, r.Engine, err)
		} else if len(r.Anomalies) > 0 && r.Anomalies[0].Kind == verdict.NoChoice {
			explain.Fill(h, lvl, &r.Anomalies[0])
		}
	}
	if err == nil && lvl == level.PSI && len(r.Anomalies) > 0 && r.Anomalies[0].Kind == verdict.NoChoice {
		r.Verdict, r.Reason, r.Anomalies = verdict.Unknown, "each way to choose what scans leave open is refuted, but at psi such a proof cannot be verified", nil
	}
	if err == nil && (h.OrderAssumed() || h.SnapshotsAssumed() || opt.Versions == Assume) {
		assumed(limited, h, r)
	}
	if err == nil && opt.Certify && r.Verdict != verdict.Unknown {
		r, err = certified(limited, h, r, &opt)
	}
	if r != nil {
		r.Took = time.Since(begun)
	}
	return r, err
}

// limit returns a context that ends when a limit is reached.
func (o *Options) limit(ctx context.Context) (limited context.Context, stop func()) {
	limited, stopWatch := budget.Memory(ctx, o.Memory)
	if o.Timeout <= 0 {
		return limited, stopWatch
	}
	limited, cancel := context.WithTimeoutCause(limited, o.Timeout, errTimeout)
	return limited, func() {
		cancel()
		stopWatch()
	}
}

// decide asks the engines in turn until one does not refuse the history.
func decide(ctx context.Context, h *history.History, lvl level.Level, opt *Options) (*verdict.Result, error) {
	var name string
	void := nothing(h)
	var claim *verdict.Claim // what the replay engine found, if the order does not fit
	var refused error = &engine.Refusal{Reason: "no engine judges level " + lvl.String()}
	for _, e := range opt.asked(lvl) {
		if e.Name() == replay.Name && opt.Engine != Replay && !replay.Applies(h, lvl) {
			continue
		}
		if name = e.Name(); void != "" {
			return &verdict.Result{Level: lvl, Engine: name, Reason: void}, nil
		}
		// The replay engine knows claimed positions, and no other snapshots.
		compare := e.Name() == replay.Name && lvl.Snapshot() && h.SnapshotsAssumed()
		proof := opt.Certify || opt.Witness
		r, err := e.Judge(ctx, h, lvl, engine.Options{VerdictOnly: opt.VerdictOnly && !opt.Certify, Violated: opt.Violated, Proof: proof || compare, Progress: opt.Progress})
		if err == nil && compare && certify.Agrees(h, lvl, r.Witness) != nil {
			refused = &engine.Refusal{Engine: name, Reason: "the order that the database claims is an execution, but not with the snapshots that it claims"}
			continue
		}
		if err == nil {
			if compare && !proof {
				r.Witness = nil
			}
			if r.Claim == nil {
				r.Claim = claim
			}
			return r, nil
		}
		if misfit := (*replay.Misfit)(nil); errors.As(err, &misfit) {
			claim = misfit.Claim
		}
		if refused = err; !errors.As(err, new(*engine.Refusal)) {
			break
		}
	}
	r, err := undecided(lvl, name, refused)
	if err == nil {
		r.Claim = claim
	}
	return r, err
}

// undecided turns an engine's error into the verdict unknown, if it is a refusal or a limit.
func undecided(lvl level.Level, engineName string, err error) (*verdict.Result, error) {
	r := &verdict.Result{Level: lvl, Engine: engineName}
	if part := (*engine.Unfinished)(nil); errors.As(err, &part) {
		r = part.Result
	}
	if errors.As(err, new(*engine.Refusal)) || limitReached(err) {
		r.Verdict, r.Reason = verdict.Unknown, err.Error()
		return r, nil
	}
	return nil, err
}

// limitReached reports whether err says that time or memory ran out.
func limitReached(err error) bool {
	return errors.As(err, new(*budget.MemoryError)) || errors.Is(err, errTimeout)
}

// certified verifies the proof of r. Without a proof the verdict becomes unknown.
func certified(ctx context.Context, h *history.History, r *verdict.Result, opt *Options) (*verdict.Result, error) {
	stages := verdict.NewStages(r, opt.Progress)
	stages.Begin("certify")
	unproven := func(why string) (*verdict.Result, error) {
		r.Verdict, r.Anomalies, r.Witness, r.Reason = verdict.Unknown, nil, nil, why
		return r, nil
	}
	if r.Verdict == verdict.Violated && len(r.Anomalies) == 0 {
		return unproven("a violation was found, but " + r.Reason)
	}
	proof := *r
	proof.Level = r.ProofLevel()
	verify := certify.Result
	if opt.Verify != nil {
		verify = opt.Verify
	}
	switch err := verify(ctx, h, &proof); {
	case errors.Is(err, certify.ErrTooLarge):
		return unproven(fmt.Sprintf("a violation was found, but %v: it has %d transactions", err, len(r.Anomalies[0].Txns)))
	case errors.Is(err, certify.ErrScans):
		return unproven("a commit order was found, but not what scans saw: " + err.Error())
	case err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		if !limitReached(err) {
			return nil, err
		}
		return unproven(fmt.Sprintf("the proof of the verdict %s was not verified: %v", r.Verdict, context.Cause(ctx)))
	case err != nil:
		return nil, &ProofError{Level: r.Level, Verdict: r.Verdict, Err: err}
	}
	r.Certified = true
	stages.Done("certify")
	return r, nil
}
