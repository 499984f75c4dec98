package skew

import (
	"context"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
)

// oncall is write skew through a count predicate: at least one doctor of a shift must be on call
// (Cahill, Röhm and Fekete, "Serializable Isolation for Snapshot Databases", SIGMOD 2008,
// section 2.2). A doctor goes off call if the predicate shows at least two on call, and may come
// back at any time. If two go off call at the same time, each with a snapshot in which the other
// is on call, nobody is left.
//
// A shift with nobody on call is not changed any more, so that the violation remains until the
// end. A serial execution never reaches such a state.
type oncall struct {
	w    *skew
	duty *schema.Table
}

func newOncall(w *skew) pattern {
	return &oncall{w, &schema.Table{
		Name: "duty", Key: schema.Ints("shift", "doctor"),
		// The stamp makes values unique.
		Groups: []schema.Group{{Columns: schema.Ints("oncall", "stamp")}},
	}}
}

func (o *oncall) tables() schema.Schema       { return schema.Schema{o.duty} }
func (o *oncall) needs() []drivers.Capability { return []drivers.Capability{drivers.Predicates} }

func (o *oncall) rows(yield func(*schema.Table, schema.Row) bool) bool {
	for shift := range o.w.common.Keys {
		for doctor := range o.w.doctors {
			if !yield(o.duty, schema.Row{Key: []any{shift, doctor}, Groups: [][]any{{int64(1), int64(0)}}}) {
				return false
			}
		}
	}
	return true
}

func (o *oncall) next(p *plan, shift int64) generator.Program {
	return &change{o: o, shift: shift, doctor: p.rng.Int63n(o.w.doctors)}
}

func (o *oncall) invariants() []generator.Invariant {
	return []generator.Invariant{perGroup("on call", "each shift has a doctor on call", o.duty, o.w.everyGroup, func(rows []schema.Row) string {
		for _, r := range rows {
			if r.Groups[0][0] == int64(1) {
				return ""
			}
		}
		return "has nobody on call"
	})}
}

// change makes a doctor go off call, or come back.
type change struct {
	o             *oncall
	shift, doctor int64
}

func (c *change) Run(ctx context.Context, tx *generator.Tx) error {
	o := c.o
	on, err := tx.Scan(ctx, o.duty, schema.Where(schema.Is("shift", c.shift), schema.Is("oncall", int64(1))))
	if err != nil || len(on) == 0 {
		return err
	}
	if err := o.w.wait(ctx, tx); err != nil {
		return err
	}
	to := int64(1)
	for _, r := range on {
		if r.Key[1] == c.doctor {
			to = 0
		}
	}
	if to == 0 && len(on) < 2 {
		return nil
	}
	_, _, err = tx.Set(ctx, o.duty, []any{c.shift, c.doctor}, "", schema.Sets(to, tx.Fresh())...)
	return err
}
