package skew

import (
	"context"
	"fmt"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
)

// churn deletes rows and inserts them again: a token moves from a place of its group to a free
// one. If both places have a token, both are updated. So each group keeps its number of tokens.
type churn struct {
	w      *skew
	tokens *schema.Table
}

func newChurn(w *skew) pattern {
	return &churn{w, &schema.Table{
		Name: "tokens", Key: schema.Ints("ring", "place"),
		Groups: []schema.Group{{Columns: schema.Ints("v")}},
	}}
}

func (c *churn) tables() schema.Schema       { return schema.Schema{c.tokens} }
func (c *churn) needs() []drivers.Capability { return []drivers.Capability{drivers.Deletes} }

func (c *churn) rows(yield func(*schema.Table, schema.Row) bool) bool {
	for ring := range c.w.common.Keys {
		for place := int64(0); place < c.w.places; place += 2 {
			if !yield(c.tokens, schema.Row{Key: []any{ring, place}, Groups: [][]any{{int64(0)}}}) {
				return false
			}
		}
	}
	return true
}

func (c *churn) next(p *plan, ring int64) generator.Program {
	from := p.rng.Int63n(c.w.places)
	return &move{c: c, ring: ring, from: from, to: (from + 1 + p.rng.Int63n(c.w.places-1)) % c.w.places}
}

func (c *churn) invariants() []generator.Invariant {
	want := int((c.w.places + 1) / 2)
	text := fmt.Sprintf("each ring has %d tokens", want)
	return []generator.Invariant{perGroup("tokens", text, c.tokens, c.w.everyGroup, func(rows []schema.Row) string {
		if len(rows) != want {
			return fmt.Sprintf("has %d tokens", len(rows))
		}
		return ""
	})}
}

// move moves a token between two places, in whichever direction is possible.
type move struct {
	c              *churn
	ring, from, to int64
}

func (m *move) Run(ctx context.Context, tx *generator.Tx) error {
	t := m.c.tokens
	places := [2]int64{m.from, m.to}
	var exists [2]bool
	for i, place := range places {
		var err error
		if _, exists[i], err = tx.Row(ctx, t, []any{m.ring, place}); err != nil {
			return err
		}
	}
	if err := m.c.w.wait(ctx, tx); err != nil {
		return err
	}
	if exists[0] == exists[1] {
		for i, place := range places {
			if !exists[i] {
				continue
			}
			if _, found, err := tx.Set(ctx, t, []any{m.ring, place}, "", schema.Set(tx.Fresh())); err != nil || !found {
				return err
			}
		}
		return nil
	}
	from, to := places[0], places[1]
	if exists[1] {
		from, to = to, from
	}
	found, err := tx.DeleteRow(ctx, t, []any{m.ring, from})
	if err != nil {
		return err
	}
	if !found {
		return generator.ErrRollback // another transaction took it, which weak isolations allow
	}
	return tx.InsertRow(ctx, t, schema.Row{Key: []any{m.ring, to}, Groups: [][]any{{tx.Fresh()}}})
}
