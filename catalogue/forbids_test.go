package catalogue

import (
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/dsl"
)

// TestForbids: a level does not forbid an anomaly if it allows a history with an anomaly of this name.
func TestForbids(t *testing.T) {
	for _, tc := range []struct {
		anomaly, history   string
		allowed, forbidden []level.Level
	}{
		{"FracturedRead", "s1 T1: r(x,0) r(y,0) w(x,1) w(y,1)\ns2 T2: r(y,0) r(x,1)\n", []level.Level{level.RC}, []level.Level{level.RA, level.CC}},
		{"CausalityViolation", "s1 T1: w(x,1)\ns2 T2: r(x,1) w(y,1)\ns3 T3: r(y,1) w(z,1)\ns4 T4: r(z,1) r(x,0)\n",
			[]level.Level{level.WFR, level.Session, level.RA}, []level.Level{level.CC, level.PC}},
	} {
		h := dsl.MustParse(tc.history)
		judge := func(lvl level.Level) *verdict.Result {
			r, err := checker.Check(t.Context(), h, lvl, checker.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := judge(level.SER); r.Verdict != verdict.Violated || r.Anomalies[0].Name() != tc.anomaly {
			t.Errorf("%s: %+v", tc.anomaly, r)
		}
		for _, lvl := range tc.allowed {
			if r := judge(lvl); r.Verdict != verdict.Satisfied || forbids(lvl.String(), tc.anomaly) {
				t.Errorf("%s, %s: %s, forbidden: %v", tc.anomaly, lvl, r.Verdict, forbids(lvl.String(), tc.anomaly))
			}
		}
		for _, lvl := range tc.forbidden {
			if r := judge(lvl); r.Verdict != verdict.Violated || !forbids(lvl.String(), tc.anomaly) {
				t.Errorf("%s, %s: %s, forbidden: %v", tc.anomaly, lvl, r.Verdict, forbids(lvl.String(), tc.anomaly))
			}
		}
	}
}
