//go:build !front

package cli

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/randhist"
	"github.com/isohound/isohound/results"
)

// TestResumedAfterPowerFailure: the open window of a run that was killed has lost its end, as after a power failure of the machine. The
// resumed run finds in the database what nobody is known to have written, and there is no false alarm.
func TestResumedAfterPowerFailure(t *testing.T) {
	if !locks {
		t.Skip("files cannot be locked here")
	}
	dsn := postgresDSN(t)
	for name, damage := range map[string]func(path string) error{
		"cut": func(path string) error {
			st, err := os.Stat(path)
			if err != nil {
				return err
			}
			return os.Truncate(path, st.Size()*2/3)
		},
		"empty":   func(path string) error { return os.Truncate(path, 0) },
		"removed": os.Remove,
		"boot": func(path string) error { // the file is shorter, and the mark is of before the failure, too
			if err := os.WriteFile(filepath.Join(path, "..", "..", openFile), []byte(openMark{Window: 1, Boot: "another"}.String()), 0o644); err != nil {
				return err
			}
			st, err := os.Stat(path)
			if err != nil {
				return err
			}
			return os.Truncate(path, max(0, st.Size()-2000))
		},
	} {
		t.Run(name, func(t *testing.T) {
			seed := randhist.Seed(t, rand.Uint64())
			rng := rand.New(rand.NewPCG(seed, 3))
			dir := filepath.Join(t.TempDir(), "run")
			// What one window lost, later ones read.
			killedInWindow(t, rng, 2, "si", dir, "run", "--driver", "postgres", "--dsn", dsn, "--isolation", "repeatable read", "--sessions", "8", "--keys", "20", "--duration", "1m", "--cut-every", "1s", "--check", "si", "--out", dir, "--no-progress")
			files, err := results.WindowFiles(dir)
			if err != nil {
				t.Fatal(err)
			}
			last := files[len(files)-1]
			if err := damage(last); err != nil {
				t.Fatal(err)
			}
			first := results.WindowNumber(last) // may be one earlier if nothing of it is left
			again, _, wait := begin(t, "run", "--resume", dir, "--dsn", dsn, "--no-progress")
			time.Sleep(2 * time.Second)
			again.Process.Signal(syscall.SIGKILL)
			wait()
			c := isohound(t, "run", "--resume", dir, "--dsn", dsn, "--duration", "2s", "--json", "--no-progress")
			all := c.outcomes(t)
			if len(all) != 1 || all[0].Windows == nil || all[0].Windows.Violated > 0 || all[0].Windows.Unknown > 2 || all[0].Verdict != verdict.Unknown && all[0].Verdict != verdict.Satisfied {
				t.Fatalf("seed %d: exit code %d: %s%s", seed, c.code, c.out, c.msg)
			}
			if n := strings.Count(strings.Join(all[0].Notes, "\n"), history.IncompleteNote); n != 1 {
				t.Errorf("%d notes that transactions may be missing: %q", n, all[0].Notes)
			}
			if files, err = results.WindowFiles(dir); err != nil || results.WindowNumber(files[len(files)-1]) <= first {
				t.Fatal(err, files)
			}
			for _, path := range files {
				h := load(t, path)
				if lost := results.WindowNumber(path) >= first; h.Incomplete != lost || h.Closed == lost || h.Ended == "" {
					t.Errorf("%s: incomplete %v, closed %v, ended %q", path, h.Incomplete, h.Closed, h.Ended)
				}
			}
		})
	}
}

// TestOpenMark: a file is whole only if the machine was not started again, and all that was marked is there.
func TestOpenMark(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, openFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		text, boot string
		number     int
		size       int64
		ended      bool
		lost       string
	}{
		{openMark{2, 100, "a"}.String(), "a", 2, 100, false, ""},
		{openMark{2, 100, "a"}.String(), "a", 2, 130, false, ""}, // killed before the mark was written
		{openMark{2, 100, "a"}.String(), "a", 3, 0, false, ""},
		{openMark{2, 100, "a"}.String(), "a", 2, 90, true, ""}, // it was written anew when it was complete
		{openMark{2, 100, "a"}.String(), "a", 2, 99, false, "99 bytes"},
		{openMark{2, 100, "a"}.String(), "a", 1, 200, true, "window 2 is gone"},
		{openMark{2, 100, "a"}.String(), "b", 2, 100, false, "started again"},
		{openMark{2, 100, "a"}.String(), "b", 2, 100, true, "started again"}, // the next one may be gone
		{openMark{2, 100, ""}.String(), "", 2, 100, false, "not known"},
		{"", "a", 2, 100, false, "not known"},
		{`{"window":2,`, "a", 2, 100, false, "not known"},
	} {
		write(tc.text)
		if got := readMark(dir).lost(tc.boot, tc.number, tc.size, tc.ended); (got == "") != (tc.lost == "") || !strings.Contains(got, tc.lost) {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}

// TestMarker: each mark takes the place of the one before, whatever was there.
func TestMarker(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, openFile), []byte(strings.Repeat("x", 500)), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := newMarker(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	if m.file == nil {
		t.Skip("nothing names the time since the machine was started")
	}
	for _, n := range []int{999_999, 1} {
		if err := m.begin(n, 5); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := m.Write(make([]byte, 70_000)); err != nil {
				t.Fatal(err)
			}
		}
		if got := readMark(dir); got.Window != n || got.Bytes != 210_005 || got.Boot != bootID() {
			t.Errorf("%+v", got)
		}
	}
}
