package checker_test

import (
	"context"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/dsl"
)

// TestLeftOut checks that no engine gives a verdict if operations were not understood.
func TestLeftOut(t *testing.T) {
	for text, want := range map[string]string{
		"s1: r(x,0) w(x,1)\ns2: r(x,1)":        "3 operations were left out, so the verdict is unknown",
		"s1: r(x,0) w(x,1)\ns2: r(x,0) w(x,2)": "3 operations were left out, so the verdict is unknown, although the rest of the history is violated",
		"s1: r(x,0) r(x,1)\ns2: r(x,0) w(x,1)": "3 operations were left out, so the verdict is unknown, although the rest of the history is violated",
		"open\ns1: r(x,7)":                     "3 operations were left out, so the verdict is unknown",
		"s1: r(x,0) w(x,1) abort\ns2: unknown": "3 operations were left out, so the verdict is unknown",
	} {
		for _, engine := range []checker.Engine{checker.Auto, checker.Polygraph, checker.Baseline} {
			for _, certify := range []bool{false, true} {
				h := dsl.MustParse(text)
				h.LeftOut = "3 operations were left out"
				r, err := checker.Check(context.Background(), h, level.SER, checker.Options{Engine: engine, Certify: certify})
				if err != nil {
					t.Fatal(err)
				}
				if r.Verdict != verdict.Unknown || !strings.Contains(r.Reason, want) || r.Certified || len(r.Anomalies) > 0 || r.Witness != nil {
					t.Errorf("%s, certify %v: %s, %s; want %s\n%s", engine, certify, r.Verdict, r.Reason, want, text)
				}
			}
		}
	}
}

// TestNothing checks that a history without a committed transaction is not satisfied.
func TestNothing(t *testing.T) {
	for _, text := range []string{"", "s1: r(x,0) w(x,1) abort", "s1: r(x,7) w(x,1) unknown"} {
		for _, engine := range checker.Engines {
			for _, lvl := range level.All() {
				r, err := checker.Check(context.Background(), dsl.MustParse(text), lvl, checker.Options{Engine: engine, Certify: true})
				if err != nil {
					t.Fatal(err)
				}
				if r.Verdict != verdict.Unknown || !strings.Contains(r.Reason, "no committed transaction") || r.Engine == "" {
					t.Errorf("%q, %s at %s: %+v", text, engine, lvl, r)
				}
			}
		}
	}
}
