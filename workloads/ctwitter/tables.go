package ctwitter

import (
	"iter"
	"strconv"
	"strings"

	"github.com/isohound/isohound/history/schema"
)

// maxText is the longest tweet in bytes.
const maxText = 255

// users has the counters that a profile shows, each a separate item, and the id of the newest
// tweet, 0 before the first. That id is written without being read, as in Cobra's own program.
var users = &schema.Table{
	Name: "users",
	Key:  schema.Ints("id"),
	Groups: []schema.Group{
		{Name: "profile", Columns: schema.Texts("name")},
		{Name: "followers", Columns: schema.Ints("followers")},
		{Name: "following", Columns: schema.Ints("following")},
		{Name: "newest", Columns: schema.Ints("newest")},
	},
}

// tweets are stored by author, so that the tweets of one author are adjacent. Ids grow with time
// as far as sessions run at the same pace.
var tweets = &schema.Table{
	Name: "tweets",
	Key:  schema.Ints("author", "id"),
	Groups: []schema.Group{
		{Name: "text", Columns: []schema.Column{{Name: "body", Type: schema.Text, Size: maxText}}},
		{Name: "likes", Columns: schema.Ints("likes")},
	},
}

// following and follower are one relation, stored by each of its ends, as Twitter does. since is
// the time at which it began.
var (
	following = &schema.Table{
		Name:   "following",
		Key:    schema.Ints("follower", "followee"),
		Groups: []schema.Group{{Columns: schema.Ints("since")}},
	}
	follower = &schema.Table{
		Name:   "followers",
		Key:    schema.Ints("followee", "follower"),
		Groups: []schema.Group{{Columns: schema.Ints("since")}},
	}
)

// likes has a row, always with the same value, for each user who likes a tweet.
var likes = &schema.Table{
	Name:   "likes",
	Key:    schema.Ints("author", "tweet", "fan"),
	Groups: []schema.Group{{Columns: schema.Ints("liked")}},
}

// Schema implements generator.Tables.
func (w *twitter) Schema() schema.Schema {
	return schema.Schema{users, tweets, following, follower, likes}
}

// Rows yields the users, numbered from 1, and their first tweets. There are no follows and no
// likes. The ids of the first tweets are negative, the newest being -1, so that all later
// tweets, whose ids are positive, are newer.
func (w *twitter) Rows() iter.Seq2[*schema.Table, schema.Row] {
	return func(yield func(*schema.Table, schema.Row) bool) {
		for u := int64(1); u <= w.users; u++ {
			newest := int64(0)
			if w.tweets > 0 {
				newest = -1
			}
			name := "user" + strconv.FormatInt(u, 10)
			if !yield(users, schema.Row{Key: key(u), Groups: [][]any{{name}, {int64(0)}, {int64(0)}, {newest}}}) {
				return
			}
			for n := -w.tweets; n < 0; n++ {
				if !yield(tweets, schema.Row{Key: key(u, n), Groups: [][]any{{w.text(u, n)}, {int64(0)}}}) {
					return
				}
			}
		}
	}
}

func key(ids ...int64) []any {
	out := make([]any, len(ids))
	for i, id := range ids {
		out[i] = id
	}
	return out
}

// text is the text of a tweet: its author and id, so that texts are unique, and dots up to the
// requested length.
func (w *twitter) text(author, id int64) string {
	s := strconv.FormatInt(author, 10) + "/" + strconv.FormatInt(id, 10)
	return s + strings.Repeat(".", max(0, int(w.length)-len(s)))
}
