package certify_test

import (
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestAgreesWithSnapshots compares, for random orders of starts and commits, what Agrees says with the claims about each two
// transactions.
func TestAgreesWithSnapshots(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 9))
	agree, wrong := 0, 0
	for range randhist.Count(t, 20_000) {
		h := randhist.New(rng)
		if rng.IntN(2) == 0 {
			h = randhist.ClaimedSets(rng, h)
		} else {
			h = randhist.Claimed(rng, h)
		}
		// Without positions of commits there is no order of versions.
		if h = h.AssumeOrder(); !h.SnapshotsAssumed() || h.OrderAssumed() && hasShared(h) {
			continue
		}
		points := anOrder(rng, h)
		want := true
		at := map[int32]int{}
		for n, p := range points {
			at[p] = n
		}
		for _, p := range points {
			for _, q := range points {
				s, c := p>>1, q>>1
				if p&1 == 1 || q&1 == 0 || s == c {
					continue
				}
				has, lacks := h.Shows(int(s), int(c))
				want = want && !(has && at[q] > at[p]) && !(lacks && at[q] < at[p])
			}
		}
		err := certify.Agrees(h, level.SI, &verdict.Witness{Points: points})
		if (err == nil) != want {
			t.Fatalf("seed %d: %v: %v, but the claims agree: %v\n%s", seed, points, err, want, dsl.Format(h))
		}
		if want {
			agree++
		} else {
			wrong++
		}
	}
	t.Logf("%d orders agree, %d do not", agree, wrong)
	if (agree < wrong/50 || wrong < agree/10 || wrong == 0) && !randhist.Few(t) {
		t.Error("one-sided")
	}
}

// hasShared reports whether two transactions with positions wrote one key, so that more is assumed than snapshots.
func hasShared(h *history.History) bool {
	writer := map[history.Key]int{}
	for i := range h.Txns {
		for _, op := range h.Ops(&h.Txns[i]) {
			if op.Kind == history.Write && h.Place(i) != 0 {
				if other, known := writer[op.Key]; known && other != i {
					return true
				}
				writer[op.Key] = i
			}
		}
	}
	return false
}

// anOrder returns starts and commits, mostly nearly in the order of the record. Some of unknown outcome are left out.
func anOrder(rng *rand.Rand, h *history.History) []int32 {
	var points []int32
	for i := range int32(len(h.Txns)) {
		switch s := h.Txns[i].Status; {
		case s == history.Aborted || s == history.Unknown && rng.IntN(2) == 0:
		default:
			points = append(points, 2*i, 2*i+1)
		}
	}
	for range rng.IntN(1 + 2*len(points)) { // neighbours change places
		if n := rng.IntN(len(points)); n > 0 && points[n-1]>>1 != points[n]>>1 {
			points[n-1], points[n] = points[n], points[n-1]
		}
	}
	return points
}
