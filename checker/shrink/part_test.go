package shrink_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/shrink"
	"github.com/isohound/isohound/internal/randhist"
)

// TestClear: a part that is used again after Clear is like a new one, and Txns lists the kept transactions in order, however
// few of the history they are.
func TestClear(t *testing.T) {
	rng := rand.New(rand.NewPCG(randhist.Seed(t, rand.Uint64()), 1))
	for range 20 {
		h := randhist.Of(rng, 4, 500+rng.IntN(1500), 20)
		rules := shrink.Rules{Level: level.SER, Possible: rng.IntN(2) == 0}
		empty := shrink.New(h, rules)
		used := empty.Clone()
		for range 20 {
			fresh := empty.Clone()
			used.Clear()
			from, most := rng.IntN(len(h.Txns)), 1+rng.IntN(60)
			if rng.IntN(4) == 0 {
				most = len(h.Txns)
			}
			for range rng.IntN(most) {
				i := int32(from + rng.IntN(min(most, len(h.Txns)-from)))
				switch {
				case rng.IntN(4) > 0:
					for _, p := range []*shrink.Part{used, fresh} {
						p.AddAll(i)
					}
				case fresh.HasTxn(i) && len(h.Ops(&h.Txns[i])) > 0:
					op := rng.IntN(len(h.Ops(&h.Txns[i])))
					for _, p := range []*shrink.Part{used, fresh} {
						p.Drop(i, op)
					}
				default:
					for _, p := range []*shrink.Part{used, fresh} {
						p.Close()
					}
				}
			}
			if rng.IntN(3) == 0 {
				used = used.Clone()
			}
			var kept []int32
			for i := range int32(len(h.Txns)) {
				if used.HasTxn(i) {
					kept = append(kept, i)
				}
			}
			if !slices.Equal(used.Txns(), kept) {
				t.Fatalf("%d transactions, want %d", len(used.Txns()), len(kept))
			}
			if !reflect.DeepEqual(used.Parts(), fresh.Parts()) {
				t.Fatal("the part that was cleared differs from a new one")
			}
		}
	}
}
