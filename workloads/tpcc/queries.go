package tpcc

import (
	"context"

	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
)

// orderStatus is the Order-Status transaction (clause 2.6): a customer's last
// order with its lines.
type orderStatus struct {
	wait
	who
}

// Run implements generator.Program.
func (t *orderStatus) Run(ctx context.Context, tx *generator.Tx) error {
	c, found, err := t.find(ctx, tx)
	if err != nil || !found {
		return err
	}
	if _, found, err = tx.Row(ctx, customer, c.Key, "balance"); err != nil || !found {
		return err
	}
	p := of(orders, t.warehouse, t.district)
	p.Where = append(p.Where, schema.Is("o_c_id", c.Key[2]))
	last, err := tx.Scan(ctx, orders, p.By("-o_id").First(1))
	if err != nil || len(last) == 0 {
		return err
	}
	_, err = tx.Scan(ctx, orderLine, of(orderLine, t.warehouse, t.district, last[0].Key[2].(int64)))
	return err
}

// stockLevel is the Stock-Level transaction (clause 2.8): it reads the stock of the items in a
// district's last 20 orders. The threshold of the specification only matters for the display, so
// it is left out.
type stockLevel struct {
	wait
	warehouse, district int64
}

const lastOrders = 20

// Run implements generator.Program.
func (t *stockLevel) Run(ctx context.Context, tx *generator.Tx) error {
	row, found, err := tx.Row(ctx, district, key(t.warehouse, t.district), "next")
	if err != nil || !found {
		return err
	}
	next := number(district, row, "d_next_o_id")
	p := of(orderLine, t.warehouse, t.district)
	p.Where = append(p.Where, schema.AtLeast("ol_o_id", next-lastOrders), schema.Below("ol_o_id", next))
	lines, err := tx.Scan(ctx, orderLine, p, "info")
	if err != nil {
		return err
	}
	seen := map[int64]bool{}
	for _, l := range lines {
		i := number(orderLine, l, "ol_i_id")
		if seen[i] {
			continue
		}
		seen[i] = true
		if _, _, err := tx.Row(ctx, stock, key(t.warehouse, i), "level"); err != nil {
			return err
		}
	}
	return nil
}
