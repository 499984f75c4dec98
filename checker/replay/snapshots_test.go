package replay_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/replay"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestSnapshots: the snapshots of a database at snapshot isolation, as sets, give an execution that is one, without any
// position. Lies never make the engine satisfied wrongly. ISOHOUND_HISTORIES sets how many histories there are for each
// level.
func TestSnapshots(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 8))
	n := randhist.Count(t, 1000)
	var refused *engine.Refusal
	for _, lvl := range []level.Level{level.SI, level.SINoSO, level.StrongSI, level.PC, level.PSI} {
		fits, lies, misfits := 0, 0, 0
		for range n {
			h := randhist.Snapshots(rng)
			if lvl.RealTime() && !h.Timed() {
				continue
			}
			lied := rng.IntN(2) == 0
			if lied {
				if h, _ = randhist.LieAboutSnapshots(rng, h); rng.IntN(2) == 0 {
					h = randhist.Damage(rng, h, 1)
				}
			}
			r, err := replay.Engine{}.Judge(t.Context(), h, lvl, engine.Options{Proof: true})
			if errors.As(err, &refused) {
				told := true // of all, and all outcomes are known
				for i := range h.Txns {
					told = told && h.Claim(i).Visible != nil && h.Txns[i].Status != history.Unknown
				}
				if !lied && told {
					t.Fatalf("seed %d: %s: %v\n%s", seed, lvl, err, dsl.Format(h))
				}
				misfits++
				continue
			}
			if err != nil || r.Verdict != verdict.Satisfied || !r.Claim.Snapshots {
				t.Fatalf("seed %d: %+v, %v", seed, r, err)
			}
			if err := certify.Witness(t.Context(), h, lvl, r.Witness); err != nil {
				t.Fatalf("seed %d: %s: %v\n%s", seed, lvl, err, dsl.Format(h))
			}
			if fits++; lied {
				lies++
			}
		}
		t.Logf("%s: %d fit, %d of them in spite of lies, %d do not", lvl, fits, lies, misfits)
		if (fits < n/2 || misfits < n/20) && !randhist.Few(t) {
			t.Errorf("%s: one-sided", lvl)
		}
	}
	h := dsl.MustParse("s0 T1 $5 {5:5:}: w(x,1)\ns1 T2 {6:6:}: r(x,0)")
	var misfit *replay.Misfit
	if _, err := (replay.Engine{}).Judge(t.Context(), h, level.SI, engine.Options{}); !errors.As(err, &misfit) || !strings.Contains(misfit.Claim.Text, "T2 (snapshot 6:6:) read x = 0, which T1 had overwritten") {
		t.Errorf("%v", err)
	}
	if _, err := (replay.Engine{}).Judge(t.Context(), h, level.SER, engine.Options{}); !errors.As(err, &refused) || errors.As(err, &misfit) {
		t.Errorf("snapshots are no serial order: %v", err)
	}
}
