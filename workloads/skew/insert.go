package skew

import (
	"context"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
)

// insert is write skew on absent keys: of each pair only one side may exist. A transaction reads
// the other side, and writes its own side if the other is absent: it inserts the row, or updates
// it if it exists. So new rows are inserted and updated while other transactions still find them
// absent. PostgreSQL before 12.4 and 11.9 at serializable missed conflicts with such rows: if a
// row was inserted and then updated, both after the snapshot of a reader, the conflict with the
// inserter was lost.
type insert struct {
	w     *skew
	pairs *schema.Table
}

func newInsert(w *skew) pattern {
	return &insert{w, &schema.Table{
		Name: "pairs", Key: schema.Ints("pair", "side"),
		Groups: []schema.Group{{Columns: schema.Ints("v")}},
	}}
}

func (i *insert) tables() schema.Schema                          { return schema.Schema{i.pairs} }
func (i *insert) needs() []drivers.Capability                    { return nil }
func (i *insert) rows(func(*schema.Table, schema.Row) bool) bool { return true }

// next plans a race for one pair or two neighbours.
func (i *insert) next(p *plan, group int64) generator.Program {
	r := &race{i: i, pair: p.born() + group, ownFirst: p.rng.Intn(2) == 0}
	for range 1 + p.rng.Intn(2) {
		r.sides = append(r.sides, p.rng.Int63n(2))
	}
	return r
}

func (i *insert) invariants() []generator.Invariant {
	return []generator.Invariant{perGroup("pairs", "of each pair at most one side exists", i.pairs, found, func(rows []schema.Row) string {
		if len(rows) > 1 {
			return "has both sides"
		}
		return ""
	})}
}

// race writes one side of each of some neighbouring pairs, where that is allowed.
type race struct {
	i        *insert
	pair     int64
	sides    []int64 // of pair, pair+1, ...
	ownFirst bool    // the transaction's own side is read first
}

func (r *race) Run(ctx context.Context, tx *generator.Tx) error {
	for n, side := range r.sides {
		if err := r.one(ctx, tx, r.pair+int64(n), side); err != nil {
			return err
		}
	}
	return nil
}

func (r *race) one(ctx context.Context, tx *generator.Tx, pair, side int64) error {
	t := r.i.pairs
	order := []int64{1 - side, side}
	if r.ownFirst {
		order[0], order[1] = order[1], order[0]
	}
	var exists [2]bool
	for _, s := range order {
		var err error
		if _, exists[s], err = tx.Row(ctx, t, []any{pair, s}); err != nil {
			return err
		}
	}
	if err := r.i.w.wait(ctx, tx); err != nil {
		return err
	}
	key, v := []any{pair, side}, tx.Fresh()
	switch {
	case exists[1-side]:
		return nil
	case exists[side]:
		_, _, err := tx.Set(ctx, t, key, "", schema.Set(v))
		return err
	}
	return tx.InsertRow(ctx, t, schema.Row{Key: key, Groups: [][]any{{v}}})
}
