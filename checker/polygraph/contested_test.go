package polygraph

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/internal/randhist"
)

// TestContestedRuns checks that each contested key is in one run, and that each run is visited once.
func TestContestedRuns(t *testing.T) {
	for _, hot := range []bool{false, true} {
		cfg := synth.GeneralConfig{Sessions: 10, Txns: 2_000, Ops: 8, Keys: 3_000, Reads: 0.5, Seed: 1}
		if hot {
			cfg.Keys = 5
		}
		h := synth.General(cfg)
		m := newModel(h, level.SER, single.NewCollector(h), true)
		c := newContested(m, newGraph(m))
		if len(c.keys) == 0 {
			t.Fatal("no key is contested")
		}
		var places []int32
		size := 0
		for _, r := range c.order {
			for i := c.runs[r]; i < c.runs[r+1]; i++ {
				places = append(places, i)
			}
			size += int(c.sizes[r])
		}
		slices.Sort(places)
		for i, at := range places {
			if int(at) != i {
				t.Fatalf("place %d is looked at in the stead of %d", at, i)
			}
		}
		if len(places) != len(c.keys) {
			t.Errorf("%d keys are in runs, want %d", len(places), len(c.keys))
		}
		first, rest := c.sample()
		all := append(slices.Clone(first), rest...)
		slices.Sort(all)
		order := slices.Clone(c.order)
		slices.Sort(order)
		if !slices.Equal(all, order) {
			t.Errorf("the sample and the rest are %d runs, want %d", len(all), len(order))
		}
		// If links were proportional to accesses, the estimate would be exact.
		if got := c.estimate(first, func(r int32) int { return int(c.sizes[r]) }); got != size {
			t.Errorf("%d links are estimated, want %d", got, size)
		}
		if hot != (c.large > 0) {
			t.Errorf("%d runs are large", c.large)
		}
	}
}

// TestUncontested checks that nothing is inferred about a key that is not contested.
func TestUncontested(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	inferred, left := 0, 0
	for range randhist.Count(t, 20_000) {
		h := randhist.New(rng)
		for _, lvl := range []level.Level{level.SER, level.SI} {
			found := single.NewCollector(h)
			m := newModel(h, lvl, found, true)
			if len(found.Anomalies) > 0 {
				continue
			}
			s := newSaturator(m, newGraph(m), true)
			s.thorough = true
			listed := map[int32]bool{}
			for _, k := range s.contested.keys {
				listed[k] = true
			}
			// All keys are looked at.
			s.contested.keys = s.contested.keys[:0]
			for k := range int32(h.KeyCount()) {
				s.contested.keys = append(s.contested.keys, k)
			}
			s.contested.runs, s.contested.sizes = []int32{0, int32(h.KeyCount())}, []int32{1}
			s.contested.order, s.contested.large = []int32{0}, 0
			if err := s.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			check := func(read int32, what string) {
				inferred++
				if k := int32(m.reads[read].key); !listed[k] {
					t.Fatalf("%s is inferred about key %d, which is not contested", what, k)
				}
			}
			for _, e := range s.g.edges[s.given:] {
				if e.why != none && e.rule != given {
					check(e.why, "an edge")
				}
			}
			looked := append(s.closed, s.open...)
			if s.refuted != nil {
				looked = append(looked, *s.refuted)
			}
			for _, o := range looked {
				if len(o.ruledOut) > 0 {
					check(o.read, "what rules a candidate out")
				}
			}
			left += h.KeyCount() - len(listed)
		}
	}
	if (inferred == 0 || left == 0) && !randhist.Few(t) {
		t.Errorf("one-sided: %d inferences, %d keys that are not contested", inferred, left)
	}
}
