package scan

import (
	"context"
	"time"

	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
)

// transaction scans, and then does other operations.
type transaction struct {
	table *schema.Table
	kind  string
	where []schema.Condition
	// change is what a scan that updates sets. move is what it adds instead, by columns.
	change   operation
	move     map[string]int64
	then     []operation
	most     int
	think    time.Duration
	rollback bool
}

// operation is an operation on one row: the row (k, 0), or, if pick is not negative and the scan
// found rows, one of these. An insertion is of the row (k, u).
type operation struct {
	kind      string
	k, a, b   int64
	pick      int64
	duplicate bool // u is 0, not unique
}

// Run scans and does what follows.
func (t *transaction) Run(ctx context.Context, tx *generator.Tx) error {
	found, err := t.scan(ctx, tx)
	if err != nil {
		return err
	}
	for i := range t.then {
		if t.think > 0 {
			if err := tx.Pause(ctx, t.think); err != nil {
				return err
			}
		}
		o := t.then[i]
		if o.kind == inserts && len(found) > t.most {
			o.kind, o.pick = deletes, max(o.pick, 0)
		}
		if err := t.do(ctx, tx, &o, found); err != nil {
			return err
		}
	}
	if t.rollback {
		return generator.ErrRollback
	}
	return nil
}

// scan returns the rows that the statement found, as far as it returned them.
func (t *transaction) scan(ctx context.Context, tx *generator.Tx) (found []schema.Row, err error) {
	switch t.kind {
	case reads:
		return tx.Scan(ctx, t.table, schema.Where(t.where...))
	case updates:
		return tx.SetWhere(ctx, t.table, t.where, "", t.sets(tx)...)
	case counts:
		_, err = tx.Count(ctx, t.table, t.where)
	case deletes:
		_, err = tx.DeleteWhere(ctx, t.table, t.where)
	}
	return nil, err
}

// sets is what a scan that updates sets the columns to. A sum of unique numbers is nearly always
// unique, too.
func (t *transaction) sets(tx *generator.Tx) []schema.Expr {
	c := &t.change
	if t.move == nil {
		return schema.Sets(c.a, c.b, c.stamp(tx))
	}
	return []schema.Expr{schema.Add(t.move["a"]), schema.Add(t.move["b"]), schema.Add(c.stamp(tx))}
}

// stamp is a value of u.
func (o *operation) stamp(tx *generator.Tx) int64 {
	if o.duplicate {
		return 0
	}
	return tx.Fresh()
}

// do does one operation.
func (t *transaction) do(ctx context.Context, tx *generator.Tx, o *operation, found []schema.Row) (err error) {
	key := []any{o.k, int64(0)}
	if o.pick >= 0 && len(found) > 0 {
		key = found[o.pick%int64(len(found))].Key
	}
	switch o.kind {
	case item:
		_, _, err = tx.Row(ctx, t.table, key)
	case again:
		_, err = tx.Scan(ctx, t.table, schema.Where(t.where...))
	case deletes:
		_, err = tx.DeleteRow(ctx, t.table, key)
	case updates:
		_, _, err = tx.Set(ctx, t.table, key, "", schema.Sets(o.a, o.b, o.stamp(tx))...)
	case inserts:
		n := tx.Fresh()
		err = tx.InsertRow(ctx, t.table, row(o.k, n, o.a, o.b, n))
	case upserts:
		r := row(o.k, 0, o.a, o.b, o.stamp(tx))
		_, _, err = tx.Upsert(ctx, t.table, r, schema.Sets(r.Groups[0]...)...)
	}
	return err
}
