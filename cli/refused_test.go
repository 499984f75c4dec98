package cli

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// oneLine checks that a command ended with an exit code and a reason in one line.
func oneLine(t *testing.T, c call, code int, words ...string) {
	t.Helper()
	t.Log(c.msg)
	if c.code != code || strings.Count(c.msg, "\n") != 1 {
		t.Errorf("exit code %d, want %d: %s", c.code, code, c.msg)
	}
	for _, w := range words {
		if !strings.Contains(c.msg, w) {
			t.Errorf("the message lacks %q: %s", w, c.msg)
		}
	}
}

// TestWrongServer: a DSN that leads to another kind of server.
func TestWrongServer(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	host := func(dsn string) string {
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		return u.Host
	}
	pg, ma := postgresDSN(t), mariadbDSN(t)
	var calls sync.WaitGroup // concurrently, since some wait for a greeting
	for _, tc := range []struct {
		name, driver, dsn string
		words             []string
	}{
		{"postgres to MariaDB", "postgres", "postgres://me@" + host(ma) + "/x", []string{"postgres: cannot use the server", "is this a PostgreSQL server?"}},
		{"postgres to a web server", "postgres", "postgres://me@" + host(web.URL) + "/x", []string{"postgres: cannot use the server", "is this a PostgreSQL server?"}},
		{"postgres to a web server, plain", "postgres", "postgres://me@" + host(web.URL) + "/x?sslmode=disable", []string{"is this a PostgreSQL server?"}},
		{"mariadb to PostgreSQL", "mariadb", "mariadb://me@" + host(pg) + "/", []string{"mariadb: cannot use the server", "is this a MariaDB server?"}},
		{"mariadb to a web server", "mariadb", "mariadb://me@" + host(web.URL) + "/", []string{"mariadb: cannot use the server", "is this a MariaDB server?"}},
		{"cockroach to PostgreSQL", "cockroach", pg, []string{"this is PostgreSQL; use --driver postgres"}},
		{"yugabyte to PostgreSQL", "yugabyte", pg, []string{"this is PostgreSQL; use --driver postgres"}},
		{"tidb to MariaDB", "tidb", ma, []string{"this is MariaDB; use --driver mariadb"}},
	} {
		c := command(t, "run", "--driver", tc.driver, "--dsn", tc.dsn)
		calls.Go(func() {
			var msg bytes.Buffer
			c.Stderr = &msg
			_ = c.Run()
			t.Log(tc.name)
			oneLine(t, call{code: c.ProcessState.ExitCode(), msg: msg.String()}, 69, tc.words...)
		})
	}
	calls.Wait()
}

func adminPostgres(t *testing.T, stmt string) {
	t.Helper()
	postgresDSN(t)
	err := started.postgres.Admin(func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, stmt)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func openMariaDB(t *testing.T) *sql.DB {
	t.Helper()
	u, err := url.Parse(mariadbDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("mysql", fmt.Sprintf("isohound@tcp(%s)/", u.Host))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func adminMariaDB(t *testing.T, stmt string) {
	t.Helper()
	db := openMariaDB(t)
	defer db.Close()
	if _, err := db.Exec(stmt); err != nil {
		t.Fatal(err)
	}
}

// TestPermissionDenied: the user may connect but has no other privilege.
func TestPermissionDenied(t *testing.T) {
	pg, ma := postgresDSN(t), mariadbDSN(t)
	adminPostgres(t, "CREATE ROLE guest LOGIN")
	adminMariaDB(t, "CREATE USER 'guest'@'%'")
	defer adminPostgres(t, "DROP ROLE guest")
	defer adminMariaDB(t, "DROP USER 'guest'@'%'")
	out := filepath.Join(t.TempDir(), "run")
	guest := func(dsn string) string { return strings.Replace(dsn, "isohound@", "guest@", 1) }
	oneLine(t, isohound(t, "run", "--driver", "postgres", "--dsn", guest(pg), "--out", out), 69, "creating the schema", "permission denied for database")
	oneLine(t, isohound(t, "run", "--driver", "mariadb", "--dsn", guest(ma), "--out", out), 69, "creating the database", "Access denied for user 'guest'")
	oneLine(t, isohound(t, "run", "--driver", "postgres", "--dsn", strings.Replace(pg, "isohound@", "nobody@", 1)), 69, `role "nobody" does not exist`)
	oneLine(t, isohound(t, "run", "--driver", "mariadb", "--dsn", strings.Replace(ma, "isohound@", "nobody@", 1)), 69, "Access denied for user 'nobody'")
}

// TestTableDropped drops the table during a run: the run ends with 69 and the reason, and the
// recorded part is closed and judged.
func TestTableDropped(t *testing.T) {
	for _, tc := range []struct {
		name, dsn, want string
		drop            func(schema string)
	}{
		{"postgres", postgresDSN(t), `relation "kv" does not exist`, func(s string) { adminPostgres(t, "DROP TABLE "+s+".kv") }},
		{"mariadb", mariadbDSN(t), "kv' doesn't exist", func(s string) { adminMariaDB(t, "DROP TABLE "+s+".kv") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "run")
			before := schemas(t, tc.name)
			_, _, wait := begin(t, "run", "--driver", tc.name, "--dsn", tc.dsn, "--duration", "60s", "--out", out, "--no-progress", "--isolation", "serializable", "--sessions", "8")
			waitForSize(t, filepath.Join(out, "history.jsonl.zst"), 64<<10)
			for s := range schemas(t, tc.name) {
				if !before[s] {
					tc.drop(s)
				}
			}
			c := wait()
			t.Log(c.msg)
			if c.code != 69 || !strings.Contains(c.msg, "the database refuses to go on") || !strings.Contains(c.msg, "the run ended early: refused by the database") || !strings.Contains(c.msg, tc.want) || !strings.Contains(c.out, "ser satisfied") {
				t.Errorf("exit code %d, want 69\n%s%s", c.code, c.out, c.msg)
			}
			h := load(t, filepath.Join(out, "history.jsonl.zst"))
			if !h.Closed || h.Count().Committed < 50 {
				t.Errorf("closed %v, %+v", h.Closed, h.Count())
			}
		})
	}
}

const listSchemas = "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'isohound%'"

// schemas lists what runs have created on a server.
func schemas(t *testing.T, driver string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	var err error
	if driver == "postgres" {
		postgresDSN(t)
		err = started.postgres.Admin(func(ctx context.Context, c *pgx.Conn) error {
			rows, err := c.Query(ctx, listSchemas)
			if err != nil {
				return err
			}
			names, err := pgx.CollectRows(rows, pgx.RowTo[string])
			for _, s := range names {
				found[s] = true
			}
			return err
		})
	} else {
		db := openMariaDB(t)
		defer db.Close()
		var names sql.NullString
		err = db.QueryRow("SELECT GROUP_CONCAT(schema_name) FROM (" + listSchemas + ") AS s").Scan(&names)
		for _, s := range strings.Split(names.String, ",") {
			found[s] = true
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}
