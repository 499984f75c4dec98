package servers

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// here makes the servers of a test use a separate folder, and checks at the end that no folder
// and no process is left in it.
func here(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "isohound-test-")
	if err != nil {
		t.Fatal(err)
	}
	// Servers that run as other users need access.
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	t.Cleanup(func() {
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		// A killed process may take a moment to end.
		deadline := time.Now().Add(30 * time.Second)
		for len(processes(dir)) > 0 && time.Now().Before(deadline) {
			time.Sleep(20 * time.Millisecond)
		}
		if left := processes(dir); len(left) > 0 {
			t.Errorf("still running: %q", left)
		}
		os.RemoveAll(dir)
	})
}

// processes lists the command lines that contain dir, if the system shows them.
func processes(dir string) []string {
	var out []string
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		line, _ := os.ReadFile(path)
		if strings.Contains(string(line), dir) {
			out = append(out, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return out
}

func ask(t *testing.T, s *Postgres, query string, args ...any) string {
	t.Helper()
	var got string
	err := s.Admin(func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, query, args...).Scan(&got)
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func askMaria(t *testing.T, s *MariaDB, query string) string {
	t.Helper()
	var got string
	err := s.query(func(db *sql.DB) error { return db.QueryRow(query).Scan(&got) })
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestPostgres(t *testing.T) {
	here(t)
	s, err := StartPostgres(Set("wal_level", "minimal"), Set("wal-level", "logical"), Set("work_mem", "5MB"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	if got := ask(t, s, "SHOW wal_level") + " " + ask(t, s, "SHOW work_mem"); got != "logical 5MB" {
		t.Errorf("settings %s", got)
	}
	if v := ask(t, s, "SHOW server_version"); s.Version() == "" || !strings.HasPrefix(v+" ", s.Version()+" ") {
		t.Errorf("version %q, server says %q", s.Version(), v)
	}
	if !strings.Contains(s.Logs(), "ready to accept connections") {
		t.Errorf("logs: %s", s.Logs())
	}
	s.Kill()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, s, "SHOW work_mem"); got != "5MB" {
		t.Errorf("work_mem %s after a crash", got)
	}
	s.Stop()
	s.Stop() // does nothing
}

// TestRestartWhileBusy: a process that has not noticed the crash of its server prevents the
// start of the next one, which waits for it.
func TestRestartWhileBusy(t *testing.T) {
	here(t)
	s, err := StartPostgres()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	busy := make(chan error, 1)
	go func() {
		busy <- s.Admin(func(ctx context.Context, c *pgx.Conn) error {
			_, err := c.Exec(ctx, "SELECT count(*) FROM generate_series(1, 20000) a, generate_series(1, 1000) b /* busy */")
			return err
		})
	}()
	for ask(t, s, "SELECT count(*)::text FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%/* busy */' AND pid <> pg_backend_pid()") != "1" {
		select {
		case err := <-busy:
			t.Fatalf("the query has ended: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	s.Kill()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	<-busy
	if !strings.Contains(s.Logs(), stillInUse) {
		t.Error("nothing kept the server from starting")
	}
	ask(t, s, "SHOW server_version")
}

func TestMariaDB(t *testing.T) {
	here(t)
	for _, want := range []string{"ON", "OFF"} {
		s, err := StartMariaDB(Set("innodb_snapshot_isolation", want))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Stop)
		if got := askMaria(t, s, "SELECT IF(@@innodb_snapshot_isolation, 'ON', 'OFF')"); got != want {
			t.Errorf("innodb_snapshot_isolation is %s, want %s", got, want)
		}
		if got := askMaria(t, s, "SELECT VERSION()"); s.Version() != got {
			t.Errorf("version %q, server says %q", s.Version(), got)
		}
		if !strings.Contains(s.Logs(), "ready for connections") {
			t.Errorf("logs: %s", s.Logs())
		}
		s.Stop()
	}
}

func TestFirebird(t *testing.T) {
	here(t)
	s, err := StartFirebird(Set("DeadlockTimeout", "3"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	if !strings.HasPrefix(s.Version(), "3.") {
		t.Errorf("version %q", s.Version())
	}
	db, err := sql.Open("firebirdsql", s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, stmt := range []string{"CREATE TABLE t (k BIGINT)", "INSERT INTO t VALUES (7)"} {
		if _, err := db.Exec(stmt); err != nil {
			t.Fatal(err)
		}
	}
	s.Kill()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	again, err := sql.Open("firebirdsql", s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	var k int
	if err := again.QueryRow("SELECT k FROM t").Scan(&k); err != nil || k != 7 {
		t.Errorf("after a crash: %d, %v", k, err)
	}
	resume, err := s.Pause(false)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := again.QueryRowContext(short, "SELECT k FROM t").Scan(&k); err == nil {
		t.Error("a paused server answers")
	}
	resume()
	if err := s.ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRefused: a server that cannot start reports the reason and leaves nothing.
func TestRefused(t *testing.T) {
	here(t)
	postgres := func(opts ...Option) error { s, err := StartPostgres(opts...); stop(s, err); return err }
	mariadb := func(opts ...Option) error { s, err := StartMariaDB(opts...); stop(s, err); return err }
	firebird := func(opts ...Option) error { s, err := StartFirebird(opts...); stop(s, err); return err }
	galera := func(n int) func(opts ...Option) error {
		return func(opts ...Option) error { s, err := StartGalera(n, opts...); stop(s, err); return err }
	}
	for _, tc := range []struct {
		start func(...Option) error
		set   Option
		want  string
	}{
		{postgres, Set("no_such_setting", "1"), `unrecognized configuration parameter "no_such_setting"`},
		{mariadb, Set("no_such_setting", "1"), "unknown variable 'no_such_setting=1'"},
		{galera(2), Set("no_such_setting", "1"), "node 1 of 2: mariadbd ended while it started"},
		{galera(0), Set("wsrep_sync_wait", "1"), "0 nodes"},
		{postgres, Set("listen_addresses", "*"), "listen_addresses cannot be chosen"},
		{mariadb, Set("bind-address", "0.0.0.0"), "bind_address cannot be chosen"},
		{galera(2), Set("datadir", "/"), "datadir cannot be chosen"},
		{firebird, Set("NoSuchSetting", "1"), `Firebird has no parameter "NoSuchSetting"`},
		{firebird, Set("RemoteBindAddress", "0.0.0.0"), "RemoteBindAddress cannot be chosen"},
	} {
		if err := tc.start(tc.set); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
}

func stop(s interface{ Stop() }, err error) {
	if err == nil {
		s.Stop()
	}
}

// TestMissing: the error for a missing program names its package.
func TestMissing(t *testing.T) {
	_, err := find("no-such-program", "no-such-package", t.TempDir())
	if err == nil || err.Error() != "no-such-program is not installed; install the package no-such-package" {
		t.Error(err)
	}
	if got := missing("no-such-package", t.TempDir(), "sh", "no-such-program"); got != "no-such-package" {
		t.Errorf("missing: %q", got)
	}
	for _, pkg := range []string{MissingPostgres(), MissingMariaDB(), MissingGalera(), MissingFirebird()} {
		if pkg != "" {
			t.Errorf("the tests need the package %s", pkg)
		}
	}
}

func TestFreePorts(t *testing.T) {
	ports, err := freePorts(200)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, p := range ports {
		if seen[p] || p < lowestPort || p > highestPort {
			t.Fatalf("ports %v", ports)
		}
		seen[p] = true
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", ports[0]))
	if err != nil {
		t.Fatal(err) // those that were tried are free again
	}
	l.Close()
}
