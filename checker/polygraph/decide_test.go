package polygraph_test

import (
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/internal/randhist"
)

// TestMendUntil: the search changes from deciding what is wrong to deciding
// everything at any time, with the same verdicts.
func TestMendUntil(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	searched := 0
	noPruning := polygraph.Config{}.Without(polygraph.Pruning)
	for _, conflicts := range []int64{-1, 0, 1, 3} {
		restore := polygraph.MendUntil(conflicts)
		for range randhist.Count(t, 4000) {
			h := randhist.New(rng)
			for _, lvl := range []level.Level{level.SER, level.SI} {
				if _, s := compare(t, h, lvl, 41, polygraph.Options{Config: noPruning}); s {
					searched++
				}
			}
		}
		restore()
	}
	if searched < 300 {
		t.Errorf("only %d with conflicts", searched)
	}
}

// TestMoved: whatever moves in the order, the keys that read wrong because of that
// are looked at again.
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

// TestPacked: entries that are packed row by row are those that are looked up.
func TestPacked(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 46))
	keys := 0
	for range 5000 {
		h := randhist.New(rng)
		for _, lvl := range []level.Level{level.SER, level.SI, level.StrongSI} {
			if lvl.RealTime() && !h.Timed() {
				continue
			}
			n, err := polygraph.Packed(h, lvl)
			if err != nil {
				t.Fatal(lvl, err)
			}
			keys += n
		}
	}
	if keys < 5000 {
		t.Errorf("only %d keys compared", keys)
	}
}
