package history

import (
	"testing"

	"github.com/isohound/isohound/history/schema"
)

// TestAsked: what a statement asked for is in the singular if it is one row.
func TestAsked(t *testing.T) {
	above := []schema.Condition{schema.Above("v", int64(10))}
	for _, c := range []struct {
		table string
		p     schema.Predicate
		want  string
	}{
		{"t", schema.Predicate{}, "rows of t"},
		{"t", schema.Predicate{Limit: 1}, "the first row of t"},
		{"t", schema.Predicate{Limit: 1, Where: above, Order: []string{"-v"}}, "the first row of t with v > 10 by -v"},
		{"t", schema.Predicate{Limit: 2, Where: above}, "the first 2 rows of t with v > 10"},
		{"", schema.Predicate{Where: above}, "keys with v > 10"},
		{"", schema.Predicate{Limit: 1}, "the first key"},
		{"", schema.Predicate{Limit: 11}, "the first 11 keys"},
	} {
		if got := (&Statement{Table: c.table, Predicate: c.p}).Asked(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
