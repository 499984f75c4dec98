package polygraph

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel/choose"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Refute writes a proof about the whole of h, without cutting out a counterexample first. It
// returns nil if h has an execution or if a single read is wrong.
func Refute(h *history.History, lvl level.Level, prune bool) (*verdict.Refutation, error) {
	at := make([]int32, len(h.Txns))
	for i := range at {
		at[i] = int32(i)
	}
	r, err := refutation(context.Background(), h, lvl, at, prune)
	if errors.Is(err, errPossible) {
		err = nil
	}
	return r, err
}

// LimitProofs sets how large a proof may become until restore is called.
func LimitProofs(words int) (restore func()) {
	usual := maxProof
	maxProof = words
	return func() { maxProof = usual }
}

// Decide is Check without a counterexample, because shrinking one takes long.
func Decide(ctx context.Context, h *history.History, lvl level.Level, e Engine) (*verdict.Result, error) {
	c := &check{ctx: ctx, h: h, lvl: lvl, opt: options{Engine: e}, res: &verdict.Result{Level: lvl}, decideOnly: true, whole: true}
	c.stages = verdict.NewStages(c.res, nil)
	return c.res, c.run()
}

// GiveUpLevels sets how many levels a backjump may undo, until restore is called.
func GiveUpLevels(n int32) (restore func()) {
	usual := chronological
	chronological = n
	return func() { chronological = usual }
}

// MendUntil sets after how many conflicts all variables are decided, until restore is called.
func MendUntil(conflicts int64) (restore func()) {
	usual := firstTurn
	firstTurn = func(int) int64 { return conflicts }
	return func() { firstTurn = usual }
}

// MostSteps sets after how many edges the search for a shorter cycle ends, until restore is called.
func MostSteps(n int) (restore func()) {
	usual := mostSteps
	mostSteps = n
	return func() { mostSteps = usual }
}

// HardAfter sets after how many conflicts a search counts as hard, until restore is called.
func HardAfter(conflicts int64) (restore func()) {
	usual := hardAfter
	hardAfter = conflicts
	return func() { hardAfter = usual }
}

// Guess guesses an execution of h.
func Guess(ctx context.Context, h *history.History, lvl level.Level) error {
	m := newModel(h, lvl, single.NewCollector(h), true)
	_, _, err := guess(ctx, m, newGraph(m), nil)
	return err
}

// Shuffle guesses an execution of h and adds random edges to its order, so that many nodes move.
// After every few edges it compares the keys that would be verified again with a verification of
// all keys. It returns how many of these had become wrong.
func Shuffle(h *history.History, lvl level.Level, rng *rand.Rand) (wrong int, err error) {
	m := newModel(h, lvl, single.NewCollector(h), true)
	g := newGraph(m)
	s := newSaturator(m, g, false)
	nodes, _, err := guess(context.Background(), m, g, nil)
	if err != nil || len(nodes) < int(g.nodes) || len(m.txns) < 2 {
		return 0, err
	}
	x := newSearch(context.Background(), s, nodes, newEvidence(s))
	if err := x.begin(); err != nil {
		return 0, err
	}
	right := func(k int32, list []int32) bool {
		ok := true
		x.replay(k, list, func(int32, []int32) { ok = false }, func(_, _ int32) { ok = false }, func(_, _ int32) { ok = false })
		return ok
	}
	for range 10 {
		for range 1 + rng.IntN(3) {
			a, b := g.start(rng.Int32N(int32(len(m.txns)))), g.commit(rng.Int32N(int32(len(m.txns))))
			if rng.IntN(2) == 0 {
				a, b = g.commit(g.txnOf(a)), g.start(g.txnOf(b))
			}
			if g.txnOf(a) != g.txnOf(b) {
				x.o.insert(a, b, x.truth)
			}
		}
		x.dirtyMoved()
		for k := range int32(m.h.KeyCount()) {
			list := slices.Clone(x.a.of(k))
			sorted := slices.Clone(list)
			slices.SortFunc(sorted, func(a, b int32) int { return int(x.a.dated(a, x.o.pos).when) - int(x.a.dated(b, x.o.pos).when) })
			if !slices.Equal(list, sorted) && !x.isDirty[k] {
				return 0, errors.Errorf("the accesses to key %d stand as %v, not as %v, and nobody looks", k, list, sorted)
			}
			if right(k, sorted) {
				continue
			}
			if !x.isDirty[k] {
				return 0, errors.Errorf("key %d reads wrong, and nobody looks", k)
			}
			wrong++
		}
		for _, k := range x.dirty {
			x.isDirty[k] = !right(k, x.a.sort(k, x.o.pos))
		}
		x.dirty = slices.DeleteFunc(x.dirty, func(k int32) bool { return !x.isDirty[k] })
	}
	return wrong, nil
}

// Entries saturates h and compares the entries of each key with the closure's answer for each pair
// of nodes. It returns how many keys it compared.
func Entries(h *history.History, lvl level.Level, how Acceleration) (keys int, err error) {
	ctx := context.Background()
	m := newModel(h, lvl, single.NewCollector(h), true)
	g := newGraph(m)
	s := newSaturator(m, g, true)
	s.accelerate(how)
	s.thorough = true
	if err := s.run(ctx); err != nil || len(g.topological(nil)) < int(g.nodes) {
		return 0, err
	}
	if ok, err := s.reach.update(ctx); !ok || err != nil {
		return 0, err
	}
	s.openOn = makeCSR(h.KeyCount(), 0, nil)
	s.contested.bits(m, s.reach)
	if s.reach.rows == nil {
		if asked, err := s.ask(ctx, s.contested.order, true); err != nil || asked < len(s.contested.order) {
			return 0, errors.Errorf("%d of %d runs asked about: %v", asked, len(s.contested.order), err)
		}
	}
	w := &worker{saturator: s}
	for at, key := range s.contested.keys {
		if s.reach.rows == nil {
			w.group = s.groups.of[at]
		}
		if !w.gather(key, everything, true) {
			continue
		}
		keys++
		for i := range int32(len(w.writers)) {
			x := &w.writers[i]
			if err := w.compareRow(g.commit(x.txn), w.commitRow(i)); err != nil {
				return 0, err
			}
			if err := w.compareRow(g.start(x.txn), w.startRow(i)); err != nil {
				return 0, err
			}
			for j := range w.readers {
				r := &w.readers[j]
				if got, want := w.startedBefore(int32(j), i), s.reach.reaches(g.start(r.txn), g.commit(x.txn)); got != want {
					return 0, errors.Errorf("key %d, reader %d before writer %d: %v, want %v", key, j, i, got, want)
				}
			}
		}
		for i := range w.readers {
			if err := w.compareRow(g.start(w.readers[i].txn), w.readRow(int32(i))); err != nil {
				return 0, err
			}
		}
	}
	return keys, nil
}

// compareRow compares the entries of a node with the closure. Entries of a start need to be right
// only about commits.
func (w *worker) compareRow(node int32, row []int32) error {
	k, g := w.reach, w.g
	for i, got := range row {
		last, lastCommit := int32(0), int32(0)
		for _, t := range k.c.members.of(w.chains[i]) {
			if k.reaches(g.start(t), node) {
				last = max(last, k.startAt(t))
			}
			if k.reaches(g.commit(t), node) {
				last, lastCommit = max(last, k.commitAt(t)), k.commitAt(t)
			}
		}
		if got > last || got < lastCommit || got < last && node == g.commit(g.txnOf(node)) {
			return errors.Errorf("key %d, entry of node %d for chain %d: %d, want %d or the last commit, %d", w.key, node, w.chains[i], got, last, lastCommit)
		}
	}
	return nil
}

// On returns the same Acceleration for another machine.
func (a Acceleration) On(m *choose.Machine) Acceleration {
	a.machine = m
	return a
}

// FailedGuess makes the first guess about h. It reports whether the guess failed, and
// whether the known graph is then as it was before.
func FailedGuess(h *history.History, lvl level.Level) (failed, same bool, err error) {
	c := &check{ctx: context.Background(), h: h, lvl: lvl, opt: options{}, res: &verdict.Result{Level: lvl}}
	c.stages = verdict.NewStages(c.res, nil)
	var s *saturator
	s, c.found = prepare(h, lvl, true, true)
	edges, out, in, added := slices.Clone(s.g.edges), slices.Clone(s.g.out), slices.Clone(s.g.in), s.added
	done, err := c.guessFirst(s)
	same = slices.Equal(edges, s.g.edges) && slices.Equal(out, s.g.out) && slices.Equal(in, s.g.in) && added == s.added
	return !done, same, err
}

// Complete reports whether one search for a cycle decides h.
func Complete(h *history.History, lvl level.Level) bool {
	s, _ := prepare(h, lvl, true, true)
	return s != nil && s.complete()
}
