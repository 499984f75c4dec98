package mariadb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/servers"
)

var server *servers.MariaDB

func TestMain(m *testing.M) { os.Exit(servers.Main(m, &server, servers.StartMariaDB)) }

var ctx = context.Background()

func TestDriver(t *testing.T) { drivertest.Run(t, driver{}, server.DSN(), false) }

func TestTables(t *testing.T) { drivertest.Tables(t, driver{}, server.DSN()) }

func TestCounting(t *testing.T) { drivertest.Counting(t, driver{}, server.DSN()) }

// TestIsolation asks the server which isolation and setting are in effect.
func TestIsolation(t *testing.T) {
	for _, iso := range (driver{}).Info().Isolations {
		x := drivertest.Begin(t, drivertest.Open(t, driver{}, server.DSN(), iso.Name)).(tx)
		var level, snapshot string
		if err := x.c.QueryRowContext(ctx, "SELECT @@tx_isolation, @@innodb_snapshot_isolation").Scan(&level, &snapshot); err != nil {
			t.Fatal(err)
		}
		name, setting, _ := strings.Cut(iso.Name, ", ")
		if got := strings.ToLower(strings.ReplaceAll(level, "-", " ")); got != name {
			t.Errorf("%s was requested, %s is in effect", iso.Name, got)
		}
		if setting != "" && (snapshot == "1") != strings.HasSuffix(setting, "ON") {
			t.Errorf("%s was requested, the setting is %s", iso.Name, snapshot)
		}
	}
}

// TestPromise: what plain repeatable read promises depends on the server's setting, or the DSN's.
// Serializable promises less on a node of Galera.
func TestPromise(t *testing.T) {
	g, err := servers.StartGalera(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	for _, tc := range []struct{ dsn, isolation, want string }{
		{server.DSN() + "?innodb_snapshot_isolation=1", repeatableRead, "si"},
		{server.DSN() + "?innodb_snapshot_isolation=0", repeatableRead, "ryw,mr"},
		{server.DSN(), serializable, "ser"},
		{server.DSN(), readCommitted, "rc"},
		{g.DSNs()[0], serializable, "ryw,mr"},
		{g.DSNs()[0], repeatableReadOn, "si"},
	} {
		d, err := driver{}.Open(ctx, drivers.Config{DSN: tc.dsn, Isolation: tc.isolation})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.(drivers.Claimer).Promises(); got != tc.want {
			t.Errorf("%s at %s promises %q, want %q", tc.dsn, tc.isolation, got, tc.want)
		}
		d.Close(ctx)
	}
}

func (d *db) exec(t *testing.T, stmt string) {
	t.Helper()
	if _, err := d.pool.ExecContext(ctx, stmt); err != nil {
		t.Fatal(err)
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
	kill := func(x tx) {
		t.Helper()
		var id int64
		if err := x.c.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			t.Fatal(err)
		}
		d.exec(t, fmt.Sprintf("KILL %d", id))
		time.Sleep(100 * time.Millisecond)
	}
	cut := drivertest.Begin(t, d).(tx)
	kill(cut)
	_, _, err := cut.Read(ctx, "a")
	drivertest.Class(t, "connection cut before a statement", err, drivers.Aborted, true)
	cut = drivertest.Begin(t, d).(tx)
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

	d.exec(t, "DROP TABLE "+d.schema+".kv")
	_, _, err = drivertest.Begin(t, d).Read(ctx, "a")
	drivertest.Class(t, "a table that is gone", err, drivers.Fatal, false)
}

func TestParseDSN(t *testing.T) {
	for dsn, want := range map[string]string{
		"mariadb://me:pw@h:3307/":           "me:pw@tcp(h:3307)/",
		"mariadb://me@h/":                   "me@tcp(h:3306)/",
		"mysql://me@h/?sql_mode=x":          "me@tcp(h:3306)/",
		"mariadb://me@x/?socket=/run/s":     "me@unix(/run/s)/",
		"me:pw@tcp(127.0.0.1:3306)/db":      "me:pw@tcp(127.0.0.1:3306)/db",
		"me@unix(/run/mysqld/mysqld.sock)/": "me@unix(/run/mysqld/mysqld.sock)/",
	} {
		c, err := parseDSN(dsn)
		if err != nil || !strings.HasPrefix(c.FormatDSN(), want) {
			t.Errorf("%q: %v, %v", dsn, c, err)
		}
	}
	if c, err := parseDSN("mysql://me@h/?sql_mode=x"); err != nil || c.Params["sql_mode"] != "x" {
		t.Errorf("%v, %v", c, err)
	}
	if c, err := parseDSN("mariadb://u@db.example.com/?tls=true"); err != nil || c.TLS == nil || c.TLS.ServerName != "db.example.com" {
		t.Errorf("the certificate is not checked against the host: %+v, %v", c, err)
	}
	if _, err := parseDSN("mariadb://u@h/?charset=utf8mb4,utf8"); err != nil {
		t.Error(err)
	}
	for _, dsn := range []string{"garbage", "mariadb://[", "me@h", "mariadb://h/?foo=%zz"} {
		_, err := driver{}.Open(ctx, drivers.Config{DSN: dsn, Isolation: serializable})
		var bad *drivers.DSNError
		if !errors.As(err, &bad) {
			t.Errorf("%q: %v", dsn, err)
		}
	}
}

// TestAutocommitOff: a server or DSN without autocommit must not lose the
// initial keys.
func TestAutocommitOff(t *testing.T) {
	d := drivertest.Open(t, driver{}, server.DSN()+"?autocommit=0", "")
	if v, found, err := drivertest.Begin(t, d).Read(ctx, "a"); err != nil || !found || v != drivertest.Initial["a"] {
		t.Errorf("%d, %v, %v", v, found, err)
	}
}

// TestEmptyStringIsNull: a server that takes empty texts for nulls is not asked to do so, and keeps its other modes.
func TestEmptyStringIsNull(t *testing.T) {
	admin := drivertest.Open(t, driver{}, server.DSN(), "").(*db)
	var before string
	if err := admin.pool.QueryRowContext(ctx, "SELECT @@GLOBAL.sql_mode").Scan(&before); err != nil {
		t.Fatal(err)
	}
	admin.exec(t, "SET GLOBAL sql_mode = 'ANSI_QUOTES,EMPTY_STRING_IS_NULL'")
	defer admin.exec(t, "SET GLOBAL sql_mode = '"+before+"'")
	d := drivertest.Open(t, driver{}, server.DSN(), "").(*db)
	var empty, mode string
	if err := d.pool.QueryRowContext(ctx, "SELECT '', @@sql_mode").Scan(&empty, &mode); err != nil || mode != "ANSI_QUOTES,NO_ENGINE_SUBSTITUTION" {
		t.Errorf("%q, %v", mode, err)
	}
	// A value that cannot be read is no matter of the connection.
	x := drivertest.Begin(t, d).(tx)
	err := x.failed(x.c.QueryRowContext(ctx, "SELECT NULL").Scan(&empty))
	drivertest.Class(t, "a null", err, drivers.Fatal, false)
}

// TestOtherEngine: a server that makes another kind of table, or refuses to make one of InnoDB, is refused with the remedy.
func TestOtherEngine(t *testing.T) {
	for mode, want := range map[string]string{"": "engine Aria where InnoDB was asked for", "NO_ENGINE_SUBSTITUTION": "refuses a table of engine InnoDB"} {
		d, err := driver{}.Open(ctx, drivers.Config{DSN: server.DSN() + "?enforce_storage_engine=Aria&sql_mode=%27" + mode + "%27", Isolation: serializable})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close(ctx)
		err = d.Create(ctx, func(yield func(string, int64) bool) { yield("a", 1) })
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), freeEngine) {
			t.Errorf("%q: %v", mode, err)
		}
	}
}

// TestMaskDSN: no spelling of a password is shown.
func TestMaskDSN(t *testing.T) {
	for _, dsn := range []string{
		"me:s3cret@tcp(127.0.0.1:3306)/db", "me:s3:c@s3cret@tcp(127.0.0.1:3306)/db", "mariadb://me:s3cret@h/?socket=/run/x",
		"root:s3cret@/", "root:s3cret@tcp/db", "a=b:s3cret@tcp(h)/", "user@corp:s3cret@tcp(h:1)/", "mysql://u:s3/s3cret@h", "garbage s3cret",
	} {
		if got := (driver{}).MaskDSN(dsn); strings.Contains(got, "s3") || !strings.Contains(got, drivers.Masked) {
			t.Errorf("%q becomes %q", dsn, got)
		}
	}
	if got := (driver{}).MaskDSN("me@tcp(h:1)/db"); got != "me@tcp(h:1)/db" {
		t.Error(got)
	}
}

func TestDatabaseIsDropped(t *testing.T) {
	count := func(d *db) (n int) {
		if err := d.pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name LIKE 'isohound%'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	d := drivertest.Open(t, driver{}, server.DSN(), "").(*db)
	before := count(d)
	t.Run("", func(t *testing.T) {
		drivertest.Open(t, driver{}, server.DSN(), "")
		if count(d) != before+1 {
			t.Error("no database of its own")
		}
	})
	if count(d) != before {
		t.Error("a database is left behind")
	}
}
