package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
)

// WeakRow is a history for the levels up to causal consistency. The history of one row exists at a time.
type WeakRow struct {
	Name string
	make func() *history.History
	// violated: the history violates read committed. Otherwise it is causally consistent.
	violated bool
}

// The sizes of the rows, in transactions.
const (
	weakUsual  = 1_000_000
	weakCurve  = 200_000 // of the rows by sessions
	weakMini   = 200     // keys of mini-transactions
	weakKeys   = 10_000
	weakWidth  = 20  // sessions
	weakSync   = 0.2 // how often a session catches up with another
	weakHalfOp = 4   // reads, and writes, of a transaction
)

// WeakRows returns the rows of the weak levels, with their numbers of transactions multiplied by scale:
// mini-transactions, transactions of 8 operations, one old read among these, growing histories, and
// growing numbers of sessions.
func WeakRows(scale float64, seed uint64) []WeakRow {
	causal := func(name string, sessions, txns int, oldRead bool) WeakRow {
		cfg := synth.CausalConfig{Sessions: sessions, Txns: scaled(txns, scale), Keys: weakKeys, Reads: weakHalfOp, Writes: weakHalfOp,
			CatchUp: weakSync, OldRead: oldRead, Seed: seed}
		return WeakRow{name, func() *history.History { return synth.Causal(cfg) }, oldRead}
	}
	rows := []WeakRow{
		{"mini-transactions", func() *history.History {
			return synth.Mini(synth.MiniConfig{Sessions: weakWidth, Txns: scaled(weakUsual, scale), Keys: weakMini, Seed: seed})
		}, false},
		causal("8 operations, one old read", weakWidth, weakUsual, true),
	}
	for _, times := range []int{1, 2, 5, 10} {
		rows = append(rows, causal(fmt.Sprintf("8 operations, size %d", times), weakWidth, times*weakUsual, false))
	}
	for _, sessions := range []int{1, 3, 10, 30, 100, 300, 1000} {
		rows = append(rows, causal(fmt.Sprintf("8 operations, sessions %d", sessions), sessions, weakCurve, false))
	}
	return rows
}

// expected is the verdict of the row at a level that causal consistency implies, Unknown if it is not known.
func (r *WeakRow) expected(lvl level.Level) verdict.Verdict {
	switch {
	case !r.violated:
		return verdict.Satisfied
	case lvl.Implies(level.RC):
		return verdict.Violated
	}
	return verdict.Unknown
}

// MeasureWeak measures each row at each level. The files are in the native format, which lists the
// transactions in the order in which they ran.
func (c *Checker) MeasureWeak(ctx context.Context, rows []WeakRow, levels []level.Level, contestants []Contestant, r *Report) error {
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
		for _, lvl := range levels {
			ms, err := c.measure(ctx, row.Name, path, lvl, contestants)
			if err != nil {
				return err
			}
			r.judge(ms, row.expected(lvl))
		}
	}
	return nil
}
