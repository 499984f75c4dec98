package file_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/history/native"
)

// TestIncomplete: a window that may lack transactions is not Closed, though it has its closing line, and a copy is the same. What nobody
// in it wrote is no violation.
func TestIncomplete(t *testing.T) {
	const text = `{"isohound":3,"window":{"number":2,"after":"x"},"incomplete":true,"initial":0}
{"txn":1,"session":1,"status":"committed","ops":[["r","x",7]]}
{"closed":{"reason":"cut","txns":1}}
`
	for _, incomplete := range []bool{true, false} {
		in := text
		if !incomplete {
			in = strings.Replace(text, `"incomplete":true,`, "", 1)
		}
		for _, what := range []string{"as it is", "copied", "loaded and written"} {
			h := readWindow(t, in)
			var b bytes.Buffer
			switch what {
			case "copied":
				f, err := file.Open("-", file.Native, strings.NewReader(in))
				if err == nil {
					err = file.WriteNative(t.Context(), &b, f, false, false)
				}
				if err != nil {
					t.Fatal(err)
				}
				h = readWindow(t, b.String())
			case "loaded and written":
				if err := native.WriteHistory(&b, false, h, history.CutReason); err != nil {
					t.Fatal(err)
				}
				h = readWindow(t, b.String())
			}
			if ended := h.Ended == history.CutReason; h.Closed == incomplete || h.Incomplete != incomplete || !ended && what != "loaded and written" {
				t.Errorf("%s: closed %v, incomplete %v, ended %q", what, h.Closed, h.Incomplete, h.Ended)
			}
			if slices.Contains(h.Notes, history.IncompleteNote) != incomplete {
				t.Errorf("%s: %q", what, h.Notes)
			}
			want := verdict.Violated
			if incomplete {
				want = verdict.Unknown
			}
			if r, err := checker.Check(t.Context(), h, level.SER, checker.Options{}); err != nil || r.Verdict != want {
				t.Errorf("%s: %v, %+v", what, err, r)
			}
		}
	}
}

func readWindow(t *testing.T, text string) *history.History {
	t.Helper()
	r, err := native.NewReader(strings.NewReader(text), "x.jsonl", 0)
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.Load(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
