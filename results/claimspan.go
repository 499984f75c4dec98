package results

import (
	"fmt"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// ClaimSpan has the bounds of what the database claims of the committed transactions of a window. All of them come before
// those of later windows, so claims that say otherwise contradict each other, although each window may agree with its own.
type ClaimSpan struct {
	// Commits and Snapshots are positions (history.Claim). Numbers are the database's own numbers of transactions. Sets are
	// of snapshots that are sets of them: from the lowest Max to the highest Min (history.Visible).
	Commits   *Span `json:"commits,omitempty"`
	Snapshots *Span `json:"snapshots,omitempty"`
	Numbers   *Span `json:"numbers,omitempty"`
	Sets      *Span `json:"sets,omitempty"`
}

// Span is a range of numbers, with the transactions that have its ends.
type Span struct {
	Low     int64 `json:"low"`
	High    int64 `json:"high"`
	LowTxn  int64 `json:"low_txn"`
	HighTxn int64 `json:"high_txn"`
}

// Snapped reports whether snapshots are claimed.
func (s *ClaimSpan) Snapped() bool { return s != nil && (s.Snapshots != nil || s.Sets != nil) }

// widen returns the span with a transaction in it that has a low and a high number.
func (s *Span) widen(low, high, txn int64) *Span {
	if s == nil {
		return &Span{low, high, txn, txn}
	}
	if low < s.Low {
		s.Low, s.LowTxn = low, txn
	}
	if high > s.High {
		s.High, s.HighTxn = high, txn
	}
	return s
}

// NewClaimSpan returns the span of a window, or nil if nothing is claimed in it.
func NewClaimSpan(h *history.History) *ClaimSpan {
	if !h.HasClaims() && !h.HasVisible() {
		return nil
	}
	out := &ClaimSpan{}
	for i := range h.Txns {
		t := &h.Txns[i]
		if t.Status != history.Committed {
			continue
		}
		c := h.Claim(i)
		if c.Commit != 0 {
			out.Commits = out.Commits.widen(c.Commit, c.Commit, t.ID)
		}
		if c.Snapped {
			out.Snapshots = out.Snapshots.widen(c.Snapshot, c.Snapshot, t.ID)
		}
		if n := h.DBTxn(i); n > 0 {
			out.Numbers = out.Numbers.widen(n, n, t.ID)
		}
		if v := c.Visible; v != nil {
			out.Sets = out.Sets.widen(v.Max, v.Min, t.ID)
		}
	}
	return out
}

// backwards says in words how claims of a later window contradict those of s, or returns "". It says whether they are
// positions.
func (s *ClaimSpan) backwards(later *ClaimSpan) (text string, positions bool) {
	if s == nil || later == nil {
		return "", false
	}
	for n, c := range []struct {
		before, after *Span
		equal         bool // is a contradiction, too
		text          string
	}{
		{s.Commits, later.Commits, false, "T%d committed at %d, and T%d of an earlier window at %d"},
		{s.Commits, later.Snapshots, false, "T%d used snapshot %d, and T%d of an earlier window committed at %d"},
		{s.Snapshots, later.Commits, true, "T%d committed at %d, and T%d of an earlier window used snapshot %d"},
		{s.Numbers, later.Sets, true, "the snapshot of T%d has nothing from number %d on, and T%d of an earlier window has number %d"},
		{s.Sets, later.Numbers, false, "T%d has number %d, and the snapshot of T%d of an earlier window has all below %d"},
	} {
		if c.before != nil && c.after != nil && (c.after.Low < c.before.High || c.equal && c.after.Low == c.before.High) {
			return fmt.Sprintf(c.text, c.after.LowTxn, c.after.Low, c.before.HighTxn, c.before.High), n < 3
		}
	}
	return "", false
}

// weigh returns the outcome of a window with what follows for it from claims of earlier windows: an order that goes back is
// no execution, and a verdict that assumes such claims is unknown, since the windows do not say which keys it concerns.
func (s *ClaimSpan) weigh(w *Outcome) *Outcome {
	text, positions := s.backwards(w.ClaimSpan)
	if text == "" {
		return w
	}
	out := *w
	if c := w.Claim; c != nil && c.Fits && positions {
		told := *c
		told.Fits, told.Misfits, told.Text = false, 1, text
		out.Claim = &told
	}
	if a := w.Assumes; a != nil && w.Verdict == verdict.Satisfied && (a.Snapshots > 0 || a.Placed > 0 && positions) {
		out.Verdict, out.Reason = verdict.Unknown, "it contradicts what the database claims of an earlier window: "+text+"; a run that is recorded without cuts can be judged"
	}
	return &out
}

// add returns the span of s and of later windows.
func (s *ClaimSpan) add(later *ClaimSpan) *ClaimSpan {
	if s == nil || later == nil {
		if s == nil {
			s = later
		}
		return s
	}
	join := func(a, b *Span) *Span {
		if a == nil || b == nil {
			if a == nil {
				a = b
			}
			return a
		}
		out := *a
		return (&out).widen(b.Low, out.High, b.LowTxn).widen(out.Low, b.High, b.HighTxn)
	}
	return &ClaimSpan{join(s.Commits, later.Commits), join(s.Snapshots, later.Snapshots), join(s.Numbers, later.Numbers), join(s.Sets, later.Sets)}
}
