package rounds_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/rounds"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/randhist"
)

// TestState: a window is prepared, and its violations are doubted, in the same way by a Run that has entered
// all windows before and by one that knows their State alone. A window without transactions of unknown
// outcome needs not even that.
func TestState(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 22))
	violated := func(*history.History) (verdict.Verdict, error) { return verdict.Violated, nil }
	satisfied := func(*history.History) (verdict.Verdict, error) { return verdict.Satisfied, nil }
	alone, settled, doubts := 0, 0, 0
	for range randhist.Count(t, 30_000) / 10 {
		r := simulate(rng, false)
		var one rounds.Run
		for i, w := range r.windows {
			before := one.State()
			raw, err := json.Marshal(before)
			if err != nil {
				t.Fatal(err)
			}
			var known rounds.State
			if err := json.Unmarshal(raw, &known); err != nil {
				t.Fatal(err)
			}
			h, other := w.history(t), w.history(t)
			another := rounds.Restore(known)
			apart := rounds.Alone(h)
			if apart {
				another = rounds.Run{}
				alone++
			}
			one.Enter(h)
			another.Enter(other)
			for n := range h.Txns {
				if h.Txns[n].Status != other.Txns[n].Status {
					t.Fatalf("seed %d, window %d, transaction %d: %v and %v", seed, i+1, h.Txns[n].ID, h.Txns[n].Status, other.Txns[n].Status)
				}
			}
			if a, b := one.Again(), another.Again(); a != b {
				t.Fatalf("seed %d, window %d: again %+v and %+v", seed, i+1, a, b)
			}
			after := one.State()
			settled += len(after.Used)
			if want := another.State(); !apart && !reflect.DeepEqual(after, want) || apart && !reflect.DeepEqual(after, before) {
				t.Fatalf("seed %d, window %d: %+v became %+v and %+v", seed, i+1, before, after, want)
			}
			for _, lvl := range []level.Level{level.SER, level.SI} {
				for _, check := range []rounds.Check{violated, satisfied} {
					a, _ := one.Doubt(h, lvl, check)
					if b, _ := another.Doubt(other, lvl, check); a != b {
						t.Fatalf("seed %d, window %d, %s: %q and %q", seed, i+1, lvl, a, b)
					}
					if a != "" {
						doubts++
					}
				}
			}
		}
	}
	if (alone == 0 || settled == 0 || doubts == 0) && !randhist.Few(t) {
		t.Errorf("%d windows alone, %d transactions settled, %d doubts", alone, settled, doubts)
	}
}
