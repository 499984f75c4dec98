package replay

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/history"
)

// TestNext compares the search for the next version that a read can have returned with a look at all.
func TestNext(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	searched := 0
	for range 2000 {
		l := &timeline{}
		values := 1 + rng.IntN(80)
		for n := range 1 + rng.IntN(300) {
			l.all = append(l.all, version{int32(2 * n), history.Value(rng.IntN(values))})
		}
		for range 20 {
			n := rng.IntN(len(l.all))
			op := history.Op{Kind: history.Read, Value: history.Value(rng.IntN(values + 2))}
			if rng.IntN(4) == 0 {
				op.Kind = history.ReadNot
			}
			want := slices.IndexFunc(l.all[n:], func(v version) bool { return (v.value == op.Value) == (op.Kind == history.Read) })
			if want >= 0 {
				want += n
			}
			if got := l.next(n, op); got != want {
				t.Fatalf("after version %d of %v, %v: %d, not %d", n, l.all, op, got, want)
			}
		}
		if l.byValue != nil {
			searched++
		}
	}
	if searched < 100 {
		t.Errorf("only %d were searched", searched)
	}
}
