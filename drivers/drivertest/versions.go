package drivertest

import (
	"context"
	"maps"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history/schema"
)

// Versions checks that reads tell which commit wrote what they returned (drivers.Versioned), of keys and, where the driver has
// tables, of rows.
func Versions(t *testing.T, d drivers.Driver, dsn, isolation string) {
	ctx := context.Background()
	db, err := d.Open(ctx, drivers.Config{DSN: dsn, Isolation: isolation, Positions: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close(ctx) })
	if err := db.Create(ctx, maps.All(Initial)); err != nil {
		t.Fatal(err)
	}
	table := &schema.Table{Name: "t", Key: schema.Ints("k"), Groups: []schema.Group{{Columns: schema.Ints("v")}}}
	tables, hasTables := db.(drivers.TableDB)
	if hasTables {
		if err := tables.CreateTables(ctx, schema.Schema{table}, maps.All(map[*schema.Table]schema.Row{})); err != nil {
			t.Fatal(err)
		}
	}
	commit := func(x drivers.Tx, err error) int64 {
		t.Helper()
		if err == nil {
			err = x.Commit(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		return x.(drivers.Positioned).Position().Commit
	}
	told := func(x drivers.Tx, key string, want int64) {
		t.Helper()
		if _, _, err := x.Read(ctx, key); err != nil {
			t.Fatal(err)
		}
		if at, ok := x.(drivers.Versioned).Version(key); ok != (want > 0) || ok && at != want {
			t.Errorf("key %s has version %d, %v; want %d", key, at, ok, want)
		}
	}
	x := Begin(t, db)
	_, err = x.Update(ctx, "a", 7)
	first := commit(x, err)

	x = Begin(t, db)
	told(x, "a", first)
	told(x, "nobody", 0)
	if _, _, err := x.Read(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	if at, ok := x.(drivers.Versioned).Version("b"); ok && at >= first {
		t.Errorf("an initial value has version %d, after the first commit at %d", at, first)
	}
	_, err = x.Update(ctx, "a", 7) // the same value again
	told(x, "a", 0)
	second := commit(x, err)
	x = Begin(t, db)
	told(x, "a", second)
	if first < 1 || second <= first {
		t.Errorf("commits at %d and %d", first, second)
	}
	commit(x, nil)
	if !hasTables {
		return
	}

	key := []any{int64(1)}
	x = Begin(t, db)
	first = commit(x, x.(drivers.TableTx).InsertRow(ctx, table, schema.Row{Key: key, Groups: [][]any{{int64(5)}}}))
	row := func(x drivers.Tx, want int64) {
		t.Helper()
		if at, ok := x.(drivers.VersionedRows).RowVersion(table, key, 0); ok != (want > 0) || ok && at != want {
			t.Errorf("the row has version %d, %v; want %d", at, ok, want)
		}
	}
	x = Begin(t, db)
	_, _, err = x.(drivers.TableTx).Get(ctx, table, key, []int{0})
	row(x, first)
	commit(x, err)
	x = Begin(t, db)
	_, err = x.(drivers.TableTx).Scan(ctx, table, schema.Where(schema.Is("v", int64(5))), []int{0})
	row(x, first)
	commit(x, err)
	for _, twice := range []bool{false, true} { // the second time it reads what it wrote
		x = Begin(t, db)
		_, err = x.(drivers.TableTx).SetWhere(ctx, table, nil, 0, []schema.Expr{schema.Add(1)})
		row(x, first)
		if twice {
			_, _, err = x.(drivers.TableTx).Set(ctx, table, key, 0, []schema.Expr{schema.Add(1)})
			row(x, 0)
		}
		first = commit(x, err)
	}
}
