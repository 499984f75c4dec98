package duckdb

import (
	"context"
	"database/sql"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
)

// The tests here say what DuckDB 1.5.6 does against its documentation, by which two transactions that write one row
// conflict. If one fails with another version, the notes of the driver, docs/drivers.md and docs/found.md are out of
// date.

// TestUpdateAndDelete: one transaction updates a row, another one deletes it, and both commit. The update is lost,
// whichever comes first.
func TestUpdateAndDelete(t *testing.T) {
	for _, updateFirst := range []bool{true, false} {
		for _, deleteCommitsFirst := range []bool{true, false} {
			db := drivertest.Open(t, Driver{}, "", "")
			updater, deleter := drivertest.Begin(t, db), drivertest.Begin(t, db)
			read(t, updater, "a", 1)
			read(t, deleter, "a", 1)
			if updateFirst {
				update(t, updater, "a", 7)
			}
			found, err := deleter.Delete(ctx, "a")
			if err != nil || !found {
				t.Fatalf("delete: %v, %v", found, err)
			}
			if !updateFirst {
				update(t, updater, "a", 7)
			}
			first, second := updater, deleter
			if deleteCommitsFirst {
				first, second = deleter, updater
			}
			must(t, first.Commit(ctx))
			must(t, second.Commit(ctx))
			if v, found, err := drivertest.Begin(t, db).Read(ctx, "a"); found || err != nil {
				t.Errorf("the key is still there, %d, %v", v, err)
			}
		}
	}
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func runs(t *testing.T, c execer, query string) {
	t.Helper()
	_, err := c.ExecContext(ctx, query)
	must(t, err)
}

// TestRewritten: DuckDB updates a row by a deletion and an insertion of all that its snapshot has, if a column that is
// set has an index, or with RETURNING, if the table has one. Another transaction updates the row in place. Both commit,
// and the update in place is lost, whichever comes first. It does not matter which columns they set.
func TestRewritten(t *testing.T) {
	for _, rewrite := range []string{
		"UPDATE t SET a = a + 1 WHERE k = 1",
		"UPDATE t SET b = b + 1 WHERE k = 1 RETURNING b",
		"UPDATE t SET b = b + 1, k = k WHERE k = 1",
	} {
		for _, first := range []bool{true, false} {
			d := drivertest.Open(t, Driver{}, "", "").(*db)
			runs(t, d.pool, "CREATE TABLE t (k BIGINT PRIMARY KEY, a BIGINT, b BIGINT, c BIGINT)")
			runs(t, d.pool, "CREATE INDEX i ON t (a)")
			runs(t, d.pool, "INSERT INTO t VALUES (1, 10, 100, 1000)")
			one, two := drivertest.Begin(t, d).(tx).c, drivertest.Begin(t, d).(tx).c
			runs(t, two, "SELECT * FROM t")
			if first {
				runs(t, two, rewrite)
			}
			runs(t, one, "UPDATE t SET b = b + 50, c = c + 50 WHERE k = 1")
			runs(t, one, "COMMIT")
			if !first {
				runs(t, two, rewrite)
			}
			runs(t, two, "COMMIT")
			var a, b, c int
			must(t, d.pool.QueryRowContext(ctx, "SELECT a, b, c FROM t").Scan(&a, &b, &c))
			if a+b != 111 || c != 1000 {
				t.Errorf("after %s the row is %d, %d, %d", rewrite, a, b, c)
			}
		}
	}
}

// TestConflictsOfOneKind: two updates in place conflict, and so do two of rewrites and deletions.
func TestConflictsOfOneKind(t *testing.T) {
	const (
		inPlace   = "UPDATE kv SET v = v + 1 WHERE k = 'a'"
		rewriting = "UPDATE kv SET v = v + 1 WHERE k = 'a' RETURNING v"
		deletion  = "DELETE FROM kv WHERE k = 'a'"
	)
	for _, tc := range []struct{ first, second, cause string }{
		{inPlace, inPlace, "conflict on update"},
		{rewriting, rewriting, "conflict on deletion"},
		{rewriting, deletion, "conflict on deletion"},
		{deletion, rewriting, "conflict on deletion"},
		{deletion, deletion, "conflict on deletion"},
	} {
		d := drivertest.Open(t, Driver{}, "", "")
		one, two := drivertest.Begin(t, d).(tx), drivertest.Begin(t, d).(tx)
		runs(t, one.c, tc.first)
		_, err := two.c.ExecContext(ctx, tc.second)
		refused(t, statementError(err), tc.cause)
		must(t, two.Rollback(ctx))
		must(t, one.Commit(ctx))
	}
}

// TestInsertedAgain: a key that was deleted can be inserted again, in the same transaction and in a later one, although
// an older transaction still sees the row.
func TestInsertedAgain(t *testing.T) {
	db := drivertest.Open(t, Driver{}, "", "")
	old := drivertest.Begin(t, db)
	read(t, old, "a", 1)
	remove := func(x drivers.Tx) {
		t.Helper()
		found, err := x.Delete(ctx, "a")
		if err != nil || !found {
			t.Fatalf("delete: %v, %v", found, err)
		}
	}
	x := drivertest.Begin(t, db)
	remove(x)
	must(t, x.Insert(ctx, "a", 2))
	must(t, x.Commit(ctx))
	x = drivertest.Begin(t, db)
	remove(x)
	must(t, x.Commit(ctx))
	x = drivertest.Begin(t, db)
	must(t, x.Insert(ctx, "a", 3))
	must(t, x.Commit(ctx))
	read(t, old, "a", 1)
	read(t, drivertest.Begin(t, db), "a", 3)
}

// TestInsertedMeanwhile: an insertion does not conflict with a committed deletion of the key, even if the transaction
// still sees the row, of which it then sees two, or if another transaction has both inserted and deleted the key since.
func TestInsertedMeanwhile(t *testing.T) {
	for key, rows := range map[string]int{"a": 2, "new": 1} {
		db := drivertest.Open(t, Driver{}, "", "")
		old := drivertest.Begin(t, db)
		read(t, old, "A", 2)
		x := drivertest.Begin(t, db)
		if key == "new" {
			must(t, x.Insert(ctx, key, 7))
			must(t, x.Commit(ctx))
			x = drivertest.Begin(t, db)
		}
		found, err := x.Delete(ctx, key)
		if err != nil || !found {
			t.Fatalf("delete: %v, %v", found, err)
		}
		must(t, x.Commit(ctx))
		must(t, old.Insert(ctx, key, 8))
		var n int
		must(t, old.(tx).c.QueryRowContext(ctx, "SELECT COUNT(*) FROM kv WHERE k = ?", key).Scan(&n))
		if n != rows {
			t.Errorf("it sees %d rows with the key %s", n, key)
		}
		must(t, old.Commit(ctx))
		read(t, drivertest.Begin(t, db), key, 8)
	}
}
