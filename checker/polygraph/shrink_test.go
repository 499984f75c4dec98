package polygraph_test

import (
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
)

// TestShrinkLarge checks that a counterexample becomes small in time even if the violation rests on
// nearly all of a large history.
func TestShrinkLarge(t *testing.T) {
	h := synth.General(synth.GeneralConfig{Sessions: 20, Txns: 3_000, Ops: 20, Keys: 1_000, Reads: 0.5,
		Duplicates: 1, Values: 5, Seed: 1, Snapshot: true})
	r, err := polygraph.Engine{}.Judge(t.Context(), h, level.SER, engine.Options{Proof: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != verdict.Violated {
		t.Fatalf("%s, want violated", r.Verdict)
	}
	if n := len(r.Anomalies[0].Txns); n > 2_000 {
		t.Errorf("a counterexample of %d transactions", n)
	}
	if err := certify.Result(t.Context(), h, r); err != nil {
		t.Error(err)
	}
}
