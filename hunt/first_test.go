package hunt

import (
	"context"
	"testing"

	"github.com/isohound/isohound/checker/nearness"
)

// TestFirstRun: under the bandit the first run of a cell is the smallest, if others may follow and isohound run takes it.
func TestFirstRun(t *testing.T) {
	for _, tc := range []struct {
		budget string
		always bool
	}{{"{runs: 100}", true}, {"{run: 10s}", false}} {
		p, cells := plan(t, "targets: [{name: a, driver: sim, isolations: [serializable]}]\nworkloads: [{workload: mini, sessions: 2..32, keys: 2..2000, dist: [zipfian, uniform]}]\nbudget: "+tc.budget)
		least, all := 0, 50
		for seed := range int64(all) {
			var first *Settings
			if _, err := Trial(context.Background(), p, cells, byBandit, seed, 2, func(_ *Cell, s Settings, _ float64) (Try, error) {
				if first == nil {
					first = &s
				}
				return Try{Near: &nearness.Nearness{Txns: 1, RW: 1}, Txns: 1}, nil
			}); err != nil {
				t.Fatal(err)
			}
			if f := first.Flags; f["sessions"] == "2" && f["keys"] == "3" && f["dist"] == "zipfian" {
				least++
			}
		}
		if tc.always && least != all || !tc.always && least > all/10 {
			t.Errorf("budget %s: %d of %d first runs are the smallest", tc.budget, least, all)
		}
	}
}
