package tpcc

import (
	"reflect"
	"strings"
	"testing"

	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/workloads"
)

func tables(w *tpcc) map[*schema.Table][]schema.Row {
	out := map[*schema.Table][]schema.Row{}
	for t, r := range w.Rows() {
		out[t] = append(out[t], r)
	}
	return out
}

// TestPopulation: tables have the right number of rows, rows are complete, keys are unique, and
// all conditions hold.
func TestPopulation(t *testing.T) {
	for _, tc := range []struct {
		set                                             []string
		warehouses, districts, customers, orders, items int
	}{
		{nil, 10, 10, 30, 30, 1000},
		{small, 2, 3, 6, 6, 20},
		{[]string{"scale=0", "districts=1", "warehouses=1", "pad=0"}, 1, 1, 1, 1, 1},
		{[]string{"warehouses=3", "districts=4", "customers=10", "orders=35", "items=7", "pad=100"}, 3, 4, 10, 35, 7},
		{[]string{"warehouses=2", "customers=40", "orders=3", "items=5"}, 2, 10, 40, 3, 5},
	} {
		w := newTPCC(t, tc.set...)
		all := tables(w)
		districts := tc.warehouses * tc.districts
		undelivered := tc.orders - tc.orders*7/10
		for table, want := range map[*schema.Table]int{
			warehouse: tc.warehouses, district: districts, customer: districts * tc.customers, historyTable: districts * tc.customers,
			orders: districts * tc.orders, newOrder: districts * undelivered, item: tc.items, stock: tc.warehouses * tc.items,
		} {
			if got := len(all[table]); got != want {
				t.Errorf("%v: %d rows of %s, want %d", tc.set, got, table.Name, want)
			}
		}
		if n := len(all[orderLine]); n < 5*districts*tc.orders || n > 15*districts*tc.orders {
			t.Errorf("%v: %d order lines of %d orders", tc.set, n, districts*tc.orders)
		}
		for table, rows := range all {
			seen := map[string]bool{}
			for _, r := range rows {
				id := table.Item(r.Key, 0)
				if seen[id] {
					t.Errorf("%v: two rows %s", tc.set, id)
				}
				seen[id] = true
				complete(t, table, r)
			}
		}
		if _, problems := violated(t, w, begin(t, load(t, w, "serializable"))); len(problems) > 0 {
			t.Errorf("%v: %s", tc.set, strings.Join(problems, "\n"))
		}
	}
}

// complete fails unless a row has a value of the right type and size in each
// column.
func complete(t *testing.T, table *schema.Table, r schema.Row) {
	t.Helper()
	check := func(columns []schema.Column, values []any) {
		if len(columns) != len(values) {
			t.Fatalf("%s: %d values in %d columns", table.Item(r.Key, 0), len(values), len(columns))
		}
		for i, c := range columns {
			size := c.Size
			if size == 0 {
				size = 255
			}
			_, isInt := values[i].(int64)
			s, isText := values[i].(string)
			if isInt != (c.Type == schema.Int) || isText != (c.Type == schema.Text) || len(s) > size || isText && s == "" {
				t.Errorf("%s: column %s is %v, a %T", table.Item(r.Key, 0), c.Name, values[i], values[i])
			}
		}
	}
	check(table.Key, r.Key)
	if len(r.Groups) != len(table.Groups) {
		t.Fatalf("%s has %d groups", table.Item(r.Key, 0), len(r.Groups))
	}
	for g := range table.Groups {
		check(table.Groups[g].Columns, r.Groups[g])
	}
}

// TestFull: at full size a district is as in clause 4.3.3.1. Only the number of items is
// smaller.
func TestFull(t *testing.T) {
	w := newTPCC(t, "scale=100%", "warehouses=1", "districts=1", "items=100", "pad=100%")
	all := tables(w)
	names, bad := map[string]int{}, 0
	for _, c := range all[customer] {
		names[text(customer, c, "c_last")]++
		if text(customer, c, "c_credit") == badCredit {
			bad++
		}
		if n := len(text(customer, c, "c_data")); n < 300 || n > 500 {
			t.Errorf("c_data has %d characters", n)
		}
	}
	if len(names) != 1000 || names["BARBARBAR"] == 0 || names["EINGEINGEING"] == 0 || names["PRICALLYOUGHT"] == 0 {
		t.Errorf("%d last names", len(names))
	}
	if bad < 240 || bad > 360 {
		t.Errorf("%d of 3000 customers have bad credit", bad)
	}
	buyers := map[int64]bool{}
	for _, o := range all[orders] {
		id := o.Key[2].(int64)
		buyers[number(orders, o, "o_c_id")] = true
		if (number(orders, o, "o_carrier_id") == none) != (id > 2100) {
			t.Errorf("order %d has carrier %d", id, number(orders, o, "o_carrier_id"))
		}
	}
	if len(buyers) != 3000 || len(all[newOrder]) != 900 || number(district, all[district][0], "d_ytd") != 30_000_00 {
		t.Errorf("%d customers have orders, %d are new, d_ytd is %d", len(buyers), len(all[newOrder]), number(district, all[district][0], "d_ytd"))
	}
	marked := 0
	for _, s := range all[stock] {
		if strings.Contains(text(stock, s, "s_data"), originalMark) {
			marked++
		}
	}
	if marked < 3 || marked > 20 {
		t.Errorf("%d of 100 stocks are original", marked)
	}
}

// TestSeed: the same seed gives the same rows each time, another seed other rows.
func TestSeed(t *testing.T) {
	make := func(seed int64) map[*schema.Table][]schema.Row {
		w, err := makeTPCC(workloads.Common{Seed: seed}, small...)
		if err != nil {
			t.Fatal(err)
		}
		one := tables(w.(*tpcc))
		if !reflect.DeepEqual(one, tables(w.(*tpcc))) {
			t.Error("the same workload yields other rows the second time")
		}
		return one
	}
	if !reflect.DeepEqual(make(1), make(1)) {
		t.Error("the same seed gives other rows")
	}
	if reflect.DeepEqual(make(1), make(2)) {
		t.Error("another seed gives the same rows")
	}
}

// TestStopped: no more rows are yielded after the consumer stops.
func TestStopped(t *testing.T) {
	w := newTPCC(t, small...)
	total := 0
	for range w.Rows() {
		total++
	}
	for stop := 1; stop <= total; stop += 7 {
		n := 0
		for range w.Rows() { // the runtime panics if it goes on after a break
			if n++; n == stop {
				break
			}
		}
		if n != stop {
			t.Errorf("%d rows, want %d", n, stop)
		}
	}
}
