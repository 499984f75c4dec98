package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/results"
)

// TestRecalled: a run in windows lost the end of its verdicts, or the state of the checker, and the history of a window whose
// verdict is there. The verdict and the counts are as before all the same: transaction 1 is of unknown outcome, counts once, and took
// effect in window 1. So the read of what it wrote is stale in window 3.
func TestRecalled(t *testing.T) {
	stale := func(value string) string {
		return `{"isohound":2,"initial":0,"window":{"number":3,"after":"AFTER"}}
{"initial":[["x",3],["y",2]]}
{"txn":1,"session":0,"status":"unknown","ops":[["w","x",1]]}
{"txn":6,"session":3,"status":"unknown","ops":[["w","y",3]]}
{"txn":7,"session":2,"status":"committed","ops":[["r","x",` + value + `]]}
{"closed":{"reason":"complete","txns":3}}
`
	}
	for value, want := range map[string]verdict.Verdict{"3": verdict.Satisfied, "1": verdict.Violated} {
		dir := windowsOf(t, `{"isohound":2,"initial":0}
{"txn":1,"session":0,"status":"unknown","ops":[["w","x",1]]}
{"txn":3,"session":2,"status":"committed","ops":[["r","x",1],["w","x",2]]}
{"closed":{"reason":"cut","txns":2}}
`, `{"isohound":2,"initial":0,"window":{"number":2,"after":"AFTER"}}
{"initial":[["x",2]]}
{"txn":1,"session":0,"status":"unknown","ops":[["w","x",1]]}
{"txn":5,"session":2,"status":"committed","ops":[["r","x",2],["w","y",2],["w","x",3]]}
{"txn":6,"session":3,"status":"unknown","ops":[["w","y",3]]}
{"closed":{"reason":"cut","txns":3}}
`, stale(value))
		msg, err := os.Create(filepath.Join(dir, "msg"))
		if err != nil {
			t.Fatal(err)
		}
		defer msg.Close()
		var lines bytes.Buffer
		judge := func() *windowJudge {
			a := &app{work: context.Background(), msg: msg}
			j := a.newWindowJudge(dir, &checking{levels: []level.Level{level.SER}, format: file.Native})
			j.finish = func(_ *history.History, o *results.Outcome) {
				if err := json.NewEncoder(&lines).Encode(o); err != nil {
					t.Error(err)
				}
			}
			return j
		}
		write := func(name string, text []byte) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		total := func(j *windowJudge) history.Counts {
			o := j.outcomes()[0]
			if o.Learned != nil || o.Verdict != want {
				t.Errorf("%+v", o)
			}
			return history.Counts{Txns: o.Txns, Committed: o.Committed, Aborted: o.Aborted, Unknown: o.UnknownOutcome, Ops: o.Ops}
		}
		files, err := results.WindowFiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		j := judge()
		if err := j.each(files, nil); err != nil {
			t.Fatal(err)
		}
		counts := total(j)
		if want := (history.Counts{Txns: 5, Committed: 3, Unknown: 2, Ops: 8}); counts != want {
			t.Fatalf("%+v", counts)
		}
		state, err := json.Marshal(judgeState{j.number, j.digest, j.tested, &j.state})
		if err != nil {
			t.Fatal(err)
		}
		all := bytes.SplitAfter(lines.Bytes(), []byte("\n"))
		if err := os.Remove(files[0]); err != nil {
			t.Fatal(err)
		}
		again := func(told, state []byte) (*windowJudge, history.Counts) {
			t.Helper()
			write(results.WindowVerdicts, told)
			write(stateFile, state)
			j := judge()
			if _, _, err := j.restore(3); err != nil {
				t.Fatal(err)
			}
			for _, f := range files[1:] {
				if results.WindowNumber(f) > j.number {
					if err := j.next(f); err != nil {
						t.Fatal(err)
					}
				}
			}
			return j, total(j)
		}
		for name, state := range map[string][]byte{"state": state, "no state": nil} {
			if _, got := again(all[0], state); got != counts {
				t.Errorf("%s: %+v, want %+v", name, got, counts)
			}
		}
		if value == "1" {
			continue
		}
		// The line of an earlier version does not tell it. A note says so.
		older := bytes.Replace(all[1], []byte(`"learned"`), []byte(`"other"`), 1)
		if j, _ := again(bytes.Join([][]byte{all[0], older, all[2]}, nil), state); !strings.Contains(strings.Join(j.notes, "\n"), "more than once") {
			t.Errorf("%q", j.notes)
		}
		_ = os.Remove(filepath.Join(dir, "msg"))
	}
}

// TestLostWindow: a window was judged, and its file is lost. What a transaction of an earlier window did there is known; the ids of the
// lost window are given again, so that nothing is known of them.
func TestLostWindow(t *testing.T) {
	dir := windowsOf(t, `{"isohound":2,"initial":0}
{"txn":1,"session":0,"status":"unknown","ops":[["w","x",1]]}
{"txn":2,"session":3,"status":"unknown","ops":[["w","y",1]]}
{"txn":3,"session":2,"status":"committed","ops":[["r","z",0]]}
{"closed":{"reason":"cut","txns":3}}
`, `{"isohound":2,"initial":0,"window":{"number":2,"after":"AFTER"}}
{"txn":1,"session":0,"status":"unknown","ops":[["w","x",1]]}
{"txn":2,"session":3,"status":"unknown","ops":[["w","y",1]]}
{"txn":5,"session":2,"status":"committed","ops":[["r","x",1],["r","y",0],["w","x",3]]}
{"txn":6,"session":1,"status":"unknown","ops":[["w","z",3]]}
{"closed":{"reason":"cut","txns":4}}
`)
	var lines bytes.Buffer
	a := &app{work: context.Background(), msg: os.Stderr}
	judge := func() *windowJudge {
		j := a.newWindowJudge(dir, &checking{levels: []level.Level{level.SER}, format: file.Native})
		j.finish = func(_ *history.History, o *results.Outcome) {
			if err := json.NewEncoder(&lines).Encode(o); err != nil {
				t.Error(err)
			}
		}
		return j
	}
	files, err := results.WindowFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	j := judge()
	if err := j.each(files, nil); err != nil {
		t.Fatal(err)
	}
	if s := j.state.State(); !slices.Equal(s.Used, []int64{1}) || !slices.Equal(s.Seen, []int64{1, 2, 6}) {
		t.Fatalf("%+v", s)
	}
	state, err := json.Marshal(judgeState{j.number, j.digest, j.tested, &j.state})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{results.WindowVerdicts: lines.Bytes(), stateFile: state} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j = judge()
	if _, _, err := j.restore(1); err != nil {
		t.Fatal(err)
	}
	if s := j.state.State(); !slices.Equal(s.Used, []int64{1}) || !slices.Equal(s.Seen, []int64{1, 2}) {
		t.Errorf("%+v", s)
	}
}
