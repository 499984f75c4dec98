package mariadb

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/servers"
)

// logged starts a server with a binary log of rows. One of statements, which binlog_format=MIXED may use, also has those
// that changed nothing.
func logged(t drivertest.T) *servers.MariaDB {
	t.Helper()
	s, err := servers.StartMariaDB(servers.Set("log_bin", "log"), servers.Set("binlog_format", "ROW"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// TestNumbersOfCommits: with a binary log, a transaction that changed something tells its number there, and no other one does.
func TestNumbersOfCommits(t *testing.T) {
	dsn := logged(t).DSN()
	numbers(t, dsn, 0)
	// Not asked, a transaction looks at nothing.
	if x := drivertest.Begin(t, drivertest.Open(t, driver{}, dsn, serializable)).(tx); x.place != nil || x.Position() != (drivers.Position{}) {
		t.Error("it looks although nobody asked")
	}
	abortsAreNotTold(t, dsn)
}

// TestNumbersOfWriteSets: the same on nodes of Galera, whose numbers are those of the cluster, also on a node that was killed
// and joins again.
func TestNumbersOfWriteSets(t *testing.T) {
	g, err := servers.StartGalera(3, servers.Set("wsrep_gtid_mode", "ON"), servers.Set("wsrep_provider_options", "evs.suspect_timeout=PT3S;evs.inactive_timeout=PT6S"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	last := numbers(t, g.DSNs()[0], 0)
	g.Kill(1)
	last = numbers(t, g.DSNs()[2], last)
	if err := g.Start(1); err != nil {
		t.Fatal(err)
	}
	last = numbers(t, g.DSNs()[1], last)
	numbers(t, g.DSNs()[0], last)

	// Without a majority the server answers the question first, and tells then that the commit failed.
	db, err := driver{}.Open(ctx, drivers.Config{DSN: g.DSNs()[0], Isolation: repeatableReadOn, Positions: true, CallTimeout: time.Minute})
	if err == nil {
		err = db.Create(ctx, maps.All(drivertest.Initial))
	}
	if err != nil {
		t.Fatal(err)
	}
	x := drivertest.Begin(t, db)
	if _, err := x.Update(ctx, "a", 9); err != nil {
		t.Fatal(err)
	}
	g.Kill(1)
	g.Kill(2)
	drivertest.Class(t, "a commit without a majority", x.Commit(ctx), drivers.OutcomeUnknown, true)
}

// numbers makes transactions of which it is known whether they have a number, which is above last. It returns the last one.
func numbers(t *testing.T, dsn string, last int64) int64 {
	t.Helper()
	for _, iso := range []string{serializable, repeatableReadOn, readCommitted} {
		db, err := driver{}.Open(ctx, drivers.Config{DSN: dsn, Isolation: iso, Positions: true})
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
			t.Errorf("%s: positions %q, untold %q", iso, db.(drivers.Positioner).Positions(), db.(drivers.Untold).Untold())
		}
		s, err := db.Connect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		place := func(do func(x drivers.Tx) error) int64 {
			t.Helper()
			x, err := s.Begin(ctx)
			if err == nil {
				err = do(x)
			}
			if err == nil {
				err = x.Commit(ctx)
			}
			if err != nil {
				t.Fatalf("%s: %v", iso, err)
			}
			p := x.(drivers.Positioned).Position()
			if p.Snapped {
				t.Errorf("%s: a snapshot is told: %+v", iso, p)
			}
			return p.Commit
		}
		update := func(x drivers.Tx) error { _, err := x.Update(ctx, "a", 7); return err }
		one := []schema.Expr{schema.Set(int64(1))}
		for _, step := range []struct {
			name string
			do   func(x drivers.Tx) error
			logs bool
		}{
			{"update", update, true},
			{"the same value", update, false},
			{"nobody", func(x drivers.Tx) error { _, err := x.Delete(ctx, "nobody"); return err }, false},
			{"the same value again", update, false},
			{"read", func(x drivers.Tx) error { _, _, err := x.Read(ctx, "a"); return err }, false},
			{"insert", func(x drivers.Tx) error { return x.Insert(ctx, "new", 7) }, true},
			{"delete", func(x drivers.Tx) error { _, err := x.Delete(ctx, "A"); return err }, true},
			{"insert a row", func(x drivers.Tx) error {
				return x.(drivers.TableTx).InsertRow(ctx, table, schema.Row{Key: []any{int64(1)}, Groups: [][]any{{int64(5)}}})
			}, true},
			{"set rows", func(x drivers.Tx) error {
				_, err := x.(drivers.TableTx).SetWhere(ctx, table, []schema.Condition{schema.Is("v", int64(5))}, 0, one)
				return err
			}, true},
			{"delete rows", func(x drivers.Tx) error {
				_, err := x.(drivers.TableTx).DeleteWhere(ctx, table, []schema.Condition{schema.Is("v", int64(1))})
				return err
			}, true},
		} {
			switch n := place(step.do); {
			case !step.logs && n != 0, step.logs && n <= last:
				t.Errorf("%s: %s: number %d, after %d", iso, step.name, n, last)
			case step.logs:
				last = n
			}
		}
	}
	return last
}

// abortsAreNotTold: a commit of a session that another one killed is of unknown outcome, as without a binary log.
func abortsAreNotTold(t *testing.T, dsn string) {
	db, err := driver{}.Open(ctx, drivers.Config{DSN: dsn, Isolation: serializable, Positions: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close(ctx) })
	if err := db.Create(ctx, maps.All(drivertest.Initial)); err != nil {
		t.Fatal(err)
	}
	x := drivertest.Begin(t, db)
	if _, err := x.Update(ctx, "a", 9); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	drivertest.Class(t, "lost commit", x.Commit(ended), drivers.OutcomeUnknown, true)
	if p := x.(drivers.Positioned).Position(); p != (drivers.Position{}) {
		t.Errorf("a commit of unknown outcome is at %+v", p)
	}
}

// TestUntold: without a binary log the driver says what would make the server tell.
func TestUntold(t *testing.T) {
	db, err := driver{}.Open(ctx, drivers.Config{DSN: server.DSN(), Isolation: serializable, Positions: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(ctx)
	if why := db.(drivers.Untold).Untold(); db.(drivers.Positioner).Positions() != "" || !strings.Contains(why, "log_bin is OFF") {
		t.Errorf("positions %q, untold %q", db.(drivers.Positioner).Positions(), why)
	}
}

func TestSequence(t *testing.T) {
	var got []int64
	for _, gtid := range []string{"0-1-5", "7-100-9223372036854775807", "", "5", "0-1--5", "0-1-x", "0-1-99999999999999999999", "3E11FA47-71CA-11E1-9E33-C80AA9429562:23"} {
		got = append(got, sequence(gtid))
	}
	if want := []int64{5, 9223372036854775807, 0, 0, 0, 0, 0, 0}; !slices.Equal(got, want) {
		t.Error(fmt.Sprint(got))
	}
}

// BenchmarkNumbersOfCommits has what the numbers cost many sessions.
func BenchmarkNumbersOfCommits(b *testing.B) {
	dsn := logged(b).DSN()
	for _, iso := range []string{serializable, repeatableReadOn} {
		b.Run(iso, func(b *testing.B) { drivertest.PositionsCost(b, driver{}, dsn, iso) })
	}
}

// BenchmarkNumbersOfWriteSets is the same for a cluster of three nodes of Galera, on one of them.
func BenchmarkNumbersOfWriteSets(b *testing.B) {
	g, err := servers.StartGalera(3, servers.Set("wsrep_gtid_mode", "ON"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(g.Stop)
	b.Run(repeatableReadOn, func(b *testing.B) { drivertest.PositionsCost(b, driver{}, g.DSNs()[0], repeatableReadOn) })
}
