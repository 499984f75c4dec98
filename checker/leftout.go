package checker

import (
	"slices"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// nothing returns why there is nothing to judge in h, or "".
func nothing(h *history.History) string {
	if slices.ContainsFunc(h.Txns, func(t history.Txn) bool { return t.Status == history.Committed }) {
		return ""
	}
	return "there is no committed transaction, so there is nothing to check"
}

// doubt makes the verdict unknown if h lacks operations that its reader did not understand. Such
// operations may violate any level. They may also have written a value that was read, so a
// violation in the rest is no proof either.
func doubt(h *history.History, r *verdict.Result) {
	if h.LeftOut == "" {
		return
	}
	why := h.LeftOut + ", so the verdict is unknown"
	if r.Verdict == verdict.Violated {
		why += ", although the rest of the history is violated"
	}
	r.Verdict, r.Anomalies, r.Witness, r.Reason = verdict.Unknown, nil, nil, why
}
