package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestMain runs the command line instead of the tests, if a test started it for that.
func TestMain(m *testing.M) {
	if os.Getenv("RUN_MAIN") != "" {
		main()
	}
	os.Exit(m.Run())
}

func isohound(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env, c.Dir = append(os.Environ(), "RUN_MAIN=1"), t.TempDir()
	b, err := c.CombinedOutput()
	if c.ProcessState == nil {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(b)
}

// TestSwap: the workload is listed, holds where it must, and finds a planted anomaly.
func TestSwap(t *testing.T) {
	if code, out := isohound(t, "workloads", "swap"); code != 0 || !strings.Contains(out, "swap – reads two keys") {
		t.Errorf("%d %s", code, out)
	}
	if code, out := isohound(t, "--version"); code != 0 || !strings.Contains(out, " in example.com/workload") {
		t.Errorf("%d %s", code, out)
	}
	run := []string{"run", "--workload", "swap", "--driver", "sim", "--keys", "5", "--txns", "100", "--sessions", "10", "--no-progress"}
	if code, out := isohound(t, append(run, "--check", "sser")...); code != 0 || !strings.Contains(out, "sser satisfied") {
		t.Errorf("%d %s", code, out)
	}
	run = append(run, "--isolation", "snapshot isolation", "--dsn", "sim://?rate=1&off=first-committer-wins", "--check", "si")
	if code, out := isohound(t, run...); code != 1 || !strings.Contains(out, "si violated") {
		t.Errorf("%d %s", code, out)
	}
}
