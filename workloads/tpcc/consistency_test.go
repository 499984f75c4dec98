package tpcc

import (
	"context"
	"strings"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history/schema"
)

// damage changes single values in an open transaction.
type damage struct {
	t  *testing.T
	tx drivers.TableTx
}

var ctx = context.Background()

func (d damage) must(ok bool, err error) {
	d.t.Helper()
	if err != nil || !ok {
		d.t.Fatal(ok, err)
	}
}

// add adds n to a column of a row.
func (d damage) add(t *schema.Table, column string, n int64, k ...int64) {
	d.t.Helper()
	g, at, _ := t.Column(column)
	row, found, err := d.tx.Get(ctx, t, key(k...), []int{g})
	d.must(found, err)
	v := row.Groups[g]
	v[at] = v[at].(int64) + n
	_, found, err = d.tx.Set(ctx, t, key(k...), g, schema.Sets(v...))
	d.must(found, err)
}

// set sets a column of a row.
func (d damage) set(t *schema.Table, column string, v int64, k ...int64) {
	d.t.Helper()
	d.add(t, column, v-d.get(t, column, k...), k...)
}

func (d damage) get(t *schema.Table, column string, k ...int64) int64 {
	d.t.Helper()
	g, at, _ := t.Column(column)
	row, found, err := d.tx.Get(ctx, t, key(k...), []int{g})
	d.must(found, err)
	return row.Groups[g][at].(int64)
}

func (d damage) remove(t *schema.Table, k ...int64) {
	d.t.Helper()
	d.must(d.tx.DeleteRow(ctx, t, key(k...)))
}

// insert copies a row to another key.
func (d damage) insert(t *schema.Table, from, to []any) {
	d.t.Helper()
	row, found, err := d.tx.Get(ctx, t, from, t.All())
	d.must(found, err)
	d.must(true, d.tx.InsertRow(ctx, t, schema.Row{Key: to, Groups: row.Groups}))
}

// deliver delivers an order, even if it is not the oldest.
func (d damage) deliver(o int64) {
	d.t.Helper()
	d.remove(newOrder, 1, 1, o)
	d.set(orders, "o_carrier_id", 5, 1, 1, o)
	total := int64(0)
	for n := int64(1); n <= d.get(orders, "o_ol_cnt", 1, 1, o); n++ {
		d.set(orderLine, "ol_delivery_d", 9, 1, 1, o, n)
		total += d.get(orderLine, "ol_amount", 1, 1, o, n)
	}
	c := d.get(orders, "o_c_id", 1, 1, o)
	d.add(customer, "c_balance", total, 1, 1, c)
	d.add(customer, "c_delivery_cnt", 1, 1, 1, c)
}

// TestConditions: damage is detected by the conditions that it concerns, and by no others. Each
// district has 20 orders, of which 15 to 20 are new.
func TestConditions(t *testing.T) {
	w := newTPCC(t, "warehouses=2", "customers=20", "items=10", "districts=2")
	db := load(t, w, "serializable")
	covered, alone := map[string]bool{}, map[string]bool{}
	for _, tc := range []struct {
		name, want string
		do         func(d damage)
	}{
		{"nothing", "", func(damage) {}},
		{"an order is delivered in turn", "", func(d damage) { d.deliver(15) }},
		{"all orders are delivered", "", func(d damage) {
			for o := int64(15); o <= 20; o++ {
				d.deliver(o)
			}
		}},
		{"w_ytd", "1 8", func(d damage) { d.add(warehouse, "w_ytd", 1, 1) }},
		{"d_ytd", "1 9", func(d damage) { d.add(district, "d_ytd", -1, 2, 2) }},
		{"w_ytd and d_ytd", "8 9", func(d damage) { d.add(warehouse, "w_ytd", 1, 1); d.add(district, "d_ytd", 1, 1, 2) }},
		{"d_ytd moves", "9", func(d damage) { d.add(district, "d_ytd", 1, 1, 1); d.add(district, "d_ytd", -1, 1, 2) }},
		{"a payment without a trace", "1 8 10", func(d damage) {
			d.add(warehouse, "w_ytd", 1, 1)
			d.add(customer, "c_balance", -1, 1, 1, 3)
			d.add(customer, "c_ytd_payment", 1, 1, 1, 3)
		}},
		{"the warehouse is gone", "1 8", func(d damage) { d.remove(warehouse, 1) }},
		{"d_next_o_id", "2", func(d damage) { d.add(district, "d_next_o_id", 1, 1, 1) }},
		{"d_next_o_id, nothing new", "2", func(d damage) {
			for o := int64(15); o <= 20; o++ {
				d.deliver(o)
			}
			d.add(district, "d_next_o_id", -1, 1, 1)
		}},
		{"the last order is not new", "2", func(d damage) { d.deliver(20) }},
		{"a new order beyond the last", "2 11", func(d damage) { d.insert(newOrder, key(1, 1, 20), key(1, 1, 21)) }},
		{"an order is delivered out of turn", "3", func(d damage) { d.deliver(17) }},
		{"a new order is gone", "3 5 11", func(d damage) { d.remove(newOrder, 1, 1, 17) }},
		{"the oldest new order is gone", "5 11", func(d damage) { d.remove(newOrder, 1, 1, 15) }},
		{"lines without an order", "4", func(d damage) { d.insert(orderLine, key(1, 1, 20, 1), key(1, 1, 30, 1)) }},
		{"o_ol_cnt", "4 6", func(d damage) { d.add(orders, "o_ol_cnt", 1, 1, 1, 2) }},
		{"o_ol_cnt moves", "6", func(d damage) { d.add(orders, "o_ol_cnt", 1, 1, 1, 2); d.add(orders, "o_ol_cnt", -1, 1, 1, 3) }},
		{"a line is gone", "4 6", func(d damage) { d.remove(orderLine, 1, 1, 20, 1) }},
		{"a new order has a carrier", "5 7", func(d damage) { d.set(orders, "o_carrier_id", 3, 1, 1, 20) }},
		{"a delivered order has no carrier", "5 7", func(d damage) { d.set(orders, "o_carrier_id", none, 1, 1, 1) }},
		{"a delivered order is new again", "5 11", func(d damage) { d.insert(newOrder, key(1, 1, 15), key(1, 1, 14)) }},
		{"a delivered line has no date", "7", func(d damage) { d.set(orderLine, "ol_delivery_d", none, 1, 1, 1, 1) }},
		{"a line is delivered early", "7 10 12", func(d damage) { d.set(orderLine, "ol_delivery_d", 9, 1, 1, 20, 1) }},
		{"h_amount", "8 9 10", func(d damage) { d.add(historyTable, "h_amount", 1, 1, 1, -2) }},
		{"a payment is gone", "8 9 10", func(d damage) { d.remove(historyTable, 1, 1, -2) }},
		{"a payment of another customer", "10", func(d damage) { d.set(historyTable, "h_c_id", 3, 1, 1, -2) }},
		{"a payment of another warehouse's customer", "10", func(d damage) { d.set(historyTable, "h_c_w_id", 2, 1, 1, -2) }},
		{"c_balance", "10 12", func(d damage) { d.add(customer, "c_balance", 1, 1, 1, 1) }},
		{"c_delivery_cnt", "11", func(d damage) { d.add(customer, "c_delivery_cnt", 1, 2, 1, 1) }},
		{"c_ytd_payment", "12", func(d damage) { d.add(customer, "c_ytd_payment", 1, 1, 2, 20) }},
		{"ol_amount of a delivered line", "10 12", func(d damage) { d.add(orderLine, "ol_amount", 1, 1, 1, 1, 1) }},
		{"ol_amount of a new line", "", func(d damage) { d.add(orderLine, "ol_amount", 1, 1, 1, 20, 1) }},
		{"an order of another customer", "", func(d damage) { d.set(orders, "o_c_id", 1, 1, 1, 20) }},
		{"a customer is gone", "10 11 12", func(d damage) { d.remove(customer, 1, 1, 1) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tx := begin(t, db)
			tc.do(damage{t, tx.(drivers.TableTx)})
			got, problems := violated(t, w, tx)
			if strings.Join(got, " ") != tc.want {
				t.Errorf("violated: %v, want %s\n%s", got, tc.want, strings.Join(problems, "\n"))
			}
			for _, n := range got {
				covered[n] = true
				alone[n] = alone[n] || len(got) == 1
			}
		})
	}
	if len(covered) != 12 {
		t.Errorf("conditions that were violated: %v", covered)
	}
	for _, n := range []string{"2", "3", "4", "6", "7", "9", "10", "11", "12"} {
		if !alone[n] {
			t.Errorf("condition %s is never violated alone", n)
		}
	}
}

// TestProblems: a problem says where and what, and how many more there are.
func TestProblems(t *testing.T) {
	w := newTPCC(t, small...)
	tx := begin(t, load(t, w, "serializable"))
	d := damage{t, tx.(drivers.TableTx)}
	d.add(district, "d_next_o_id", 1, 1, 2)
	d.add(district, "d_next_o_id", 1, 2, 3)
	_, problems := violated(t, w, tx)
	want := "consistency 2: district (1,2): d_next_o_id - 1 is 7, the greatest o_id is 6; and 3 more"
	if len(problems) != 1 || problems[0] != want {
		t.Errorf("%q, want %q", problems, want)
	}
}
