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

// TestPromises: the driver is listed, keeps what its isolations promise, and the careless one loses updates.
func TestPromises(t *testing.T) {
	if code, out := isohound(t, "drivers", "mapdb"); code != 0 || !strings.Contains(out, "promises sser (default)") {
		t.Errorf("%d %s", code, out)
	}
	run := []string{"run", "--driver", "mapdb", "--keys", "5", "--txns", "100", "--sessions", "10", "-p", "think=100us", "--no-progress"}
	if code, out := isohound(t, append(run, "--check", "claimed")...); code != 0 || !strings.Contains(out, "sser satisfied") {
		t.Errorf("%d %s", code, out)
	}
	run = append(run, "--isolation", "last writer wins", "--check", "claimed,si")
	if code, out := isohound(t, run...); code != 1 || !strings.Contains(out, "rc satisfied") || !strings.Contains(out, "si violated, not promised") {
		t.Errorf("%d %s", code, out)
	}
}
