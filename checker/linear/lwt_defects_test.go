package linear_test

import (
	"context"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/linear"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
)

// TestDefectsAgainstPorcupine checks that defects of synthetic histories are defects for porcupine,
// too. Porcupine does not know about aborted transactions.
func TestDefectsAgainstPorcupine(t *testing.T) {
	for _, d := range synth.LWTDefects {
		for seed := range uint64(20) {
			h, err := synth.DefectiveLWT(synth.LWTConfig{Sessions: 6, TxnsPerSession: 20, Keys: 1 + int(seed%3), Concurrent: 2 + int(seed%4), Failures: 20, Seed: seed}, d.Name)
			if err != nil {
				t.Fatal(err)
			}
			r, err := linear.Engine{}.Judge(context.Background(), h, level.LIN, engine.Options{})
			if err != nil || r.Verdict != verdict.Violated {
				t.Errorf("%s, seed %d: %v, %v", d.Name, seed, r, err)
			}
			if d.Name != synth.AbortedRead && porcupine.CheckOperations(lwtModel, operations(h)) {
				t.Errorf("%s, seed %d: porcupine finds nothing wrong", d.Name, seed)
			}
		}
	}
}
