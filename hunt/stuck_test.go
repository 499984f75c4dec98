package hunt

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/results"
)

// TestStuck: an error that ends a hunt while a run is recorded is what the resumed hunt says of that run. If the error could not be
// written, it says that the hunt was killed or could not write.
func TestStuck(t *testing.T) {
	p, cells := plan(t, small)
	for cause, want := range map[string]string{"no space left on device": "isohound could not go on (no space left on device)", "": "isohound was killed (or could not write)"} {
		for _, something := range []bool{true, false} {
			dir := t.TempDir()
			h := &hunter{Config: Config{Plan: p, Cells: cells, State: open(t, dir), Dir: dir, Tell: func(Event) {}}}
			if err := h.begin(); err != nil {
				t.Fatal(err)
			}
			r := &Run{Night: h.night.ID, State: recording, Message: cause, Cell: cells[0].ID(), Began: time.Now()}
			if err := h.State.add(r); err != nil {
				t.Fatal(err)
			}
			r.Folder = "runs/1/00001"
			if err := os.MkdirAll(h.folder(r), 0o700); err != nil {
				t.Fatal(err)
			}
			if something {
				if err := os.WriteFile(filepath.Join(h.folder(r), "h.jsonl"), []byte("{}\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := results.SaveConfig(h.folder(r), &results.Config{Driver: "sim", Ended: results.NotYet, History: "h.jsonl"}); err != nil {
					t.Fatal(err)
				}
			}
			if err := h.cutOff(r); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(r.Early, want) || !r.cutShort() || something != (r.State == recorded) || !something && r.Message != want+" before anything was recorded" {
				t.Errorf("cause %q, something recorded %v: %+v", cause, something, r)
			}
		}
	}

	// A hunt that cannot begin the process of the run.
	dir := t.TempDir()
	state := open(t, dir)
	ctx := context.Background()
	if _, _, err := Hunt(ctx, ctx, Config{Plan: p, Cells: cells, State: state, Dir: dir, Program: filepath.Join(dir, "none"), Tell: func(Event) {}}); err == nil {
		t.Fatal("it went on")
	}
	left, err := state.pending()
	if err != nil || len(left) != 1 || left[0].State != recording || !strings.Contains(left[0].Message, "no such file") {
		t.Errorf("%v: %+v", err, left)
	}
}
