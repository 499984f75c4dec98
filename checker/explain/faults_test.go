package explain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/dsl"
)

// TestFaults: results that contradict their own statement have names and words, and their neighbours
// without the fault are satisfied.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ bad, good, name, words string }{
		{"p(v>10; x=12, y=3)", "p(v>2; x=12, y=3)", "WrongRow", "looked for keys with v > 10. y was among them. It was 3, which does not fulfil"},
		{"pd(k=7; x)", "pd(v>2; x, y=3)", "WrongRow", "deleted keys with k = 7. x was among them"},
		{"p(v>1 by -v; y=3, x=12)", "p(v>1 by v; y=3, x=12)", "WrongOrder", "It got x, which was 12, behind"},
		{"p(v>1 limit 1; x=12, y=3)", "p(v>1 limit 2; x=12, y=3)", "OverLimit", "the first 1 keys with v > 1. It got y, too"},
		{"pc(v>1; 3)", "pc(v>1; 2)", "WrongCount", "counted keys with v > 1 and got 3"},
		{"pc(v>1; 1)", "pc(v>10; 1)", "WrongCount", "counted keys with v > 1 and got 1"},
	} {
		for text, want := range map[string]verdict.Verdict{c.bad: verdict.Violated, c.good: verdict.Satisfied} {
			h, rest, err := scans.Expand(t.Context(), dsl.MustParse("initial nil\ninitial x=12 y=3\ns1: "+text), scans.EagerOps)
			if err != nil || rest != nil || h.Scans.Judged != 1 {
				t.Fatalf("%s: %v, %+v", text, err, h.Scans)
			}
			r, err := checker.Check(t.Context(), h, level.SER, checker.Options{Certify: true})
			if err != nil || r.Verdict != want {
				t.Fatalf("%s: %+v, %v", text, r, err)
			}
			if want == verdict.Violated && (r.Anomalies[0].Names[0] != c.name || !strings.Contains(r.Anomalies[0].Text, c.words)) {
				t.Errorf("%s: %v: %s", text, r.Anomalies[0].Names, r.Anomalies[0].Text)
			}
		}
	}
}

// TestCountedRow: a row that a statement counted, and that somebody then changed, is no phantom.
func TestCountedRow(t *testing.T) {
	h, _, err := scans.Expand(t.Context(), dsl.MustParse("initial nil\ninitial x=12 z=20\ns1: w(x,1) w(y,1)\ns2: pc(v>10; 2) r(y,1)"), scans.EagerOps)
	if err != nil {
		t.Fatal(err)
	}
	r, err := checker.Check(t.Context(), h, level.SER, checker.Options{Certify: true})
	if err != nil || r.Verdict != verdict.Violated {
		t.Fatalf("%+v, %v", r, err)
	}
	a := &r.Anomalies[0]
	cycle, _ := explain.Edges(h, a)
	if slices.Contains(a.Names, explain.Phantom) || !slices.Contains(a.Names, "G-single-predicate") || !strings.Contains(a.Text, "counted keys with v > 10, x among them, which was 12") {
		t.Errorf("%v: %s", a.Names, a.Text)
	}
	if cycle[1].Scan != "count keys where v > 10" || cycle[1].Missed {
		t.Errorf("%+v", cycle[1])
	}
}
