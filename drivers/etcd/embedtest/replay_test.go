package embedtest

import (
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/internal/replay"
	"github.com/isohound/isohound/workloads"
	_ "github.com/isohound/isohound/workloads/general"
	_ "github.com/isohound/isohound/workloads/mini"
	_ "github.com/isohound/isohound/workloads/ycsbt"
)

// TestAgainstModel runs workloads on keys serially on etcd, and on a database of
// plain maps: what is recorded must be the same.
func TestAgainstModel(t *testing.T) {
	d, s := find(t), newServer(t)
	cfg := drivers.Config{DSN: s.client, Isolation: d.Info().Isolations[0].Name}
	for _, name := range []string{"mini", "general", "ycsbt"} {
		make := func() (generator.Workload, error) {
			return replay.New(name, workloads.Common{Sessions: 4, Keys: 40})
		}
		if err := replay.AgainstModel(d, cfg, true, make, 4, 40, 11); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
