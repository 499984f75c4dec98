package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNewFolder: what newFolder made can be dropped again, and nothing else is removed, also if it fails.
func TestNewFolder(t *testing.T) {
	top := t.TempDir()
	out := filepath.Join(top, "a") + "/../b/c"
	drop, err := newFolder(&out, "bench")
	if err != nil || out != filepath.Join(top, "b", "c") {
		t.Fatal(out, err)
	}
	drop()
	if left, err := os.ReadDir(top); err != nil || len(left) > 0 {
		t.Errorf("%v is left; %v", left, err)
	}
	link := filepath.Join(top, "link")
	if err := os.Symlink(filepath.Join(top, "nothing"), link); err != nil {
		t.Skip(err)
	}
	for _, out := range []string{link, filepath.Join(link, "below")} {
		if _, err := newFolder(&out, "bench"); err == nil || !strings.HasPrefix(err.Error(), "--out: ") {
			t.Errorf("%s: %v", out, err)
		}
		if _, err := os.Lstat(link); err != nil {
			t.Errorf("%s: %v", out, err)
		}
	}
}
