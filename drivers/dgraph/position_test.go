package dgraph

import (
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/internal/replay"
	"github.com/isohound/isohound/servers"
	"github.com/isohound/isohound/workloads"
	_ "github.com/isohound/isohound/workloads/mini"
)

// position: transactions tell the timestamps of their snapshots and commits, and all reads of a run agree with them.
func position(t *testing.T, c *servers.Dgraph) {
	db := drivertest.Open(t, driver{}, c.DSNs()[0]+"?predicates=2", "")
	place := func(do func(x drivers.Tx) error) drivers.Position {
		t.Helper()
		x := drivertest.Begin(t, db)
		err := do(x)
		if err == nil {
			err = x.Commit(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		return x.(drivers.Positioned).Position()
	}
	read := func(x drivers.Tx) error { _, _, err := x.Read(ctx, "a"); return err }
	last := place(read)
	if last.Commit != 0 || !last.Snapped || last.Snapshot == 0 {
		t.Errorf("a reader is at %+v", last)
	}
	if p := place(func(drivers.Tx) error { return nil }); p != (drivers.Position{}) {
		t.Errorf("a transaction without operations is at %+v", p)
	}
	if p := place(func(x drivers.Tx) error { _, err := x.Delete(ctx, "nobody"); return err }); p.Commit != 0 || p.Snapshot <= last.Snapshot {
		t.Errorf("a transaction that changed nothing is at %+v", p)
	}
	for name, do := range map[string]func(x drivers.Tx) error{
		"update": func(x drivers.Tx) error { _, err := x.Update(ctx, "a", 7); return err },
		"insert": func(x drivers.Tx) error { return x.Insert(ctx, "new", 7) },
		"delete": func(x drivers.Tx) error { _, err := x.Delete(ctx, "A"); return err },
	} {
		p, after := place(do), place(read)
		if p.Snapshot <= last.Snapshot || p.Commit <= p.Snapshot || after.Snapshot <= p.Commit || after.Commit != 0 {
			t.Errorf("%s: at %+v, after %+v and before %+v", name, p, last, after)
		}
		last = after
	}
	w, err := replay.New("mini", workloads.Common{Sessions: 6, Keys: 10})
	if err != nil {
		t.Fatal(err)
	}
	cfg := generator.Config{Sessions: 6, Txns: 40, Retries: 3, Seed: 7, CallTimeout: generator.DefaultCallTimeout, Patience: generator.DefaultPatience}
	raw, err := replay.Record(driver{}, drivers.Config{DSN: c.DSNs()[0] + "?predicates=2", Isolation: snapshotIsolation, Positions: true}, w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	h, err := replay.Load(raw)
	if err != nil {
		t.Fatal(err)
	}
	r, err := checker.Check(ctx, h, level.StrongSI, checker.Options{Certify: true})
	if err != nil || r.Verdict != verdict.Satisfied || r.Engine != string(checker.Replay) || r.Claim == nil || !r.Claim.Fits {
		t.Errorf("%+v, %v", r, err)
	}
}
