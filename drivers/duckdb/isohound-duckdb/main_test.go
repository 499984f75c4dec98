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

// TestPromises: the driver is listed, and keeps its promise on keys, in memory and in a file.
func TestPromises(t *testing.T) {
	if code, out := isohound(t, "drivers", "duckdb"); code != 0 || !strings.Contains(out, "promises si, lin") {
		t.Errorf("%d %s", code, out)
	}
	for _, dsn := range []string{"", t.TempDir()} {
		code, out := isohound(t, "run", "--driver", "duckdb", "--dsn", dsn, "--keys", "5", "--txns", "50", "--sessions", "8", "-p", "think=100us", "--check", "claimed", "--no-progress")
		if code != 0 || !strings.Contains(out, "si satisfied") {
			t.Errorf("%d %s", code, out)
		}
	}
}
