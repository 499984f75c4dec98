package explain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/checker/weak"
	"github.com/isohound/isohound/history/dsl"
)

// TestWeakLevels checks the name of a violation of each weak level, and that its text says which read missed
// which write, why the reader had to see that, and what the level demands.
func TestWeakLevels(t *testing.T) {
	for _, tc := range []struct {
		lvl        level.Level
		text, name string
		want       []string
	}{
		{level.RC, "s1 T1: w(x,1)\ns1 T2: w(x,2) w(y,1)\ns2 T3: r(y,1) r(x,1)\n", "NonMonotonicRead", []string{
			"T3 (session 2) read x = 1, which T1 wrote, and missed that T2 (session 1) wrote 2 later.",
			"T3 read x = 1 from T1, although it had read y = 1 from T2 before. So T2 was first: otherwise its write would have been read.",
			"who has read from a transaction reads nothing older afterwards"}},
		{level.RA, "s1 T1: w(x,1)\ns1 T2: w(x,2) w(y,1)\ns2 T3: r(x,1) r(y,1)\n", "FracturedRead", []string{
			"T3 read x = 1 from T1, although it also read y = 1 from T2.", "sees all its writes."}},
		{level.RA, "s1 T1: w(x,1) w(y,1)\ns2 T2: r(x,1) r(y,0)\n", "FracturedRead", []string{
			"T2 (session 2) read y = 0, the initial value, and missed that T1 (session 1) wrote 1 later.", "sees all its writes."}},
		{level.CC, "s1 T1: w(x,1)\ns1 T2: w(x,2) w(y,1)\ns2 T3: r(y,1) w(z,1)\ns3 T4: r(z,1)\ns3 T5: r(x,1)\n", "CausalityViolation", []string{
			"T5 read x = 1 from T1, although it had to see T2: T3 read y = 1 from T2, T4 read z = 1 from T3, T4 came before T5 in session 3.",
			"who sees a transaction sees all that happened before it"}},
		{level.RYW, "s1 T1: w(x,1)\ns2 T2: r(x,1) w(x,2)\ns2 T3: r(x,1)\n", "SessionGuaranteeViolation", []string{
			"T3 read x = 1 from T1, although T2 came before it in session 2.", "a transaction sees the earlier transactions of its session"}},
		{level.MR, "s1 T1: w(x,1)\ns2 T2: r(x,1) w(x,2)\ns3 T3: r(x,2)\ns3 T4: r(x,1)\n", "CausalityViolation", []string{
			"T4 read x = 1 from T1, although it had to see T2: T3 read x = 2 from T2, T3 came before T4 in session 3.",
			"a transaction sees what earlier transactions of its session read from"}},
		{level.MW, "s1 T1: w(x,1)\ns2 T2: r(x,1) w(x,2)\ns2 T3: w(y,1)\ns3 T4: r(y,1) r(x,1)\n", "CausalityViolation", []string{
			"although it had to see T2: T2 came before T3 in session 2, T4 read y = 1 from T3.", "who reads from a transaction sees the earlier transactions of its session"}},
		{level.WFR, "s1 T1: w(x,1)\ns2 T2: r(x,1) w(x,2)\ns3 T3: r(x,2) w(y,1)\ns4 T4: r(y,1) r(x,1)\n", "CausalityViolation", []string{
			"although it had to see T2: T3 read x = 2 from T2, T4 read y = 1 from T3.", "who reads from a transaction sees what it, or an earlier transaction"}},
		{level.Session, "s1 T1: w(x,1)\ns2 T2: r(x,1) w(x,2)\ns3 T3: r(x,2)\ns3 T4: r(x,1)\n", "CausalityViolation", []string{
			"The four session guarantees allow no such cycle: a transaction sees what earlier transactions of its session read from."}},
		{level.Session, "s1 T1: w(x,1)\ns2 T2: w(x,2)\ns2 T4: w(y,1)\ns1 T6: w(z,1)\ns3 T3: r(y,1) r(x,1)\ns4 T5: r(z,1) r(x,2)\n", "G-single", []string{
			"The four session guarantees allow no such cycle: who reads from a transaction"}},
		{level.RU, "s1 T1: r(x,2) w(x,1)\ns2 T2: r(x,1) w(x,2)\n", "G0", []string{
			"T1 -WW-> T2: T2 overwrote x = 1, which T1 wrote: it wrote 2.", "in one order, for all keys together"}},
		{level.CC, "s1 T1: w(x,1) w(y,1)\ns2 T2: w(x,2) w(y,2)\ns3 T3: r(x,1) r(y,2)\n", "FracturedRead", []string{
			"T3 read y = 2 from T2, although it had read x = 1 from T1 before.", "T3 read x = 1 from T1, although it also read y = 2 from T2."}},
	} {
		r, err := weak.Engine{}.Judge(t.Context(), dsl.MustParse(tc.text), tc.lvl, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Anomalies) == 0 {
			t.Errorf("%s allows\n%s", tc.lvl, tc.text)
			continue
		}
		a := &r.Anomalies[0]
		if missing := slices.DeleteFunc(tc.want, func(s string) bool { return strings.Contains(a.Text, s) }); a.Name() != tc.name || len(missing) > 0 {
			t.Errorf("%s: %v, not %s; %q is not in\n%s", tc.lvl, a.Names, tc.name, missing, a.Text)
		}
	}
}

// TestDeniedRead: a statement that did not find a row saw another version than the one that it would have found. The words say which.
func TestDeniedRead(t *testing.T) {
	for text, want := range map[string]string{
		"initial x=2\ns1: w(x,3) w(x,8)\ns1: pw(v=2;) w(x,9)\ns1: p(v>=8;) w(x,10)": "did not find x, so it saw the initial value, 2, and missed that T1 (session 1) wrote 8 later.",
		"s1: w(x,3) w(x,8)\ns1: p(v=8; x=8) w(x,9)\ns1: p(v>=8;) w(x,10)":           "did not find x, so it saw that the row did not exist at first, and missed that T1 (session 1) wrote 8 later.",
		"initial x=2\ns1: w(x,8)\ns1: pw(v=2;) w(x,9)\ns1: p(v>=8;) w(x,10)":        "did not find x, so it was 2, the initial value, and missed that T1 (session 1) wrote 8 later.",
	} {
		h, _, err := scans.Expand(t.Context(), dsl.MustParse("initial nil\n"+text), scans.EagerOps)
		if err != nil {
			t.Fatal(err)
		}
		r, err := checker.Check(t.Context(), h, level.MR, checker.Options{Certify: true})
		if err != nil || r.Verdict != verdict.Violated {
			t.Fatalf("%+v, %v\n%s", r, err, text)
		}
		if !strings.Contains(r.Anomalies[0].Text, want) {
			t.Errorf("%s\n%s", r.Anomalies[0].Text, text)
		}
	}
}
