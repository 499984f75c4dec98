package drivertest

import (
	"context"
	"slices"
	"sync"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history/schema"
)

// Counting lets sessions add 1 to a column concurrently. A dependent update must return the
// value that it left: the values of the committed transactions must be 1, 2, 3 and so on,
// without a gap.
func Counting(t T, d drivers.Driver, dsn string) {
	db := OpenTables(t, d, dsn, func(yield func(*schema.Table, schema.Row) bool) {
		yield(accounts, account(1, "a", 0, int64(0), "", 0, nil))
	})
	ctx := context.Background()
	var mu sync.Mutex
	var counted []int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := db.Connect(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			for range 40 {
				after, err := count(ctx, s)
				mu.Lock()
				if e := drivers.AsError(err); err == nil {
					counted = append(counted, after)
				} else if e.Class != drivers.Aborted || e.Broken {
					t.Errorf("%+v", e)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(counted)
	for i, n := range counted {
		if n != int64(i+1) {
			t.Fatalf("committed transactions counted to %v", counted)
		}
	}
	if len(counted) == 0 {
		t.Error("nothing committed")
	}
}

func count(ctx context.Context, s drivers.Session) (int64, error) {
	tx, err := s.Begin(ctx)
	if err != nil {
		return 0, err
	}
	after, found, err := tx.(drivers.TableTx).Set(ctx, accounts, []any{int64(1), "a"}, 0, []schema.Expr{schema.Add(1), schema.Add(0)})
	if err == nil && found {
		return after[0].(int64), tx.Commit(ctx)
	}
	if rerr := tx.Rollback(ctx); rerr != nil {
		return 0, rerr
	}
	return 0, err
}
