package checker

import (
	"slices"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// nothing says why there is nothing to judge in h, "" if there is.
func nothing(h *history.History) string {
	if slices.ContainsFunc(h.Txns, func(t history.Txn) bool { return t.Status == history.Committed }) {
		return ""
	}
	return "there is no committed transaction, and so nothing to judge"
}

// doubt withdraws a verdict on h where operations were left out that its reader did
// not understand. They may break any level, and may have written what was read, or
// have set it back, so that a violation in the rest is no proof either.
func doubt(h *history.History, r *verdict.Result) {
	if h.LeftOut == "" {
		return
	}
	why := h.LeftOut + ", so that no verdict holds"
	if r.Verdict == verdict.Violated {
		why += ", though the rest shows a violation"
	}
	r.Verdict, r.Anomalies, r.Witness, r.Reason = verdict.Unknown, nil, nil, why
}
