package scans

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Rest are the predicates of a history that are judged on demand. An execution of the history that a
// check finds is replayed. Where a scan should have found a row, operations for that row are added,
// and the history is checked again. A violation needs only the operations that it has. A history is
// satisfied if no scan of its execution should have found another row.
//
// Some scans leave a choice: a row may be missing because of one of two groups of columns, and a count
// does not say which rows it counted. If the execution does not agree with such a scan, all ways to
// choose are tried (choices.go).
type Rest struct {
	*expansion
	// gaveUp: the history is not settled, and these predicates are not judged.
	gaveUp bool
	// guessed is an execution that agrees with all scans, or nil; see Execute. It is a witness of the levels
	// that guessedAt implies.
	guessed   *verdict.Witness
	guessedAt level.Level
	effects   *effects // nil until the first replay
	decided   map[level.Level]*Decision
	// open are witnesses for the reads at weak levels that scans leave open.
	open map[level.Level]*verdict.Witness
}

// mostRounds bounds the checks of one level. mostOps bounds the operations that are added; in a large
// history the bound is mostTimes its operations. So time and memory grow with the history.
const (
	mostRounds = 50
	mostOps    = 1 << 18
	mostTimes  = 4
)

// Settle checks h at a level until the verdict agrees with the scans. check must give a witness if the
// verdict is satisfied. Settle returns h with the operations that were needed, which must take the
// place of h in all later calls. The predicates then count as judged, unless Settle gave up. Decide calls check,
// too, if other levels have added operations since.
//
// The witness of a weak level orders commits, and has no states on which scans could be evaluated. There a
// satisfied verdict is undecided, unless the execution of a stronger level agrees with the scans.
func (r *Rest) Settle(ctx context.Context, lvl level.Level, h *history.History, check func(*history.History) (*verdict.Result, error)) (*history.History, error) {
	if r.guessedFor(lvl) {
		return h, nil
	}
	if lvl.Weak() {
		r.decided[lvl] = &Decision{Reason: "the reads are allowed, but which versions the scans did not find is not known, and no execution of a stronger level says it"}
		return h, nil
	}
	if lvl.Snapshot() {
		if w, err := r.guessAt(ctx, lvl, &hasty); w != nil || err != nil {
			return h, err
		}
	}
	for range mostRounds {
		res, err := check(h)
		if err != nil {
			return h, err
		}
		if res.Verdict != verdict.Satisfied || res.Witness == nil {
			return h, nil
		}
		w, fits, err := r.repaired(ctx, h, lvl, res.Witness)
		if err != nil {
			return h, err
		}
		if fits {
			r.decided[lvl] = &Decision{Verdict: verdict.Satisfied, Witness: w, res: res}
			return h, nil
		}
		f, err := r.findings(ctx, h, w)
		if err != nil {
			return h, err
		}
		if f.more == nil {
			if len(f.clauses) == 0 {
				r.decided[lvl] = &Decision{Verdict: verdict.Satisfied, Witness: w, res: res}
				return h, nil
			}
			if w, err := r.guessCounts(ctx, lvl); w != nil || err != nil {
				return h, err
			}
			c := &choices{Rest: r, lvl: lvl, h: h, pick: newPicker(), check: check}
			for _, clause := range f.clauses {
				c.pick.addClause(clause)
			}
			decision, err := c.decide(ctx)
			if err == nil {
				r.decided[lvl] = decision
			}
			return c.h, err
		}
		if h = r.extend(h, f.more); r.gaveUp {
			return h, nil
		}
	}
	r.giveUp("too many checks would have been needed")
	return h, nil
}

// extend adds operations to a history.
func (r *Rest) extend(h *history.History, more map[int][][]history.Op) *history.History {
	h = h.Extend(more, &r.done)
	if r.done.Instantiated > max(mostOps, mostTimes*len(r.h.AllOps())) {
		r.giveUp("scans missed too many rows")
	}
	return h
}

// errMisfit says that a statement should have found or not found a row.
var errMisfit = errors.New("a scan should have found a row, or should not have found one")

// Fits reports whether the scans found all rows that they should have found in a witness of h. Scans
// that are not judged fit every witness. Fits changes nothing.
func (r *Rest) Fits(ctx context.Context, h *history.History, w *verdict.Witness) (bool, error) {
	if r.gaveUp {
		return true, nil
	}
	if len(r.unmet(w)) > 0 {
		return false, nil
	}
	misfit := func(*scan, int32) error { return errMisfit }
	err := r.replay(ctx, w, false, func(s *scan, play *replay) error {
		return s.examine(play, visitor{absent: misfit, either: misfit, present: func(*scan, int32, int) error { return errMisfit }, miscounted: func(*scan, [][]literal) error { return errMisfit }})
	})
	if errors.Is(err, errMisfit) {
		return false, nil
	}
	return err == nil, err
}

// Decision is the verdict on a level whose scans leave a choice.
type Decision struct {
	Verdict verdict.Verdict
	Reason  string
	Witness *verdict.Witness
	// res is the result of the check that found the witness, before it was repaired.
	res *verdict.Result
	// anomaly is the proof of a violation of the history of. check judges its cases.
	anomaly *verdict.Anomaly
	of      *history.History
	check   func(*history.History) (*verdict.Result, error)
}

// Decide makes a satisfied verdict on h agree with the scans. A check may find another execution than
// the one of Settle, because other levels needed more operations, too. Then the execution of Settle is
// the witness: it agrees with all scans, and so with all operations that follow from them. Decide returns
// false if it changed the verdict or its witness.
func (r *Rest) Decide(ctx context.Context, h *history.History, res *verdict.Result) (alone bool, err error) {
	if res.Verdict != verdict.Satisfied || r.gaveUp {
		return true, nil
	}
	found := res.Level
	if res.FollowsFrom != 0 {
		found = res.FollowsFrom
	}
	if !found.Weak() {
		if fits, err := r.Fits(ctx, h, res.Witness); err != nil || fits {
			return err == nil, err
		}
	}
	d := r.decision(res.Level)
	if d == nil {
		d = &Decision{Reason: "an execution was found that explains all reads, but not all scans"}
	}
	if found.Weak() && d.Verdict == verdict.Unknown {
		if r.open == nil {
			r.open = map[level.Level]*verdict.Witness{}
		}
		r.open[res.Level] = res.Witness
	}
	res.Verdict, res.Reason, res.Witness = d.Verdict, d.Reason, d.Witness
	if res.FollowsFrom = 0; d.Verdict != verdict.Satisfied {
		res.Certified = false
	}
	if d.Verdict == verdict.Violated {
		err = d.proof(ctx, h, res)
	}
	return false, err
}

// Settled returns the verdict that Settle reached on a level, if it is satisfied, else nil. Its witness
// agrees with all scans, so it is a witness of every history that Settle returned.
func (r *Rest) Settled(lvl level.Level) *verdict.Result {
	d := r.decision(lvl)
	if d == nil || d.res == nil || r.gaveUp {
		return nil
	}
	res := *d.res
	res.Witness = d.Witness
	return &res
}

// Undecided says why Settle did not decide a level, if its check was stopped.
func (r *Rest) Undecided(lvl level.Level, why string) { r.decided[lvl] = &Decision{Reason: why} }

// Unjudged returns the history without operations for rows that scans did not find. No scan is judged in
// it. reason says why.
func (r *Rest) Unjudged(reason string) *history.History {
	all := &history.Scans{Scans: r.done.Scans, Reason: reason, Unjudged: map[history.ScanRef]bool{}}
	for i := range r.h.Txns {
		for n := range r.h.Predicates(i) {
			all.Unjudged[history.ScanRef{Txn: i, Number: n}] = true
		}
	}
	return r.h.Extend(nil, all)
}

// Others returns h, a history that Settle returned, without judging the predicates of r, and a witness of the reads at a weak
// level that Decide left open. The other predicates count as judged. It returns nil if there are none, or no witness. reason
// says why.
func (r *Rest) Others(h *history.History, lvl level.Level, reason string) (*history.History, *verdict.Witness) {
	w := r.open[lvl]
	if w == nil {
		return nil, nil
	}
	all := &history.Scans{Scans: r.done.Scans, Instantiated: r.done.Instantiated, ClassReads: r.done.ClassReads, Unjudged: maps.Clone(r.done.Unjudged)}
	for _, s := range r.later {
		all.Unjudged[history.ScanRef{Txn: s.txn, Number: s.number}] = true
	}
	if all.Judged = all.Scans - len(all.Unjudged); all.Judged == 0 {
		return nil, nil
	}
	all.Reason = fmt.Sprintf("%d of %d scans are not judged: %s", len(all.Unjudged), all.Scans, reason)
	return h.Extend(nil, all), w
}

// Done counts the predicates as judged, after all levels have been settled, unless Settle gave up.
func (r *Rest) Done() {
	if r.gaveUp {
		for _, s := range r.later {
			r.skip(s.txn, s.number, s.number+1)
		}
	} else {
		r.done.Judged += len(r.later)
	}
	r.tell()
}

func (r *Rest) giveUp(why string) {
	r.gaveUp = true
	r.refuse(why)
}

// replay executes a witness and calls f with each scan, at its moment. keep says whether what
// transactions change is logged.
func (r *Rest) replay(ctx context.Context, w *verdict.Witness, keep bool, f func(*scan, *replay) error) error {
	if r.effects == nil {
		r.effects = newEffects(r.index, r.later)
	}
	play := newReplay(r.effects, r.later)
	if play.keep = keep; keep {
		play.log = make([]change, 0, len(r.effects.list))
	}
	return play.run(w, func(txn int32) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, s := range r.effects.scans[txn] {
			if err := f(s, play); err != nil {
				return err
			}
		}
		return nil
	})
}

// findings is what the replay of a witness showed.
type findings struct {
	more    map[int][][]history.Op // operations that are missing
	clauses [][][]literal          // choices with which the witness does not agree
}

func (r *Rest) findings(ctx context.Context, h *history.History, w *verdict.Witness) (f findings, err error) {
	var counts []miscount
	var log *replay
	err = r.replay(ctx, w, slices.ContainsFunc(r.later, func(s *scan) bool { return s.count != nil }), func(s *scan, play *replay) error {
		err := s.examine(play, visitor{
			absent:  func(s *scan, row int32) error { return s.missedNow(play, row) },
			present: func(s *scan, row int32, g int) error { return s.foundNow(play, row, g) },
			either: func(s *scan, row int32) error {
				f.clauses = append(f.clauses, single(s.absences(nil, row)))
				return nil
			},
			miscounted: func(s *scan, c [][]literal) error {
				counts, log = append(counts, miscount{s, len(play.log), play.seen(s), c}), play
				return nil
			},
		})
		if err != nil || len(s.added) == 0 {
			return err
		}
		if f.more == nil {
			f.more = map[int][][]history.Op{}
		}
		if f.more[s.txn] == nil {
			f.more[s.txn] = make([][]history.Op, len(h.Predicates(s.txn)))
		}
		f.more[s.txn][s.number] = s.take()
		return nil
	})
	f.clauses = append(f.clauses, r.unmet(w)...)
	for i := range counts {
		m := &counts[i]
		f.clauses = append(f.clauses, append(m.nearby(log.log), m.clause...))
	}
	return f, err
}

// visitor is told where a statement does not fit the rows that it sees.
type visitor struct {
	// absent has a row that the statement should have found.
	absent func(s *scan, row int32) error
	// present has a row that it changed, although group g of the row does not fulfil the conditions.
	present func(s *scan, row int32, g int) error
	// either has a row that it should have found, and whose absence several groups could explain.
	either func(s *scan, row int32) error
	// miscounted is told of choices of a count.
	miscounted func(s *scan, clause [][]literal) error
}

// examine evaluates a statement on the rows that it sees.
func (s *scan) examine(play *replay, v visitor) error {
	if s.absentees {
		err := play.each(s, func(row int32) error {
			if s.either.has(row) {
				return nil
			}
			return v.absent(s, row)
		})
		if err != nil {
			return err
		}
	}
	for _, row := range slices.Clone(s.either) {
		if play.finds(s, row) {
			if err := v.either(s, row); err != nil {
				return err
			}
		}
	}
	for _, row := range s.unread {
		for _, g := range s.groups {
			if i := play.version(s, row, g); i < 0 || !s.fits(g, i) {
				if err := v.present(s, row, g); err != nil {
					return err
				}
			}
		}
	}
	if s.count == nil {
		return nil
	}
	if clause := s.miscounted(play); len(clause) > 0 {
		return v.miscounted(s, clause)
	}
	return nil
}

// missedNow judges a row that the statement should have found.
func (s *scan) missedNow(play *replay, r int32) error {
	if s.known.has(r) {
		return s.contradicted(r)
	}
	list, _, _ := s.alternatives(r)
	if len(list) != 1 || len(list[0].no) == 1 || len(list[0].yes)+len(list[0].no) <= MostVersions {
		s.missedRow(r)
		return nil
	}
	return s.not(play, r, list[0].group)
}

// foundNow judges a row that was changed without being read, and that should not have been.
func (s *scan) foundNow(play *replay, r int32, g int) error { return s.not(play, r, g) }

// not says that the statement did not see the version of a row that it sees now.
func (s *scan) not(play *replay, r int32, g int) error {
	v := history.Absent
	if i := play.version(s, r, g); i >= 0 {
		v = s.t.groups[g].list[i].value
	}
	op := history.Op{Kind: history.ReadNot, Key: s.index.item(s.t, r, g), Value: v}
	if s.excluded[op] {
		return s.contradicted(r)
	}
	if s.excluded == nil {
		s.excluded = map[history.Op]bool{}
	}
	s.excluded[op] = true
	s.added = append(s.added, op)
	s.rows++
	return nil
}

func (s *scan) contradicted(r int32) error {
	return errors.Errorf("the witness contradicts what transaction %d found of %s; this is a bug in isohound", s.h.Txns[s.txn].ID, s.t.rows[r].name)
}
