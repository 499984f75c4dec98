//go:build !front

package cli

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/results"
)

// TestLostTwice: a process that went on with a run whose records may be lost is killed before it records a transaction in the window
// that it began. The next one knows of the loss by the header of that window, although the mark is of this start of the machine.
func TestLostTwice(t *testing.T) {
	boot := bootID()
	if boot == "" {
		t.Skip("nothing names the time since the machine was started")
	}
	const whole = `{"isohound":2,"initial":null}
{"txn":1,"session":1,"begin":1,"end":2,"status":"committed","ops":[["w","a",5]],"line":2}
{"closed":{"reason":"cut","txns":1}}
`
	for header, lost := range map[string]bool{
		`{"isohound":3,"initial":null,"window":{"number":2,"after":"x"},"incomplete":true}`: true,
		`{"isohound":2,"initial":null,"window":{"number":2,"after":"x"}}`:                   false,
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, results.WindowsFolder), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			results.WindowFile(1, true): whole, results.WindowFile(2, true): header + "\n",
			openFile: openMark{Window: 2, Bytes: int64(len(header) + 1), Boot: boot}.String(),
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r := &resumed{}
		if err := r.load(context.Background(), dir); err != nil {
			t.Fatal(err)
		}
		if (r.lost != "") != lost || len(r.begun) != 1 || results.WindowNumber(r.path) != 1 {
			t.Errorf("%s: lost %q, last window %s, begun %v", header, r.lost, r.path, r.begun)
		}
	}
}

// TestResumeFails: a resumed run that fails before it goes on leaves what is on the server, and a later one goes on with it. It does so
// where the state of the checker is lost, too.
func TestResumeFails(t *testing.T) {
	if !locks {
		t.Skip("files cannot be locked here")
	}
	dsn, dir := postgresDSN(t), filepath.Join(t.TempDir(), "run")
	windowsKilled(t, rand.New(rand.NewPCG(1, 1)), "ser", dir, "run", "--driver", "postgres", "--dsn", dsn, "--isolation", "serializable", "--sessions", "8", "--duration", "1m", "--cut-every", "300ms", "--check", "ser", "--out", dir, "--no-progress")
	path := filepath.Join(dir, results.WindowVerdicts)
	verdicts, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	resume := []string{"run", "--resume", dir, "--dsn", dsn, "--duration", "1s", "--json", "--no-progress"}
	write(filepath.Join(dir, stateFile), "")
	write(path, "no verdict\n"+string(verdicts))
	if c := isohound(t, resume...); c.code != int(exitData) {
		t.Fatalf("exit code %d: %s", c.code, c.msg)
	}
	write(path, string(verdicts))
	c := isohound(t, resume...)
	all := c.outcomes(t)
	files, err := results.WindowFiles(dir)
	if err != nil || c.code != 0 || len(all) != 1 || all[0].Windows.Satisfied < len(files) || !strings.Contains(c.msg, stateFile+" cannot be read") {
		t.Errorf("%v, exit code %d, %d files: %s%s", err, c.code, len(files), c.out, c.msg)
	}
}
