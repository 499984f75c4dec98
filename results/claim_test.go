package results

import (
	"testing"

	"github.com/isohound/isohound/checker/verdict"
)

// TestClaimOfWindows: the claimed order of a run fits if it does in all windows, and what does not fit is told of the
// first window with a misfit.
func TestClaimOfWindows(t *testing.T) {
	fits, bad, worse := &ClaimedOrder{Fits: true}, &ClaimedOrder{Misfits: 1, Text: "a"}, &ClaimedOrder{Misfits: 2, Text: "b"}
	for _, tc := range []struct {
		windows []*ClaimedOrder
		want    *ClaimedOrder
	}{
		{[]*ClaimedOrder{fits, fits}, fits},
		{[]*ClaimedOrder{fits, nil, fits}, nil},
		{[]*ClaimedOrder{nil, fits}, nil},
		{[]*ClaimedOrder{nil, nil}, nil},
		{[]*ClaimedOrder{fits, worse, bad, nil, fits}, &ClaimedOrder{Misfits: 3, Text: "in window 2, b"}},
		{[]*ClaimedOrder{bad, fits, worse}, &ClaimedOrder{Misfits: 3, Text: "in window 1, a"}},
	} {
		var o Outcome
		for n, c := range tc.windows {
			o.AddWindow(n+1, &Outcome{Verdict: verdict.Satisfied, Claim: c, Stages: map[string]float64{}})
		}
		if (o.Claim == nil) != (tc.want == nil) || o.Claim != nil && (o.Claim.Fits != tc.want.Fits || o.Claim.Misfits != tc.want.Misfits || o.Claim.Text != tc.want.Text) {
			t.Errorf("%+v: %+v, want %+v", tc.windows, o.Claim, tc.want)
		}
	}
	if bad.Misfits != 1 || bad.Text != "a" {
		t.Errorf("the claim of a window was changed: %+v", bad)
	}
}
