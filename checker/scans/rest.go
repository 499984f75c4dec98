package scans

import (
	"context"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Rest are the predicates of a history that are judged on demand. An execution of the history that a
// check finds is replayed. Where a scan should have found a row, operations for that row are added,
// and the history is checked again. A violation needs only the operations that it has. A history is
// satisfied if no scan of its execution should have found another row.
type Rest struct {
	*expansion
	// gaveUp: the history is not settled, and these predicates are not judged.
	gaveUp bool
	judged int // other predicates that are judged
}

// mostRounds bounds the checks of one level. mostOps bounds the operations that are added; in a large
// history the bound is mostTimes its operations. So time and memory grow with the history.
const (
	mostRounds = 50
	mostOps    = 1 << 18
	mostTimes  = 4
)

// Settle checks h until the verdict agrees with the scans. check must give a witness if the verdict is
// satisfied. It returns h with the operations that were needed, which must take the place of h in all
// later calls. The predicates then count as judged, unless Settle gave up.
func (r *Rest) Settle(ctx context.Context, h *history.History, check func(*history.History) (*verdict.Result, error)) (*history.History, error) {
	for range mostRounds {
		res, err := check(h)
		if err != nil {
			return h, err
		}
		if res.Verdict != verdict.Satisfied || res.Witness == nil {
			return h, nil
		}
		more, err := r.missing(ctx, h, res.Witness)
		if err != nil || len(more) == 0 {
			return h, err
		}
		if h = h.Extend(more, &r.done); r.done.Instantiated > max(mostOps, mostTimes*len(r.h.AllOps())) {
			r.giveUp("scans missed too many rows")
			return h, nil
		}
	}
	r.giveUp("too many checks would have been needed")
	return h, nil
}

// errMisfit says that a scan should have found a row.
var errMisfit = errors.New("a scan should have found a row")

// Fits reports whether the scans found all rows that they should have found in a witness of h. Scans
// that are not judged fit every witness. Fits changes nothing.
func (r *Rest) Fits(ctx context.Context, h *history.History, w *verdict.Witness) (bool, error) {
	if r.gaveUp {
		return true, nil
	}
	err := r.replay(ctx, h, w, func(s *scan, play *replay) error {
		return play.missed(s, func(v *version) error {
			wrong, err := s.shouldHave(v)
			if err == nil && wrong {
				err = errMisfit
			}
			return err
		})
	})
	if errors.Is(err, errMisfit) {
		return false, nil
	}
	return err == nil, err
}

// Done counts the predicates as judged, after all levels have been settled, unless Settle gave up.
func (r *Rest) Done() {
	if !r.gaveUp {
		r.done.Judged = r.judged
		for _, s := range r.later {
			if !s.refused {
				r.done.Judged++
			}
		}
	}
	r.tell()
}

func (r *Rest) giveUp(why string) {
	r.gaveUp = true
	r.refuse(why)
}

// replay executes a witness and calls f with each scan that is still judged, at its moment.
func (r *Rest) replay(ctx context.Context, h *history.History, w *verdict.Witness, f func(*scan, *replay) error) error {
	play, err := newReplay(r.index, r.later)
	if err != nil {
		return err
	}
	byTxn := map[int32][]*scan{}
	for _, s := range r.later {
		if !s.refused {
			byTxn[int32(s.txn)] = append(byTxn[int32(s.txn)], s)
		}
	}
	return play.run(h, w, func(txn int32) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, s := range byTxn[txn] {
			if err := f(s, play); err != nil {
				return err
			}
		}
		return nil
	})
}

// missing returns the operations for the rows that scans should have found in a witness.
func (r *Rest) missing(ctx context.Context, h *history.History, w *verdict.Witness) (map[int][][]history.Op, error) {
	more := map[int][][]history.Op{}
	err := r.replay(ctx, h, w, func(s *scan, play *replay) error {
		if err := play.missed(s, s.missedNow); errors.As(err, new(*limitError)) {
			s.refused, s.added, s.rows = true, nil, 0
			r.refuse(err.Error())
		} else if err != nil {
			return err
		}
		if len(s.added) > 0 {
			if more[s.txn] == nil {
				more[s.txn] = make([][]history.Op, len(h.Predicates(s.txn)))
			}
			more[s.txn][s.number] = s.take()
		}
		return nil
	})
	return more, err
}

// shouldHave reports whether the scan should have found a row whose current version fulfils the
// conditions.
func (s *scan) shouldHave(v *version) (bool, error) {
	if s.returned[v.row] || s.written[v.row] {
		return false, nil
	}
	behind, err := s.page.behind(s.index, s.t, s.group, v)
	return !behind, err
}

// missedNow judges a row whose current version fulfils the conditions.
func (s *scan) missedNow(v *version) error {
	if wrong, err := s.shouldHave(v); err != nil || !wrong {
		return err
	}
	if s.known[v.row] {
		return errors.Errorf("the witness contradicts what transaction %d did not find of %s; this is a bug in isohound", s.h.Txns[s.txn].ID, s.t.rows[v.row].name)
	}
	if s.known == nil {
		s.known = map[int32]bool{}
	}
	s.known[v.row] = true
	vs := &s.t.groups[s.group]
	var hits []int32
	for i := vs.from[v.row]; i < vs.from[v.row+1]; i++ {
		ok, err := s.index.fulfils(s.t, s.group, &s.p.Predicate, &vs.list[i])
		if err != nil {
			return err
		}
		if ok {
			hits = append(hits, i)
		}
	}
	return s.missedRow(v.row, hits)
}
