package tpcc

import (
	"context"
	"fmt"

	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
)

// payment is the Payment transaction (clause 2.5).
type payment struct {
	wait
	who
	warehouse, district int64
	amount              int64 // cents
	dataSize            int
}

// Run implements generator.Program.
func (t *payment) Run(ctx context.Context, tx *generator.Tx) error {
	_, found, err := tx.Set(ctx, warehouse, key(t.warehouse), "ytd", schema.Add(t.amount))
	if err != nil || !found {
		return err
	}
	w, found, err := tx.Row(ctx, warehouse, key(t.warehouse), "info")
	if err != nil || !found {
		return err
	}
	_, found, err = tx.Set(ctx, district, key(t.warehouse, t.district), "ytd", schema.Add(t.amount))
	if err != nil || !found {
		return err
	}
	d, found, err := tx.Row(ctx, district, key(t.warehouse, t.district), "info")
	if err != nil || !found {
		return err
	}
	c, found, err := t.find(ctx, tx)
	if err != nil || !found {
		return err
	}
	if err := t.pay(ctx, tx, c); err != nil {
		return err
	}
	id := tx.Fresh()
	return tx.InsertRow(ctx, historyTable, schema.Row{
		Key: key(t.warehouse, t.district, id),
		Groups: [][]any{append(values(t.who.warehouse, t.who.district, c.Key[2].(int64), id, t.amount),
			text(warehouse, w, "w_name")+"    "+text(district, d, "d_name"))},
	})
}

// pay changes the customer's balance. For a customer with bad credit it also prepends the
// payment to the customer's data (clause 2.5.2.2).
func (t *payment) pay(ctx context.Context, tx *generator.Tx, c schema.Row) error {
	row, found, err := tx.Row(ctx, customer, c.Key, "balance")
	if err != nil || !found {
		return err
	}
	_, found, err = tx.Set(ctx, customer, c.Key, "balance", schema.Sets(
		number(customer, row, "c_balance")-t.amount, number(customer, row, "c_ytd_payment")+t.amount,
		number(customer, row, "c_payment_cnt")+1, number(customer, row, "c_delivery_cnt"))...)
	if err != nil || !found || text(customer, c, "c_credit") != badCredit {
		return err
	}
	row, found, err = tx.Row(ctx, customer, c.Key, "data")
	if err != nil || !found {
		return err
	}
	note := fmt.Sprintf("%d %d %d %d %d %d|", c.Key[2], c.Key[1], c.Key[0], t.district, t.warehouse, t.amount)
	data := note + text(customer, row, "c_data")
	_, _, err = tx.Set(ctx, customer, c.Key, "data", schema.Set(data[:min(len(data), max(len(note), t.dataSize))]))
	return err
}

// find reads the columns of the customer that do not change. By name, it takes the middle one,
// rounded up, of the customers with that last name, sorted by first name.
func (c who) find(ctx context.Context, tx *generator.Tx) (schema.Row, bool, error) {
	if c.last == "" {
		return tx.Row(ctx, customer, key(c.warehouse, c.district, c.id), "info")
	}
	p := of(customer, c.warehouse, c.district)
	p.Where = append(p.Where, schema.Is("c_last", c.last))
	rows, err := tx.Scan(ctx, customer, p.By("c_first"), "info")
	if err != nil || len(rows) == 0 {
		return schema.Row{}, false, err
	}
	return rows[(len(rows)-1)/2], true, nil
}
