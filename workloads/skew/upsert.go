package skew

import (
	"context"
	"strconv"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/elle"
	"github.com/isohound/isohound/history/schema"
)

// upsert is the shape of a report about PostgreSQL 18.4, which is said to break serializability:
// three tables, INSERT ... ON CONFLICT that appends to lists, and reads of keys of which most
// are still absent.
type upsert struct {
	w     *skew
	lists [3]*schema.Table
}

const (
	// mostOps is the maximum number of operations of a transaction.
	mostOps = 4
	// maxRoom bounds the elements of a list, so that every database can store it.
	maxRoom = 5000
)

func newUpsert(w *skew) pattern {
	u := &upsert{w: w}
	// A key passes through each position of the window. Meanwhile each session runs birth
	// transactions of three operations on average. Half of the operations append, to one of
	// three tables. So a list gets Sessions*birth/2 elements on average.
	room := 64 + int64(w.common.Sessions)*w.birth
	for n := range u.lists {
		u.lists[n] = &schema.Table{
			Name: "lists" + strconv.Itoa(n), Key: schema.Ints("k"),
			Groups: []schema.Group{{Columns: []schema.Column{{Name: "v", Type: schema.Text, Size: int(room) * 12}}}},
		}
	}
	return u
}

func (u *upsert) tables() schema.Schema                          { return u.lists[:] }
func (u *upsert) needs() []drivers.Capability                    { return nil }
func (u *upsert) rows(func(*schema.Table, schema.Row) bool) bool { return true }
func (u *upsert) invariants() []generator.Invariant              { return nil }

// next plans reads and appends on two neighbouring keys, so that transactions that share one key
// often share two.
func (u *upsert) next(p *plan, group int64) generator.Program {
	b := &batch{u: u}
	key := p.born() + group
	for range 2 + p.rng.Intn(mostOps-1) {
		b.ops = append(b.ops, listOp{table: u.lists[p.rng.Intn(len(u.lists))], key: key + p.rng.Int63n(2), read: p.rng.Intn(2) == 0})
	}
	return b
}

type listOp struct {
	table *schema.Table
	key   int64
	read  bool
}

// batch reads lists and appends to them.
type batch struct {
	u   *upsert
	ops []listOp
}

func (b *batch) Run(ctx context.Context, tx *generator.Tx) error {
	for n, op := range b.ops {
		if n > 0 {
			if err := b.u.w.wait(ctx, tx); err != nil {
				return err
			}
		}
		key := []any{op.key}
		if op.read {
			if _, _, err := tx.Row(ctx, op.table, key); err != nil {
				return err
			}
			continue
		}
		tail := elle.Tail(tx.Fresh())
		row := schema.Row{Key: key, Groups: [][]any{{tail}}}
		if _, _, err := tx.Upsert(ctx, op.table, row, schema.Append(tail)); err != nil {
			return err
		}
	}
	return nil
}
