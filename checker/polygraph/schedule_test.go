package polygraph_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// hotWriters are transactions, each a session of its own, that write a few keys, some after reading
// them, with a reader after each.
func hotWriters(rng *rand.Rand, writers, keys int, rmw float64) *history.History {
	latest := make([]int, keys)
	var txns []string
	for n := 1; n <= writers; n++ {
		k := rng.IntN(keys)
		ops := fmt.Sprintf("w(x%d,%d)", k, n)
		if rng.Float64() < rmw {
			ops = fmt.Sprintf("r(x%d,%d) ", k, latest[k]) + ops
		}
		latest[k] = n
		k = rng.IntN(keys)
		txns = append(txns, ops, fmt.Sprintf("r(x%d,%d)", k, latest[k]))
	}
	var b strings.Builder
	for i, n := range rng.Perm(len(txns)) {
		fmt.Fprintf(&b, "s%d: %s\n", i, txns[n])
	}
	return dsl.MustParse(b.String())
}

// TestHotWriters checks that many writers of few keys do not keep waking each other. Without
// patience this took a minute, now tenths of a second.
func TestHotWriters(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	for _, tc := range []struct {
		keys int
		rmw  float64
	}{{1, 0}, {3, 0.5}, {20, 0.3}} {
		h := hotWriters(rng, 16_000, tc.keys, tc.rmw)
		for _, lvl := range []level.Level{level.SER, level.SI, level.SERNoSO} {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			r, err := polygraph.Engine{}.Judge(ctx, h, lvl, engine.Options{})
			cancel()
			if err != nil || r.Verdict != verdict.Satisfied {
				t.Errorf("%d keys, %v read first, %s: %v, %v", tc.keys, tc.rmw, lvl, r, err)
			}
		}
	}
}

// TestGuessEnds checks that a guess ends with its context.
func TestGuessEnds(t *testing.T) {
	h := hotWriters(rand.New(rand.NewPCG(53, 54)), 16_000, 1, 0)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := polygraph.Guess(ctx, h, level.SI); !errors.Is(err, why) {
		t.Errorf("%v, want %v", err, why)
	}
	if err := polygraph.Guess(t.Context(), h, level.SI); err != nil {
		t.Error(err)
	}
}

// TestFailedGuess: a first guess that fails leaves no edges behind. With them saturation
// finds less that is new, ends too early, and the search took three times as long.
func TestFailedGuess(t *testing.T) {
	failures := 0
	for seed := range uint64(8) {
		h := synth.General(synth.GeneralConfig{Sessions: 20, Txns: 4000, Ops: 4, Keys: 10, Reads: 0.5, Duplicates: 0.5, Theta: 0.5, Values: 5, Seed: seed + 1})
		for _, lvl := range []level.Level{level.SER, level.SI} {
			failed, same, err := polygraph.FailedGuess(h, lvl)
			if err != nil {
				t.Fatal(err)
			}
			if failed {
				failures++
				if !same {
					t.Errorf("seed %d, %s: the known graph has changed", seed+1, lvl)
				}
			}
		}
	}
	if failures < 4 {
		t.Errorf("only %d guesses failed", failures)
	}
}
