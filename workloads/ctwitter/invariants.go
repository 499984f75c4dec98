package ctwitter

import (
	"context"
	"fmt"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
)

// Invariants implements generator.Invariants. Each transaction alone preserves each invariant,
// so it holds after any serial execution.
func (w *twitter) Invariants() []generator.Invariant {
	return []generator.Invariant{
		{Name: "follow counters", Text: "a user's counters are the numbers of rows of those who follow the user and whom the user follows", Check: countsFollows},
		{Name: "both directions", Text: "each follow has a follower row with the same time, and each follower row a follow", Check: bothDirections},
		{Name: "like counters", Text: "the like counter of a tweet is the number of its likes", Check: countsLikes},
		{Name: "newest tweet", Text: "the newest tweet of a user exists", Check: newestExists},
	}
}

// pair is a primary key of two integers, or its first two columns.
type pair [2]int64

func all(ctx context.Context, tx drivers.Tx, t *schema.Table) ([]schema.Row, error) {
	return tx.(drivers.TableTx).Scan(ctx, t, schema.Predicate{}, t.All())
}

// number is the only column of a group.
func number(t *schema.Table, r schema.Row, group string) int64 {
	return r.Groups[t.Group(group)][0].(int64)
}

func ids(r schema.Row) pair { return pair{r.Key[0].(int64), r.Key[1].(int64)} }

func countsFollows(ctx context.Context, tx drivers.Tx) (string, error) {
	for _, side := range []struct {
		table   *schema.Table
		counter string
	}{{following, "following"}, {follower, "followers"}} {
		rows, err := all(ctx, tx, side.table)
		if err != nil {
			return "", err
		}
		counted := map[int64]int64{}
		for _, r := range rows {
			counted[ids(r)[0]]++
		}
		people, err := all(ctx, tx, users)
		if err != nil {
			return "", err
		}
		for _, u := range people {
			id := u.Key[0].(int64)
			if got, want := number(users, u, side.counter), counted[id]; got != want {
				return fmt.Sprintf("user %d has %d in the counter %s and %d rows", id, got, side.counter, want), nil
			}
		}
	}
	return "", nil
}

func bothDirections(ctx context.Context, tx drivers.Tx) (string, error) {
	forth, err := all(ctx, tx, following)
	if err != nil {
		return "", err
	}
	back, err := all(ctx, tx, follower)
	if err != nil {
		return "", err
	}
	since := map[pair]int64{}
	for _, r := range forth {
		since[ids(r)] = number(following, r, "")
	}
	for _, r := range back {
		who, whom := ids(r)[1], ids(r)[0]
		began, found := since[pair{who, whom}]
		if !found {
			return fmt.Sprintf("user %d has the follower %d, who does not follow", whom, who), nil
		}
		if got := number(follower, r, ""); got != began {
			return fmt.Sprintf("user %d has the follower %d since %d, who follows since %d", whom, who, got, began), nil
		}
		delete(since, pair{who, whom})
	}
	for _, r := range forth {
		if _, left := since[ids(r)]; left {
			return fmt.Sprintf("user %d follows %d and is not among the followers", ids(r)[0], ids(r)[1]), nil
		}
	}
	return "", nil
}

func countsLikes(ctx context.Context, tx drivers.Tx) (string, error) {
	fans, err := all(ctx, tx, likes)
	if err != nil {
		return "", err
	}
	posts, err := all(ctx, tx, tweets)
	if err != nil {
		return "", err
	}
	counted := map[pair]int64{}
	for _, f := range fans {
		counted[ids(f)]++
	}
	for _, p := range posts {
		if got, want := number(tweets, p, "likes"), counted[ids(p)]; got != want {
			return fmt.Sprintf("tweet %d of user %d has %d in its counter and %d likes", ids(p)[1], ids(p)[0], got, want), nil
		}
		delete(counted, ids(p))
	}
	for _, f := range fans {
		if _, left := counted[ids(f)]; left {
			return fmt.Sprintf("tweet %d of user %d is liked and does not exist", ids(f)[1], ids(f)[0]), nil
		}
	}
	return "", nil
}

func newestExists(ctx context.Context, tx drivers.Tx) (string, error) {
	people, err := all(ctx, tx, users)
	if err != nil {
		return "", err
	}
	for _, u := range people {
		id, newest := u.Key[0].(int64), number(users, u, "newest")
		if newest == 0 {
			continue
		}
		_, found, err := tx.(drivers.TableTx).Get(ctx, tweets, key(id, newest), tweets.All())
		if err != nil {
			return "", err
		}
		if !found {
			return fmt.Sprintf("the newest tweet of user %d is %d, which does not exist", id, newest), nil
		}
	}
	return "", nil
}
