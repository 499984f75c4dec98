package tpcc

import (
	"context"
	"strconv"

	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
)

// newOrderTx is the New-Order transaction (clause 2.4).
type newOrderTx struct {
	wait
	setNext                       bool
	warehouse, district, customer int64
	allLocal                      int64
	lines                         []line
	unused                        bool // the last line's item does not exist
}

// Run implements generator.Program.
func (t *newOrderTx) Run(ctx context.Context, tx *generator.Tx) error {
	_, found, err := tx.Row(ctx, warehouse, key(t.warehouse), "info")
	if err != nil || !found {
		return err
	}
	id, found, err := t.number(ctx, tx)
	if err != nil || !found {
		return err
	}
	_, found, err = tx.Row(ctx, customer, key(t.warehouse, t.district, t.customer), "info")
	if err != nil || !found {
		return err
	}
	date := tx.Fresh()
	err = tx.InsertRow(ctx, orders, schema.Row{
		Key:    key(t.warehouse, t.district, id),
		Groups: [][]any{values(t.customer, date, int64(len(t.lines)), t.allLocal), values(none)},
	})
	if err != nil {
		return err
	}
	err = tx.InsertRow(ctx, newOrder, schema.Row{Key: key(t.warehouse, t.district, id), Groups: [][]any{values(date)}})
	if err != nil {
		return err
	}
	for n, l := range t.lines {
		if err := t.order(ctx, tx, id, int64(n+1), l); err != nil {
			return err
		}
	}
	return nil
}

// number takes the next number of the district's orders.
func (t *newOrderTx) number(ctx context.Context, tx *generator.Tx) (id int64, found bool, err error) {
	k := key(t.warehouse, t.district)
	if !t.setNext {
		after, found, err := tx.Set(ctx, district, k, "next", schema.Add(1))
		if err != nil || !found {
			return 0, false, err
		}
		_, found, err = tx.Row(ctx, district, k, "info")
		return after[0].(int64) - 1, found, err
	}
	row, found, err := tx.Row(ctx, district, k, "info", "next")
	if err != nil || !found {
		return 0, false, err
	}
	id = number(district, row, "d_next_o_id")
	_, found, err = tx.Set(ctx, district, k, "next", schema.Set(id+1))
	return id, found, err
}

// restock is added to the stock if less than 10 pieces would be left (clause 2.4.2.2).
const restock, leastStock = 91, 10

// order takes one line's quantity out of the stock. If the item does not exist, which simulates
// a user's mistake, the order is rolled back (clause 2.4.2.3).
func (t *newOrderTx) order(ctx context.Context, tx *generator.Tx, id, n int64, l line) error {
	i, found, err := tx.Row(ctx, item, key(l.item))
	if err == nil && !found && t.unused && int(n) == len(t.lines) {
		return generator.ErrRollback
	}
	if err != nil || !found {
		return err
	}
	s, found, err := tx.Row(ctx, stock, key(l.supply, l.item), "level", "info")
	if err != nil || !found {
		return err
	}
	quantity := number(stock, s, "s_quantity") - l.quantity
	if quantity < leastStock {
		quantity += restock
	}
	remote := int64(0)
	if l.supply != t.warehouse {
		remote = 1
	}
	_, found, err = tx.Set(ctx, stock, key(l.supply, l.item), "level", schema.Sets(quantity,
		number(stock, s, "s_ytd")+l.quantity, number(stock, s, "s_order_cnt")+1, number(stock, s, "s_remote_cnt")+remote)...)
	if err != nil || !found {
		return err
	}
	amount := l.quantity * number(item, i, "i_price")
	return tx.InsertRow(ctx, orderLine, schema.Row{
		Key:    key(t.warehouse, t.district, id, n),
		Groups: [][]any{append(values(l.item, l.supply, l.quantity, amount), text(stock, s, distColumn(t.district))), values(none)},
	})
}

// distColumn is the column of stock with the text for a district.
func distColumn(district int64) string {
	s := strconv.FormatInt(district, 10)
	if district < 10 {
		s = "0" + s
	}
	return "s_dist_" + s
}
