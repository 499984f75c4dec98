package rubis

import (
	"context"

	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
)

// base is common to most transactions: the item concerned and the nickname of the acting user.
// RUBiS looks up the nickname each time.
type base struct {
	w    *rubis
	item int64
	nick string
}

// login finds the user, or 0 if nobody has the nickname.
func (b *base) login(ctx context.Context, tx *generator.Tx) (int64, error) {
	row, found, err := tx.Row(ctx, nicknames, []any{b.nick})
	if err != nil || !found {
		return 0, err
	}
	return row.Groups[0][0].(int64), nil
}

// lookUp logs in and reads groups of the item. If the user or the item does not exist, the
// transaction does nothing.
func (b *base) lookUp(ctx context.Context, tx *generator.Tx, groups ...string) (user int64, item schema.Row, found bool, err error) {
	if user, err = b.login(ctx, tx); err != nil || user == 0 {
		return 0, item, false, err
	}
	item, found, err = tx.Row(ctx, items, b.w.itemKey(b.item), groups...)
	return user, item, found, err
}

// left reads how many of the item are left.
func (b *base) left(ctx context.Context, tx *generator.Tx) (int64, error) {
	row, found, err := tx.Row(ctx, stock, key(b.item))
	if err != nil || !found {
		return 0, err
	}
	return row.Groups[0][0].(int64), nil
}

func number(t *schema.Table, r schema.Row, column string) int64 {
	v, _ := t.Value(r, column)
	return v.(int64)
}

// newUser registers a user, unless the nickname is taken.
type newUser struct {
	id     int64
	nick   string
	region int64
}

func (u *newUser) Run(ctx context.Context, tx *generator.Tx) error {
	_, taken, err := tx.Row(ctx, nicknames, []any{u.nick})
	if err != nil || taken {
		return err
	}
	return insert(ctx, tx, userParts(u.id, u.nick, u.region, tx.Fresh()))
}

func insert(ctx context.Context, tx *generator.Tx, parts []part) error {
	for _, p := range parts {
		if err := tx.InsertRow(ctx, p.table, p.row); err != nil {
			return err
		}
	}
	return nil
}

// newItem offers an item.
type newItem struct {
	base
	id    int64
	offer offer
}

func (n *newItem) Run(ctx context.Context, tx *generator.Tx) error {
	seller, err := n.login(ctx, tx)
	if err != nil || seller == 0 {
		return err
	}
	return insert(ctx, tx, n.w.itemParts(n.id, seller, n.offer, tx.Fresh()))
}

// browse lists the newest items of a category.
type browse struct {
	base
	category int64
}

func (b *browse) Run(ctx context.Context, tx *generator.Tx) error {
	_, err := tx.Scan(ctx, items, schema.Where(schema.Is("category", b.category)).By("-id").First(b.w.page), "listing", "price")
	return err
}

// view shows an item with its highest bids and its seller.
type view struct{ base }

func (v *view) Run(ctx context.Context, tx *generator.Tx) error {
	item, found, err := tx.Row(ctx, items, v.w.itemKey(v.item))
	if err != nil || !found {
		return err
	}
	if _, err := v.left(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.Scan(ctx, bids, schema.Where(schema.Is("item", v.item)).By("-amount").First(v.w.page)); err != nil {
		return err
	}
	_, _, err = tx.Row(ctx, users, key(number(items, item, "seller")))
	return err
}

// bid outbids the highest bid, if the item is in stock.
type bid struct {
	base
	raise int64
}

func (b *bid) Run(ctx context.Context, tx *generator.Tx) error {
	bidder, item, found, err := b.lookUp(ctx, tx, "listing", "price")
	if err != nil || !found {
		return err
	}
	left, err := b.left(ctx, tx)
	if err != nil || left <= 0 {
		return err
	}
	amount := number(items, item, "price") + b.raise
	if err := tx.InsertRow(ctx, bids, schema.Row{Key: key(b.item, tx.Fresh()), Groups: [][]any{{bidder, amount}}}); err != nil {
		return err
	}
	if _, _, err := tx.Set(ctx, items, item.Key, "bids", schema.Add(1)); err != nil {
		return err
	}
	_, _, err = tx.Set(ctx, items, item.Key, "price", schema.Set(amount))
	return err
}

// buy buys some of an item at once, which is only possible before the first bid.
type buy struct {
	base
	quantity int64
}

func (b *buy) Run(ctx context.Context, tx *generator.Tx) error {
	buyer, item, found, err := b.lookUp(ctx, tx, "listing", "bids")
	if err != nil || !found || number(items, item, "bids") > 0 {
		return err
	}
	left, err := b.left(ctx, tx)
	if err != nil || left < b.quantity {
		return err
	}
	if err := tx.InsertRow(ctx, purchases, schema.Row{Key: key(b.item, tx.Fresh()), Groups: [][]any{{buyer, b.quantity}}}); err != nil {
		return err
	}
	_, _, err = tx.Set(ctx, stock, key(b.item), "", schema.Add(-b.quantity))
	return err
}

// comment rates the seller of an item.
type comment struct {
	base
	rating int64
}

// bodies are the texts of comments, by rating.
var bodies = map[int64]string{-5: "bad", -3: "below average", 0: "average", 3: "above average", 5: "excellent"}

func (c *comment) Run(ctx context.Context, tx *generator.Tx) error {
	author, item, found, err := c.lookUp(ctx, tx, "listing")
	if err != nil || !found {
		return err
	}
	seller := number(items, item, "seller")
	row := schema.Row{Key: key(seller, tx.Fresh()), Groups: [][]any{{author, c.item, c.rating, bodies[c.rating]}}}
	if err := tx.InsertRow(ctx, comments, row); err != nil {
		return err
	}
	_, _, err = tx.Set(ctx, users, key(seller), "standing", schema.Add(c.rating), schema.Add(1))
	return err
}

// about shows a user's own page: comments of others on the user, and what the user sells, bids
// for and has bought, the newest first.
type about struct{ base }

func (a *about) Run(ctx context.Context, tx *generator.Tx) error {
	user, err := a.login(ctx, tx)
	if err != nil || user == 0 {
		return err
	}
	if _, _, err := tx.Row(ctx, users, key(user)); err != nil {
		return err
	}
	if _, err := a.newest(ctx, tx, comments, "about", user); err != nil {
		return err
	}
	sold, err := a.newest(ctx, tx, selling, "seller", user)
	if err != nil {
		return err
	}
	for _, s := range sold {
		id := s.Key[1].(int64)
		if _, _, err := tx.Row(ctx, items, a.w.itemKey(id), "bids", "price"); err != nil {
			return err
		}
	}
	if _, err := a.newest(ctx, tx, bids, "bidder", user); err != nil {
		return err
	}
	_, err = a.newest(ctx, tx, purchases, "buyer", user)
	return err
}

// newest lists the rows of a table that have a user in a column.
func (a *about) newest(ctx context.Context, tx *generator.Tx, t *schema.Table, column string, user int64) ([]schema.Row, error) {
	return tx.Scan(ctx, t, schema.Where(schema.Is(column, user)).By("-"+t.Key[1].Name).First(a.w.page))
}
