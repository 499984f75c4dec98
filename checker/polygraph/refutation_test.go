package polygraph_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// replay replays the refutation of each contradiction, even if the counterexample is small enough
// for the trial of every execution.
func replay(t *testing.T, h *history.History, r *verdict.Result) {
	t.Helper()
	for n := range r.Anomalies {
		a := &r.Anomalies[n]
		if a.Kind != verdict.Contradiction {
			continue
		}
		if a.Refutation == nil {
			t.Fatalf("%s: no refutation\n%s", r.Level, dsl.Format(h))
		}
		if err := certify.Replay(t.Context(), h, r.Level, a.Refutation); err != nil {
			t.Fatalf("%s: %v\n%s", r.Level, err, dsl.Format(h))
		}
	}
}

// TestReplayHard replays refutations of histories with many choices.
func TestReplayHard(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	violated := 0
	for n := range 60 {
		vars := 4 + n%9
		h := fromClauses(randomClauses(rng, vars, 4*vars+rng.IntN(2*vars)))
		for _, lvl := range []level.Level{level.SER, level.SI} {
			var cfg polygraph.Config
			if n%3 == 0 {
				cfg = cfg.Without(polygraph.Pruning)
			}
			r, err := polygraph.Engine{Config: cfg}.Judge(context.Background(), h, lvl, engine.Options{Proof: true})
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict == verdict.Violated {
				violated++
				replay(t, h, r)
			}
		}
	}
	if violated < 20 {
		t.Errorf("only %d violated", violated)
	}
}

// rareRules are histories whose refutations use the rules that random ones seldom need.
var rareRules = []string{
	// Impossible, of the transaction that contradicts itself.
	"s0 T0: w(x,1) r(x,7) unknown\ns1 T1: w(x,1) w(y,1)\ns2 T2: r(x,1) r(y,0)",
	// Hidden: the snapshot lacks a transaction of unknown outcome that was read.
	"s0 T0 [0,1] $5 {5:5:}: w(x,1) w(y,1) unknown\ns1 T1 [0,9] {5:6:5}: r(x,1)",
	// Shown, of the transaction of unknown outcome that was read.
	"s0 T0 [0,1] @5<4: w(x,1) w(y,1) unknown\ns1 T1 [0,9] @9<8: r(x,1) w(z,1)\ns2 T2 [0,9] @10<7: r(y,0) w(z,2)",
	// Apart: a lost update by what the snapshots say alone.
	"s0 T0 [0,9] $5 {5:7:5,6}: w(x,1)\ns1 T1 [0,9] $6 {5:7:5,6}: w(x,2)",
}

// TestReplayWhole replays refutations of whole histories, without cutting out a counterexample
// first. So everything that saturation infers is explained.
func TestReplayWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, randhist.Seed(t, 12)))
	rules := map[verdict.Rule]int{}
	refuted := 0
	for n := range randhist.Count(t, 3000) {
		h := randhist.Of(rng, 1+rng.IntN(8), 4+rng.IntN(40), 1+rng.IntN(12))
		switch rng.IntN(6) {
		case 0, 1:
			h = randhist.Claimed(rng, h).AssumeOrder()
		case 2:
			h = randhist.ClaimedSets(rng, h).AssumeOrder()
		}
		if n < len(rareRules) {
			h = dsl.MustParse(rareRules[n]).AssumeOrder()
		}
		for _, lvl := range (polygraph.Engine{}).Levels() {
			if lvl.RealTime() && !h.Timed() {
				continue
			}
			if !h.Closed { // a missing transaction may have written what is read
				if r, err := polygraph.Decide(t.Context(), h, lvl, polygraph.Engine{}); err != nil || r.Verdict != verdict.Violated {
					continue
				}
			}
			proof, err := polygraph.Refute(h, lvl, rng.IntN(4) > 0)
			if err != nil {
				t.Fatal(err)
			}
			if proof == nil {
				continue
			}
			refuted++
			for n := range proof.Steps {
				rules[proof.Steps[n].Rule]++
			}
			if err := certify.Replay(t.Context(), h, lvl, proof); err != nil {
				t.Fatalf("%s: %v\n%s", lvl, err, dsl.Format(h))
			}
		}
	}
	t.Logf("%d refuted, by %v", refuted, rules)
	for rule := verdict.HasSource; rule <= verdict.Follows; rule++ {
		if rules[rule] == 0 && !randhist.Few(t) {
			t.Errorf("no refutation used the rule %q", rule)
		}
	}
}

// TestProofLimit checks that a proof that becomes too large is given up. The verdict and its
// counterexample stay.
func TestProofLimit(t *testing.T) {
	defer polygraph.LimitProofs(1500)()
	rng := rand.New(rand.NewPCG(15, 16))
	given, withheld := 0, 0
	for range 30 {
		h := fromClauses(randomClauses(rng, 20, 100))
		r, err := polygraph.Engine{}.Judge(context.Background(), h, level.SER, engine.Options{Proof: true})
		if err != nil || r.Verdict != verdict.Violated {
			t.Fatal(r, err)
		}
		if r.Anomalies[0].Refutation == nil {
			withheld++
		} else {
			given++
		}
	}
	if given == 0 || withheld == 0 {
		t.Errorf("%d proofs given, %d given up", given, withheld)
	}
}
