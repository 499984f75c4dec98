package baseline_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/baseline"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestAgainstOracle compares the engine with the trial of every execution, on
// random histories of every kind, and verifies every witness. ISOHOUND_HISTORIES
// sets how many per level.
func TestAgainstOracle(t *testing.T) {
	n := randhist.Count(t, 5_000)
	for _, lvl := range level.All() {
		if !lvl.Search() {
			continue
		}
		t.Run(lvl.String(), func(t *testing.T) {
			seed := randhist.Seed(t, rand.Uint64())
			rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
			count := map[verdict.Verdict]int{}
			solved, cycles := 0, 0
			for range n {
				h := randhist.New(rng)
				for lvl.RealTime() && !h.Timed() {
					h = randhist.New(rng)
				}
				r := compare(t, h, lvl, seed)
				count[r.Verdict]++
				if r.Search != nil && r.Search.TheoryConflicts > 0 {
					cycles++
					if r.Verdict == verdict.Satisfied {
						solved++
					}
				}
			}
			t.Logf("seed %d: %v, %d with cycles, %d of them satisfied", seed, count, cycles, solved)
			for _, v := range []verdict.Verdict{verdict.Satisfied, verdict.Violated} {
				if count[v] < n/10 && !randhist.Few(t) {
					t.Errorf("only %d of %d histories are %s; the generator tests one side only", count[v], n, v)
				}
			}
		})
	}
}

// TestWithoutValue is TestAgainstOracle for histories with reads that returned no value.
func TestWithoutValue(t *testing.T) {
	n := randhist.Count(t, 10_000) / 5
	for _, lvl := range level.All() {
		if !lvl.Search() {
			continue
		}
		t.Run(lvl.String(), func(t *testing.T) {
			seed := randhist.Seed(t, rand.Uint64())
			rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
			count := map[verdict.Verdict]int{}
			for range n {
				h := randhist.New(rng)
				for !h.Closed || lvl.RealTime() && !h.Timed() {
					h = randhist.New(rng)
				}
				count[compare(t, randhist.WithoutValues(rng, h), lvl, seed).Verdict]++
			}
			t.Logf("seed %d: %v", seed, count)
			if (count[verdict.Satisfied] < n/10 || count[verdict.Violated] < n/10) && !randhist.Few(t) {
				t.Errorf("%v of %d histories; the generator tests one side only", count, n)
			}
		})
	}
}

func compare(t *testing.T, h *history.History, lvl level.Level, seed uint64) *verdict.Result {
	t.Helper()
	r, err := baseline.Engine{}.Judge(context.Background(), h, lvl, engine.Options{Proof: true})
	if err != nil {
		t.Fatalf("seed %d, %s: %v\n%s", seed, lvl, err, dsl.Format(h))
	}
	if r.Verdict == verdict.Unknown {
		if h.Closed {
			t.Fatalf("unknown on a closed history: %s\n%s", r.Reason, dsl.Format(h))
		}
		return r
	}
	allowed, decided := certify.Judge(h, lvl, 50_000_000)
	if !decided {
		t.Fatalf("seed %d: the oracle gave up\n%s", seed, dsl.Format(h))
	}
	if allowed != (r.Verdict == verdict.Satisfied) {
		t.Fatalf("seed %d, %s: engine says %s, oracle says allowed=%v\n%s", seed, lvl, r.Verdict, allowed, dsl.Format(h))
	}
	if r.Verdict == verdict.Violated && len(r.Anomalies) == 0 {
		if r.Reason != baseline.NoCounterexample {
			t.Fatalf("violated without an anomaly, and the reason is %q", r.Reason)
		}
		return r
	}
	if err := certify.Result(t.Context(), h, r); err != nil {
		t.Fatalf("seed %d, %s: proof of %s: %v\n%s%+v", seed, lvl, r.Verdict, err, dsl.Format(h), r.Anomalies)
	}
	return r
}

// TestAgreesWithPolygraph compares the engines on histories of one to three hundred transactions:
// valid ones, and ones with reads moved to other versions.
func TestAgreesWithPolygraph(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(3, 4))
	count := map[verdict.Verdict]int{}
	for n := range 40 {
		h := synth.General(synth.GeneralConfig{Sessions: 2 + n%9, Txns: 100 + 4*n, Ops: 2 + n%4, Keys: 40 + 5*n, Reads: 0.3 + float64(n%5)/10,
			Duplicates: float64(n%3) / 2, Theta: 0.5, Values: 10 + n, Snapshot: n%2 == 0, Seed: uint64(n)})
		if n%4 > 0 {
			h = randhist.Damage(rng, h, n%4)
		}
		for _, lvl := range []level.Level{level.SER, level.SI, level.SERNoSO, level.SINoSO} {
			want, err := polygraph.Engine{}.Judge(ctx, h, lvl, engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := baseline.Engine{}.Judge(ctx, h, lvl, engine.Options{Proof: true})
			if err != nil {
				t.Fatal(err)
			}
			count[want.Verdict]++
			if got.Verdict != want.Verdict {
				t.Errorf("history %d at %s: %s, polygraph says %s", n, lvl, got.Verdict, want.Verdict)
			}
			if got.Verdict != verdict.Satisfied {
				continue
			}
			if err := certify.Result(t.Context(), h, got); err != nil {
				t.Errorf("history %d at %s: proof: %v", n, lvl, err)
			}
		}
	}
	if count[verdict.Satisfied] < 30 || count[verdict.Violated] < 30 {
		t.Errorf("one-sided: %v", count)
	}
}

// TestRefusals checks that a refusal says what the engine cannot judge, and what to do.
func TestRefusals(t *testing.T) {
	hot := synth.General(synth.GeneralConfig{Sessions: 10, Txns: 20_000, Ops: 4, Keys: 2, Reads: 0.5, Duplicates: 1, Theta: 0.5, Values: 10, Seed: 1})
	for _, tc := range []struct {
		h   *history.History
		lvl level.Level
	}{{dsl.MustParse("s1: r(x,0)"), level.LIN}, {dsl.MustParse("s1: r(x,0)"), level.SSER}, {dsl.MustParse("open\ns1: n(x,0)"), level.SER}, {hot, level.SI}} {
		_, err := baseline.Engine{}.Judge(context.Background(), tc.h, tc.lvl, engine.Options{})
		var na *engine.Refusal
		if !errors.As(err, &na) {
			t.Errorf("%s: %v", tc.lvl, err)
		}
	}
}

// TestTimeout checks that a long search is left running when time is up.
func TestTimeout(t *testing.T) {
	h := synth.General(synth.GeneralConfig{Sessions: 20, Txns: 1500, Ops: 8, Keys: 300, Reads: 0.5, Duplicates: 1, Theta: 0.5, Values: 5, Seed: 1})
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if _, err := (baseline.Engine{}).Judge(ctx, h, level.SER, engine.Options{}); err == nil {
		t.Skip("decided before the time was out")
	} else if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("returned after %v", took)
	}
}
