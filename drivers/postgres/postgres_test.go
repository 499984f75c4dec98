package postgres

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/servers"
)

var server *servers.Postgres

// TestMain starts the installed PostgreSQL, or the version that ISOHOUND_POSTGRES names, such as 10.20.
func TestMain(m *testing.M) {
	var opts []servers.Option
	if version := os.Getenv("ISOHOUND_POSTGRES"); version != "" {
		opts = append(opts, servers.Exact(version))
	}
	os.Exit(servers.Main(m, &server, servers.StartPostgres, opts...))
}

var ctx = context.Background()

func TestDriver(t *testing.T) { drivertest.Run(t, driver{}, server.DSN(), false) }

func TestTables(t *testing.T) { drivertest.Tables(t, driver{}, server.DSN()) }

func TestCounting(t *testing.T) { drivertest.Counting(t, driver{}, server.DSN()) }

func admin(t *testing.T, sql string, args ...any) (n int64) {
	t.Helper()
	err := server.Admin(func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, sql, args...).Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestIsolation asks the server which isolation is in effect.
func TestIsolation(t *testing.T) {
	for _, iso := range (driver{}).Info().Isolations {
		db := drivertest.Open(t, driver{}, server.DSN(), iso.Name)
		x := drivertest.Begin(t, db).(*tx)
		var got string
		if err := x.t.QueryRow(ctx, "SHOW transaction_isolation").Scan(&got); err != nil || got != iso.Name {
			t.Errorf("%s was requested, %s is in effect (%v)", iso.Name, got, err)
		}
	}
}

func TestSchemaIsDropped(t *testing.T) {
	count := func() int64 {
		return admin(t, "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'isohound%'")
	}
	before := count()
	t.Run("", func(t *testing.T) {
		drivertest.Open(t, driver{}, server.DSN(), "")
		if count() != before+1 {
			t.Error("no schema of its own")
		}
	})
	if count() != before {
		t.Error("a schema is left behind")
	}
}

// TestErrors provokes the errors that matter and looks at their classes.
func TestErrors(t *testing.T) {
	d := drivertest.Open(t, driver{}, server.DSN(), "").(*db)
	tx1 := drivertest.Begin(t, d)
	drivertest.Class(t, "duplicate key", tx1.Insert(ctx, "a", 5), drivers.Aborted, false)
	_, _, err := tx1.Read(ctx, "a")
	drivertest.Class(t, "in a failed transaction", err, drivers.Aborted, false)
	if err := tx1.Rollback(ctx); err != nil {
		t.Error(err)
	}

	cut := drivertest.Begin(t, d).(*tx)
	pid := cut.c.PgConn().PID()
	admin(t, "SELECT pg_terminate_backend($1)::int", pid)
	_, _, err = cut.Read(ctx, "a")
	drivertest.Class(t, "connection cut before a statement", err, drivers.Aborted, true)

	cut = drivertest.Begin(t, d).(*tx)
	if _, err := cut.Update(ctx, "a", 7); err != nil || cut.TxnID() == 0 {
		t.Fatalf("update: %v, id %d", err, cut.TxnID())
	}
	admin(t, "SELECT pg_terminate_backend($1)::int", cut.c.PgConn().PID())
	drivertest.Class(t, "connection cut before a commit", cut.Commit(ctx), drivers.OutcomeUnknown, true)
	out, err := d.Resolve(ctx, cut.TxnID())
	for deadline := time.Now().Add(time.Minute); err == nil && out == drivers.InProgress && time.Now().Before(deadline); out, err = d.Resolve(ctx, cut.TxnID()) {
		time.Sleep(10 * time.Millisecond) // the process of the session ends when it gets to run
	}
	if err != nil || out != drivers.DidAbort {
		t.Errorf("resolved as %d, %v", out, err)
	}

	slow := drivertest.Begin(t, d)
	short, cancel := context.WithTimeout(ctx, time.Nanosecond)
	defer cancel()
	_, _, err = slow.Read(short, "a")
	drivertest.Class(t, "a call that takes too long", err, drivers.Aborted, true)

	if err := server.Admin(func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "DROP TABLE "+pgx.Identifier{d.schema}.Sanitize()+".kv")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	_, _, err = drivertest.Begin(t, d).Read(ctx, "a")
	drivertest.Class(t, "a table that is gone", err, drivers.Fatal, false)
}

// TestResolve asks for the outcome of transactions in each state, and after a crash, when ids
// may have been reused.
func TestResolve(t *testing.T) {
	own, err := servers.StartPostgres()
	if err != nil {
		t.Fatal(err)
	}
	defer own.Stop()
	d, err := driver{}.Open(ctx, drivers.Config{DSN: own.DSN(), Isolation: "serializable"})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Create(ctx, func(yield func(string, int64) bool) { yield("a", 1) }); err != nil {
		t.Fatal(err)
	}
	r := d.(drivers.Resolver)
	expect := func(what string, id int64, want drivers.Outcome) {
		t.Helper()
		if got, err := r.Resolve(ctx, id); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", what, got, err, want)
		}
	}
	begin := func() *tx {
		t.Helper()
		s, err := d.Connect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		x, err := s.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Update(ctx, "a", time.Now().UnixNano()); err != nil {
			t.Fatal(err)
		}
		return x.(*tx)
	}
	done := begin()
	expect("in progress", done.TxnID(), drivers.InProgress)
	if err := done.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	expect("committed", done.TxnID(), drivers.DidCommit)
	undone := begin()
	if err := undone.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	expect("rolled back", undone.TxnID(), drivers.DidAbort)
	expect("not begun", undone.TxnID()+1_000_000, drivers.Lost)

	own.Kill()
	deadline := time.Now().Add(20 * time.Second)
	for own.Start() != nil {
		if time.Now().After(deadline) {
			t.Fatal("the server does not come back")
		}
		time.Sleep(200 * time.Millisecond)
	}
	expect("committed, before a crash", done.TxnID(), drivers.Lost)
}

// TestMaskDSN: no spelling of a password is shown.
func TestMaskDSN(t *testing.T) {
	for dsn, want := range map[string]string{
		"host=h user=me password=s3cret dbname=d": "host=h user=me password=xxxxx dbname=d",
		"host=h password='s3 cr\\'et' user=me":    "host=h password=xxxxx user=me",
		"host=h password = s3cret user=me":        "host=h password = xxxxx user=me",
		"host=h password= 's3cret'":               "host=h password= xxxxx",
		"host=h PASSWORD=s3cret":                  "host=h PASSWORD=xxxxx",
		"postgres://me:s3cret@host:5432/db":       "postgres://me:xxxxx@host:5432/db",
		"host=h password=s3 cret user=me":         "xxxxx",
		"host=h user=me password='s3 c://ret'":    "host=h user=me password=xxxxx",
		"user='password=' password='s3cret' a=b":  "user='password=' password=xxxxx a=b",
		"me:s3cret@tcp(h)/db":                     "xxxxx",
		"postgres://h/db?user=me&password=s3cret": "postgres://h/db?user=me&password=xxxxx",
	} {
		if got := (driver{}).MaskDSN(dsn); got != want {
			t.Errorf("%q becomes %q, want %q", dsn, got, want)
		}
	}
}

// TestLocalizedSeverity: a server may speak another language.
func TestLocalizedSeverity(t *testing.T) {
	for _, tc := range []struct {
		severity, plain string
		want            bool
	}{{"FEHLER", "ERROR", false}, {"ERROR", "", false}, {"SCHWERWIEGEND", "FATAL", true}, {"FATAL", "", true}} {
		if got := fatal(&pgconn.PgError{Severity: tc.severity, SeverityUnlocalized: tc.plain}); got != tc.want {
			t.Errorf("%v: %v", tc, got)
		}
	}
}

// TestReason: if several attempts to connect fail, the server's answer is reported.
func TestReason(t *testing.T) {
	_, err := driver{}.Open(ctx, drivers.Config{DSN: strings.Replace(server.DSN(), "/postgres", "/nosuchdatabase", 1), Isolation: "serializable"})
	if err == nil || !strings.Contains(err.Error(), `database "nosuchdatabase" does not exist`) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}

// TestSynchronousCommit: sessions use asynchronous commit, which may lose commits in a crash, only if the
// DSN asks for it.
func TestSynchronousCommit(t *testing.T) {
	alter := func(value string) {
		if err := server.Admin(func(ctx context.Context, c *pgx.Conn) error {
			if _, err := c.Exec(ctx, "ALTER SYSTEM SET synchronous_commit = "+value); err != nil {
				return err
			}
			_, err := c.Exec(ctx, "SELECT pg_reload_conf()")
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	alter("off")
	defer alter("on")
	for query, want := range map[string]string{"": "on", "?synchronous_commit=off": "off", "?synchronous_commit=local": "local"} {
		d := drivertest.Open(t, driver{}, server.DSN()+query, "")
		var got string
		if err := drivertest.Begin(t, d).(*tx).t.QueryRow(ctx, "SHOW synchronous_commit").Scan(&got); err != nil || got != want {
			t.Errorf("%s: synchronous_commit is %q (%v)", query, got, err)
		}
	}
}

// TestPlannerSettings: sessions use no sequential scans of small tables and compile nothing, unless the DSN asks for it.
func TestPlannerSettings(t *testing.T) {
	for query, want := range map[string]string{
		"": "off off on", "?enable_seqscan=on": "on off on", "?enable_seqscan=on&jit=on&enable_indexscan=off": "on on off",
		"?options=-c%20enable_seqscan%3Don": "on off on", "?enable_seqscan=off": "off off on",
	} {
		if strings.Contains(query, "jit") && strings.HasPrefix(server.Version(), "10.") {
			continue // it does not compile
		}
		d := drivertest.Open(t, driver{}, server.DSN()+query, "")
		var got string
		if err := drivertest.Begin(t, d).(*tx).t.QueryRow(ctx, "SELECT concat_ws(' ', current_setting('enable_seqscan'), coalesce(current_setting('jit', true), 'off'), current_setting('enable_indexscan'))").Scan(&got); err != nil || got != want {
			t.Errorf("%s: %q, want %q (%v)", query, got, want, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for dsn, usage := range map[string]bool{"postgres://127.0.0.1:1/x": false, "host=": false, "postgres://x:y:z@[": true, "x": true} {
		_, err := driver{}.Open(ctx, drivers.Config{DSN: dsn, Isolation: "serializable"})
		var bad *drivers.DSNError
		if err == nil || errors.As(err, &bad) != usage {
			t.Errorf("%q: %v", dsn, err)
		}
	}
}

// TestIndexes: the planner uses an index of each kind for a condition that the kind supports. For a
// prefix it uses a btree index, because texts are compared by their bytes.
func TestIndexes(t *testing.T) {
	for _, kind := range schema.IndexKinds {
		table := &schema.Table{Name: "t", Key: schema.Ints("k"),
			Groups:  []schema.Group{{Columns: []schema.Column{{Name: "n", Type: schema.Int, Null: true}, {Name: "s", Type: schema.Text}}}},
			Indexes: []schema.Index{{Columns: []string{"n"}, Kind: kind}, {Columns: []string{"s"}, Kind: kind}},
		}
		db := drivertest.Open(t, driver{}, server.DSN(), "")
		err := db.(drivers.TableDB).CreateTables(ctx, schema.Schema{table}, func(yield func(*schema.Table, schema.Row) bool) {
			for i := range int64(2000) {
				if !yield(table, schema.Row{Key: []any{i}, Groups: [][]any{{i % 200, strconv.Itoa(int(i % 200))}}}) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		x := drivertest.Begin(t, db).(*tx)
		plan := func(c schema.Condition) string {
			t.Helper()
			s := dialect.Count(table, []schema.Condition{c})
			found, err := x.t.Query(ctx, "EXPLAIN "+s.SQL, s.Args...)
			if err != nil {
				t.Fatal(err)
			}
			lines, err := pgx.CollectRows(found, pgx.RowTo[string])
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(lines, "\n")
		}
		if got := plan(schema.Is("n", int64(7))); !strings.Contains(got, "t_0") {
			t.Errorf("%s: a number\n%s", kind, got)
		}
		if got := plan(schema.Is("s", "7")); !strings.Contains(got, "t_1") {
			t.Errorf("%s: a text\n%s", kind, got)
		}
		if got := plan(schema.Prefix("s", "7_")); kind == schema.Btree && !strings.Contains(got, `Cond: ((s >= '7_'::text)`) {
			t.Errorf("a prefix\n%s", got)
		}
	}
}
