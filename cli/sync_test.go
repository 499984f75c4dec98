//go:build !front

package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/isohound/isohound/results"
)

// TestClosedWindowSynced: a window that is complete is on the disk, with its name, before it is judged.
func TestClosedWindowSynced(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, results.WindowsFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	w := &windowRun{dir: dir, o: &runOptions{plain: true}, mark: &marker{}, queue: make(chan string, 9)}
	var synced []string
	before := syncFile
	defer func() { syncFile = before }()
	syncFile = func(f *os.File) error {
		size := int64(-1)
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			size = st.Size()
		}
		synced = append(synced, fmt.Sprintf("%s %d %d", filepath.Base(f.Name()), size, len(w.queue)))
		return before(f)
	}
	for range 2 {
		out, err := w.open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(out, "four"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.close(); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"000001.jsonl 4 0", "windows -1 0", "000002.jsonl 4 1", "windows -1 1"}; !slices.Equal(synced, want) {
		t.Errorf("%q, want %q", synced, want)
	}
	syncFile = func(f *os.File) error { return &os.PathError{Op: "sync", Path: f.Name(), Err: syscall.EINVAL} }
	if _, err := w.open(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.close(); err != nil || len(w.queue) != 3 {
		t.Errorf("a file system that cannot sync: %v, %d windows to judge", err, len(w.queue))
	}
	syncFile = func(f *os.File) error { return io.ErrShortWrite }
	if _, err := w.open(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.close(); err == nil || len(w.queue) != 3 {
		t.Errorf("%v, %d windows to judge", err, len(w.queue))
	}
}
