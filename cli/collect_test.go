package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFirstCollection: a process that judges one history of moderate size collects garbage at most a few times. The libraries
// that it is built with allocate when it starts, which must not bring the usual target forward.
func TestFirstCollection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.jsonl")
	if c := isohound(t, "gen", "--driver", "sim", "--workload", "blindw", "--sessions", "10", "--txns", "4000", "--history", path); c.code != 0 {
		t.Fatal(c.msg)
	}
	cmd := command(t, "check", path, "--level", "ser")
	cmd.Env = append(cmd.Env, "GODEBUG=gctrace=1")
	c := finish(t, cmd)
	if n := strings.Count(c.msg, "gc "); c.code != 0 || n > 4 {
		t.Errorf("code %d, %d garbage collections: %s", c.code, n, c.msg)
	}
}
