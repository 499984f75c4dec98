package tpcc

import "github.com/isohound/isohound/history/schema"

// The nine tables of clause 1.3. Columns that transactions read and write together form groups.
// Money is in cents; rates are in hundredths of a per cent. There are no nulls: an order without
// a carrier has carrier 0, an undelivered line has date 0. Dates are numbers that distinguish
// transactions, not times.
var (
	warehouse = &schema.Table{
		Name: "warehouse",
		Key:  schema.Ints("w_id"),
		Groups: []schema.Group{
			{Name: "info", Columns: append(schema.Texts("w_name", "w_street_1", "w_street_2", "w_city", "w_state", "w_zip"), schema.Ints("w_tax")...)},
			{Name: "ytd", Columns: schema.Ints("w_ytd")},
		},
	}
	district = &schema.Table{
		Name: "district",
		Key:  schema.Ints("d_w_id", "d_id"),
		Groups: []schema.Group{
			{Name: "info", Columns: append(schema.Texts("d_name", "d_street_1", "d_street_2", "d_city", "d_state", "d_zip"), schema.Ints("d_tax")...)},
			{Name: "ytd", Columns: schema.Ints("d_ytd")},
			{Name: "next", Columns: schema.Ints("d_next_o_id")},
		},
	}
	customer = &schema.Table{
		Name: "customer",
		Key:  schema.Ints("c_w_id", "c_d_id", "c_id"),
		Groups: []schema.Group{
			{Name: "info", Columns: append(schema.Texts("c_first", "c_middle", "c_last", "c_street_1", "c_street_2", "c_city", "c_state", "c_zip", "c_phone", "c_credit"),
				schema.Ints("c_since", "c_credit_lim", "c_discount")...)},
			{Name: "balance", Columns: schema.Ints("c_balance", "c_ytd_payment", "c_payment_cnt", "c_delivery_cnt")},
			{Name: "data", Columns: []schema.Column{{Name: "c_data", Type: schema.Text, Size: dataSize}}},
		},
		Indexes: []schema.Index{schema.IndexOn("c_w_id", "c_d_id", "c_last")},
	}
	// The specification gives history no key; h_id is added as one.
	historyTable = &schema.Table{
		Name: "history",
		Key:  schema.Ints("h_w_id", "h_d_id", "h_id"),
		Groups: []schema.Group{{Columns: append(schema.Ints("h_c_w_id", "h_c_d_id", "h_c_id", "h_date", "h_amount"),
			schema.Texts("h_data")...)}},
	}
	// In the specification a row of new_order has only its key. no_date, a copy of o_entry_d, is
	// added so that a read has a value that identifies the writer.
	newOrder = &schema.Table{
		Name:   "new_order",
		Key:    schema.Ints("no_w_id", "no_d_id", "no_o_id"),
		Groups: []schema.Group{{Columns: schema.Ints("no_date")}},
	}
	orders = &schema.Table{
		Name: "orders",
		Key:  schema.Ints("o_w_id", "o_d_id", "o_id"),
		Groups: []schema.Group{
			{Name: "info", Columns: schema.Ints("o_c_id", "o_entry_d", "o_ol_cnt", "o_all_local")},
			{Name: "carrier", Columns: schema.Ints("o_carrier_id")},
		},
		Indexes: []schema.Index{schema.IndexOn("o_w_id", "o_d_id", "o_c_id")},
	}
	orderLine = &schema.Table{
		Name: "order_line",
		Key:  schema.Ints("ol_w_id", "ol_d_id", "ol_o_id", "ol_number"),
		Groups: []schema.Group{
			{Name: "info", Columns: append(schema.Ints("ol_i_id", "ol_supply_w_id", "ol_quantity", "ol_amount"), schema.Texts("ol_dist_info")...)},
			{Name: "delivery", Columns: schema.Ints("ol_delivery_d")},
		},
	}
	item = &schema.Table{
		Name:   "item",
		Key:    schema.Ints("i_id"),
		Groups: []schema.Group{{Columns: append(schema.Ints("i_im_id", "i_price"), schema.Texts("i_name", "i_data")...)}},
	}
	stock = &schema.Table{
		Name: "stock",
		Key:  schema.Ints("s_w_id", "s_i_id"),
		Groups: []schema.Group{
			{Name: "level", Columns: schema.Ints("s_quantity", "s_ytd", "s_order_cnt", "s_remote_cnt")},
			{Name: "info", Columns: schema.Texts("s_dist_01", "s_dist_02", "s_dist_03", "s_dist_04", "s_dist_05",
				"s_dist_06", "s_dist_07", "s_dist_08", "s_dist_09", "s_dist_10", "s_data")},
		},
	}
)

// dataSize is the maximum length of c_data.
const dataSize = 500

// Schema implements generator.Tables.
func (w *tpcc) Schema() schema.Schema {
	return schema.Schema{item, warehouse, stock, district, customer, historyTable, orders, orderLine, newOrder}
}

// number and text return the value of a column, whose group was read.
func number(t *schema.Table, r schema.Row, column string) int64 {
	v, _ := t.Value(r, column)
	return v.(int64)
}

func text(t *schema.Table, r schema.Row, column string) string {
	v, _ := t.Value(r, column)
	return v.(string)
}

// key makes a primary key.
func key(numbers ...int64) []any { return values(numbers...) }

func values(numbers ...int64) []any {
	out := make([]any, len(numbers))
	for i, n := range numbers {
		out[i] = n
	}
	return out
}

// of selects the rows whose primary key begins with numbers.
func of(t *schema.Table, numbers ...int64) schema.Predicate {
	var p schema.Predicate
	for i, n := range numbers {
		p.Where = append(p.Where, schema.Is(t.Key[i].Name, n))
	}
	return p
}
