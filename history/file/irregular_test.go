//go:build unix

package file_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
)

// TestIrregularInFolder: a pipe in a folder is an error with its name. The read of one might wait for ever, and a log that is left out
// would be a session that did nothing. A link to a file is that file.
func TestIrregularInFolder(t *testing.T) {
	log := "S\x00\x00\x00\x00\x00\x00\x00\x01C\x00\x00\x00\x00\x00\x00\x00\x01"
	folder := func(names ...string) string {
		dir := t.TempDir()
		for _, name := range names {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(log), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	pipe := func(dir, name string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip(err)
		}
		return dir
	}
	linked := folder("T1.log")
	elsewhere := pipe(t.TempDir(), "pipe")
	if err := os.Symlink(filepath.Join(elsewhere, "pipe"), filepath.Join(linked, "T2.log")); err != nil {
		t.Skip(err)
	}
	for _, tc := range []struct{ dir, name string }{
		{pipe(folder("T1.log"), "T2.log"), "T2.log"}, {pipe(folder(), "T1.log"), "T1.log"}, {linked, "T2.log"},
		{pipe(folder(), "client-1/operations.json"), "client-1/operations.json"},
	} {
		formats := []file.Format{file.Auto, file.Cobra, file.CobraUV}
		if strings.HasPrefix(tc.name, "client") {
			formats = []file.Format{file.Auto, file.Etcd}
		}
		for _, format := range formats {
			done := make(chan error, 1)
			go func() {
				_, err := file.Load(context.Background(), tc.dir, format, nil)
				done <- err
			}()
			select {
			case err := <-done:
				var fe *history.FormatError
				if !errors.As(err, &fe) || !strings.Contains(err.Error(), tc.name+" is not a regular file; write what it holds to a file of that name") {
					t.Errorf("%s as %s: %v", tc.name, format, err)
				}
			case <-time.After(5 * time.Second):
				t.Errorf("%s as %s: it waits", tc.name, format)
			}
		}
	}
	good, other := folder("T1.log"), filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(other, []byte(strings.ReplaceAll(log, "\x01", "\x02")), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(good, "T2.log")); err != nil {
		t.Fatal(err)
	}
	if h, err := file.Load(context.Background(), good, file.Auto, nil); err != nil || len(h.Txns) != 2 {
		t.Errorf("a link to a log: %v", err)
	}
}
