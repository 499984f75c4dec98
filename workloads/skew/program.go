package skew

import (
	"context"
	"fmt"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
)

// rolledBack is a transaction that is rolled back at its end.
type rolledBack struct{ generator.Program }

func (r rolledBack) Run(ctx context.Context, tx *generator.Tx) error {
	if err := r.Program.Run(ctx, tx); err != nil {
		return err
	}
	return generator.ErrRollback
}

// wait waits between a transaction's reads and its writes.
func (w *skew) wait(ctx context.Context, tx *generator.Tx) error {
	if w.think == 0 {
		return nil
	}
	return tx.Pause(ctx, w.think)
}

// perGroup makes an invariant that checks all rows of a table, group by group; the group is the
// first column of the primary key. broken returns what is wrong with the rows of a group, of
// which there may be none, or "".
func perGroup(name, text string, t *schema.Table, groups func([]schema.Row) []int64, broken func([]schema.Row) string) generator.Invariant {
	check := func(ctx context.Context, tx drivers.Tx) (string, error) {
		rows, err := tx.(drivers.TableTx).Scan(ctx, t, schema.Predicate{}.By(t.Key[0].Name), t.All())
		if err != nil {
			return "", err
		}
		by := map[int64][]schema.Row{}
		for _, r := range rows {
			g := r.Key[0].(int64)
			by[g] = append(by[g], r)
		}
		n, first := 0, ""
		for _, g := range groups(rows) {
			if problem := broken(by[g]); problem != "" {
				if n++; n == 1 {
					first = fmt.Sprintf("%s %d %s", t.Key[0].Name, g, problem)
				}
			}
		}
		if n > 1 {
			first += fmt.Sprintf(", and %d more are wrong", n-1)
		}
		return first, nil
	}
	return generator.Invariant{Name: name, Text: text, Check: check}
}

// everyGroup lists the groups that exist at the beginning.
func (w *skew) everyGroup([]schema.Row) []int64 {
	out := make([]int64, w.common.Keys)
	for g := range out {
		out[g] = int64(g)
	}
	return out
}

// found lists the groups of rows; the rows are sorted by group.
func found(rows []schema.Row) []int64 {
	var out []int64
	for _, r := range rows {
		if g := r.Key[0].(int64); len(out) == 0 || out[len(out)-1] != g {
			out = append(out, g)
		}
	}
	return out
}
