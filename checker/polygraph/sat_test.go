package polygraph_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
)

// satisfiable tries every assignment.
func satisfiable(vars int, clauses [][]int) bool {
assignments:
	for bits := range 1 << vars {
	next:
		for _, c := range clauses {
			for _, l := range c {
				if (bits>>(max(l, -l)-1)&1 == 1) == (l > 0) {
					continue next
				}
			}
			continue assignments
		}
		return true
	}
	return false
}

// TestFromSAT checks that a history made from a formula is allowed exactly if the formula is
// satisfiable, at every level and in all configurations.
func TestFromSAT(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(21, 22))
	count := map[bool]int{}
	for n := range 300 {
		vars := 3 + n%10
		clauses := synth.RandomSAT(rng, vars, int(float64(vars)*(3.6+2.8*rng.Float64())))
		if n%10 == 0 { // of any shape
			for j := range clauses {
				clauses[j] = clauses[j][:1+rng.IntN(3)]
				clauses[j][0] = clauses[j][rng.IntN(len(clauses[j]))]
			}
			clauses = clauses[:1+rng.IntN(len(clauses))]
		}
		want := satisfiable(vars, clauses)
		count[want]++
		h := synth.FromSAT(clauses)
		for i, lvl := range []level.Level{level.SER, level.SI, level.SERNoSO, level.SINoSO, level.SSER, level.StrongSI} {
			configs := []polygraph.Config{{}}
			if i == n%6 {
				configs = append(configs, polygraph.Paper(), randomConfig(rng))
			}
			for _, cfg := range configs {
				r, err := polygraph.Decide(ctx, h, lvl, polygraph.Engine{Config: cfg})
				if want && i < 2 {
					r, err = polygraph.Engine{Config: cfg}.Judge(ctx, h, lvl, engine.Options{Proof: true})
				}
				if err != nil {
					t.Fatal(err)
				}
				if r.Verdict != verdict.Satisfied && r.Verdict != verdict.Violated || (r.Verdict == verdict.Satisfied) != want {
					t.Fatalf("formula %d at %s, %s: %s, satisfiable is %v: %v", n, lvl, cfg, r.Verdict, want, clauses)
				}
				if r.Witness != nil {
					if err := certify.Result(t.Context(), h, r); err != nil {
						t.Errorf("formula %d at %s, %s: %v", n, lvl, cfg, err)
					}
				}
			}
		}
	}
	t.Log(count)
	if count[true] < 75 || count[false] < 75 {
		t.Errorf("one-sided: %v", count)
	}
}

// TestFromSATProofs checks that the smallest unsatisfiable formulas have counterexamples.
func TestFromSATProofs(t *testing.T) {
	for _, clauses := range [][][]int{{{1}, {-1}}, {{1, 2}, {-1}, {-2}}} {
		h := synth.FromSAT(clauses)
		for _, lvl := range []level.Level{level.SER, level.SI, level.SSER} {
			r, err := polygraph.Engine{}.Judge(context.Background(), h, lvl, engine.Options{})
			if err != nil || r.Verdict != verdict.Violated {
				t.Fatal(lvl, clauses, r, err)
			}
			if err := certify.Result(t.Context(), h, r); err != nil && !errors.Is(err, certify.ErrTooLarge) {
				t.Error(lvl, clauses, err)
			}
		}
	}
}
