package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// unjudgedScans stands between the numbers of scans that are not judged and why, in Scans.Reason.
const unjudgedScans = " scans are not judged: "

// addScans adds the scans of window number n. Why some are not judged is told of the first window that has such scans.
func (o *Outcome) addScans(n int, w *history.Scans, first bool) {
	if w == nil {
		return
	}
	sum := history.Scans{Scans: w.Scans, Judged: w.Judged, ClassReads: w.ClassReads, Instantiated: w.Instantiated}
	why := ""
	if w.Reason != "" {
		_, reason, split := strings.Cut(w.Reason, unjudgedScans)
		if !split {
			reason = w.Reason
		}
		why = fmt.Sprintf("in window %d, %s", n, reason)
	}
	if old := o.Predicates; !first && old != nil {
		sum.Scans += old.Scans
		sum.Judged += old.Judged
		sum.ClassReads += old.ClassReads
		sum.Instantiated += old.Instantiated
		if _, before, told := strings.Cut(old.Reason, unjudgedScans); told {
			why = before
		}
	}
	if why != "" {
		sum.Reason = fmt.Sprintf("%d of %d%s%s", sum.Scans-sum.Judged, sum.Scans, unjudgedScans, why)
	}
	o.Predicates = &sum
}

// addSearch adds what the search in a window did.
func (o *Outcome) addSearch(w *verdict.Search, first bool) {
	if w == nil {
		return
	}
	sum := *w
	if old := o.Search; !first && old != nil {
		sum.Variables += old.Variables
		sum.Clauses += old.Clauses
		sum.Decisions += old.Decisions
		sum.Propagations += old.Propagations
		sum.Conflicts += old.Conflicts
		sum.TheoryConflicts += old.TheoryConflicts
		sum.Restarts += old.Restarts
		sum.OnDemand += old.OnDemand
		sum.OpenBefore += old.OpenBefore
		sum.OpenAfter += old.OpenAfter
		sum.ConstraintsBefore += old.ConstraintsBefore
		sum.ConstraintsAfter += old.ConstraintsAfter
	}
	o.Search = &sum
}

// addAccel adds how reachability was computed in a window. The time is that of all windows; the rest is of the window with the
// largest graph.
func (o *Outcome) addAccel(w *verdict.Accel, first bool) {
	if w == nil {
		return
	}
	sum := *w
	if old := o.Accel; !first && old != nil {
		if old.Vertices >= w.Vertices {
			sum = *old
		}
		sum.Seconds = old.Seconds + w.Seconds
	}
	o.Accel = &sum
}

// addNotes adds the notes about window number n.
func (o *Outcome) addNotes(n int, w []string, first bool) {
	if first {
		o.Notes = nil
	}
	o.Notes = WindowNotes(o.Notes, n, w)
}

// WindowNotes adds what is noted about window number n to the notes of a run, without what is there already. That windows may lack
// transactions is told of the first one: it holds for all after it.
func WindowNotes(notes []string, n int, of []string) []string {
	for _, note := range of {
		text := fmt.Sprintf("window %d: %s", n, note)
		told := slices.ContainsFunc(notes, func(old string) bool {
			return old == text || note == history.IncompleteNote && strings.HasSuffix(old, note)
		})
		if !told {
			notes = append(slices.Clip(notes), text)
		}
	}
	return notes
}
