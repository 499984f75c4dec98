package certify

import (
	"iter"
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// placedBefore reports whether the history assumes that of the versions of any key that both transactions wrote, a's
// is the earlier one.
func placedBefore(h *history.History, a, b int32) bool {
	x, y := h.Place(int(a)), h.Place(int(b))
	return x > 0 && y > 0 && x < y
}

// versionEdge verifies an edge that the claimed order of versions shows.
func (l *lookup) versionEdge(e verdict.Edge) error {
	switch {
	case !l.h.OrderAssumed():
		return errors.New("the order of versions that the database claims is not assumed")
	case !l.writes(e.From, e.Key) || !l.writes(e.To, e.Key):
		return errors.New("the two transactions did not both write the key")
	case !placedBefore(l.h, e.From, e.To):
		return errors.New("the database does not claim that the first one's version is the earlier one")
	}
	return nil
}

// assumed adds: if both count, the transaction whose version of a key is the earlier one committed first.
func (p *refutation) assumed(s *verdict.Step) error {
	for _, i := range []int32{s.Txn, s.Other} {
		if _, err := p.final(i, s.Key); err != nil {
			return err
		}
	}
	if err := p.versionEdge(verdict.Edge{From: s.Txn, To: s.Other, Kind: verdict.VO, Key: s.Key}); err != nil {
		return err
	}
	c := p.begin()
	c.ifCounts(s.Txn)
	c.ifCounts(s.Other)
	if p.lvl.FirstCommitterWins() || !p.lvl.Snapshot() {
		c.before(commit(s.Txn), start(s.Other))
	} else {
		c.before(commit(s.Txn), commit(s.Other))
	}
	return c.done()
}

// Agrees returns an error if a witness of h at a level contradicts what is assumed: the order of versions and, at snapshot
// levels, the snapshots. The witness must name transactions of h.
func Agrees(h *history.History, lvl level.Level, w *verdict.Witness) error {
	if lvl.Snapshot() && h.SnapshotsAssumed() {
		if err := agreesWithSnapshots(h, w.Points); err != nil {
			return err
		}
	}
	if !h.OrderAssumed() {
		return nil
	}
	last := make([]int32, h.KeyCount()) // by key: the transaction with the highest place so far, plus 1
	for i := range commitsOf(w) {
		place := h.Place(int(i))
		if place == 0 {
			continue
		}
		for _, op := range h.Ops(&h.Txns[i]) {
			if op.Kind != history.Write {
				continue
			}
			before := last[op.Key] - 1
			if before >= 0 && h.Place(int(before)) > place {
				return errors.Errorf("the witness has transaction %d's version of %s after that of transaction %d, which the database says came later",
					h.Txns[i].ID, h.KeyName(op.Key), h.Txns[before].ID)
			}
			last[op.Key] = i + 1
		}
	}
	return nil
}

func commitsOf(w *verdict.Witness) iter.Seq[int32] {
	if w.Points == nil {
		return slices.Values(w.Order)
	}
	return func(yield func(int32) bool) {
		for _, p := range w.Points {
			if p&1 == 1 && !yield(p>>1) {
				return
			}
		}
	}
}
