package cli

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/results"
)

// windowsOf writes windows into the folder of a run. In each, AFTER is the digest of the one before.
func windowsOf(t *testing.T, windows ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	folder := filepath.Join(dir, results.WindowsFolder)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	after := ""
	for n, lines := range windows {
		text := []byte(strings.Replace(lines, "AFTER", after, 1))
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%06d.jsonl", n+1)), text, 0o600); err != nil {
			t.Fatal(err)
		}
		after = fmt.Sprintf("%x", sha256.Sum256(text))
	}
	return dir
}

// distinct counts the transactions in the windows of a run, each once.
func distinct(t *testing.T, files []string) int {
	t.Helper()
	ids := map[int64]bool{}
	for _, f := range files {
		h := load(t, f)
		for i := range h.Txns {
			ids[h.Txns[i].ID] = true
		}
	}
	return len(ids)
}

// TestWindowsCountOnce: a transaction of unknown outcome, which each later window has once more, is one of unknown outcome of the
// run, also if a window shows that it took effect. The last two windows are also judged without the first one.
func TestWindowsCountOnce(t *testing.T) {
	dir := windowsOf(t, `{"isohound":2,"initial":0}
{"txn":1,"session":0,"status":"unknown","ops":[["w","x",1]]}
{"txn":2,"session":1,"status":"unknown","ops":[["w","z",1]]}
{"txn":3,"session":2,"status":"committed","ops":[["r","z",0],["w","y",1]]}
{"txn":4,"session":3,"status":"aborted","ops":[["w","x",2]]}
{"closed":{"reason":"cut","txns":4}}
`, `{"isohound":2,"initial":0,"window":{"number":2,"after":"AFTER"}}
{"initial":[["y",1]]}
{"txn":1,"session":0,"status":"unknown","ops":[["w","x",1]]}
{"txn":2,"session":1,"status":"unknown","ops":[["w","z",1]]}
{"txn":5,"session":2,"status":"committed","ops":[["r","x",1],["w","y",2]]}
{"txn":6,"session":3,"status":"unknown","ops":[["w","y",3]]}
{"closed":{"reason":"cut","txns":4}}
`, `{"isohound":2,"initial":0,"window":{"number":3,"after":"AFTER"}}
{"initial":[["x",1],["y",2]]}
{"txn":1,"session":0,"status":"unknown","ops":[["w","x",1]]}
{"txn":2,"session":1,"status":"unknown","ops":[["w","z",1]]}
{"txn":6,"session":3,"status":"unknown","ops":[["w","y",3]]}
{"txn":7,"session":2,"status":"committed","ops":[["r","x",1]]}
{"closed":{"reason":"complete","txns":4}}
`)
	for _, want := range []history.Counts{{Txns: 7, Committed: 3, Aborted: 1, Unknown: 3, Ops: 9}, {Txns: 5, Committed: 2, Unknown: 3, Ops: 6}} {
		c := isohound(t, "check", dir, "--level", "ser", "--json")
		all := c.outcomes(t)
		if len(all) != 1 || all[0].Verdict != verdict.Satisfied {
			t.Fatalf("exit code %d: %s%s", c.code, c.out, c.msg)
		}
		o := all[0]
		if got := (history.Counts{Txns: o.Txns, Committed: o.Committed, Aborted: o.Aborted, Unknown: o.UnknownOutcome, Ops: o.Ops}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if s := o.Windows.Spans; len(s) != 1 || s[0].Txns != want.Txns || o.Again != nil {
			t.Errorf("%+v", o)
		}
		if err := os.RemoveAll(filepath.Join(dir, results.WindowFile(1, true))); err != nil {
			t.Fatal(err)
		}
	}
}
