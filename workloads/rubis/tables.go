package rubis

import (
	"iter"
	"strconv"

	"github.com/isohound/isohound/history/schema"
)

// users has who they are and since when, 0 being the beginning, and what others
// said of them: the sum of the ratings and their number.
var users = &schema.Table{
	Name: "users",
	Key:  schema.Ints("id"),
	Groups: []schema.Group{
		{Name: "account", Columns: append(schema.Texts("nickname"), schema.Ints("region", "created")...)},
		{Name: "standing", Columns: schema.Ints("rating", "comments")},
	},
}

// nicknames is the unique index on nicknames, as a table, which is what Cobra's
// own program has.
var nicknames = &schema.Table{
	Name:   "nicknames",
	Key:    schema.Texts("nickname"),
	Groups: []schema.Group{{Columns: schema.Ints("user_id")}},
}

// items are kept by category, which follows from the id, as that is how they
// are browsed; selling lists them by seller.
var items = &schema.Table{
	Name: "items",
	Key:  schema.Ints("category", "id"),
	Groups: []schema.Group{
		{Name: "listing", Columns: append(schema.Texts("name"), schema.Ints("seller", "quantity", "start", "buy_now", "created")...)},
		{Name: "bids", Columns: schema.Ints("bids")},
		{Name: "price", Columns: schema.Ints("price")},
	},
}

var selling = &schema.Table{
	Name:   "selling",
	Key:    schema.Ints("seller", "item"),
	Groups: []schema.Group{{Columns: schema.Ints("category")}},
}

// stock is how many of an item are left. It is no part of the item's row: who
// buys writes it and reads the number of bids, and who bids does the reverse, on
// different rows. So two of them that do not see each other are a write skew.
var stock = &schema.Table{
	Name:   "stock",
	Key:    schema.Ints("item"),
	Groups: []schema.Group{{Columns: schema.Ints("quantity")}},
}

var (
	bids = &schema.Table{
		Name:    "bids",
		Key:     schema.Ints("item", "id"),
		Groups:  []schema.Group{{Columns: schema.Ints("bidder", "amount")}},
		Indexes: [][]string{{"bidder"}},
	}
	purchases = &schema.Table{
		Name:    "purchases",
		Key:     schema.Ints("item", "id"),
		Groups:  []schema.Group{{Columns: schema.Ints("buyer", "quantity")}},
		Indexes: [][]string{{"buyer"}},
	}
	comments = &schema.Table{
		Name:   "comments",
		Key:    schema.Ints("about", "id"),
		Groups: []schema.Group{{Columns: append(schema.Ints("author", "item", "rating"), schema.Texts("body")...)}},
	}
)

// regions is how many RUBiS has.
const regions = 62

// ratings are those of RUBiS' comments.
var ratings = []int64{-5, -3, 0, 3, 5}

// Schema implements generator.Tables.
func (w *rubis) Schema() schema.Schema {
	return schema.Schema{users, nicknames, items, selling, stock, bids, purchases, comments}
}

// Rows yields the users and their items, spread over categories and sellers.
// There are neither bids nor purchases nor comments.
func (w *rubis) Rows() iter.Seq2[*schema.Table, schema.Row] {
	return func(yield func(*schema.Table, schema.Row) bool) {
		for id := int64(1); id <= w.users; id++ {
			for _, p := range userParts(id, nickname(id), 1+id%regions, 0) {
				if !yield(p.table, p.row) {
					return
				}
			}
		}
		for id := int64(1); id <= w.items; id++ {
			seller := 1 + (id-1)%w.users
			for _, p := range w.itemParts(id, seller, offer{start: 1 + id*37%100, quantity: 1 + id*7%10}, 0) {
				if !yield(p.table, p.row) {
					return
				}
			}
		}
	}
}

func nickname(n int64) string { return "nick" + strconv.FormatInt(n, 10) }

// part is a row of what is kept in several tables.
type part struct {
	table *schema.Table
	row   schema.Row
}

func userParts(id int64, nick string, region, created int64) []part {
	return []part{
		{nicknames, schema.Row{Key: []any{nick}, Groups: [][]any{{id}}}},
		{users, schema.Row{Key: key(id), Groups: [][]any{{nick, region, created}, {int64(0), int64(0)}}}},
	}
}

// offer is what is sold: how many, and the price from which bids go up. Twice of
// it buys at once.
type offer struct{ start, quantity int64 }

func (w *rubis) itemParts(id, seller int64, o offer, created int64) []part {
	listing := []any{"item" + strconv.FormatInt(id, 10), seller, o.quantity, o.start, 2 * o.start, created}
	return []part{
		{items, schema.Row{Key: w.itemKey(id), Groups: [][]any{listing, {int64(0)}, {o.start}}}},
		{selling, schema.Row{Key: key(seller, id), Groups: [][]any{{w.itemKey(id)[0]}}}},
		{stock, schema.Row{Key: key(id), Groups: [][]any{{o.quantity}}}},
	}
}

func (w *rubis) itemKey(id int64) []any { return key(1+(id-1)%w.categories, id) }

func key(ids ...int64) []any {
	out := make([]any, len(ids))
	for i, id := range ids {
		out[i] = id
	}
	return out
}
