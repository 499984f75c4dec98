package mongo

import (
	"maps"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/internal/mongotest"
)

// TestPositions: a transaction that changed something tells the time of its commit, and no other one does.
func TestPositions(t *testing.T) {
	s := start(t)
	for _, iso := range isolations {
		if iso.single {
			continue
		}
		db, err := driver{}.Open(ctx, drivers.Config{DSN: s.URI(), Isolation: iso.Name, Positions: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close(ctx) })
		if err := db.Create(ctx, maps.All(drivertest.Initial)); err != nil {
			t.Fatal(err)
		}
		table := &schema.Table{Name: "t", Key: schema.Ints("k"), Groups: []schema.Group{{Columns: schema.Ints("v")}}}
		if err := db.(drivers.TableDB).CreateTables(ctx, schema.Schema{table}, maps.All(map[*schema.Table]schema.Row{})); err != nil {
			t.Fatal(err)
		}
		if db.(drivers.Positioner).Positions() == "" || db.(drivers.Untold).Untold() != "" {
			t.Errorf("%s: %q, %q", iso.Name, db.(drivers.Positioner).Positions(), db.(drivers.Untold).Untold())
		}
		session, err := db.Connect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(session.Close)
		row := schema.Row{Key: []any{int64(1)}, Groups: [][]any{{int64(5)}}}
		one := []schema.Expr{schema.Set(int64(1))}
		last := int64(0)
		for _, step := range []struct {
			name string
			do   func(x drivers.Tx) error
			told bool
		}{
			{"update", func(x drivers.Tx) error { _, err := x.Update(ctx, "a", 7); return err }, true},
			{"update nobody", func(x drivers.Tx) error { _, err := x.Update(ctx, "nobody", 7); return err }, false},
			{"read", func(x drivers.Tx) error { _, _, err := x.Read(ctx, "a"); return err }, false},
			{"insert", func(x drivers.Tx) error { return x.Insert(ctx, "new", 7) }, true},
			{"delete", func(x drivers.Tx) error { _, err := x.Delete(ctx, "new"); return err }, true},
			{"delete nobody", func(x drivers.Tx) error { _, err := x.Delete(ctx, "new"); return err }, false},
			{"insert a row", func(x drivers.Tx) error { return x.(drivers.TableTx).InsertRow(ctx, table, row) }, true},
			{"set rows", func(x drivers.Tx) error {
				_, err := x.(drivers.TableTx).SetWhere(ctx, table, []schema.Condition{schema.Is("v", int64(5))}, 0, one)
				return err
			}, true},
			{"count", func(x drivers.Tx) error { _, err := x.(drivers.TableTx).CountWhere(ctx, table, nil); return err }, false},
			{"delete the row", func(x drivers.Tx) error {
				_, err := x.(drivers.TableTx).DeleteRow(ctx, table, row.Key)
				return err
			}, true},
			{"a repeated commit", func(x drivers.Tx) error { _, err := x.Update(ctx, "a", 8); return err }, false},
		} {
			x, err := session.Begin(ctx)
			if err == nil {
				err = step.do(x)
			}
			if step.name == "a repeated commit" {
				s.Inject(mongotest.Fault{Commands: []string{"commitTransaction"}, Times: 1, LoseAnswer: true})
			}
			if err == nil {
				err = x.Commit(ctx)
			}
			if err != nil {
				t.Fatalf("%s: %s: %v", iso.Name, step.name, err)
			}
			p := x.(drivers.Positioned).Position()
			if told := p.Commit != 0; told != step.told || p.Snapped || told && p.Commit <= last {
				t.Errorf("%s: %s: %+v, after %d", iso.Name, step.name, p, last)
			}
			last = max(last, p.Commit)
		}
	}
	if db := drivertest.Open(t, driver{}, s.URI(), "").(*db); db.Positions() != "" {
		t.Error("it tells although nobody asked")
	}
}
