// Package replay runs workloads in tests and reads the recorded histories.
package replay

import (
	"bytes"
	"context"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/workloads"
)

// New makes the workload called name. A zero in c is replaced by the workload's default, or, if
// it has none, by the command's default.
func New(name string, c workloads.Common, set ...string) (generator.Workload, error) {
	spec, err := workloads.Find(name)
	if err != nil {
		return nil, err
	}
	values, err := spec.Resolve(set)
	if err != nil {
		return nil, err
	}
	if c.Sessions == 0 {
		c.Sessions = max(spec.Defaults.Sessions, 1)
	}
	if c.Keys == 0 {
		if c.Keys = spec.Defaults.Keys; c.Keys == 0 {
			c.Keys = 100
		}
	}
	if c.Dist == "" {
		if c.Dist, c.Skew = spec.Defaults.Dist, spec.Defaults.Skew; c.Dist == "" {
			c.Dist = "uniform"
		}
	}
	return spec.New(c, values)
}

// Record runs w on a database of d and returns the bytes of the history.
func Record(d drivers.Driver, dbCfg drivers.Config, w generator.Workload, cfg generator.Config) ([]byte, error) {
	return record(d, dbCfg, w, w, cfg)
}

// record creates the tables of w and runs the plans of planner. After a serial run all
// invariants must hold.
func record(d drivers.Driver, dbCfg drivers.Config, w, planner generator.Workload, cfg generator.Config) ([]byte, error) {
	ctx := context.Background()
	db, err := d.Open(ctx, dbCfg)
	if err != nil {
		return nil, err
	}
	defer db.Close(ctx)
	if err := create(ctx, db, w); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	log, err := native.NewLog(&out, false)
	if err != nil {
		return nil, err
	}
	hdr := history.Header{Seed: cfg.Seed}
	if p, ok := db.(drivers.Positioner); ok && dbCfg.Positions {
		hdr.Positions = p.Positions()
	}
	rec, err := generator.NewRecorder(log, hdr, w)
	if err != nil {
		return nil, err
	}
	cfg.Patience = 10 * time.Second
	reason, err := generator.NewRunner(cfg, db, planner, rec).Run(ctx, ctx)
	if err == nil && reason != generator.Complete {
		err = errors.Errorf("the run ended early: %s", reason)
	}
	if err == nil && cfg.Sessions == 1 {
		err = hold(ctx, db, w)
	}
	return out.Bytes(), err
}

func create(ctx context.Context, db drivers.DB, w generator.Workload) error {
	if err := db.Create(ctx, w.Initial()); err != nil {
		return err
	}
	t, ok := w.(generator.Tables)
	if !ok {
		return nil
	}
	return db.(drivers.TableDB).CreateTables(ctx, t.Schema(), t.Rows())
}

// Load reads the history of Record.
func Load(raw []byte) (*history.History, error) {
	src, err := native.NewReader(bytes.NewReader(raw), "replay", int64(len(raw)))
	if err != nil {
		return nil, err
	}
	return history.Load(context.Background(), src)
}

// Run runs a workload on Badger, or on another driver that needs no server, and
// returns its history.
func Run(driver, isolation string, w generator.Workload, cfg generator.Config) (*history.History, error) {
	d, err := drivers.Find(driver)
	if err != nil {
		return nil, err
	}
	raw, err := Record(d, drivers.Config{Isolation: isolation}, w, cfg)
	if err != nil {
		return nil, err
	}
	return Load(raw)
}
