package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCounterexampleKeepsSnapshots: the counterexample of a violation has the number, the snapshot and the commit position of
// each of its transactions, in the text, in the JSON, on the page and in its own file.
func TestCounterexampleKeepsSnapshots(t *testing.T) {
	path := write(t, "h.txt", `
		initial x=0 y=0
		s0 T1 $10 @7 {9:10:9}: r(x,0) w(y,1)
		s1 T2 $9 @8 {9:9:}: r(y,0) w(x,1)
		s2 T3 $12 @9 {12:12:}: w(z,1)`)
	c := isohound(t, "check", path, "--level", "ser", "--certify")
	for _, want := range []string{"ser violated", "all 2 reads agree with them", "database transaction 10, snapshot 9:10:9, commit 7", "database transaction 9, snapshot 9:9:, commit 8"} {
		if !strings.Contains(c.out, want) {
			t.Errorf("%q is missing: %s%s", want, c.out, c.msg)
		}
	}
	o := isohound(t, "check", path, "--level", "ser", "--json").outcomes(t)
	if len(o) != 1 || len(o[0].Anomalies) == 0 || o[0].Anomalies[0].Transactions[0].Visible != "9:10:9" || o[0].Anomalies[0].Transactions[0].Commit != 7 {
		t.Fatalf("%+v", o)
	}
	// A run, whose reproduction folder has a file with the counterexample, and a page.
	dir := filepath.Join(t.TempDir(), "run")
	isohound(t, "run", "--driver", "sim", "--dsn", "sim://?off=first-committer-wins&rate=1", "--isolation", "snapshot isolation", "--workload", "general", "--keys", "40", "--check", "si", "--sessions", "8", "--txns", "60",
		"--seed", "3", "--out", dir, "--plain", "--no-progress")
	minimal, err := os.ReadFile(filepath.Join(dir, "repro", "minimal.txt"))
	if err != nil || strings.Count(string(minimal), " {") < 2 || strings.Count(string(minimal), " $") < 2 {
		t.Errorf("%v: %s", err, minimal)
	}
	if page, err := os.ReadFile(filepath.Join(dir, "report.html")); err != nil || !strings.Contains(string(page), `<div class="sub long">snapshot `) {
		t.Errorf("the page has no snapshot: %v", err)
	}
}
