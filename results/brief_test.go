package results_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/counterexample"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/results"
)

// TestBrief: texts show, of transactions with many operations, those that the anomaly names, also after JSON.
func TestBrief(t *testing.T) {
	many := func(op string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, " "+op, i)
		}
		return b.String()
	}
	for name, tc := range map[string]struct {
		text string
		want []string
		left bool
	}{
		"an intermediate write": {"s1 T1:" + many("w(x,1%d)", 3000) + "\ns2 T2: r(x,177)", []string{"w(x,10)", "w(x,176) w(x,177) w(x,178)", "w(x,12999)", "r(x,177)", "… 73 more operations …", "(--json has all 3,000 operations)"}, true},
		"a cycle": {"s1 T1:" + many("w(a%d,1)", 500) + " w(x,1)" + many("w(b%d,1)", 500) + " w(y,1)\ns2 T2:" + many("w(c%d,1)", 500) + " r(y,0) r(x,1)" + many("w(d%d,1)", 500),
			[]string{"w(a499,1) w(x,1) w(b0,1)", "w(b499,1) w(y,1)", "w(c499,1) r(y,0) r(x,1) w(d0,1)", "(--json has all 1,002 operations)"}, true},
		"not so many": {"s1 T1: r(y,5)" + many("w(x,1%d)", 99), []string{"w(x,150)"}, false},
	} {
		h := dsl.MustParse(tc.text)
		r, err := checker.Check(t.Context(), h, level.CC, checker.Options{})
		if err != nil || len(r.Anomalies) == 0 {
			t.Fatal(name, r, err)
		}
		c, err := counterexample.Of(t.Context(), h, level.CC, &r.Anomalies[0], counterexample.Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		lines := func(a *results.Anomaly) (lines []string) {
			for _, txn := range a.Transactions {
				lines = append(lines, results.TxnLines(txn, "--json")...)
			}
			return lines
		}
		a := results.Explained(h, c)
		text := strings.Join(lines(&a), "\n")
		for _, want := range tc.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %s\nlacks %s", name, text, want)
			}
		}
		if len(text) > 2000 || strings.Contains(text, "more operations") != tc.left {
			t.Errorf("%s: %s", name, text)
		}
		raw, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var again results.Anomaly
		if err := json.Unmarshal(raw, &again); err != nil || !slices.Equal(lines(&again), lines(&a)) {
			t.Errorf("%s: after JSON %s, %v", name, strings.Join(lines(&again), "\n"), err)
		}
	}
}
