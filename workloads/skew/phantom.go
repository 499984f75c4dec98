package skew

import (
	"context"
	"fmt"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
)

// phantom is a constraint on a sum over a predicate that only insertions can violate (phantom
// A5B of Berenson and others, "A Critique of ANSI SQL Isolation Levels", SIGMOD 1995, section
// 4.2: job tasks of at most eight hours). A transaction reads the bookings of a slot and adds
// one if the sum stays within the limit; otherwise it removes one. Each inserted row has a
// unique key, so no two transactions write the same key: only protection of the predicate
// protects the sum.
//
// A slot beyond its limit is not changed any more, so that the violation remains until the end.
// A serial execution never reaches such a state.
type phantom struct {
	w        *skew
	bookings *schema.Table
}

func newPhantom(w *skew) pattern {
	return &phantom{w, &schema.Table{
		Name: "bookings", Key: schema.Ints("slot", "id"),
		Groups: []schema.Group{{Columns: schema.Ints("amount", "stamp")}},
	}}
}

func (f *phantom) tables() schema.Schema { return schema.Schema{f.bookings} }

func (f *phantom) needs() []drivers.Capability {
	return []drivers.Capability{drivers.Predicates, drivers.Deletes}
}

func (f *phantom) rows(func(*schema.Table, schema.Row) bool) bool { return true }

func (f *phantom) next(p *plan, slot int64) generator.Program {
	return &book{f: f, slot: slot, amount: 1 + p.rng.Int63n(3), victim: p.rng.Int63n(1 << 20)}
}

func (f *phantom) invariants() []generator.Invariant {
	text := fmt.Sprintf("the amounts of each slot sum up to at most %d", f.w.limit)
	return []generator.Invariant{perGroup("bookings", text, f.bookings, f.w.everyGroup, func(rows []schema.Row) string {
		if n := sum(rows); n > f.w.limit {
			return fmt.Sprintf("is booked up to %d of %d", n, f.w.limit)
		}
		return ""
	})}
}

func sum(rows []schema.Row) (n int64) {
	for _, r := range rows {
		n += r.Groups[0][0].(int64)
	}
	return n
}

// book adds a booking of an amount, or removes one of those that it read.
type book struct {
	f                    *phantom
	slot, amount, victim int64
}

func (b *book) Run(ctx context.Context, tx *generator.Tx) error {
	f := b.f
	rows, err := tx.Scan(ctx, f.bookings, schema.Where(schema.Is("slot", b.slot)))
	if err != nil {
		return err
	}
	if err := f.w.wait(ctx, tx); err != nil {
		return err
	}
	switch n := sum(rows); {
	case n > f.w.limit:
		return nil
	case n+b.amount > f.w.limit:
		_, err = tx.DeleteRow(ctx, f.bookings, rows[b.victim%int64(len(rows))].Key)
		return err
	}
	id := tx.Fresh()
	return tx.InsertRow(ctx, f.bookings, schema.Row{Key: []any{b.slot, id}, Groups: [][]any{{b.amount, id}}})
}
