package isotest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/dsl"
)

// ascending is a history in whose executions n transactions are in the order of their numbers, since none found what it
// or a later one inserts. The statements miss so many rows that operations are added on demand.
func ascending(n int, more string) string {
	var b strings.Builder
	b.WriteString("initial nil\n")
	for i := range n {
		fmt.Fprintf(&b, "s%d: p(v>=%d;) w(x%d,%d)\n", i, i+1, i, i+1)
	}
	return b.String() + more
}

// TestStatements: Check judges statements with conditions.
func TestStatements(t *testing.T) {
	for name, tc := range map[string]struct {
		text    string
		lvl     level.Level
		want    verdict.Verdict
		anomaly string
	}{
		"a row that was always there":              {"initial nil\ninitial 2=3\ns1 T1: pd(v>1; )", level.SER, verdict.Violated, "ThinAirRead"},
		"a row that was always there, weak":        {"initial nil\ninitial 2=3\ns1 T1: pd(v>1; )", level.RC, verdict.Violated, "ThinAirRead"},
		"a row that was not there yet":             {"initial nil\ns1: p(v>10;) r(y,nil)\ns2: w(x,12) w(y,1)", level.SER, verdict.Satisfied, ""},
		"a phantom":                                {"initial nil\ns1: w(x,12) w(y,1)\ns2: p(v>10;) r(y,1)", level.SER, verdict.Violated, "Phantom"},
		"a count that fits":                        {"initial nil\ninitial x=12 y=13\ns1: w(x,nil)\ns2: pc(v>10;1)", level.SER, verdict.Satisfied, ""},
		"a count of rows that were always there":   {"initial nil\ninitial x=12 y=13\ns1: pc(v>10;1)", level.SER, verdict.Violated, ""},
		"many rows":                                {ascending(200, ""), level.SER, verdict.Satisfied, ""},
		"many rows, in a long history":             {ascending(5000, ""), level.SER, verdict.Satisfied, ""},
		"many rows, and one out of order":          {ascending(200, "s900: r(x150,151) p(v=18;)\n"), level.SER, verdict.Violated, ""},
		"many rows, and one out of order, at rc":   {ascending(200, "s900: r(x150,151) p(v=18;)\n"), level.RC, verdict.Satisfied, ""},
		"many rows, and one out of order, with RR": {ascending(200, "s900: r(x150,151) r(x150,1)\n"), level.RC, verdict.Violated, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Check(t.Context(), dsl.MustParse(tc.text), tc.lvl)
			if err != nil || r.Verdict != tc.want || r.Unjudged != "" {
				t.Fatalf("%v, %v", r, err)
			}
			if tc.want == verdict.Violated && (len(r.Anomalies) == 0 || tc.anomaly != "" && r.Anomalies[0].Name != tc.anomaly) {
				t.Errorf("%s", r)
			}
		})
	}
}

// TestUnjudgedStatements: a result says which statements were not judged.
func TestUnjudgedStatements(t *testing.T) {
	h := dsl.MustParse("initial nil\ninitial x=12\ns1: p(v>10;)")
	h.Closed = false
	r, err := Check(t.Context(), h, level.SER)
	if err != nil || r.Verdict != verdict.Satisfied || !strings.Contains(r.Unjudged, "1 of 1 scans are not judged: the recording was cut off") || !strings.Contains(r.String(), r.Unjudged) {
		t.Errorf("%v, %v", r, err)
	}
}
