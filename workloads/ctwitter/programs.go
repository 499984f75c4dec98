package ctwitter

import (
	"context"
	"slices"

	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
)

// base is common to all transactions: the acting user and the user concerned.
type base struct {
	w         *twitter
	who, whom int64
}

// tweet posts a tweet, and records it as the user's newest without reading the old value.
type tweet struct{ base }

func (t tweet) Run(ctx context.Context, tx *generator.Tx) error {
	id := tx.Fresh()
	if err := tx.InsertRow(ctx, tweets, schema.Row{Key: key(t.who, id), Groups: [][]any{{t.w.text(t.who, id)}, {int64(0)}}}); err != nil {
		return err
	}
	_, _, err := tx.Set(ctx, users, key(t.who), "newest", schema.Set(id))
	return err
}

// follow adds a follow, in both directions, and counts it, unless it exists.
type follow struct{ base }

func (f follow) Run(ctx context.Context, tx *generator.Tx) error {
	_, found, err := tx.Row(ctx, following, key(f.who, f.whom))
	if err != nil || found {
		return err
	}
	since := []any{tx.Fresh()}
	if err := tx.InsertRow(ctx, following, schema.Row{Key: key(f.who, f.whom), Groups: [][]any{since}}); err != nil {
		return err
	}
	if err := tx.InsertRow(ctx, follower, schema.Row{Key: key(f.whom, f.who), Groups: [][]any{since}}); err != nil {
		return err
	}
	return f.count(ctx, tx, 1)
}

// count updates the counters for a follow that begins or ends.
func (b base) count(ctx context.Context, tx *generator.Tx, by int64) error {
	if _, _, err := tx.Set(ctx, users, key(b.who), "following", schema.Add(by)); err != nil {
		return err
	}
	_, _, err := tx.Set(ctx, users, key(b.whom), "followers", schema.Add(by))
	return err
}

// unfollow removes a follow, if there is one.
type unfollow struct{ base }

func (u unfollow) Run(ctx context.Context, tx *generator.Tx) error {
	found, err := tx.DeleteRow(ctx, following, key(u.who, u.whom))
	if err != nil || !found {
		return err
	}
	if _, err := tx.DeleteRow(ctx, follower, key(u.whom, u.who)); err != nil {
		return err
	}
	return u.count(ctx, tx, -1)
}

// like likes a user's newest tweet, or removes the like.
type like struct{ base }

func (l like) Run(ctx context.Context, tx *generator.Tx) error {
	author, found, err := tx.Row(ctx, users, key(l.whom), "newest")
	if err != nil || !found {
		return err
	}
	id := author.Groups[users.Group("newest")][0].(int64)
	if id == 0 {
		return nil
	}
	_, liked, err := tx.Row(ctx, likes, key(l.whom, id, l.who))
	if err != nil {
		return err
	}
	by := int64(1)
	if liked {
		by = -1
		_, err = tx.DeleteRow(ctx, likes, key(l.whom, id, l.who))
	} else {
		err = tx.InsertRow(ctx, likes, schema.Row{Key: key(l.whom, id, l.who), Groups: [][]any{{int64(1)}}})
	}
	if err != nil {
		return err
	}
	_, _, err = tx.Set(ctx, tweets, key(l.whom, id), "likes", schema.Add(by))
	return err
}

// timeline shows the newest tweets of the users that the user followed last.
type timeline struct{ base }

func (t timeline) Run(ctx context.Context, tx *generator.Tx) error {
	followed, err := tx.Scan(ctx, following, schema.Where(schema.Is("follower", t.who)).By("-since").First(t.w.page))
	if err != nil {
		return err
	}
	var shown []schema.Row
	for _, f := range followed {
		rows, err := t.newest(ctx, tx, f.Key[1].(int64))
		if err != nil {
			return err
		}
		shown = append(shown, rows...)
	}
	// Likes are read only for the tweets that are shown.
	slices.SortStableFunc(shown, func(a, b schema.Row) int { return int(b.Key[1].(int64) - a.Key[1].(int64)) })
	for _, s := range shown[:min(len(shown), t.w.page)] {
		if _, _, err := tx.Row(ctx, tweets, s.Key, "likes"); err != nil {
			return err
		}
	}
	return nil
}

// newest reads the newest tweets of an author.
func (b base) newest(ctx context.Context, tx *generator.Tx, author int64) ([]schema.Row, error) {
	return tx.Scan(ctx, tweets, schema.Where(schema.Is("author", author)).By("-id").First(b.w.page), "text")
}

// followers shows who follows a user, the newest first, beside the counter.
type followers struct{ base }

func (f followers) Run(ctx context.Context, tx *generator.Tx) error {
	if _, _, err := tx.Row(ctx, users, key(f.whom), "profile", "followers"); err != nil {
		return err
	}
	_, err := tx.Scan(ctx, follower, schema.Where(schema.Is("followee", f.whom)).By("-since").First(f.w.page))
	return err
}

// profile shows a user's counters and newest tweets with their likes.
type profile struct{ base }

func (p profile) Run(ctx context.Context, tx *generator.Tx) error {
	if _, _, err := tx.Row(ctx, users, key(p.whom)); err != nil {
		return err
	}
	_, err := tx.Scan(ctx, tweets, schema.Where(schema.Is("author", p.whom)).By("-id").First(p.w.page))
	return err
}
