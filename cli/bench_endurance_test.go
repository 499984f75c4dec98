package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/bench"
	"github.com/isohound/isohound/checker/verdict"
)

// TestBenchEndurance: a short run is measured, with its plot.
func TestBenchEndurance(t *testing.T) {
	dir := t.TempDir()
	c := isohound(t, "bench", "endurance", "--duration", "3s", "--cut-every", "700ms", "--keys", "500", "--out", dir, "--json", "-q")
	var sum bench.EnduranceSum
	if err := json.Unmarshal([]byte(c.out), &sum); err != nil || c.code != 0 {
		t.Fatalf("%v, exit code %d: %s%s", err, c.code, c.out, c.msg)
	}
	if sum.Verdict != verdict.Satisfied || sum.Windows < 2 || sum.Committed == 0 || sum.Disk == 0 || sum.Lag == 0 || sum.JudgedPerSecond == 0 {
		t.Errorf("%+v", sum)
	}
	for _, f := range []string{"endurance.svg", "endurance.png", "endurance.json", "endurance.md"} {
		if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
			t.Error(err)
		}
	}
	c = isohound(t, "bench", "endurance", "--duration", "3s", "--dsn", filepath.Join(dir, "missing"), "--out", t.TempDir(), "-q")
	if c.code == 0 || !strings.Contains(c.msg, "expected an existing folder") || strings.Contains(c.msg, "folder of a run") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
}

// TestWindowsHeld: a run whose checker is behind waits for it, and says so.
func TestWindowsHeld(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c := isohound(t, "run", "--sessions", "8", "--txns", "600", "--seed", "1", "--cut-every", "500txns", "--max-lag", "1ns", "--judge-share", "10%", "--check", "ser", "--out", dir, "--no-progress")
	if c.code != 0 || !strings.Contains(c.msg, "the run waits for it") || !strings.Contains(c.msg, "the run waited") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "stats.json")); err != nil || !strings.Contains(string(b), "waited_for_checker_seconds") {
		t.Errorf("%v: %s", err, b)
	}
}
