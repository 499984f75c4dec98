// Package replay is the engine for histories in which the database tells where it placed transactions
// (history.Claim). It sorts the transactions by the claimed order and applies them one after another to one
// state. If every read fits, the order is an execution of the level, and the witness. That takes one step for
// each operation (the checker Enne: Clark, Rigger, Wickerson, Donaldson: Bringing Order to Practical
// Validation of Database Isolation Levels, section 6).
//
// Nothing is trusted: an order counts only if everything fits. If something does not, the history may still
// satisfy the level in another order. So the engine never says violated. It refuses the history, says what in
// the claim does not fit, and another engine decides.
//
// At a serial level a transaction acts at its commit position. One that changed nothing acts at its snapshot:
// after the commit of that position. At snapshot levels it reads at its snapshot and writes at its commit
// position. A reader of which nothing is claimed acts at the first moment at which all that it read was current
// (as in CockroachDB's kvnemesis, each read gives intervals of the claimed order, and they are intersected). So does,
// at snapshot levels, the start of a transaction without a snapshot, if it does not fit right before its commit.
// A transaction of unknown outcome without a position takes part if one reads from it, just before the first
// such reader.
//
// Snapshots that are sets of transactions (history.Visible) are put into an order, too (package snapshots), at snapshot
// levels. It also places the commits, so that positions are not needed.
//
// What scans did not find are reads, too (package scans): they fit or they do not.
//
// Files in reading order: replay.go, order.go (the claimed order), readers.go (readers without a position),
// run.go (the execution), words.go (what does not fit).
package replay

import (
	"context"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Name is the name of the engine.
const Name = "replay"

// Engine implements engine.Engine.
type Engine struct{}

// AssumesOrder implements engine.Assumer: the order that the engine tries keeps the claimed order of versions.
func (Engine) AssumesOrder() {}

// Name implements engine.Engine.
func (Engine) Name() string { return Name }

// Levels implements engine.Engine. At levels below snapshot isolation the engine looks for an execution of
// prefix consistency, at psi for one of snapshot isolation, which imply them.
func (Engine) Levels() []level.Level {
	var out []level.Level
	for _, l := range level.All() {
		if l != level.LIN {
			out = append(out, l)
		}
	}
	return out
}

// tried is the level of which the engine looks for an execution: lvl, or one that implies it. A history that satisfies
// lvl alone need not have one, although the claim is true.
func tried(lvl level.Level) level.Level {
	switch {
	case lvl == level.PSI:
		return level.SI
	case lvl.Weak():
		return level.PC
	}
	return lvl
}

// Applies reports whether the database tells enough of h for an order at a level.
func Applies(h *history.History, lvl level.Level) bool { return h.HasClaims() || guesses(h, lvl) }

// Misfit is the refusal of a history that the claimed order does not explain at a level.
type Misfit struct {
	*engine.Refusal
	Claim *verdict.Claim
}

// Unwrap returns the refusal.
func (m *Misfit) Unwrap() error { return m.Refusal }

// Judge implements engine.Engine. The order must also explain which versions reads had, as far as the database told them; if it does
// only without them, the verdict is satisfied, and the claim does not fit. Else it returns a satisfied verdict, a *Misfit, or another refusal: nothing is
// claimed, or not of all transactions that wrote.
func (e Engine) Judge(ctx context.Context, h *history.History, lvl level.Level, opt engine.Options) (*verdict.Result, error) {
	if err := engine.Suits(e, h, lvl); err != nil {
		return nil, err
	}
	if !Applies(h, lvl) {
		return nil, &engine.Refusal{Engine: Name, Reason: "the history does not say where the database placed transactions"}
	}
	for i := range h.Txns {
		if !h.HasTwice() {
			break
		}
		if _, _, twice := h.Twice(i, lvl.Repeatable()); twice && h.Txns[i].Status != history.Aborted {
			return nil, &engine.Refusal{Engine: Name, Reason: "a statement returned or changed one row twice"}
		}
	}
	res := &verdict.Result{Level: lvl, Engine: Name}
	stages := verdict.NewStages(res, opt.Progress)
	stages.Begin(Name)
	r, err := e.try(ctx, h, lvl, opt.Proof)
	if err != nil {
		return nil, err
	}
	claim := r.claim(lvl)
	if r.misfits > 0 || r.otherVersion {
		// The versions of reads may be wrong, and not the order. Then the order is still a witness.
		if strict := h.ByVersion(); strict != h {
			s, err := e.try(ctx, strict, lvl, opt.Proof)
			if err != nil {
				return nil, err
			}
			if claim = s.claim(lvl); s.misfits == 0 {
				r = s
			}
		}
	}
	stages.Done(Name)
	if r.misfits > 0 {
		return nil, &Misfit{&engine.Refusal{Engine: Name, Reason: "the claimed order is no execution at " + tried(lvl).String()}, claim}
	}
	res.Verdict, res.Witness, res.Claim = verdict.Satisfied, r.witness, claim
	return res, nil
}

// try executes the claimed order. A second time transactions without a snapshot may read earlier.
func (Engine) try(ctx context.Context, h *history.History, lvl level.Level, proof bool) (*run, error) {
	o, err := newOrder(h, lvl, false)
	if err != nil {
		return nil, err
	}
	r, err := execute(ctx, o, proof)
	if err == nil && r.misfits > 0 && o.byPoints && o.snapless > 0 {
		if o, err = newOrder(h, lvl, true); err == nil {
			r, err = execute(ctx, o, proof)
		}
	}
	return r, err
}

// claim is what the run says of the order that the database claims.
func (r *run) claim(lvl level.Level) *verdict.Claim {
	return &verdict.Claim{Tried: tried(lvl), Fits: r.misfits == 0, Snapshots: r.guessed != nil, Misfits: r.misfits, Txns: r.txns, Text: r.text}
}
