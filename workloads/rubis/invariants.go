package rubis

import (
	"context"
	"fmt"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
)

// Invariants implements generator.Invariants. Each transaction alone preserves each invariant,
// so it holds after any serial execution.
func (w *rubis) Invariants() []generator.Invariant {
	return []generator.Invariant{
		{Name: "bids", Text: "an item's counter is the number of its bids, and its price the highest of them, or the start", Check: bidsAddUp},
		{Name: "stock", Text: "the remaining and the bought quantity of an item add up to the offered one, and the remaining one is never negative", Check: stockAddsUp},
		{Name: "bid or buy", Text: "an item with bids is not sold out: after the first bid nobody can buy it, and a bid needs remaining stock", Check: bidOrBuy},
		{Name: "ratings", Text: "a user's rating is the sum of the ratings in the comments, and the counter their number", Check: ratingsAddUp},
		{Name: "sellers", Text: "each item is in its seller's list, and nothing else is", Check: sellersListed},
		{Name: "nicknames", Text: "each user has a nickname and each nickname one user", Check: nicknamesUnique},
	}
}

func all(ctx context.Context, tx drivers.Tx, t *schema.Table) ([]schema.Row, error) {
	return tx.(drivers.TableTx).Scan(ctx, t, schema.Predicate{}, t.All())
}

// tally summarises rows: how many there are, and the sum and the maximum of a column.
type tally struct{ rows, sum, highest int64 }

// tallies computes a tally of a column for each value of the first column of the primary key.
func tallies(ctx context.Context, tx drivers.Tx, t *schema.Table, column string) (map[int64]tally, error) {
	rows, err := all(ctx, tx, t)
	if err != nil {
		return nil, err
	}
	out := map[int64]tally{}
	for _, r := range rows {
		a, v := out[r.Key[0].(int64)], number(t, r, column)
		if a.rows == 0 || v > a.highest {
			a.highest = v
		}
		a.rows++
		a.sum += v
		out[r.Key[0].(int64)] = a
	}
	return out, nil
}

// anyOther names an entry of the tallies that was not checked.
func anyOther(what string, left map[int64]tally) string {
	if len(left) == 0 {
		return ""
	}
	least := int64(-1)
	for id := range left {
		if least < 0 || id < least {
			least = id
		}
	}
	return fmt.Sprintf("there are %s of %d, which does not exist", what, least)
}

func bidsAddUp(ctx context.Context, tx drivers.Tx) (string, error) {
	made, err := tallies(ctx, tx, bids, "amount")
	if err != nil {
		return "", err
	}
	offers, err := all(ctx, tx, items)
	if err != nil {
		return "", err
	}
	for _, item := range offers {
		id := number(items, item, "id")
		a, price := made[id], number(items, item, "start")
		if a.rows > 0 {
			price = a.highest
		}
		if got := number(items, item, "bids"); got != a.rows {
			return fmt.Sprintf("item %d has %d in its counter and %d bids", id, got, a.rows), nil
		}
		if got := number(items, item, "price"); got != price {
			return fmt.Sprintf("item %d has the price %d and should have %d after %d bids", id, got, price, a.rows), nil
		}
		delete(made, id)
	}
	return anyOther("bids", made), nil
}

func stockAddsUp(ctx context.Context, tx drivers.Tx) (string, error) {
	bought, err := tallies(ctx, tx, purchases, "quantity")
	if err != nil {
		return "", err
	}
	stocks, err := tallies(ctx, tx, stock, "quantity")
	if err != nil {
		return "", err
	}
	offers, err := all(ctx, tx, items)
	if err != nil {
		return "", err
	}
	for _, item := range offers {
		id, offered := number(items, item, "id"), number(items, item, "quantity")
		left := stocks[id].sum
		if left < 0 || left+bought[id].sum != offered {
			return fmt.Sprintf("offered were %d of item %d, but %d are left and %d were bought", offered, id, left, bought[id].sum), nil
		}
		delete(bought, id)
		delete(stocks, id)
	}
	if p := anyOther("purchases", bought); p != "" {
		return p, nil
	}
	return anyOther("stocks", stocks), nil
}

func bidOrBuy(ctx context.Context, tx drivers.Tx) (string, error) {
	made, err := tallies(ctx, tx, bids, "amount")
	if err != nil {
		return "", err
	}
	stocks, err := all(ctx, tx, stock)
	if err != nil {
		return "", err
	}
	for _, s := range stocks {
		if id := s.Key[0].(int64); number(stock, s, "quantity") <= 0 && made[id].rows > 0 {
			return fmt.Sprintf("item %d has %d bids and is sold out", id, made[id].rows), nil
		}
	}
	return "", nil
}

func ratingsAddUp(ctx context.Context, tx drivers.Tx) (string, error) {
	said, err := tallies(ctx, tx, comments, "rating")
	if err != nil {
		return "", err
	}
	people, err := all(ctx, tx, users)
	if err != nil {
		return "", err
	}
	for _, u := range people {
		id := u.Key[0].(int64)
		a := said[id]
		if rating, n := number(users, u, "rating"), number(users, u, "comments"); rating != a.sum || n != a.rows {
			return fmt.Sprintf("user %d has the rating %d of %d comments, and the comments are %d with a sum of %d", id, rating, n, a.rows, a.sum), nil
		}
		delete(said, id)
	}
	return anyOther("comments", said), nil
}

func sellersListed(ctx context.Context, tx drivers.Tx) (string, error) {
	listed, err := all(ctx, tx, selling)
	if err != nil {
		return "", err
	}
	offers, err := all(ctx, tx, items)
	if err != nil {
		return "", err
	}
	seller := map[int64]int64{}
	for _, l := range listed {
		seller[number(selling, l, "item")] = number(selling, l, "seller")
	}
	for _, item := range offers {
		id, who := number(items, item, "id"), number(items, item, "seller")
		if seller[id] != who {
			return fmt.Sprintf("item %d of user %d is in the list of %d", id, who, seller[id]), nil
		}
	}
	if len(listed) != len(offers) {
		return fmt.Sprintf("there are %d items and %d entries in the lists", len(offers), len(listed)), nil
	}
	return "", nil
}

func nicknamesUnique(ctx context.Context, tx drivers.Tx) (string, error) {
	names, err := all(ctx, tx, nicknames)
	if err != nil {
		return "", err
	}
	people, err := all(ctx, tx, users)
	if err != nil {
		return "", err
	}
	owner := map[string]int64{}
	for _, n := range names {
		owner[n.Key[0].(string)] = number(nicknames, n, "user_id")
	}
	for _, u := range people {
		id := u.Key[0].(int64)
		name, _ := users.Value(u, "nickname")
		if owner[name.(string)] != id {
			return fmt.Sprintf("user %d has the nickname %s, which belongs to %d", id, name, owner[name.(string)]), nil
		}
	}
	if len(owner) != len(people) {
		return fmt.Sprintf("%d nicknames belong to %d users", len(owner), len(people)), nil
	}
	return "", nil
}
