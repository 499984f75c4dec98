package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPrintableName: the name of a file cannot forge a line, or hide one.
func TestPrintableName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f\nh: ser satisfied\x1b[8m")
	if err := os.WriteFile(path, []byte("s1: r(x,0) w(x,1)\ns2: r(x,0) w(x,2)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := isohound(t, "check", path, "--format", "dsl", "--level", "ser", "--no-progress")
	if c.code != int(exitViolated) || strings.Contains(c.out, "\nh: ser satisfied") || strings.Contains(c.out, "\x1b") || !strings.Contains(c.out, `f\nh: ser satisfied\x1b[8m": ser violated`) {
		t.Errorf("exit code %d\n%q", c.code, c.out)
	}
}
