package generator

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/history/native"
)

// TestResumeLostTwice: a process that went on with a run whose records may be lost is killed before it records a transaction. The
// next one, which is not told of the loss, draws no value that may be lost, and the next cut reads all keys.
func TestResumeLostTwice(t *testing.T) {
	dir := t.TempDir()
	load := func(path string) *history.History {
		t.Helper()
		h, err := file.Load(t.Context(), path, file.Native, nil)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	path := filepath.Join(dir, "1.jsonl")
	text := `{"isohound":2,"initial":null}
{"initial":[["a",1]]}
{"txn":1,"session":1,"begin":1,"end":2,"status":"committed","ops":[["w","b",5]],"line":3}
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for n, lost := range []bool{true, false} {
		next := filepath.Join(dir, fmt.Sprint(n+2, ".jsonl"))
		f, err := os.Create(next)
		if err != nil {
			t.Fatal(err)
		}
		log, err := native.NewLog(f, false)
		if err != nil {
			t.Fatal(err)
		}
		_, left, err := Resume(log, load(path), "", "", lost, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if left.value < lostValues || len(left.written) != 2 || !load(next).Incomplete {
			t.Errorf("process %d draws values above %d; written: %v", n+2, left.value, left.written)
		}
		path = next
	}
}
