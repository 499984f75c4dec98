package explain_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/linear"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/dsl"
)

// TestWords checks names and texts: they must say which transaction did what to which key, with
// values and sessions.
func TestWords(t *testing.T) {
	for _, tc := range []struct {
		text  string
		lvl   level.Level
		names string
		words []string
	}{
		{"s1 T4: r(x,0) w(x,1)\ns2 T5: r(x,0) w(x,2)", level.SI, "LostUpdate lost-update G-single",
			[]string{"T4 (session 1) and T5 (session 2) both read x = 0, the initial value, and both overwrote it: T4 wrote 1, T5 wrote 2."}},
		{"s1 T4: r(x,0) w(x,1)\ns2 T5: r(x,1) w(x,2)\ns3 T6: r(x,1) w(x,3)", level.SER, "LostUpdate lost-update G-single",
			[]string{"T5 (session 2) and T6 (session 3) both read x = 1, which T4 wrote, and both overwrote it"}},
		{"s1 T4: r(x,0) r(y,0) w(x,1)\ns2 T5: r(x,0) r(y,0) w(y,2)", level.SER, "WriteSkew write-skew G2-item",
			[]string{"T4 -RW-> T5: T4 read y = 0, the initial value; T5 overwrote that: it wrote 2.", "T5 -RW-> T4: T5 read x = 0", "serializability allows no such cycle"}},
		{"s1 T4: r(x,0) w(x,1) w(x,2)\ns2 T5: r(x,1)", level.SER, "IntermediateRead G1b", []string{"T5 (session 2) read x = 1, which T4 (session 1) wrote but then overwrote itself: it wrote 2."}},
		{"s1 T4: r(x,0) w(x,1) abort\ns2 T5: r(x,1)", level.SER, "AbortedRead G1a", []string{"T5 (session 2) read x = 1, which only T4 (session 1) wrote, and that transaction aborted."}},
		{"s1 T4: r(x,9)", level.SER, "ThinAirRead", []string{"T4 (session 1) read x = 9, a value that nobody wrote."}},
		{"s1 T4: r(x,nil)", level.SER, "ThinAirRead", []string{"T4 (session 1) found x absent, although it exists at first and nobody deleted it."}},
		{"s1 T4: r(x,1) w(x,1)", level.SER, "FutureRead future-read internal", []string{"T4 (session 1) read x = 1 before it wrote that value itself"}},
		{"s1 T4: r(x,0) w(x,1) r(x,0)", level.SER, "NotMyOwnWrite internal", []string{"T4 (session 1) read x = 0 after it had itself written 1"}},
		{"s1 T4: r(x,0) w(x,1) w(x,2) r(x,1)", level.SER, "NotMyLastWrite internal", []string{"a value of its own that it had overwritten before"}},
		{"s1: r(x,0) w(x,1)\ns2 T4: r(x,0) r(x,1)", level.SER, "NonRepeatableReads internal", []string{"T4 (session 2) read x = 0 and later x = 1"}},
		{"s1 T1: r(x,0) w(x,1) r(y,0) w(y,1)\ns2 T2: r(y,0) r(x,1)", level.SI, "FracturedRead G-single",
			[]string{"T1 -WR-> T2: T2 read x = 1, which T1 wrote.", "snapshot isolation allows such a cycle only where two anti-dependencies (RW) follow each other"}},
		{"s1 T1: r(x,0) w(x,1)\ns2 T2: r(x,1) w(x,2)\ns2 T3: r(x,1)", level.SER, "SessionGuaranteeViolation G-single-process", []string{"T2 -SO-> T3: T2 came first in session 2."}},
		{"s1 T1 [0,1000000]: r(x,0) w(x,1)\ns2 T2 [2000000,3000000]: r(x,0)", level.SSER, "G-single-realtime", []string{"T1 ended at 0.001000 s, before T2 began at 0.002000 s"}},
		{"s1 T1: r(x,2) w(x,1)\ns2 T2: r(x,1) w(x,2)", level.SI, "G0 G1c", []string{"T2 read x = 1, which T1 wrote"}},
		{"s1 T1: r(x,0) w(x,1) unknown\ns2 T2: r(x,0) w(x,2)\ns3 T3: r(x,1)", level.SI, "LostUpdate lost-update G-single", []string{"The outcome of T1 was not reported, but T3 read x = 1 from it, so it did commit."}},
		{"s1 T1: r(x,0) w(x,nil)\ns2 T2: r(x,0) w(x,2)", level.SI, "LostUpdate lost-update G-single", []string{"T1 deleted it, T2 wrote 2"}},
		{"initial nil\ns1 T1 [0,5]: w(x,1)\ns2 T2 [1,6]: w(x,2)", level.LIN, "DoubleInsert", []string{"both inserted key x"}},
		{"s1 T1 [0,5]: n(x,0)", level.LIN, "ImpossibleFailure", []string{"The compare-and-set of T1 (session 1) failed, so x = 0 must have been false at some moment"}},
	} {
		r, err := linear.Engine{}.Judge(context.Background(), dsl.MustParse(tc.text), tc.lvl, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Anomalies) == 0 {
			t.Errorf("%q: %s", tc.text, r.Verdict)
			continue
		}
		a := r.Anomalies[0]
		if got := strings.Join(a.Names, " "); got != tc.names {
			t.Errorf("%q: named %s, want %s", tc.text, got, tc.names)
		}
		for _, w := range tc.words {
			if !strings.Contains(a.Text, w) {
				t.Errorf("%q: the text lacks %q:\n%s", tc.text, w, a.Text)
			}
		}
	}
}

// TestLongTexts checks that the text of a counterexample of hundreds of transactions shows some of
// them, and says how many more there are.
func TestLongTexts(t *testing.T) {
	var b strings.Builder
	for n := range 150 {
		fmt.Fprintf(&b, "s%d T%d: w(x%d,1)\ns%d T%d: r(x0,1) r(x%d,1)\n", 2*n, 2*n, n/30, 2*n+1, 2*n+1, n/30)
	}
	h := dsl.MustParse(b.String())
	a := verdict.Anomaly{Kind: verdict.Contradiction}
	for i := range h.Txns {
		a.Txns = append(a.Txns, int32(i))
		for n := range h.Ops(&h.Txns[i]) {
			a.Ops = append(a.Ops, verdict.OpRef{Txn: int32(i), Op: n})
		}
	}
	explain.Fill(h, level.SER, &a)
	for _, want := range []string{"300 transactions contradict each other", "T0 or T2 or T4 or T6 or T8 or T10 or one of 24 more", "… and 280 more reads"} {
		if !strings.Contains(a.Text, want) {
			t.Errorf("no %q in\n%s", want, a.Text)
		}
	}
	for i := range 150 {
		a.Cycle = append(a.Cycle, verdict.Edge{From: int32(2 * i), To: int32(2 * ((i + 1) % 150)), Kind: verdict.WW, Key: 0, Value: 0})
	}
	explain.Fill(h, level.SER, &a)
	if want := "… and 130 more dependencies, of which the last leads back to T0."; !strings.Contains(a.Text, want) || strings.Count(a.Text, "\n") > 25 {
		t.Errorf("no %q in\n%s", want, a.Text)
	}
}

// TestFailedCASRead: what a failed compare-and-set must have found is not called a read of that value, whatever the transaction wrote later.
func TestFailedCASRead(t *testing.T) {
	r, err := checker.Check(t.Context(), dsl.MustParse("initial 0\ns0: n(y,0) w(y,11) w(x,12)\ns1: w(y,13) r(x,12)"), level.RC, checker.Options{})
	if err != nil || len(r.Anomalies) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if text := r.Anomalies[0].Text; !strings.Contains(text, "T1 found that y = 0 did not hold. So it saw y after T2 wrote 13.") {
		t.Error(text)
	}
}
