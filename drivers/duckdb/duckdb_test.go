package duckdb

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	client "github.com/duckdb/duckdb-go/v2"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
)

var ctx = context.Background()

func TestDriver(t *testing.T)      { drivertest.Run(t, Driver{}, "", false) }
func TestTables(t *testing.T)      { drivertest.Tables(t, Driver{}, "") }
func TestCounting(t *testing.T)    { drivertest.Counting(t, Driver{}, "") }
func TestLightweight(t *testing.T) { drivertest.Lightweight(t, Driver{}, "") }

// TestOnDisk: a database in a given folder has its own folder, and is removed.
func TestOnDisk(t *testing.T) {
	dir := t.TempDir() + "/a #b"
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Run("driver", func(t *testing.T) { drivertest.Run(t, Driver{}, dir, false) })
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left behind, %v", left, err)
	}
	for _, bad := range []string{dir + "/missing", dir + "?"} {
		var e *drivers.DSNError
		if _, err := (Driver{}).Open(ctx, drivers.Config{DSN: bad}); !errors.As(err, &e) {
			t.Errorf("the folder %s: %v", bad, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func update(t *testing.T, x drivers.Tx, key string, value int64) {
	t.Helper()
	found, err := x.Update(ctx, key, value)
	if err != nil || !found {
		t.Fatalf("update of %s: %v, %v", key, found, err)
	}
}

func read(t *testing.T, x drivers.Tx, key string, want int64) {
	t.Helper()
	if v, found, err := x.Read(ctx, key); err != nil || !found || v != want {
		t.Errorf("%s is %d, %v, %v; want %d", key, v, found, err, want)
	}
}

// refused fails unless err is a conflict of a certain name.
func refused(t *testing.T, err error, cause string) {
	t.Helper()
	drivertest.Class(t, cause, err, drivers.Aborted, false)
	if got := drivers.AsError(err).Cause; got != cause {
		t.Errorf("%q, want %q", got, cause)
	}
}

// TestSnapshot: the snapshot is taken by the first statement, and what was committed since cannot be overwritten.
func TestSnapshot(t *testing.T) {
	db := drivertest.Open(t, Driver{}, "", "")
	one, two := drivertest.Begin(t, db), drivertest.Begin(t, db)
	update(t, two, "a", 50)
	must(t, two.Commit(ctx))
	read(t, one, "a", 50)
	three := drivertest.Begin(t, db)
	update(t, three, "a", 51)
	must(t, three.Commit(ctx))
	read(t, one, "a", 50)
	_, err := one.Update(ctx, "a", 52)
	refused(t, err, "conflict on update")
	_, _, err = one.Read(ctx, "a")
	drivertest.Class(t, "a read after a conflict", err, drivers.Aborted, false)
	must(t, one.Rollback(ctx))
	read(t, drivertest.Begin(t, db), "a", 51)
}

// TestConflicts: what two transactions do to one key is refused, in the words under which it is counted.
func TestConflicts(t *testing.T) {
	change := func(x drivers.Tx) error { _, err := x.Update(ctx, "a", 7); return err }
	remove := func(x drivers.Tx) error { _, err := x.Delete(ctx, "a"); return err }
	insert := func(x drivers.Tx) error { return x.Insert(ctx, "new", 7) }
	for _, tc := range []struct {
		name   string
		do     func(drivers.Tx) error
		commit bool // the first commits before the second begins to write
		want   string
		late   bool // the commit is refused
	}{
		{"update", change, false, "conflict on update", false},
		{"update after commit", change, true, "conflict on update", false},
		{"delete", remove, false, "conflict on deletion", false},
		{"delete after commit", remove, true, "conflict on deletion", false},
		{"insert", insert, false, "duplicate key at the commit", true},
		{"insert after commit", insert, true, "duplicate key", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			db := drivertest.Open(t, Driver{}, "", "")
			s, err := db.Connect(ctx)
			must(t, err)
			defer s.Close()
			one := drivertest.Begin(t, db)
			two, err := s.Begin(ctx)
			must(t, err)
			read(t, two, "a", 1)
			must(t, tc.do(one))
			if tc.commit {
				must(t, one.Commit(ctx))
			}
			err = tc.do(two)
			if tc.late {
				must(t, err)
				must(t, one.Commit(ctx))
				refused(t, two.Commit(ctx), tc.want)
			} else {
				refused(t, err, tc.want)
				must(t, two.Rollback(ctx))
			}
			two, err = s.Begin(ctx) // the session remains usable
			must(t, err)
			read(t, two, "A", 2)
			must(t, two.Commit(ctx))
		})
	}
}

// TestErrors: the classes of other errors.
func TestErrors(t *testing.T) {
	db := drivertest.Open(t, Driver{}, "", "")
	gone, cancel := context.WithCancel(ctx)
	x := drivertest.Begin(t, db)
	cancel()
	_, _, err := x.Read(gone, "a")
	drivertest.Class(t, "a call that is over", err, drivers.Aborted, true)

	c := drivertest.Begin(t, db).(tx).c
	_, err = c.ExecContext(ctx, "SELECT * FROM nothing")
	drivertest.Class(t, "no such table", statementError(err), drivers.Fatal, false)
	drivertest.Class(t, "no such table, at a commit", commitError(err), drivers.OutcomeUnknown, true)
	if cause(err) == "" || strings.Contains(cause(err), "\n") {
		t.Errorf("cause %q", cause(err))
	}
	for kind, broken := range map[client.ErrorType]bool{client.ErrorTypeFatal: true, client.ErrorTypeInternal: true, client.ErrorTypeIO: false} {
		e := &client.Error{Type: kind, Msg: "the disk is full"}
		drivertest.Class(t, e.Msg, statementError(e), drivers.Fatal, broken)
		drivertest.Class(t, e.Msg, commitError(e), drivers.OutcomeUnknown, true)
	}
	drivertest.Class(t, "interrupted", statementError(&client.Error{Type: client.ErrorTypeInterrupt, Msg: "INTERRUPT Error: Interrupted!"}), drivers.Aborted, true)
	drivertest.Class(t, "a commit that says no more", commitError(&client.Error{Type: client.ErrorTypeTransaction, Msg: "TransactionContext Error: Failed to commit: IO Error"}), drivers.OutcomeUnknown, true)
}

// TestDocs: docs/drivers.md has what the isolation promises.
func TestDocs(t *testing.T) {
	docs, err := os.ReadFile("../../docs/drivers.md")
	must(t, err)
	for _, iso := range info.Isolations {
		row := fmt.Sprintf("| `duckdb` | %s | [%s](%s) | %s | %s |", iso.Name, iso.Promises, iso.Source, iso.Lightweight, iso.Note)
		if !strings.Contains(string(docs), "\n"+row+"\n") {
			t.Errorf("docs/drivers.md lacks\n%s", row)
		}
	}
}
