package checker_test

import (
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/elle"
)

// TestListsBelowSnapshotIsolation checks that no verdict below snapshot isolation rests on reads that were
// made up for appends to lists: prefix consistency allows these appends, but not as registers.
func TestListsBelowSnapshotIsolation(t *testing.T) {
	const lost = `{:process 0, :type :ok, :value [[:r y nil] [:append x 1]]}
{:process 1, :type :ok, :value [[:append y 1] [:append x 2]]}
{:process 2, :type :ok, :value [[:r x [2 1]]]}
`
	for text, known := range map[string]bool{
		lost: false,
		"{:process 0, :type :ok, :value [[:r x nil] [:w y 1]]}\n{:process 1, :type :ok, :value [[:w x 1] [:r y nil]]}\n": true,
	} {
		h, err := history.Load(t.Context(), elle.NewReader(strings.NewReader(text), "test", false))
		if err != nil {
			t.Fatal(err)
		}
		for _, lvl := range []level.Level{level.SI, level.PC} {
			r, err := checker.Check(t.Context(), h, lvl, checker.Options{Certify: true})
			if err != nil {
				t.Fatal(err)
			}
			if want := known || lvl == level.SI; (r.Verdict != verdict.Unknown) != want || !want && !strings.Contains(r.Reason, "lists") {
				t.Errorf("%s: %s %s\n%s", lvl, r.Verdict, r.Reason, text)
			}
		}
	}
}
