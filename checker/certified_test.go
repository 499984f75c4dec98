package checker_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/dsl"
)

// TestLimitWhileCertifying checks that a verdict is unknown, with a reason, if its proof could not
// be verified in time. If the context ends during that, there is no verdict.
func TestLimitWhileCertifying(t *testing.T) {
	for _, text := range []string{"s1: r(x,0) w(x,1)\ns2: r(x,1)\n", "s1: r(x,0) w(x,1)\ns2: r(x,0) w(x,2)\n"} {
		h := dsl.MustParse(text)
		for _, engine := range []checker.Engine{checker.Linear, checker.Polygraph} {
			ctx, interrupt := context.WithCancel(t.Context())
			reached := false
			const limit = 100 * time.Millisecond
			r, err := checker.Check(ctx, h, level.SI, checker.Options{Engine: engine, Certify: true, Timeout: limit, Progress: func(stage string) {
				if stage == "certify" {
					reached = true
					time.Sleep(2 * limit)
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != verdict.Unknown || r.Certified || r.Witness != nil || r.Anomalies != nil || reached && !strings.Contains(r.Reason, "proof") {
				t.Errorf("%s: %+v", engine, r)
			}
			r, err = checker.Check(ctx, h, level.SI, checker.Options{Engine: engine, Certify: true, Progress: func(stage string) {
				if stage == "certify" {
					interrupt()
				}
			}})
			if r != nil || err == nil {
				t.Errorf("%s: interrupted: %+v, %v", engine, r, err)
			}
		}
	}
}
