package cli

import (
	"bufio"
	"encoding/json"
	"io"
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

// TestBenchInterrupted: an interrupted benchmark says so once, with exit code 130.
func TestBenchInterrupted(t *testing.T) {
	for _, args := range [][]string{
		{"bench", "harness", "--txns", "50", "--rounds", "1000000"},
		{"bench", "endurance", "--duration", "10m", "--keys", "500", "--out", filepath.Join(t.TempDir(), "e")},
	} {
		c := command(t, args...)
		msg, err := c.StderrPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(msg)
		if _, err := lines.ReadString('\n'); err != nil { // so it runs
			t.Error(err)
		}
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		rest, err := io.ReadAll(lines)
		if err != nil {
			t.Error(err)
		}
		_ = c.Wait()
		if code := c.ProcessState.ExitCode(); code != int(exitInterrupted) || strings.Count(string(rest), "isohound: interrupted\n") != 1 || strings.Contains(string(rest), ".go:") {
			t.Errorf("%v: exit code %d: %s", args, code, rest)
		}
	}
}

// TestBenchLeavesNothing: what is refused, and a benchmark that fails before its first figure, says so in one line and leaves no folder.
func TestBenchLeavesNothing(t *testing.T) {
	used := t.TempDir()
	if err := os.MkdirAll(filepath.Join(used, "run"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(used, "run", "config.json"), []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	untimed := write(t, "untimed.txt", "s1 T1: w(x,1)\ns2 T2: r(x,1)\n")
	for _, tc := range []struct {
		code exitCode
		args []string
	}{
		{exitUsage, []string{"endurance", "--sessions", "0"}},
		{exitUsage, []string{"endurance", "--keys", "-1"}},
		{exitUsage, []string{"endurance", "--isolation", "x"}},
		{exitUsage, []string{"endurance", "--cut-every", "foo"}},
		{exitUsage, []string{"endurance", "--level", "foo"}},
		{exitUsage, []string{"endurance", "--level", "ser,si"}},
		{exitIO, []string{"endurance", "--out", used}},
		{exitUsage, []string{"effectiveness", "--driver", "sim", "--dsn", "foo"}},
		{exitUsage, []string{"effectiveness", "--workloads="}},
		{exitUsage, []string{"effectiveness", "--sizes="}},
		{exitUsage, []string{"abort-rate", "--driver", "sim", "--dsn", "foo"}},
		{exitUsage, []string{"end-to-end", "--driver", "sim", "--dsn", "foo"}},
		{exitUsage, []string{"closure", "--compact", untimed}},
		{exitData, []string{"closure", "--compact", "/nowhere"}},
		{exitUsage, []string{"closure", "--sizes="}},
		{exitUsage, []string{"closure", "--sizes", "10", "--sessions", "24"}},
		{exitUsage, []string{"closure", "--sizes", "10", untimed}},
		{exitIO, []string{"versions", "--shares", "--out", filepath.Join(untimed, "x")}},
	} {
		c := command(t, append([]string{"bench"}, tc.args...)...)
		got := finish(t, c)
		left, err := os.ReadDir(c.Dir)
		if got.code != int(tc.code) || strings.Count(got.msg, "\n") != 1 || got.out != "" || err != nil || len(left) > 0 {
			t.Errorf("%v: exit code %d, want %d; left %v: %s%s", tc.args, got.code, tc.code, left, got.out, got.msg)
		}
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
