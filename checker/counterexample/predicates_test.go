package counterexample_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/counterexample"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
)

// TestPredicatesStay checks that a counterexample has the predicates of its statements, and says
// which of their rows it leaves out.
func TestPredicatesStay(t *testing.T) {
	const text = `{"isohound":1,"initial":0}
{"txn":1,"session":1,"status":"committed","ops":[["r","t(1)",0],["r","t(2)",0],["w","t(1)",1]],"preds":[{"kind":"read","table":"t","where":[["v","<",7]],"ops":[0,2]},{"kind":"read","table":"t","where":[["v",">",7]],"ops":[2,2]}]}
{"txn":2,"session":2,"status":"committed","ops":[["r","t(1)",0],["w","t(1)",2]],"preds":[{"kind":"update","table":"t","where":[["id","=",1]],"ops":[0,2]}]}
{"txn":3,"session":3,"status":"committed","ops":[["w","t(3)",2]]}
{"closed":{"reason":"complete","txns":3}}
`
	r, err := native.NewReader(bytes.NewReader([]byte(text)), "h", 0)
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.Load(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range []checker.Engine{checker.Auto, checker.Polygraph} {
		res, err := checker.Check(context.Background(), h, level.SER, checker.Options{Engine: engine})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Anomalies) == 0 {
			t.Fatalf("%s: %s", engine, res.Verdict)
		}
		c, err := counterexample.Of(context.Background(), h, level.SER, &res.Anomalies[0], counterexample.Options{Timeout: counterexample.MinimizeFor})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.History.Txns) != 2 {
			t.Fatalf("%s: %d transactions", engine, len(c.History.Txns))
		}
		scan, update := c.History.Predicates(0), c.History.Predicates(1)
		if len(scan) != 2 || len(update) != 1 {
			t.Fatalf("%s: predicates %+v and %+v", engine, scan, update)
		}
		if scan[0].Ops != [2]int{0, 1} || !slices.Equal(scan[0].Omitted, []string{"t(2)"}) || scan[1].Ops != [2]int{1, 1} || update[0].Ops != [2]int{0, 2} || update[0].Omitted != nil {
			t.Errorf("%s: predicates %+v and %+v", engine, scan, update)
		}
	}
}
