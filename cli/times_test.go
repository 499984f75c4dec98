package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/results"
)

// TestTimes: the time for checking contains the time for settling scans, and a violation has a time for its explanation.
func TestTimes(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		verdict    verdict.Verdict
	}{
		{"satisfied", "s1 T1: w(x,5)\ns1 T2: w(y,6)\ns2 T3: pc(v>4; 1)\n", verdict.Satisfied},
		{"violated", "s1 T1: w(x,5) w(y,6)\ns2 T3: pc(v>4; 1)\n", verdict.Violated},
	} {
		path := write(t, tc.name+".txt", tc.text)
		c := isohound(t, "check", path, "--level", "ser", "--json")
		o := c.outcomes(t)[0]
		if o.Verdict != tc.verdict || o.Stages["scans"] <= 0 || o.CheckSeconds <= o.Stages["scans"] {
			t.Errorf("%s: %s, %v s for checking, of it %v", tc.name, o.Verdict, o.CheckSeconds, o.Stages)
		}
		if explained := o.ExplainSeconds > 0; tc.verdict == verdict.Violated && !explained {
			t.Errorf("%s: explained in %v s", tc.name, o.ExplainSeconds)
		}
	}
}

// TestTimesInWords: the time for explaining is told for violations, if it is worth telling.
func TestTimesInWords(t *testing.T) {
	for _, tc := range []struct {
		verdict verdict.Verdict
		seconds float64
		want    string
	}{
		{verdict.Violated, 2.5, "read in 0.25 s, checked in 1.50 s, explained in 2.50 s)"},
		{verdict.Violated, leastExplain / 2, "read in 0.25 s, checked in 1.50 s)"},
		{verdict.Satisfied, 2.5, "read in 0.25 s, checked in 1.50 s)"},
	} {
		got := text(results.Outcome{Path: "h", Level: "si", Verdict: tc.verdict, Txns: 3, Sessions: 2, ParseSeconds: 0.25, CheckSeconds: 1.5, ExplainSeconds: tc.seconds}, nil)
		if first, _, _ := strings.Cut(got, "\n"); !strings.HasSuffix(first, fmt.Sprintf("(3 transactions of 2 sessions; %s", tc.want)) {
			t.Errorf("%s, %v s: %s", tc.verdict, tc.seconds, first)
		}
	}
}
