package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/results"
)

// TestWindowsStaleRead: what a later window reads, and nobody in it wrote, may be of an earlier window. So it is no ThinAirRead, and
// neither the run nor its counterexample is said to violate levels at which that is allowed.
func TestWindowsStaleRead(t *testing.T) {
	for read, want := range map[string]string{
		`["r","isohound-fence-1",3]`:    "T4 (session 0) read isohound-fence-1 = 3. But isohound-fence-1 = 5 held at the cut before this window, and what sessions write to a fence only grows. So this is an older state: what was committed before the cut is lost, or was not seen.",
		`["r","isohound-fence-1",null]`: "T4 (session 0) read isohound-fence-1 absent. But isohound-fence-1 = 5 held at the cut before this window, and what sessions write to a fence only grows. So this is an older state: what was committed before the cut is lost, or was not seen.",
		`["r","isohound-fence-1",7]`:    "T4 (session 0) read isohound-fence-1 = 7. But isohound-fence-1 = 5 held at the cut before this window, and nobody in this window wrote the other value. An earlier window may have written it; then this is an older state.",
		`["r","x",1]`:                   "T4 (session 0) read x = 1. But x = 2 held at the cut before this window, and nobody in this window wrote the other value. An earlier window may have written it; then this is an older state.",
		`["r","x",null]`:                "T4 (session 0) read x absent. But x = 2 held at the cut before this window, and nobody in this window deleted it.",
	} {
		dir := windowsOf(t, `{"isohound":2,"initial":null}
{"txn":1,"session":0,"status":"committed","ops":[["w","x",1],["w","isohound-fence-1",3]]}
{"txn":2,"session":0,"status":"committed","ops":[["w","x",2]]}
{"txn":3,"session":0,"status":"committed","ops":[["w","isohound-fence-1",5]]}
{"closed":{"reason":"cut","txns":3,"fresh":true}}
`, `{"isohound":2,"initial":null,"window":{"number":2,"after":"AFTER"}}
{"initial":[["x",2],["isohound-fence-1",5]]}
{"txn":4,"session":0,"status":"committed","ops":[`+read+`]}
{"txn":5,"session":0,"status":"committed","ops":[["r","isohound-fence-1",5]]}
{"closed":{"reason":"complete","txns":2,"fresh":true}}
`)
		c := isohound(t, "check", dir, "--level", "ser,cc,rc,ru", "--json", "--certify")
		all := c.outcomes(t)
		if len(all) != 4 || all[0].Verdict != verdict.Violated || all[1].Verdict != verdict.Violated || all[2].Verdict != verdict.Unknown || all[3].Verdict != verdict.Unknown {
			t.Fatalf("%s: exit code %d: %s%s", read, c.code, c.out, c.msg)
		}
		for _, o := range all[:2] {
			if len(o.Anomalies) == 0 || o.Anomalies[0].Name != "StaleRead" || o.Anomalies[0].Text != want {
				t.Fatalf("%s: %s: %+v", read, o.Level, o.Anomalies)
			}
			for _, a := range o.Anomalies {
				if s := a.Counterexample.Standing; !slices.Equal(s.Not, []string{"cc"}) || len(s.Holds)+len(s.Undecided) > 0 {
					t.Errorf("%s: %s: %+v", read, a.Name, s)
				}
			}
		}
		if strings.Contains(c.out, `"ThinAirRead"`) {
			t.Error(c.out)
		}
		out := filepath.Join(t.TempDir(), "explained")
		c = isohound(t, "explain", filepath.Join(dir, results.WindowFile(2, true)), "--level", "ser", "--out", out)
		if c.code != int(exitViolated) || !strings.Contains(c.out, "StaleRead") || strings.Contains(c.out, "violates ru") {
			t.Errorf("%s%s", c.out, c.msg)
		}
		parts, err := filepath.Glob(filepath.Join(out, "*", "minimal.txt"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			if text, err := os.ReadFile(p); err != nil || !strings.Contains(string(text), "# This is a part of window 2 of a run.") {
				t.Errorf("%v: %s: %s", err, p, text)
			}
		}
		if len(parts) == 0 {
			t.Error("no minimal history")
		}
	}
}

// TestWindowsSettledRead: a transaction of unknown outcome that took effect in an earlier window counts as aborted in later ones. A read
// of what it wrote is an older state there, and no read of a transaction that aborted.
func TestWindowsSettledRead(t *testing.T) {
	const unsure = `{"txn":1,"session":0,"status":"unknown","ops":[["w","x",1]]}`
	dir := windowsOf(t, `{"isohound":2,"initial":0}
`+unsure+`
{"txn":2,"session":1,"status":"committed","ops":[["r","x",1],["w","x",2]]}
{"closed":{"reason":"cut","txns":2}}
`, `{"isohound":2,"initial":0,"window":{"number":2,"after":"AFTER"}}
{"initial":[["x",2]]}
`+unsure+`
{"txn":3,"session":1,"status":"committed","ops":[["r","x",1],["w","x",5]]}
{"closed":{"reason":"complete","txns":2}}
`)
	c := isohound(t, "check", dir, "--level", "ser", "--json")
	all := c.outcomes(t)
	if len(all) != 1 || all[0].Verdict != verdict.Violated || len(all[0].Anomalies) != 1 {
		t.Fatalf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	a := all[0].Anomalies[0]
	const want = "T3 (session 1) read x = 1, which only T1 (session 0) wrote. The outcome of T1 was not reported, but it took effect in an earlier window, and x = 2 held at the cut before this one. So this is an older state."
	if !slices.Equal(a.Names, []string{"StaleRead"}) || a.Text != want || len(a.Transactions) != 2 || a.Transactions[0].Status != "unknown" {
		t.Errorf("%v: %s: %+v", a.Names, a.Text, a.Transactions)
	}
	if h := a.Counterexample.History; !strings.Contains(h, "The outcome of T1 was not reported. It took effect in an earlier window, and counts as aborted here.") {
		t.Error(h)
	}
}
