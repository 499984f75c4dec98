package sim_test

import (
	"fmt"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/internal/worktest"
	"github.com/isohound/isohound/workloads"
	_ "github.com/isohound/isohound/workloads/skew"
)

// TestPredicates: phantoms and predicate write skew break the invariants of the workload skew if
// and only if predicates are not protected.
func TestPredicates(t *testing.T) {
	const phantom, oncall = "bookings", "on call"
	for _, c := range []struct {
		isolation, off  string
		phantom, oncall bool
	}{
		{"serializable", "", false, false},
		{"serializable", "range-locks", true, false},
		{"serializable", "predicates", true, true},
		{"repeatable read", "", true, false},
		{ssi, "", false, false},
		{ssi, "range-locks", true, false},
		{ssi, "predicates", true, true},
		{ssi, "dangerous-structure", true, true},
		{ssiReplicas, "", false, false},
		{si, "", true, true},
		{siReplicas, "", true, true},
		{"read committed snapshot", "", true, true},
	} {
		t.Run(c.isolation+" "+c.off, func(t *testing.T) {
			for _, seed := range seeds(t) {
				dsn := fmt.Sprintf("sim://?seed=%d", seed)
				if c.off != "" {
					dsn += "&rate=1&off=" + c.off
				}
				w := worktest.New(t, "skew", workloads.Common{Sessions: 10}, "patterns=phantom,oncall")
				db := worktest.Open(t, "sim", drivers.Config{Isolation: c.isolation, DSN: dsn}, w)
				worktest.Run(t, db, w, generator.Config{Sessions: 10, Txns: 200, Seed: seed})
				problems := worktest.Problems(t, db, w)
				for name, want := range map[string]bool{phantom: c.phantom, oncall: c.oncall} {
					if broken := problems[name] != ""; broken != want {
						t.Errorf("seed %d: invariant %q broken: %v %s", seed, name, broken, problems[name])
					}
				}
			}
		})
	}
}
