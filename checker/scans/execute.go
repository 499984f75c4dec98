package scans

import (
	"context"
	"slices"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// GuessOps is the least number of operations of a history for which Execute is worth while. In smaller
// ones all scans are turned into reads at once, and every engine judges them.
const GuessOps = 1 << 13

// engineName is the engine of a verdict that a guess has decided: it takes the place of this engine's guess.
const engineName = "polygraph"

// Execute tries to guess a serial execution of h that agrees with all reads and all scans. A database at
// serializability nearly always has one in the order of the commits. It decides every level that it
// implies, and no class read has to be added for it. x is h with all scans judged, and rest has the
// execution. rest is nil if no execution was guessed or if it does not decide all levels; Expand then
// takes the place of Execute. If ctx ends, the error is its cause.
//
// begin, if it is set, may be called with x and the level that is checked first. What it returns is told the execution
// while it is guessed.
func Execute(ctx context.Context, h *history.History, levels []level.Level, begin func(*history.History, level.Level) Follower) (x *history.History, rest *Rest, err error) {
	if !h.HasPredicates() || h.HasClaims() || h.SnapshotsAssumed() || h.HasTwice() || unjudged(h) != "" || len(h.AllChoices()) > 0 {
		return h, nil, nil
	}
	e := &expansion{h: h, index: newRows(h)}
	for i := range h.Txns {
		if h.Txns[i].Status != history.Aborted {
			e.done.Scans += len(h.Predicates(i))
		}
	}
	e.done.Judged = e.done.Scans
	x = h.Extend(nil, &e.done)
	f := newFollower(x, levels, begin)
	defer f.stop()
	w, realTime, err := guess(ctx, e.index, false, !slices.ContainsFunc(levels, level.Level.RealTime), &hastySerial, f)
	if w == nil || err != nil {
		return h, nil, err
	}
	rest = &Rest{expansion: e, decided: map[level.Level]*Decision{}, guessed: w, guessedAt: level.SER}
	if realTime {
		rest.guessedAt = level.SSER
	}
	for _, lvl := range levels {
		if !rest.guessedFor(lvl) {
			return h, nil, nil
		}
	}
	f.complete(w)
	return x, rest, nil
}

// guessedFor reports whether the guessed execution is one of a level.
func (r *Rest) guessedFor(lvl level.Level) bool { return r.guessed != nil && r.guessedAt.Implies(lvl) }

// decision is what is known of a level, or nil.
func (r *Rest) decision(lvl level.Level) *Decision {
	if r.guessedFor(lvl) {
		return guessedDecision(lvl, r.guessed)
	}
	return r.decided[lvl]
}

func guessedDecision(lvl level.Level, w *verdict.Witness) *Decision {
	return &Decision{Verdict: verdict.Satisfied, Witness: w.At(lvl), res: &verdict.Result{Level: lvl, Verdict: verdict.Satisfied, Engine: engineName}}
}

// guessAt tries to guess an execution at a level. It returns nil if it found none.
func (r *Rest) guessAt(ctx context.Context, lvl level.Level, p *patience) (*verdict.Witness, error) {
	if r.h.HasClaims() || r.h.SnapshotsAssumed() || r.h.HasTwice() || len(r.given) > 0 {
		return nil, nil
	}
	w, realTime, err := guess(ctx, r.index, lvl.Snapshot(), !lvl.RealTime(), p, nil)
	if w == nil || err != nil || lvl.RealTime() && !realTime {
		return nil, err
	}
	r.decided[lvl] = guessedDecision(lvl, w)
	return w, nil
}

// guessCounts is a patient guessAt for a large history in which statements count.
func (r *Rest) guessCounts(ctx context.Context, lvl level.Level) (*verdict.Witness, error) {
	if len(r.h.AllOps()) < GuessOps || !slices.ContainsFunc(r.later, func(s *scan) bool { return s.count != nil }) {
		return nil, nil
	}
	return r.guessAt(ctx, lvl, &patient)
}
