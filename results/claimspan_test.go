package results

import (
	"testing"

	"github.com/isohound/isohound/checker/verdict"
)

// TestClaimSpan: claims of a later window contradict those of earlier ones if an order of all of them goes back. A gap
// between two windows with claims changes nothing.
func TestClaimSpan(t *testing.T) {
	at := func(low, high int64) *Span { return &Span{Low: low, High: high, LowTxn: low, HighTxn: high} }
	commits := func(low, high int64) *ClaimSpan { return &ClaimSpan{Commits: at(low, high)} }
	snapshots := func(low, high int64) *ClaimSpan { return &ClaimSpan{Snapshots: at(low, high)} }
	numbers := func(low, high int64) *ClaimSpan { return &ClaimSpan{Numbers: at(low, high)} }
	sets := func(low, high int64) *ClaimSpan { return &ClaimSpan{Sets: at(low, high)} }
	for name, tc := range map[string]struct {
		spans     []*ClaimSpan
		back      bool
		positions bool
	}{
		"ascending":                        {[]*ClaimSpan{commits(1, 9), commits(10, 12)}, false, false},
		"a commit that goes back":          {[]*ClaimSpan{commits(1, 9), commits(8, 12)}, true, true},
		"over a window without claims":     {[]*ClaimSpan{commits(1, 9), nil, commits(8, 12)}, true, true},
		"over a window with higher claims": {[]*ClaimSpan{commits(1, 9), commits(10, 11), commits(5, 12)}, true, true},
		"two windows at once":              {[]*ClaimSpan{commits(5, 9), commits(9, 9), snapshots(9, 9)}, false, false},
		"a snapshot without a commit":      {[]*ClaimSpan{commits(1, 9), snapshots(8, 20)}, true, true},
		"a commit in an earlier snapshot":  {[]*ClaimSpan{snapshots(1, 9), commits(9, 12)}, true, true},
		"a commit after it":                {[]*ClaimSpan{snapshots(1, 9), commits(10, 12)}, false, false},
		"a set without a number":           {[]*ClaimSpan{numbers(1, 9), sets(9, 9)}, true, false},
		"a set with it":                    {[]*ClaimSpan{numbers(1, 9), sets(10, 2)}, false, false},
		"a number in an earlier set":       {[]*ClaimSpan{sets(10, 8), numbers(7, 9)}, true, false},
		"a number that is not":             {[]*ClaimSpan{sets(10, 8), numbers(8, 9)}, false, false},
	} {
		for _, assumed := range []bool{false, true} {
			var o Outcome
			for n, span := range tc.spans {
				w := &Outcome{Verdict: verdict.Satisfied, Committed: 1, ClaimSpan: span, Claim: &ClaimedOrder{Fits: true}, Stages: map[string]float64{}}
				if assumed {
					w.Claim, w.Assumes = nil, &AssumedOrder{Placed: 1, Snapshots: 1}
				}
				o.AddWindow(n+1, w)
			}
			switch {
			case assumed && (o.Verdict == verdict.Unknown) != tc.back, assumed && tc.back && o.Reason == "":
				t.Errorf("%s: assumed, %s %s", name, o.Verdict, o.Reason)
			case !assumed && (o.Verdict != verdict.Satisfied || o.Claim.Fits != !(tc.back && tc.positions)):
				t.Errorf("%s: %s, %+v", name, o.Verdict, o.Claim)
			}
		}
	}
}
