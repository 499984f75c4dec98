package isotest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/file"
)

// TestWindow: what a later window does not prove of its run is unknown, and the history is not changed.
func TestWindow(t *testing.T) {
	const window = `{"isohound":2,"initial":0,"window":{"number":2,"after":"d1"}}
{"initial":[["x",0],["y",8]]}
`
	for name, tc := range map[string]struct {
		txns   string
		lvl    level.Level
		want   verdict.Verdict
		reason string
	}{
		"the snapshot of a late transaction is of an earlier window": {
			`{"txn":1,"session":0,"status":"unknown","ops":[["r","y",7],["w","x",1]]}
{"txn":2,"session":1,"status":"committed","ops":[["r","x",1]]}
`, level.SI, verdict.Unknown, "whose snapshot is of an earlier window"},
		"and something else is violated": {
			`{"txn":1,"session":0,"status":"unknown","ops":[["r","y",7],["w","x",1]]}
{"txn":2,"session":1,"status":"committed","ops":[["r","x",1]]}
{"txn":3,"session":1,"status":"committed","ops":[["r","x",0]]}
`, level.SI, verdict.Violated, ""},
		"the late transaction has no effect": {
			`{"txn":1,"session":0,"status":"unknown","ops":[["r","y",7],["w","x",1]]}
{"txn":2,"session":1,"status":"committed","ops":[["r","x",0]]}
`, level.SI, verdict.Satisfied, ""},
		"which strong-si follows": {
			`{"txn":1,"session":0,"status":"unknown","ops":[["r","x",0],["w","z",1]]}
{"txn":2,"session":1,"status":"committed","ops":[["r","z",1]]}
{"txn":3,"session":2,"status":"committed","ops":[["r","x",0],["w","x",5]]}
{"txn":4,"session":3,"status":"committed","ops":[["r","x",0],["w","x",6]]}
`, level.StrongSI, verdict.Violated, "follows from si"},
		"a value of an earlier window": {
			`{"txn":2,"session":1,"status":"committed","ops":[["r","x",9]]}
`, level.RC, verdict.Unknown, "may read a value of an earlier window"},
		"which the cut does not allow": {
			`{"txn":2,"session":1,"status":"committed","ops":[["r","x",9]]}
`, level.SER, verdict.Violated, ""},
		"sessions do not end at a cut": {
			`{"txn":2,"session":1,"status":"committed","ops":[["r","x",9]]}
`, level.SERNoSO, verdict.Unknown, "may read a value of an earlier window"},
	} {
		closing := fmt.Sprintf(`{"closed":{"reason":"complete","txns":%d}}`, strings.Count(tc.txns, "\n"))
		h, err := file.Load(t.Context(), "-", file.Native, strings.NewReader(window+tc.txns+closing))
		if err != nil {
			t.Fatal(err)
		}
		before := slices.Clone(h.Txns)
		r, err := Check(t.Context(), h, tc.lvl)
		if err != nil || r.Verdict != tc.want || !strings.Contains(r.Reason, tc.reason) || (len(r.Anomalies) > 0) != (tc.want == verdict.Violated) {
			t.Errorf("%s: %v %v", name, r, err)
		}
		if !slices.Equal(h.Txns, before) {
			t.Errorf("%s: the history was changed", name)
		}
	}
}
