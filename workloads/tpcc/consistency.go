package tpcc

import (
	"context"
	"fmt"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
)

// Invariants implements generator.Invariants: the consistency conditions of clause 3.3.2, each
// for all rows that it applies to. They hold initially, and every transaction preserves them.
func (w *tpcc) Invariants() []generator.Invariant {
	var out []generator.Invariant
	for n, c := range conditions {
		out = append(out, generator.Invariant{
			Name: fmt.Sprintf("consistency %d", n+1),
			Text: c.text,
			Check: func(ctx context.Context, tx drivers.Tx) (string, error) {
				a := &audit{tpcc: w, ctx: ctx, tx: tx.(drivers.TableTx)}
				a.each(c.warehouse, c.district)
				return a.problem(), a.err
			},
		})
	}
	return out
}

// condition is one of clause 3.3.2, checked for each warehouse or each district.
type condition struct {
	text      string
	warehouse func(a *audit, w int64)
	district  func(a *audit, w, d int64)
}

var conditions = [12]condition{
	{text: "w_ytd of a warehouse is the sum of d_ytd of its districts", warehouse: (*audit).condition1},
	{text: "d_next_o_id - 1 of a district is its greatest o_id, and its greatest no_o_id if it has a new order", district: (*audit).condition2},
	{text: "the new orders of a district are numbered without a gap", district: (*audit).condition3},
	{text: "a district has as many order lines as the sum of o_ol_cnt", district: (*audit).condition4},
	{text: "an order has no carrier exactly if it is a new order", district: (*audit).condition5},
	{text: "an order has o_ol_cnt lines", district: (*audit).condition6},
	{text: "a line has no date of delivery exactly if its order has no carrier", district: (*audit).condition7},
	{text: "w_ytd of a warehouse is the sum of h_amount of its payments", warehouse: (*audit).condition8},
	{text: "d_ytd of a district is the sum of h_amount of its payments", district: (*audit).condition9},
	{text: "c_balance is the sum of ol_amount of what was delivered to the customer less the sum of h_amount", district: (*audit).condition10},
	// The clause has the constant 2100 for the deliveries before the run, which is only correct
	// before the first delivery of the run. c_delivery_cnt counts the deliveries of the run.
	{text: "a district has as many orders as new orders, deliveries before the run and deliveries that c_delivery_cnt counts", district: (*audit).condition11},
	{text: "c_balance + c_ytd_payment is the sum of ol_amount of what was delivered to the customer", district: (*audit).condition12},
}

// audit checks one condition in one transaction. After an error it reads nothing more.
type audit struct {
	*tpcc
	ctx      context.Context
	tx       drivers.TableTx
	problems int
	first    string
	err      error
	paid     map[owner]int64 // computed by condition 10, once for all districts
}

// owner is a customer.
type owner struct{ warehouse, district, id int64 }

func (a *audit) each(warehouse func(*audit, int64), district func(*audit, int64, int64)) {
	for w := int64(1); w <= a.warehouses; w++ {
		if warehouse != nil && a.err == nil {
			warehouse(a, w)
		}
		for d := int64(1); d <= a.districts && district != nil && a.err == nil; d++ {
			district(a, w, d)
		}
	}
}

// wrong records a violation.
func (a *audit) wrong(format string, args ...any) {
	if a.err != nil {
		return // the rows that were read are incomplete
	}
	if a.problems++; a.problems == 1 {
		a.first = fmt.Sprintf(format, args...)
	}
}

func (a *audit) problem() string {
	if a.problems > 1 {
		return fmt.Sprintf("%s; and %d more", a.first, a.problems-1)
	}
	return a.first
}

// rows reads a group, or all if group is "", of the rows whose primary key begins with numbers.
func (a *audit) rows(t *schema.Table, group string, numbers ...int64) []schema.Row {
	if a.err != nil {
		return nil
	}
	groups := t.All()
	if group != "" {
		groups = []int{t.Group(group)}
	}
	var rows []schema.Row
	rows, a.err = a.tx.Scan(a.ctx, t, of(t, numbers...), groups)
	return rows
}

// sum adds up a column of rows.
func sum(t *schema.Table, rows []schema.Row, column string) int64 {
	total := int64(0)
	for _, r := range rows {
		total += number(t, r, column)
	}
	return total
}

// one returns a column of the row with a primary key.
func (a *audit) one(t *schema.Table, group, column string, numbers ...int64) int64 {
	rows := a.rows(t, group, numbers...)
	if len(rows) != 1 {
		a.wrong("there are %d rows %s%v, not one", len(rows), t.Name, numbers)
		return 0
	}
	return number(t, rows[0], column)
}

func (a *audit) condition1(w int64) {
	ytd, districts := a.one(warehouse, "ytd", "w_ytd", w), sum(district, a.rows(district, "ytd", w), "d_ytd")
	if ytd != districts {
		a.wrong("warehouse %d: w_ytd is %d, the sum of d_ytd is %d", w, ytd, districts)
	}
}

// numbers returns the numbers of the orders in rows of orders or new_order.
func numbers(rows []schema.Row) map[int64]bool {
	out := map[int64]bool{}
	for _, r := range rows {
		out[r.Key[2].(int64)] = true
	}
	return out
}

// bounds returns the least and the greatest number of an order.
func bounds(rows []schema.Row) (least, greatest int64) {
	for i, r := range rows {
		n := r.Key[2].(int64)
		if i == 0 {
			least = n
		}
		least, greatest = min(least, n), max(greatest, n)
	}
	return least, greatest
}

func (a *audit) condition2(w, d int64) {
	last := a.one(district, "next", "d_next_o_id", w, d) - 1
	if _, greatest := bounds(a.rows(orders, "info", w, d)); greatest != last {
		a.wrong("%s: d_next_o_id - 1 is %d, the greatest o_id is %d", place(w, d), last, greatest)
	}
	fresh := a.rows(newOrder, "", w, d)
	if _, greatest := bounds(fresh); len(fresh) > 0 && greatest != last {
		a.wrong("%s: d_next_o_id - 1 is %d, the greatest no_o_id is %d", place(w, d), last, greatest)
	}
}

func (a *audit) condition3(w, d int64) {
	fresh := a.rows(newOrder, "", w, d)
	if least, greatest := bounds(fresh); len(fresh) > 0 && greatest-least+1 != int64(len(fresh)) {
		a.wrong("%s: no_o_id goes from %d to %d in %d rows", place(w, d), least, greatest, len(fresh))
	}
}

func (a *audit) condition4(w, d int64) {
	lines, counted := int64(len(a.rows(orderLine, "info", w, d))), sum(orders, a.rows(orders, "info", w, d), "o_ol_cnt")
	if lines != counted {
		a.wrong("%s: there are %d order lines, the sum of o_ol_cnt is %d", place(w, d), lines, counted)
	}
}

func (a *audit) condition5(w, d int64) {
	fresh := numbers(a.rows(newOrder, "", w, d))
	for _, o := range a.rows(orders, "carrier", w, d) {
		id, carrier := o.Key[2].(int64), number(orders, o, "o_carrier_id")
		if (carrier == none) != fresh[id] {
			a.wrong("%s: order %d has carrier %d, and is a new order: %v", place(w, d), id, carrier, fresh[id])
		}
	}
}

func (a *audit) condition6(w, d int64) {
	lines := map[int64]int64{}
	for _, l := range a.rows(orderLine, "info", w, d) {
		lines[l.Key[2].(int64)]++
	}
	for _, o := range a.rows(orders, "info", w, d) {
		id, counted := o.Key[2].(int64), number(orders, o, "o_ol_cnt")
		if lines[id] != counted {
			a.wrong("%s: order %d has %d lines, o_ol_cnt is %d", place(w, d), id, lines[id], counted)
		}
	}
}

func (a *audit) condition7(w, d int64) {
	carriers := map[int64]int64{}
	for _, o := range a.rows(orders, "carrier", w, d) {
		carriers[o.Key[2].(int64)] = number(orders, o, "o_carrier_id")
	}
	for _, l := range a.rows(orderLine, "delivery", w, d) {
		id, date := l.Key[2].(int64), number(orderLine, l, "ol_delivery_d")
		if (date == none) != (carriers[id] == none) {
			a.wrong("%s: line %d of order %d has date of delivery %d, its order carrier %d", place(w, d), l.Key[3], id, date, carriers[id])
		}
	}
}

func (a *audit) condition8(w int64) {
	ytd, paid := a.one(warehouse, "ytd", "w_ytd", w), sum(historyTable, a.rows(historyTable, "", w), "h_amount")
	if ytd != paid {
		a.wrong("warehouse %d: w_ytd is %d, the sum of h_amount is %d", w, ytd, paid)
	}
}

func (a *audit) condition9(w, d int64) {
	ytd, paid := a.one(district, "ytd", "d_ytd", w, d), sum(historyTable, a.rows(historyTable, "", w, d), "h_amount")
	if ytd != paid {
		a.wrong("%s: d_ytd is %d, the sum of h_amount is %d", place(w, d), ytd, paid)
	}
}

func (a *audit) condition10(w, d int64) {
	if a.paid == nil {
		a.paid = map[owner]int64{} // customers pay at all warehouses
		for _, h := range a.rows(historyTable, "") {
			a.paid[owner{number(historyTable, h, "h_c_w_id"), number(historyTable, h, "h_c_d_id"), number(historyTable, h, "h_c_id")}] += number(historyTable, h, "h_amount")
		}
	}
	owed := a.owed(w, d)
	for _, c := range a.customerRows(w, d) {
		id, balance := c.Key[2].(int64), number(customer, c, "c_balance")
		if paid := a.paid[owner{w, d, id}]; balance != owed[id]-paid {
			a.wrong("%s: c_balance of customer %d is %d, the sum of ol_amount %d, that of h_amount %d", place(w, d), id, balance, owed[id], paid)
		}
	}
}

func (a *audit) condition11(w, d int64) {
	all, fresh := int64(len(a.rows(orders, "info", w, d))), int64(len(a.rows(newOrder, "", w, d)))
	if counted := sum(customer, a.customerRows(w, d), "c_delivery_cnt"); all != fresh+a.delivered()+counted {
		a.wrong("%s: there are %d orders, %d new orders, %d deliveries before the run, and the sum of c_delivery_cnt is %d", place(w, d), all, fresh, a.delivered(), counted)
	}
}

func (a *audit) condition12(w, d int64) {
	owed := a.owed(w, d)
	for _, c := range a.customerRows(w, d) {
		id, balance, paid := c.Key[2].(int64), number(customer, c, "c_balance"), number(customer, c, "c_ytd_payment")
		if balance+paid != owed[id] {
			a.wrong("%s: c_balance of customer %d is %d, c_ytd_payment %d, the sum of ol_amount %d", place(w, d), id, balance, paid, owed[id])
		}
	}
}

// customerRows reads the balances of a district's customers, and checks that none is missing:
// callers iterate over the rows and would not notice.
func (a *audit) customerRows(w, d int64) []schema.Row {
	rows := a.rows(customer, "balance", w, d)
	if int64(len(rows)) != a.customers {
		a.wrong("%s: there are %d customers, not %d", place(w, d), len(rows), a.customers)
	}
	return rows
}

// owed sums up the amounts delivered to each customer of a district.
func (a *audit) owed(w, d int64) map[int64]int64 {
	buyer := map[int64]int64{}
	for _, o := range a.rows(orders, "info", w, d) {
		buyer[o.Key[2].(int64)] = number(orders, o, "o_c_id")
	}
	out := map[int64]int64{}
	for _, l := range a.rows(orderLine, "", w, d) {
		if number(orderLine, l, "ol_delivery_d") != none {
			out[buyer[l.Key[2].(int64)]] += number(orderLine, l, "ol_amount")
		}
	}
	return out
}
