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
	dir := t.TempDir()
	if c := isohound(t, "run", "--driver", "sim", "--cut-every", "200txns", "--txns", "50", "--no-progress", "--out", filepath.Join(dir, "run")); c.code != 0 {
		t.Fatalf("exit code %d: %s", c.code, c.msg)
	}
	dir = filepath.Join(dir, "run")
	// As if it had been killed.
	if err := os.Remove(filepath.Join(dir, "verdict.json")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{stateFile, results.WindowVerdicts, "stats.json", "config.json"} {
		path := filepath.Join(dir, name)
		if err := os.Rename(path, path+".kept"); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip(err)
		}
		c := command(t, "report", dir)
		timer := time.AfterFunc(30*time.Second, func() { _ = c.Process.Kill() })
		out, err := c.CombinedOutput()
		timer.Stop()
		if code := c.ProcessState.ExitCode(); code != int(exitData) || !strings.Contains(string(out), path+" is not a regular file") {
			t.Errorf("%s: exit code %d, %v: %s", name, code, err, out)
		}
		_ = os.Remove(path)
		_ = os.Rename(path+".kept", path)
	}
}
