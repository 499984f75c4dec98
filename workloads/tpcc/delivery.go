package tpcc

import (
	"context"

	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
)

// delivery is the Delivery transaction (clause 2.7): it delivers the oldest undelivered order of
// each district. All are delivered in one transaction, immediately and not in the background.
type delivery struct {
	wait
	districts, warehouse, carrier int64
}

// Run implements generator.Program.
func (t *delivery) Run(ctx context.Context, tx *generator.Tx) error {
	date := tx.Fresh()
	for d := int64(1); d <= t.districts; d++ {
		if err := t.deliver(ctx, tx, d, date); err != nil {
			return err
		}
	}
	return nil
}

// deliver relies on isolation, like the specification's sample program: it does not check that
// the row that it read still existed when it was deleted.
func (t *delivery) deliver(ctx context.Context, tx *generator.Tx, district, date int64) error {
	oldest, err := tx.Scan(ctx, newOrder, of(newOrder, t.warehouse, district).By("no_o_id").First(1))
	if err != nil || len(oldest) == 0 {
		return err // nothing to deliver: the district is skipped
	}
	k := oldest[0].Key
	if _, err := tx.DeleteRow(ctx, newOrder, k); err != nil {
		return err
	}
	order, found, err := tx.Row(ctx, orders, k, "info")
	if err != nil || !found {
		return err
	}
	if _, _, err = tx.Set(ctx, orders, k, "carrier", schema.Set(t.carrier)); err != nil {
		return err
	}
	lines := of(orderLine, t.warehouse, district, k[2].(int64))
	rows, err := tx.Scan(ctx, orderLine, lines, "info")
	if err != nil {
		return err
	}
	total := int64(0)
	for _, l := range rows {
		total += number(orderLine, l, "ol_amount")
	}
	if _, err := tx.SetWhere(ctx, orderLine, lines.Where, "delivery", schema.Set(date)); err != nil {
		return err
	}
	_, _, err = tx.Set(ctx, customer, key(t.warehouse, district, number(orders, order, "o_c_id")), "balance",
		schema.Add(total), schema.Add(0), schema.Add(0), schema.Add(1))
	return err
}
