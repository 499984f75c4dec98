package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/results"
)

// TestWeakScans: all scans of a history of some size are judged if only weak levels are asked for. With stronger
// levels, which get the operations of scans on demand, an execution of one decides the weak level.
func TestWeakScans(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pred.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Write(f, synth.Pred(24, 1000, 2000, 8, 4, 1), file.Native); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ levels, want string }{
		{"rc", "scans: 8000 of 8000 judged"},
		{"cc,ser", "scans: 8000 of 8000 judged"},
		{"cc,ser", "follows from ser"},
	} {
		c := isohound(t, "check", path, "--level", tc.levels, "--certify")
		if c.code != 0 || !strings.Contains(c.out, tc.want) || !strings.Contains(c.out, "proof verified") {
			t.Errorf("%s: exit %d\n%s%s", tc.levels, c.code, c.out, c.msg)
		}
	}
}

// TestStatementsReadAgain: at read committed, a scan may find an older version of a row that a later scan of the same
// transaction must not find any more. The proof names a version for each.
func TestStatementsReadAgain(t *testing.T) {
	for _, isolation := range []string{"read committed snapshot", "read committed"} {
		c := isohound(t, "run", "--driver", "sim", "--isolation", isolation, "--workload", "scan", "--sessions", "10", "--txns", "100", "--keys", "10", "--seed", "1", "--check", "rc", "--quiet")
		if c.code != 0 || !strings.Contains(c.out, "proof verified") {
			t.Errorf("%s: exit %d\n%s%s", isolation, c.code, c.out, c.msg)
		}
	}
}

// TestSomeScans: where operations of some scans were not added, the others are judged all the same at a weak level. The time
// is that of all that was done.
func TestSomeScans(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.jsonl")
	if c := isohound(t, "gen", "--driver", "sim", "--isolation", "snapshot isolation", "--workload", "scan", "--sessions", "10", "--txns", "300",
		"--keys", "50", "--seed", "7", "--dsn", "sim://?off=session-order&rate=0.3", "--history", path, "--quiet"); c.code != 0 {
		t.Fatalf("exit %d: %s", c.code, c.msg)
	}
	c := isohound(t, "check", path, "--level", "rc,ser", "--json")
	for line := range strings.Lines(c.out) {
		var o results.Outcome
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatal(err)
		}
		if o.Level != "rc" {
			continue
		}
		total := 0.0
		for _, took := range o.Stages {
			total += took
		}
		if o.Verdict != verdict.Satisfied || !o.Certified || o.Predicates == nil || o.Predicates.Judged < 100 || o.Predicates.Judged == o.Predicates.Scans || o.Stages["search"] == 0 || o.CheckSeconds < total {
			t.Errorf("%s", line)
		}
		return
	}
	t.Errorf("exit %d, no outcome at rc: %s%s", c.code, c.out, c.msg)
}

// TestCountsAtWeakLevels: a count leaves open at a weak level what it counted, and one call does not contradict itself. Here
// its session inserts both rows later, one of which it counted.
func TestCountsAtWeakLevels(t *testing.T) {
	path := write(t, "h.txt", "initial nil\ns0 T1: pc(v<>3; 1)\ns0 T2: w(2,0)\ns0 T3: w(1,0)\ns1 T4: p(v>5; )\n")
	c := isohound(t, "check", path, "--level", "rc")
	if c.code != 0 || !strings.Contains(c.out, "scans: 1 of 2 judged") || !strings.Contains(c.out, "proof verified") {
		t.Errorf("exit %d: %s%s", c.code, c.out, c.msg)
	}
	c = isohound(t, "check", path, "--level", "ser,rc")
	if c.code != 1 || !strings.Contains(c.out, "rc unknown") || !strings.Contains(c.out, "violates rc") {
		t.Errorf("exit %d: %s%s", c.code, c.out, c.msg)
	}
}
