package certify_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/internal/randhist"
)

// TestAhead: a proof that was verified in parts, while it was told, is accepted exactly if it is accepted as a whole. What
// was told may be wrong, and may be another execution than that of the proof.
func TestAhead(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 31))
	var accepted, refused int
	for n := range randhist.Count(t, 400) {
		lvl := []level.Level{level.SER, level.SSER, level.SI, level.StrongSI}[n%4]
		h := synth.Mini(synth.MiniConfig{Sessions: 4, Txns: 40, Keys: 3, Seed: rng.Uint64()})
		var w *verdict.Witness
		if n%3 == 0 {
			h = synth.Pred(4, 30, 12, 2, 3, rng.Uint64())
			x, rest, err := scans.Execute(t.Context(), h, []level.Level{lvl}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if rest == nil {
				continue // some histories are not guessed
			}
			h, w = x, rest.Settled(lvl).Witness
		} else {
			w = check(t, h, lvl).Witness
		}
		told, claimed := w, w
		switch rng.IntN(4) {
		case 0:
			told = disturbed(rng, w)
		case 1:
			claimed = disturbed(rng, w)
		case 2:
			told = disturbed(rng, w)
			claimed = told
		}
		r := &verdict.Result{Level: lvl, Verdict: verdict.Satisfied, Witness: claimed}
		want := certify.Result(t.Context(), h, r)
		a := certify.NewAhead(h, lvl)
		for from, end := 0, rng.IntN(len(*list(told))+1); from < end; {
			part, to := *told, from+1+rng.IntN(end-from)
			*list(&part) = (*list(told))[from:to]
			a.Follow(&part)
			from = to
		}
		if rng.IntN(10) == 0 {
			a.Stop()
		} else {
			a.End()
		}
		if got := a.Result(t.Context(), h, r); (got == nil) != (want == nil) {
			t.Fatalf("seed %d, %s: %v in parts, %v as a whole", seed, lvl, got, want)
		}
		if want == nil {
			accepted++
		} else {
			refused++
		}
	}
	t.Logf("seed %d: %d proofs accepted, %d refused", seed, accepted, refused)
	if (accepted < 100 || refused < 50) && !randhist.Few(t) {
		t.Errorf("%d proofs accepted, %d refused: one side is not tested", accepted, refused)
	}
}

// TestAheadOfOthers: what was verified serves no other history, level or verdict, and a context that has ended ends it.
func TestAheadOfOthers(t *testing.T) {
	h := synth.Mini(synth.MiniConfig{Sessions: 4, Txns: 60, Keys: 2, Seed: 2})
	r := check(t, h, level.SER)
	other := synth.Mini(synth.MiniConfig{Sessions: 4, Txns: 60, Keys: 2, Seed: 3})
	told := func() *certify.Ahead {
		a := certify.NewAhead(h, level.SER)
		a.Follow(r.Witness)
		a.End()
		return a
	}
	if err := told().Result(t.Context(), h, r); err != nil {
		t.Error(err)
	}
	if told().Result(t.Context(), other, r) == nil {
		t.Error("the proof of another history is accepted")
	}
	if told().Result(t.Context(), h, &verdict.Result{Level: level.SER, Verdict: verdict.Violated}) == nil {
		t.Error("a violation without an anomaly is accepted")
	}
	if told().Result(t.Context(), h, &verdict.Result{Level: level.SER, Verdict: verdict.Satisfied}) == nil {
		t.Error("a verdict without a witness is accepted")
	}
	if err := told().Result(t.Context(), h, &verdict.Result{Level: level.SI, Verdict: verdict.Satisfied, Witness: r.Witness.At(level.SI)}); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	waiting := certify.NewAhead(h, level.SER) // is told nothing more
	if err := waiting.Result(ctx, h, r); err == nil {
		t.Error("a proof is accepted after the end of its context")
	}
	if err := (*certify.Ahead)(nil).Result(t.Context(), h, r); err != nil {
		t.Error(err)
	}
}

func list(w *verdict.Witness) *[]int32 {
	if w.Points != nil {
		return &w.Points
	}
	return &w.Order
}

// disturbed returns a copy of w in which two events have changed places.
func disturbed(rng *rand.Rand, w *verdict.Witness) *verdict.Witness {
	out := *w
	events := list(&out)
	*events = slices.Clone(*events)
	i, j := rng.IntN(len(*events)), rng.IntN(len(*events))
	(*events)[i], (*events)[j] = (*events)[j], (*events)[i]
	return &out
}
