package firebird

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/servers"
)

var server *servers.Firebird

func TestMain(m *testing.M) { os.Exit(servers.Main(m, &server, servers.StartFirebird)) }

var ctx = context.Background()

func TestDriver(t *testing.T) { drivertest.Run(t, driver{}, server.DSN(), false) }

func TestTables(t *testing.T) { drivertest.Tables(t, driver{}, server.DSN()) }

func TestCounting(t *testing.T) { drivertest.Counting(t, driver{}, server.DSN()) }

// TestLightweight leaves out table stability, whose transactions meet in deadlocks that the server finds after a second
// each, unless ISOHOUND_FIREBIRD_LOCKS is set.
func TestLightweight(t *testing.T) {
	drivertest.Lightweight(t, fewer{}, server.DSN())
}

// fewer is the driver without table stability.
type fewer struct{ driver }

func (fewer) Info() drivers.Info {
	i := info
	if os.Getenv("ISOHOUND_FIREBIRD_LOCKS") == "" {
		i.Isolations = slices.DeleteFunc(slices.Clone(i.Isolations), func(iso drivers.Isolation) bool { return iso.Name == tableStability })
	}
	return i
}

// TestIsolation asks the server which isolation is in effect.
func TestIsolation(t *testing.T) {
	for name, want := range map[string]string{
		snapshot: "1 -1", tableStability: "0 -1", readCommitted: "2 -1", readCommittedNoWait: "2 0", // MON$ISOLATION_MODE, MON$LOCK_TIMEOUT
	} {
		x := drivertest.Begin(t, drivertest.Open(t, driver{}, server.DSN(), name)).(*tx)
		var mode, wait int
		if err := x.c.QueryRowContext(ctx, "SELECT MON$ISOLATION_MODE, MON$LOCK_TIMEOUT FROM MON$TRANSACTIONS WHERE MON$TRANSACTION_ID = CURRENT_TRANSACTION").Scan(&mode, &wait); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(mode, wait); got != want {
			t.Errorf("%s was requested, mode and lock timeout are %s, not %s", name, got, want)
		}
	}
}

// TestErrors provokes the errors that matter and looks at their classes.
func TestErrors(t *testing.T) {
	d := drivertest.Open(t, driver{}, server.DSN(), "").(*db)
	x := drivertest.Begin(t, d)
	drivertest.Class(t, "duplicate key", x.Insert(ctx, "a", 5), drivers.Aborted, false)
	if err := x.Rollback(ctx); err != nil {
		t.Error(err)
	}

	early := drivertest.Begin(t, d)
	if _, _, err := early.Read(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	x = drivertest.Begin(t, d)
	if _, err := x.Update(ctx, "a", 6); err != nil {
		t.Fatal(err)
	}
	if err := x.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	_, err := early.Update(ctx, "a", 7)
	drivertest.Class(t, "update conflict", err, drivers.Aborted, false)
	if got := drivers.AsError(err).Cause; got != "update conflict" {
		t.Errorf("an update conflict is called %q", got)
	}
	if err := early.Rollback(ctx); err != nil {
		t.Error(err)
	}

	kill := func(x *tx) {
		t.Helper()
		var id int64
		if err := x.c.QueryRowContext(ctx, "SELECT CURRENT_CONNECTION FROM RDB$DATABASE").Scan(&id); err != nil {
			t.Fatal(err)
		}
		err := d.admin(ctx, setupTimeout, func(ctx context.Context, x *tx) error {
			_, err := x.c.ExecContext(ctx, "DELETE FROM MON$ATTACHMENTS WHERE MON$ATTACHMENT_ID = ?", id)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	cut := drivertest.Begin(t, d).(*tx)
	kill(cut)
	_, _, err = cut.Read(ctx, "a")
	drivertest.Class(t, "connection cut before a statement", err, drivers.Aborted, true)
	cut = drivertest.Begin(t, d).(*tx)
	if _, err := cut.Update(ctx, "a", 7); err != nil {
		t.Fatal(err)
	}
	kill(cut)
	drivertest.Class(t, "connection cut before a commit", cut.Commit(ctx), drivers.OutcomeUnknown, true)

	slow := drivertest.Begin(t, d)
	short, cancel := context.WithTimeout(ctx, time.Nanosecond)
	defer cancel()
	_, _, err = slow.Read(short, "a")
	drivertest.Class(t, "a call that takes too long", err, drivers.Aborted, true)

	// A statement that waits for another transaction ends with its call.
	holder, waiting := drivertest.Begin(t, d), drivertest.Begin(t, d)
	if _, err := holder.Update(ctx, "A", 50); err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_, err = waiting.Update(soon, "A", 51)
	drivertest.Class(t, "a wait that takes too long", err, drivers.Aborted, true)

	// Lightweight transactions: without an answer the outcome of a write is unknown only if its commit was sent.
	s := drivertest.Light(t, d).(*session)
	kill2 := func() {
		if _, err := s.Begin(ctx); err != nil {
			t.Fatal(err)
		}
		kill(s.tx)
	}
	kill2()
	_, err = s.CompareAndSet(ctx, "a", 1, 2)
	drivertest.Class(t, "connection cut before a compare-and-set", err, drivers.Aborted, true)
}

// TestRenew: a session goes on when it changes its connection.
func TestRenew(t *testing.T) {
	d := drivertest.Open(t, driver{}, server.DSN(), "")
	s, err := d.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.(*session).begun = perConnection - 1
	for want := range int64(3) {
		x, err := s.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Update(ctx, "a", want+1); err != nil {
			t.Fatal(err)
		}
		if err := x.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if s.(*session).begun != 2 {
		t.Errorf("%d transactions on the second connection", s.(*session).begun)
	}
	if v, _, err := drivertest.Begin(t, d).Read(ctx, "a"); v != 3 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
}

// TestDial: all connections are made by the function of the configuration, and an unreachable server ends them.
func TestDial(t *testing.T) {
	var dialled atomic.Int64
	var down atomic.Bool
	d, err := driver{}.Open(ctx, drivers.Config{DSN: server.DSN(), Isolation: snapshot, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dialled.Add(1)
		if down.Load() {
			return nil, errors.New("down")
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Create(ctx, func(yield func(string, int64) bool) { yield("a", 1) }); err != nil {
		t.Fatal(err)
	}
	before := dialled.Load()
	s, err := d.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if before == 0 || dialled.Load() != before+1 {
		t.Errorf("%d and %d connections", before, dialled.Load())
	}
	down.Store(true)
	_, err = d.Connect(ctx)
	drivertest.Class(t, "no connection", err, drivers.Aborted, true)
	down.Store(false)
	if err := d.Close(ctx); err != nil {
		t.Error(err)
	}
}

func TestParseDSN(t *testing.T) {
	for dsn, want := range map[string]string{
		"firebird://me:pw@h:3051/alias":                 "firebird://me:pw@h:3051/alias",
		"firebird://me@h/var/lib/a.fdb?wire_crypt=true": "firebird://me@h:3050/var/lib/a.fdb?wire_crypt=true",
		"me:pw@[::1]/alias":                             "firebird://me:pw@[::1]:3050/alias",
	} {
		u, err := parseDSN(dsn)
		if err != nil || u.String() != want {
			t.Errorf("%q: %v, %v", dsn, u, err)
		}
	}
	for dsn, want := range map[string]string{
		"garbage": "no user", "firebird://h/alias": "no user", "firebird://me@h": "no database", "firebird://me@h/": "no database", "firebird://me@/alias": "no host",
		"firebird://me@h/a?charset=NONE": `unknown parameter "charset"`, "firebird://[": "missing ']'", "firebird://me@h/a?role=%zz": "escape",
		"firebird://me@h/a?wire_crypt=perhaps": "wire_crypt",
	} {
		_, err := driver{}.Open(ctx, drivers.Config{DSN: dsn, Isolation: snapshot})
		var bad *drivers.DSNError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", dsn, err)
		}
	}
	for _, dsn := range []string{"firebird://me:s3cret@h/a", "me:s3cret@h/a"} {
		if got := (driver{}).MaskDSN(dsn); strings.Contains(got, "s3") || !strings.Contains(got, drivers.Masked) {
			t.Errorf("%q becomes %q", dsn, got)
		}
	}
}

// TestUnusable: the error says what is wrong with the server, the user or the database.
func TestUnusable(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for dsn, want := range map[string]string{
		strings.Replace(server.DSN(), ":isohound@", ":wrong@", 1): "user name and password are not defined",
		server.DSN() + "-none":           "No such file",
		"firebird://me:pw@127.0.0.1:1/a": "connection refused",
		"firebird://me:pw@" + strings.TrimPrefix(other.URL, "http://") + "/a": "is this a Firebird server?",
	} {
		_, err := driver{}.Open(ctx, drivers.Config{DSN: dsn, Isolation: snapshot})
		var bad *drivers.UnreachableError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", dsn, err)
		}
	}
}

// TestDeadlockNote: there is a note after a statement that waited long and failed, not after a shorter wait.
func TestDeadlockNote(t *testing.T) {
	d := drivertest.Open(t, driver{}, server.DSN(), snapshot).(*db)
	deadlock := func() {
		t.Helper()
		first, second := drivertest.Begin(t, d), drivertest.Begin(t, d)
		for key, x := range map[string]drivers.Tx{"a": first, "A": second} {
			if _, err := x.Update(ctx, key, 7); err != nil {
				t.Fatal(err)
			}
		}
		update := func(x drivers.Tx, key string) error {
			_, err := x.Update(ctx, key, 8)
			_ = x.Rollback(ctx)
			return err
		}
		done := make(chan error)
		go func() { done <- update(first, "A") }()
		if err, other := update(second, "a"), <-done; (err == nil) == (other == nil) {
			t.Fatalf("%v, %v", err, other)
		}
	}
	d.late = time.Hour
	deadlock()
	if notes := d.Notes(); len(notes) > 0 {
		t.Errorf("%q", notes)
	}
	d.late = 0
	deadlock()
	if notes := d.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "DeadlockTimeout") {
		t.Errorf("%q", notes)
	}
}

// TestNoRight: who may not create tables is told what to grant.
func TestNoRight(t *testing.T) {
	owner := drivertest.Open(t, driver{}, server.DSN(), "").(*db)
	statement := func(query string) {
		t.Helper()
		err := owner.admin(ctx, setupTimeout, func(ctx context.Context, x *tx) error {
			_, err := x.c.ExecContext(ctx, query)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := driver{}.Open(ctx, drivers.Config{DSN: strings.Replace(server.DSN(), "isohound:isohound@", "guest:guest@", 1), Isolation: snapshot})
	if err != nil {
		t.Fatal(err)
	}
	none := func(yield func(string, int64) bool) {}
	err = d.Create(ctx, none)
	var bad *drivers.UnreachableError
	const grant = `GRANT CREATE TABLE TO USER "GUEST"`
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), grant) {
		t.Fatalf("%v", err)
	}
	statement(grant)
	t.Cleanup(func() { statement(`REVOKE CREATE TABLE FROM USER "GUEST"`) })
	if err := d.Create(ctx, none); err != nil {
		t.Error(err)
	}
	if err := d.Close(ctx); err != nil {
		t.Error(err)
	}
}

// TestAttach: another process uses what a run has made, and one that has it no more says so.
func TestAttach(t *testing.T) {
	first := drivertest.Open(t, driver{}, server.DSN(), "").(*db)
	second, err := driver{}.Open(ctx, drivers.Config{DSN: server.DSN(), Isolation: snapshot})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.(drivers.Attacher).Attach(ctx, "isohound_000000000000"); err == nil || !strings.Contains(err.Error(), "any more") {
		t.Errorf("%v", err)
	}
	if err := second.(drivers.Attacher).Attach(ctx, first.Schema()); err != nil {
		t.Fatal(err)
	}
	if v, _, err := drivertest.Begin(t, second).Read(ctx, "a"); v != 1 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
	if err := second.Close(ctx); err != nil {
		t.Error(err)
	}
	if tables, err := first.tablesOf(ctx, first.Schema()); err != nil || len(tables) != 1 {
		t.Errorf("%v, %v", tables, err)
	}
}

// TestTableStability: table stability takes its snapshot at the begin and its locks when tables are used, so that it
// allows a write skew within one table. This is why it promises no more than si.
func TestTableStability(t *testing.T) {
	d := drivertest.Open(t, driver{}, server.DSN(), tableStability)
	first, second := drivertest.Begin(t, d), drivertest.Begin(t, d)
	for i, x := range []drivers.Tx{second, first} {
		for _, key := range []string{"a", "A"} {
			if v, _, err := x.Read(ctx, key); err != nil || v != drivertest.Initial[key] {
				t.Fatalf("key %s is %d, %v", key, v, err)
			}
		}
		if _, err := x.Update(ctx, []string{"a", "A"}[i], 100); err != nil {
			t.Fatal(err)
		}
		if err := x.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// TestInsertedAgain: an insertion looks for its key among the current rows, not in the snapshot. So it does not conflict
// with a deletion that was committed since, whether the snapshot has the row or not, and si does not hold. If the other
// transaction leaves a row, the insertion fails; an upsert of a row that the snapshot has fails, too.
func TestInsertedAgain(t *testing.T) {
	for _, tc := range []struct {
		name      string
		isolation string
		key       string // "a" is there from the start, "new" is not
		begun     bool   // the first transaction reads before the other one writes
		inserted  bool   // the other one inserts the key
		deleted   bool   // and deletes it
		upsert    bool
		want      string // the cause of the abort
		twoRows   bool
	}{
		{name: "a row that it sees", isolation: snapshot, key: "a", begun: true, deleted: true, twoRows: true},
		{name: "inserted and deleted since", isolation: snapshot, key: "new", begun: true, inserted: true, deleted: true},
		{name: "inserted since", isolation: snapshot, key: "new", begun: true, inserted: true, want: "unique violation"},
		{name: "an upsert of a row that it sees", isolation: snapshot, key: "a", begun: true, deleted: true, upsert: true, want: "update conflict"},
		{name: "table stability, not used before", isolation: tableStability, key: "a", deleted: true, twoRows: true},
	} {
		d := drivertest.Open(t, driver{}, server.DSN(), tc.isolation).(*db)
		other := drivertest.Open(t, driver{}, server.DSN(), snapshot).(*db)
		if err := other.Attach(ctx, d.schema); err != nil {
			t.Fatal(err)
		}
		x, y := drivertest.Begin(t, d).(*tx), drivertest.Begin(t, other).(*tx)
		fail := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
		}
		if tc.begun {
			_, _, err := x.Read(ctx, tc.key)
			fail(err)
		}
		if tc.inserted {
			fail(y.Insert(ctx, tc.key, 11))
		}
		if tc.deleted {
			_, err := y.Delete(ctx, tc.key)
			fail(err)
		}
		fail(y.Commit(ctx))
		var err error
		if tc.upsert {
			_, err = x.write(ctx, "UPDATE OR INSERT INTO "+quoted(d.keys())+" (k, v) VALUES (?, ?)", tc.key, int64(99))
		} else {
			err = x.Insert(ctx, tc.key, 99)
		}
		if tc.want != "" {
			if err == nil || drivers.AsError(err).Cause != tc.want {
				t.Errorf("%s: %v, not %q", tc.name, err, tc.want)
			}
			continue
		}
		fail(err)
		var n int
		fail(x.c.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+quoted(d.keys())+" WHERE k = ?", tc.key).Scan(&n))
		if (n == 2) != tc.twoRows {
			t.Errorf("%s: it sees %d rows", tc.name, n)
		}
		fail(x.Commit(ctx))
		if v, _, err := drivertest.Begin(t, other).Read(ctx, tc.key); v != 99 || err != nil {
			t.Errorf("%s: afterwards the row is %d, %v", tc.name, v, err)
		}
	}
}

// TestConditionsAgain: at read committed, an update that waited for a row leaves it alone if it does not fulfil the
// conditions any more.
func TestConditionsAgain(t *testing.T) {
	table := &schema.Table{Name: "t", Key: schema.Ints("k"), Groups: []schema.Group{{Columns: schema.Ints("b")}}}
	d := drivertest.Open(t, driver{}, server.DSN(), readCommitted).(*db)
	err := d.CreateTables(ctx, schema.Schema{table}, func(yield func(*schema.Table, schema.Row) bool) {
		yield(table, schema.Row{Key: []any{int64(1)}, Groups: [][]any{{int64(5)}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	first := drivertest.Begin(t, d).(*tx)
	if _, _, err := first.Set(ctx, table, []any{int64(1)}, 0, []schema.Expr{schema.Add(1)}); err != nil {
		t.Fatal(err)
	}
	second := drivertest.Begin(t, d).(*tx)
	type result struct {
		rows []schema.Row
		keys [][]any
		err  error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		if r.rows, r.err = second.SetWhere(ctx, table, []schema.Condition{schema.Is("b", int64(5))}, 0, []schema.Expr{schema.Add(10)}); r.err == nil {
			r.keys, r.err = second.DeleteWhere(ctx, table, []schema.Condition{schema.Is("b", int64(5))})
		}
		done <- r
	}()
	time.Sleep(200 * time.Millisecond) // most likely it waits now; if not, it sees what was committed
	if err := first.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.err != nil || len(r.rows) > 0 || len(r.keys) > 0 {
		t.Errorf("changed %v, deleted %v, %v", r.rows, r.keys, r.err)
	}
}
