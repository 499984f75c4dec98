package cli

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoTemporaryFolder: a folder for temporary files that cannot be made is an error of writing, with a line that names
// TMPDIR. It is not a history that cannot be read or a server that cannot be reached.
func TestNoTemporaryFolder(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(dir, "none"))
	for name, args := range map[string][]string{
		"sqlite":   {"--driver", "sqlite"},
		"bbolt":    {"--driver", "bbolt"},
		"postgres": {"--server", "postgres"},
	} {
		if _, err := exec.LookPath("initdb"); name == "postgres" && err != nil {
			continue
		}
		c := isohound(t, append([]string{"run", "--workload", "mini", "--out", filepath.Join(dir, name)}, args...)...)
		if c.code != int(exitIO) || !strings.Contains(c.msg, "the folder for temporary files, which TMPDIR names") || strings.Contains(c.msg, "cannot use the server") {
			t.Errorf("%s: exit code %d: %s", name, c.code, c.msg)
		}
	}
}
