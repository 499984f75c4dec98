package polygraph_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/randhist"
)

// everyConfig returns all configurations that differ in their behaviour.
func everyConfig() []polygraph.Config {
	var out []polygraph.Config
	for bits := range polygraph.Coalesce << 1 {
		c := polygraph.Config{}.Without(^polygraph.Part(0)).With(bits)
		if c.Has(polygraph.Eager) || !c.Has(polygraph.Cycles) {
			out = append(out, c)
		}
	}
	return out
}

func randomConfig(rng *rand.Rand) polygraph.Config {
	all := everyConfig()
	return all[rng.IntN(len(all))]
}

func TestParseConfig(t *testing.T) {
	if n := len(everyConfig()); n != 96 {
		t.Errorf("%d configurations", n)
	}
	for _, c := range everyConfig() {
		if got, err := polygraph.ParseConfig(c.String()); err != nil || got != c {
			t.Errorf("%s became %s, %v", c, got, err)
		}
	}
	for text, want := range map[string]string{
		"default": "default", "paper": "paper", "-pruning": "default,-pruning", "default,+eager,-schedule,+cycles,-first": "paper",
		"paper,-cycles,-order,+combine": "cobra", " paper , -eager,-cycles,+schedule,+first": "default",
	} {
		if c, err := polygraph.ParseConfig(text); err != nil || c.String() != want {
			t.Errorf("%q is %s, %v, want %s", text, c, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "empty part", "paper,": "empty part", "fast": "known are default, paper, cobra", "paper,+speed": "known are eager, pruning, schedule",
		"paper,pruning": "+pruning", "+cycles": "add +eager", "paper,-eager": "-cycles", "paper,default": "first place", "+": "unknown part",
	} {
		if c, err := polygraph.ParseConfig(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", text, c, err)
		}
	}
}

// TestConfigsAgree checks that all configurations give the same verdicts on all kinds of histories,
// that requested proofs hold, and that with eager no clauses are added on demand.
func TestConfigsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	all := everyConfig()
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	next := 0
	count := map[verdict.Verdict]int{}
	combined := 0
	for n := range 48 {
		var h *history.History
		if n%4 == 3 { // with times, and read-modify-writes
			h = synth.Mini(synth.MiniConfig{Sessions: 3 + n%9, Txns: 80 + 4*n, Keys: 4 + n%20, Seed: uint64(n), Snapshot: n%8 == 3})
			if n%3 > 0 {
				h = mutate(rng, h, n%4)
			}
		} else {
			h = synth.General(synth.GeneralConfig{Sessions: 2 + n%7, Txns: 40 + 4*n, Ops: 2 + n%5, Keys: 20 + 3*n, Reads: 0.3 + 0.4*rng.Float64(),
				Duplicates: float64(n%3) / 3, Theta: 0.5, Values: 10, Snapshot: n%2 == 0, Seed: uint64(n)})
			if n%3 > 0 {
				h = randhist.Damage(rng, h, n%4)
			}
		}
		for _, lvl := range (polygraph.Engine{}).Levels() {
			if lvl.RealTime() && !h.Timed() {
				continue
			}
			want := verdict.Unknown
			configs := []polygraph.Config{{}, polygraph.Paper()}
			for range 6 {
				cfg := all[next%len(all)]
				next++
				if n > 8 && cfg.Has(polygraph.Cycles) && !cfg.Has(polygraph.Pruning) {
					continue // too many uncertain edges for pairs, which take seconds
				}
				configs = append(configs, cfg)
			}
			for i, cfg := range configs {
				begun := time.Now()
				r, err := polygraph.Decide(context.Background(), h, lvl, polygraph.Engine{Config: cfg})
				if want == verdict.Satisfied || i > 0 && n%8 == i {
					r, err = polygraph.Engine{Config: cfg}.Judge(context.Background(), h, lvl, engine.Options{Proof: true})
				}
				if err != nil {
					t.Fatalf("history %d at %s, %s: %v", n, lvl, cfg, err)
				}
				if took := time.Since(begun); took > time.Second {
					t.Logf("history %d at %s, %s: %v", n, lvl, cfg, took)
				}
				if cfg == (polygraph.Config{}) {
					want = r.Verdict
					count[want]++
				}
				if r.Verdict != want {
					t.Errorf("history %d at %s, %s: %s, by default %s", n, lvl, cfg, r.Verdict, want)
					continue
				}
				if r.Witness == nil && r.Anomalies == nil {
					// not asked for
				} else if err := certify.Result(t.Context(), h, r); err != nil && !errors.Is(err, certify.ErrTooLarge) {
					t.Errorf("history %d at %s, %s: proof of %s: %v", n, lvl, cfg, r.Verdict, err)
				}
				if s := r.Search; s != nil && cfg.Has(polygraph.Eager) {
					if s.OnDemand > 0 {
						t.Errorf("history %d at %s, %s: %d clauses were missing up front", n, lvl, cfg, s.OnDemand)
					}
					if s.ConstraintsAfter > s.ConstraintsBefore || s.ConstraintsBefore == 0 {
						t.Errorf("history %d at %s, %s: of %d constraints %d are left", n, lvl, cfg, s.ConstraintsBefore, s.ConstraintsAfter)
					}
					if cfg.Has(polygraph.Combine) {
						combined++
					}
				}
			}
		}
	}
	t.Logf("%v, %d with chains up front", count, combined)
	if count[verdict.Satisfied] < 40 || count[verdict.Violated] < 40 || combined < 100 {
		t.Errorf("one-sided: %v, %d with chains up front", count, combined)
	}
}
