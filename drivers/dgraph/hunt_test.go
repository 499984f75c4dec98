package dgraph

import (
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/internal/replay"
	"github.com/isohound/isohound/servers"
	"github.com/isohound/isohound/workloads"
	_ "github.com/isohound/isohound/workloads/general"
	_ "github.com/isohound/isohound/workloads/lwt"
	_ "github.com/isohound/isohound/workloads/mini"
	_ "github.com/isohound/isohound/workloads/register"
)

// againstModel runs workloads serially on Dgraph and on a database of maps. The histories must
// be the same.
func againstModel(t *testing.T, c *servers.Dgraph) {
	cfg := drivers.Config{DSN: c.DSNs()[0] + "?predicates=2", Isolation: snapshotIsolation}
	for _, name := range []string{"mini", "register", "general", "lwt"} {
		make := func() (generator.Workload, error) {
			return replay.New(name, workloads.Common{Sessions: 3, Keys: 20})
		}
		if err := replay.AgainstModel(driver{}, cfg, false, make, 3, 15, 11); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// hunt tests the whole path from Dgraph to a verdict. Dgraph keeps snapshot isolation, which
// allows write skew.
func hunt(t *testing.T, c *servers.Dgraph) {
	for workload, want := range map[string]map[level.Level]verdict.Verdict{
		"mini": {level.SI: verdict.Satisfied, level.StrongSI: verdict.Satisfied, level.SER: verdict.Violated},
		"lwt":  {level.LIN: verdict.Satisfied},
	} {
		common := workloads.Common{Sessions: 8}
		if workload == "mini" {
			common.Keys = 10
		}
		w, err := replay.New(workload, common)
		if err != nil {
			t.Fatal(err)
		}
		cfg := generator.Config{Sessions: 8, Txns: 60, Retries: 3, Seed: 7, CallTimeout: generator.DefaultCallTimeout, Patience: generator.DefaultPatience}
		raw, err := replay.Record(driver{}, drivers.Config{DSN: c.DSNs()[1] + "?predicates=2", Isolation: snapshotIsolation}, w, cfg)
		if err != nil {
			t.Fatal(err)
		}
		h, err := replay.Load(raw)
		if err != nil {
			t.Fatal(err)
		}
		n := h.Count()
		t.Logf("%s: %d transactions, %d committed, %d unknown", workload, n.Txns, n.Committed, n.Unknown)
		if n.Committed < 240 || n.Unknown > 0 {
			t.Errorf("%s: %+v", workload, n)
		}
		for lvl, want := range want {
			r, err := checker.Check(ctx, h, lvl, checker.Options{Certify: true})
			if err != nil || r.Verdict != want {
				t.Errorf("%s: %s: %v, %v, want %v", workload, lvl, r, err, want)
			}
		}
	}
}
