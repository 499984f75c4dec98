package polygraph_test

import (
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/accel/choose"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/internal/randhist"
)

// TestMendUntil makes the search change from mending to decisions on all variables at every point,
// and checks that the verdicts are the same.
func TestMendUntil(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	searched := 0
	noPruning := polygraph.Config{}.Without(polygraph.Pruning)
	for _, conflicts := range []int64{-1, 0, 1, 3} {
		restore := polygraph.MendUntil(conflicts)
		for range randhist.Count(t, 4000) {
			h := randhist.New(rng)
			for _, lvl := range []level.Level{level.SER, level.SI} {
				if _, s := compare(t, h, lvl, 41, polygraph.Engine{Config: noPruning}); s {
					searched++
				}
			}
		}
		restore()
	}
	if searched < 300 && !randhist.Few(t) {
		t.Errorf("only %d with conflicts", searched)
	}
}

// TestFewDecisions checks that if each transaction is a session of its own, guess and search are
// nearly right, and a conflict undoes little. A guess with unbounded waiting, or redone decisions
// in their old order, take one and a half times as many decisions; both together take twice as
// many.
func TestFewDecisions(t *testing.T) {
	decisions, conflicts := int64(0), int64(0)
	for seed := range uint64(5) {
		h := synth.General(synth.GeneralConfig{Sessions: 5000, Txns: 5000, Ops: 10, Keys: 5000, Reads: 0.5,
			Duplicates: 0.5, Theta: 0.5, Values: 100, Snapshot: true, Seed: seed + 1})
		r, err := polygraph.Engine{}.Judge(t.Context(), h, level.SI, engine.Options{})
		if err != nil || r.Verdict != verdict.Satisfied {
			t.Fatal(r, err)
		}
		decisions, conflicts = decisions+r.Search.Decisions, conflicts+r.Search.Conflicts
	}
	if t.Logf("%d decisions, %d conflicts", decisions, conflicts); decisions > 220_000 || conflicts > 2_500 {
		t.Errorf("%d decisions, %d conflicts", decisions, conflicts)
	}
}

// TestMoved checks that all keys whose reads become wrong because nodes move are verified again.
func TestMoved(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	wrong := 0
	for range 20_000 {
		h := randhist.New(rng)
		for _, lvl := range []level.Level{level.SER, level.SI} {
			n, err := polygraph.Shuffle(h, lvl, rng)
			if err != nil {
				t.Fatal(lvl, err)
			}
			wrong += n
		}
	}
	if wrong < 10_000 {
		t.Errorf("only %d keys became wrong", wrong)
	}
}

// TestEntries compares entries with the closure, for closures with rows along sessions and for
// closures that are asked about keys.
func TestEntries(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 46))
	for name, m := range map[string]*choose.Machine{"chains": with(onChains), "bitset": with(onBits)} {
		keys := 0
		for range 3000 {
			h := randhist.New(rng)
			for _, lvl := range []level.Level{level.SER, level.SI, level.StrongSI} {
				if lvl.RealTime() && !h.Timed() {
					continue
				}
				n, err := polygraph.Entries(h, lvl, polygraph.Acceleration{}.On(m))
				if err != nil {
					t.Fatal(name, lvl, err)
				}
				keys += n
			}
		}
		if keys < 3000 {
			t.Errorf("%s: only %d keys compared", name, keys)
		}
	}
}
