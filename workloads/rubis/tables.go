package rubis

import (
	"iter"
	"strconv"

	"github.com/isohound/isohound/history/schema"
)

// users has a user's data and time of registration, 0 for the initial users, and the ratings by
// others: their sum and number.
var users = &schema.Table{
	Name: "users",
	Key:  schema.Ints("id"),
	Groups: []schema.Group{
		{Name: "account", Columns: append(schema.Texts("nickname"), schema.Ints("region", "created")...)},
		{Name: "standing", Columns: schema.Ints("rating", "comments")},
	},
}

// nicknames is a unique index on nicknames, stored as a table as in Cobra's own program.
var nicknames = &schema.Table{
	Name:   "nicknames",
	Key:    schema.Texts("nickname"),
	Groups: []schema.Group{{Columns: schema.Ints("user_id")}},
}

// items are stored by category, which is computed from the id, because they are browsed by
// category; selling lists them by seller.
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

// stock is the remaining quantity of an item. It is not part of the item's row: a purchase
// writes stock and reads the number of bids, and a bid does the reverse, on different rows. So a
// purchase and a bid that do not see each other are a write skew.
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
		Indexes: []schema.Index{schema.IndexOn("bidder")},
	}
	purchases = &schema.Table{
		Name:    "purchases",
		Key:     schema.Ints("item", "id"),
		Groups:  []schema.Group{{Columns: schema.Ints("buyer", "quantity")}},
		Indexes: []schema.Index{schema.IndexOn("buyer")},
	}
	comments = &schema.Table{
		Name:   "comments",
		Key:    schema.Ints("about", "id"),
		Groups: []schema.Group{{Columns: append(schema.Ints("author", "item", "rating"), schema.Texts("body")...)}},
	}
)

// regions is the number of regions in RUBiS.
const regions = 62

// ratings are the ratings of RUBiS' comments.
var ratings = []int64{-5, -3, 0, 3, 5}

// Schema implements generator.Tables.
func (w *rubis) Schema() schema.Schema {
	return schema.Schema{users, nicknames, items, selling, stock, bids, purchases, comments}
}

// Rows yields the users and their items, spread over categories and sellers. There are no bids,
// purchases or comments.
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

// part is one row of a user or an item, which are stored in several tables.
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

// offer is what is sold: the quantity, and the price at which bids start. Twice that price buys
// an item at once.
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
