// Package sim is an embedded engine. It implements the isolations from read uncommitted to
// strict serializability with real concurrency control. Its protections can be switched off one
// at a time, by name. With all protections on, every check must pass; with one off, it shows the
// anomaly that this protection prevents. The code is kept simple: one mutex, transactions that
// remember what they read and wrote, and versions that carry the number of their commit.
// docs/sim.md has the table of anomalies.
package sim

import (
	"context"
	"iter"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/tablekv"
	"github.com/isohound/isohound/history/schema"
)

func init() { drivers.Register(driver{}) }

type driver struct{}

func (driver) Info() drivers.Info {
	i := drivers.Info{
		Name:     "sim",
		Title:    "sim (embedded), whose protections can be switched off",
		Embedded: true,
		DSN:      "sim://?off=undo&rate=0.1",
		OwnURL:   true,
		DSNHelp: "nothing, and every protection is on; or sim://? and off (names of protections, separated by commas), " +
			"rate (probability that a protection that is off is missing, above 0 to 1; default 0.1), lag (how many commits a replica is behind at most; 8), " +
			"nodes (replicas; 3), yield (probability that a session lets others run before a call; 0.2), window (share of pauses that meet a session in its commit, without commit-latch; 0.01), lies (share of transactions of which it tells a wrong commit position, and a wrong snapshot; 0), seed (of all random choices; 1)",
		Can: []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Tables, drivers.Predicates, drivers.Lightweight, drivers.Positions, drivers.Snapshots, drivers.Pauses},
		Notes: []string{
			"Everything is in memory, and nobody but the run's own sessions uses it.",
		},
	}
	for _, iso := range isolations {
		i.Isolations = append(i.Isolations, iso.Isolation)
	}
	for _, p := range protections {
		i.Notes = append(i.Notes, "off="+p.name+": "+p.without)
	}
	return i
}

// Open makes an empty store.
func (driver) Open(_ context.Context, cfg drivers.Config) (drivers.DB, error) {
	iso, err := findIsolation(cfg.Isolation)
	if err != nil {
		return nil, err
	}
	opt, err := parse(cfg.DSN, iso)
	if err != nil {
		return nil, &drivers.DSNError{Driver: "sim", Err: err}
	}
	d := newDB(iso, opt)
	d.tells = cfg.Positions
	return d, nil
}

// Server implements drivers.DB.
func (d *db) Server() string {
	if len(d.opt.off) == 0 {
		return "sim, every protection on"
	}
	return "sim without " + strings.Join(d.opt.names(), ", ")
}

// Notes implements drivers.Noter.
func (d *db) Notes() []string {
	var notes []string
	for _, name := range d.opt.names() {
		notes = append(notes, "The protection "+name+" is switched off, so that violations are to be expected: "+find(name).without+".")
	}
	return notes
}

// Create implements drivers.DB.
func (d *db) Create(ctx context.Context, initial iter.Seq2[string, int64]) error {
	return d.fill(ctx, func(put func(key string, value []byte)) {
		for k, v := range initial {
			put(k, encode(v))
		}
	})
}

// CreateTables implements drivers.TableDB.
func (d *db) CreateTables(ctx context.Context, tables schema.Schema, rows iter.Seq2[*schema.Table, schema.Row]) error {
	if err := (driver{}).Info().CheckIndexes(tables); err != nil {
		return err
	}
	return d.fill(ctx, func(put func(key string, value []byte)) {
		for t, row := range rows {
			for k, v := range tablekv.Pairs(t, row) {
				put(string(k), v)
			}
		}
	})
}

// Connect implements drivers.DB.
func (d *db) Connect(context.Context) (drivers.Session, error) { return d.connect(), nil }

// Close implements drivers.DB.
func (d *db) Close(context.Context) error { return nil }

func aborted(cause string) error {
	return &drivers.Error{Class: drivers.Aborted, Cause: cause}
}

func timedOut(ctx context.Context) error {
	return &drivers.Error{Class: drivers.Aborted, Cause: "call timed out", Err: context.Cause(ctx)}
}

var errEnded = &drivers.Error{Class: drivers.Fatal, Cause: "the transaction has ended", Err: errors.New("a call behind commit or rollback")}
