package bench

import (
	"context"
	"path/filepath"
	"runtime/debug"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
)

// ClaimedRow is a valid history with the order that a database claims, and the levels at which it is measured.
type ClaimedRow struct {
	Name   string
	Levels []level.Level
	make   func() *history.History
}

// ClaimedRows returns the rows of bench versions, with their numbers of transactions multiplied by scale.
func ClaimedRows(scale float64, seed uint64) []ClaimedRow {
	general := func(cfg synth.GeneralConfig) func() *history.History {
		cfg.Txns, cfg.Claims, cfg.Seed = scaled(cfg.Txns, scale), true, seed
		return func() *history.History { return synth.General(cfg) }
	}
	const sessions, keys = 20, 10_000
	return []ClaimedRow{
		{"5 operations", []level.Level{level.SER}, general(synth.GeneralConfig{Sessions: sessions, Txns: 100_000, Ops: 5, Keys: keys, Reads: 0.5})},
		{"scans of 10 of 100 rows", []level.Level{level.SER}, func() *history.History {
			return synth.WithClaims(synth.Narrow(sessions, scaled(100_000, scale), 100, 10, true, seed))
		}},
		{"8 operations, serial", []level.Level{level.SER, level.SI}, general(synth.GeneralConfig{Sessions: sessions, Txns: 1_000_000, Ops: 8, Keys: keys, Reads: 0.5})},
		{"8 operations, snapshots", []level.Level{level.SI}, general(synth.GeneralConfig{Sessions: sessions, Txns: 1_000_000, Ops: 8, Keys: keys, Reads: 0.5, Snapshot: true})},
		{"hot keys, 80% duplicates", []level.Level{level.SI}, general(synth.GeneralConfig{Sessions: 50, Txns: 10_000, Ops: 8, Keys: 200, Reads: 0.5, Duplicates: 0.8, Values: 10, Theta: 0.5, Snapshot: true})},
		{"the same, with versions of reads", []level.Level{level.SI}, general(synth.GeneralConfig{Sessions: 50, Txns: 10_000, Ops: 8, Keys: 200, Reads: 0.5, Duplicates: 0.8, Values: 10, Theta: 0.5, Snapshot: true, Versions: true})},
	}
}

// ClaimedContestants are the ways to treat a claim.
var ClaimedContestants = []Contestant{
	{Name: "hint", Flags: []string{"--versions", "hint"}},

	assuming[0],
	{Name: "ignore", Flags: []string{"--versions", "ignore"}},
}

// MeasureClaims measures each row with and without the claim.
func (c *Checker) MeasureClaims(ctx context.Context, rows []ClaimedRow, r *Report) error {
	dir, err := newFolder()
	if err != nil {
		return err
	}
	defer dir.remove()
	path := filepath.Join(dir.path, "history")
	for _, row := range rows {
		if err := write(path, row.make(), file.Native); err != nil {
			return err
		}
		debug.FreeOSMemory() // the check may need the memory
		for _, lvl := range row.Levels {
			ms, err := c.measure(ctx, row.Name, path, lvl, ClaimedContestants)
			if err != nil {
				return err
			}
			r.judge(ms, verdict.Satisfied)
		}
	}
	return nil
}
