package results

import (
	"testing"

	"github.com/isohound/isohound/checker/verdict"
)

// TestUnreadWindow: a window that could not be read makes the run unknown, unless another one is violated.
func TestUnreadWindow(t *testing.T) {
	good, unread := Outcome{Verdict: verdict.Satisfied, Committed: 5}, Outcome{Verdict: verdict.Unknown, Unread: true, Reason: "no time"}
	for _, order := range [][]Outcome{{good, unread, good}, {unread, good}, {good, unread}} {
		var sum Outcome
		for n := range order {
			sum.AddWindow(n+1, &order[n])
		}
		if sum.Verdict != verdict.Unknown || sum.Windows.Unknown != 1 || sum.Windows.Empty != 0 {
			t.Errorf("%s, %+v", sum.Verdict, sum.Windows)
		}
	}
}
