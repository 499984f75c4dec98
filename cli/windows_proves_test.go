package cli

import (
	"slices"
	"testing"
)

// TestWindowsCounterexampleProves: a lost update in a later window is said to violate psi, a level at which windows are not judged, and
// all that are stronger, although a transaction of unknown outcome, which has nothing to do with it, is of an earlier window.
func TestWindowsCounterexampleProves(t *testing.T) {
	const unsure = `{"txn":2,"session":5,"status":"unknown","ops":[["r","isohound-fence-1",3],["w","x",1]]}`
	dir := windowsOf(t, `{"isohound":2,"initial":0}
{"txn":1,"session":0,"status":"committed","ops":[["w","isohound-fence-1",3]]}
`+unsure+`
{"closed":{"reason":"cut","txns":2}}
`, `{"isohound":2,"initial":0,"window":{"number":2,"after":"AFTER"}}
{"initial":[["isohound-fence-1",3]]}
`+unsure+`
{"txn":3,"session":1,"status":"committed","ops":[["r","isohound-fence-1",3]]}
{"txn":4,"session":2,"status":"committed","ops":[["r","isohound-fence-1",3]]}
{"txn":5,"session":1,"status":"committed","ops":[["r","x",0],["w","x",2]]}
{"txn":6,"session":2,"status":"committed","ops":[["r","x",0],["w","x",3]]}
{"closed":{"reason":"complete","txns":5}}
`)
	c := isohound(t, "check", dir, "--level", "si", "--json")
	all := c.outcomes(t)
	if len(all) != 1 || len(all[0].Anomalies) != 1 || all[0].Anomalies[0].Counterexample == nil {
		t.Fatalf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	ce := all[0].Anomalies[0].Counterexample.Standing
	for _, s := range [][]string{all[0].Standing.Not, ce.Not} {
		if !slices.Equal(s, []string{"psi"}) {
			t.Errorf("%+v, %+v", all[0].Standing, ce)
		}
	}
	if !slices.Equal(ce.AlsoNot, []string{"ser", "si", "sser", "strong-si"}) {
		t.Errorf("%+v", ce)
	}
}
