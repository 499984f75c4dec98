package cobra

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDanglingLink: a log that is a link to nothing is told as that.
func TestDanglingLink(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("nowhere", filepath.Join(dir, "T1.log")); err != nil {
		t.Skip(err)
	}
	if _, err := Detect(os.DirFS(dir)); err == nil || !strings.Contains(err.Error(), "T1.log is a link that cannot be followed") {
		t.Error(err)
	}
}
