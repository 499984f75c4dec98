package checker

import (
	"context"
	"time"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Levels judges one history at several levels. It judges each level at most once, and its verdicts
// do not contradict each other: a history that satisfies a level satisfies every weaker one, and a
// history that violates a level violates every stronger one.
type Levels struct {
	h    *history.History
	done map[level.Level]*verdict.Result
}

// NewLevels returns a Levels for h without any verdict yet.
func NewLevels(h *history.History) *Levels {
	return &Levels{h: h, done: map[level.Level]*verdict.Result{}}
}

// Check judges the history at lvl, as Check does. It does not judge a level twice, and not a level
// that follows from a stronger level that is satisfied.
func (s *Levels) Check(ctx context.Context, lvl level.Level, opt Options) (*verdict.Result, error) {
	if opt.Versions == Assume {
		s.h = s.h.AssumeOrder()
	}
	if r := s.done[lvl]; r != nil {
		return r, nil
	}
	for _, l := range level.All() {
		if r := s.done[l]; r != nil && r.Verdict == verdict.Satisfied && engine.Implies(s.h, l, lvl) {
			return s.follow(ctx, lvl, r, opt)
		}
	}
	r, err := Check(ctx, s.h, lvl, opt)
	if err != nil {
		return r, err
	}
	s.done[lvl] = r
	if r.Verdict == verdict.Unknown && lvl.RealTime() && !s.h.Timed() {
		// Only a violation without real time decides.
		switch other, err := s.Check(ctx, lvl.WithoutRealTime(), opt); {
		case err != nil:
			return nil, err
		case other.Verdict == verdict.Violated:
			return s.follow(ctx, lvl, other, opt)
		}
	}
	return r, nil
}

// Settle is for a level that Check leaves unknown. It looks in known, verdicts on the same history,
// for a level that decides lvl. It returns the verdict on lvl, which may still be unknown. The
// other level is checked, too, if that was not done yet, because its proof is needed.
func (s *Levels) Settle(ctx context.Context, lvl level.Level, known Known, opt Options) (*verdict.Result, error) {
	r, err := s.Check(ctx, lvl, opt)
	if err != nil || r.Verdict != verdict.Unknown {
		return r, err
	}
	for _, l := range s.decisive(lvl, known) {
		other, err := s.Check(ctx, l, opt)
		switch {
		case err != nil:
			return nil, err
		case other.Verdict == known[l]:
			return s.follow(ctx, lvl, other, opt)
		}
	}
	return r, nil
}

// decisive lists the levels whose verdicts decide lvl. Levels that were checked already come first.
func (s *Levels) decisive(lvl level.Level, known Known) []level.Level {
	var checked, others []level.Level
	for _, l := range level.All() {
		if v := known[l]; v == verdict.Satisfied && engine.Implies(s.h, l, lvl) || v == verdict.Violated && engine.Implies(s.h, lvl, l) {
			if s.done[l] != nil {
				checked = append(checked, l)
			} else {
				others = append(others, l)
			}
		}
	}
	return append(checked, others...)
}

// follow derives a verdict from that of another level, and verifies the proof: a witness at lvl, a
// counterexample at the level where it was found. If a limit is reached first, the verdict is kept
// but not certified.
func (s *Levels) follow(ctx context.Context, lvl level.Level, from *verdict.Result, opt Options) (*verdict.Result, error) {
	begun := time.Now()
	origin := from.Level
	if from.FollowsFrom != 0 {
		origin = from.FollowsFrom
	}
	r := &verdict.Result{Level: lvl, Verdict: from.Verdict, Engine: from.Engine, FollowsFrom: origin, Reason: "follows from " + origin.String(),
		Anomalies: from.Anomalies, Witness: from.Witness.At(lvl), Assumes: from.Assumes}
	if from.Claim != nil && from.Claim.Fits {
		r.Claim = from.Claim
	}
	if opt.Certify {
		limited, stop := opt.limit(ctx)
		defer stop()
		proved := *r
		switch p, err := certified(limited, s.h, &proved, &opt); {
		case err != nil:
			return nil, err
		case p.Certified:
			r = p
		default:
			r.Reason += "; " + p.Reason
		}
	}
	r.Took = time.Since(begun)
	s.done[lvl] = r
	return r, nil
}
