package explain_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/counterexample"
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
		{"p(v>1 limit 1; x=12, y=3)", "p(v>1 limit 2; x=12, y=3)", "OverLimit", "looked for the first key with v > 1. It got y, too"},
		{"pc(v>1; 3)", "pc(v>1; 2)", "WrongCount", "counted keys with v > 1 and got 3"},
		{"pc(v>1; 1)", "pc(v>10; 1)", "WrongCount", "counted keys with v > 1 and got 1"},
		{"p(v>10; x=12, x=12)", "p(v>10; x=12)", "DuplicateRow", "looked for keys with v > 10 and got row x twice"},
		{"p(v>10; x=12, x=13) w(x,13)", "p(v>10; x=12) w(x,13)", "DuplicateRow", "got row x twice, as 12 and as 13"},
		{"pw(v>10; x=12->13, x=13->14)", "pw(v>10; x=12->14)", "DuplicateRow", "changed keys with v > 10, row x twice, to 13 and to 14"},
		{"pw(v>10; x=->13, x=->14)", "pw(v>10; x=->14)", "DuplicateRow", "row x twice, to 13 and to 14"},
		{"pd(v>10; x, x)", "pd(v>10; x)", "DuplicateRow", "deleted keys with v > 10, row x twice"},
		{"w(x,3) p(v>10; x=3)", "w(x,13) p(v>10; x=13)", "WrongRow", "x was among them. It was 3"},
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

// TestFaultsAtLevels: a fault has one name at every level that forbids it, it counts once, and its counterexample, read again, has it
// at the same level. A statement may return a row twice where reads are not repeatable, but not beyond its limit.
func TestFaultsAtLevels(t *testing.T) {
	repeatable := []level.Level{level.SER, level.SI, level.PC, level.PSI, level.CC, level.RA}
	others := []level.Level{level.RC, level.Session, level.RYW, level.MR, level.MW, level.WFR, level.RU}
	for _, c := range []struct {
		text   string
		name   string
		others string // "" if these levels allow it
	}{
		{"initial x=1\ns2: p(v>0; x=1, x=1)", "DuplicateRow", ""},
		{"initial x=1\ns1: w(x,2)\ns2: p(v>0; x=1, x=2)", "DuplicateRow", ""},
		{"initial x=1 y=5\ns2: p(v>0; x=1, y=5, x=1)", "DuplicateRow", ""},
		{"initial x=1\ns2: p(v>0 limit 1; x=1, x=1)", "DuplicateRow OverLimit", "OverLimit"},
		{"initial x=1\ns1: w(x,0)\ns2: p(v>0; x=1, x=0)", "DuplicateRow", "WrongRow"},
		{"initial x=1 y=5\ns2: p(v>0 limit 2; x=1, x=1)", "DuplicateRow", ""}, // a full page
		{"initial x=1\ns2: pw(v>0; x=1->2, x=2->3)\ns3: r(x,3)", "DuplicateRow", "DuplicateRow"},
		{"initial x=1\ns2: pw(v>0; x=->2, x=->3)\ns3: r(x,3)", "DuplicateRow", "DuplicateRow"},
		{"initial x=1\ns2: pd(v>0; x, x)", "DuplicateRow", "DuplicateRow"},
		{"initial x=2\ns1: w(x,0)\ns2: pc(v=2; 2)", "WrongCount", "WrongCount"},
		{"initial x=2\ns1: w(x,0)\ns2: r(x,0) pc(v=2; 2)", "WrongCount", "WrongCount"},
		{"initial x=2\ns2: w(x,3) pc(v=2; 1)", "WrongCount", "WrongCount"},
		{"initial x=2\ns1: p(v>1 limit 1; x=2, y=3)\ns2: w(y,3)", "OverLimit", "OverLimit"},
		{"initial x=2 y=3\ns1: p(v>1 by -v; x=2, y=3)", "WrongOrder", "WrongOrder"},
	} {
		h, rest, err := scans.Expand(t.Context(), dsl.MustParse("initial nil\n"+c.text), scans.EagerOps)
		if err != nil || rest != nil {
			t.Fatal(c.text, err)
		}
		for n, lvl := range append(slices.Clone(repeatable), others...) {
			want := c.name
			if n >= len(repeatable) {
				want = c.others
			}
			r, err := checker.Check(t.Context(), h, lvl, checker.Options{Certify: true})
			if err != nil {
				t.Fatalf("%s, %s: %v", c.text, lvl, err)
			}
			var names []string
			for i := range r.Anomalies {
				a := &r.Anomalies[i]
				if names = append(names, a.Name()); a.Count != 1 {
					t.Errorf("%s, %s: %s counts %d times", c.text, lvl, a.Name(), a.Count)
				}
				x, err := counterexample.Of(t.Context(), h, lvl, a, counterexample.Options{Timeout: time.Minute})
				if err != nil {
					t.Fatalf("%s, %s: %v", c.text, lvl, err)
				}
				again, rest, err := scans.Expand(t.Context(), x.History, scans.EagerOps)
				if err != nil || rest != nil {
					t.Fatal(rest, err)
				}
				if s, err := checker.Check(t.Context(), again, lvl, checker.Options{Certify: true}); err != nil || s.Verdict != verdict.Violated || s.Anomalies[0].Name() != a.Name() {
					t.Errorf("%s, %s: the counterexample of %s: %+v, %v", c.text, lvl, a.Name(), s, err)
				}
			}
			slices.Sort(names)
			if (r.Verdict == verdict.Violated) != (want != "") || strings.Join(names, " ") != want || r.Verdict == verdict.Unknown {
				t.Errorf("%s, %s: %s, %v, not %q; %s", c.text, lvl, r.Verdict, names, want, r.Reason)
			}
		}
	}
}
