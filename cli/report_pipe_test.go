//go:build unix && !front

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/isohound/isohound/results"
)

// TestReportOfPipes: a file of the folder of a run that is a pipe is an error that names it, and not waited for.
func TestReportOfPipes(t *testing.T) {
	runs := t.TempDir()
	dir := filepath.Join(runs, "run")
	if c := isohound(t, "run", "--driver", "sim", "--cut-every", "200txns", "--txns", "50", "--no-progress", "--out", dir); c.code != 0 {
		t.Fatalf("exit code %d: %s", c.code, c.msg)
	}
	// As if it had been killed.
	if err := os.Remove(filepath.Join(dir, "verdict.json")); err != nil {
		t.Fatal(err)
	}
	inTime := func(arg string) (int, string) {
		c := command(t, "report", arg)
		timer := time.AfterFunc(30*time.Second, func() { _ = c.Process.Kill() })
		defer timer.Stop()
		out, _ := c.CombinedOutput()
		return c.ProcessState.ExitCode(), string(out)
	}
	for _, name := range []string{stateFile, results.WindowVerdicts, "stats.json", "config.json"} {
		path := filepath.Join(dir, name)
		if err := os.Rename(path, path+".kept"); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip(err)
		}
		if code, out := inTime(dir); code != int(exitData) || !strings.Contains(out, path+" is not a regular file") {
			t.Errorf("%s: exit code %d: %s", name, code, out)
		}
		_ = os.Remove(path)
		_ = os.Rename(path+".kept", path)
	}
	index := filepath.Join(runs, indexFile)
	if err := syscall.Mkfifo(index, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out := inTime(runs); code == 0 || !strings.Contains(out, index+" exists and is no index of runs") {
		t.Errorf("%s: exit code %d: %s", indexFile, code, out)
	}
}
