package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/isohound/isohound/results"
)

// TestDSNs: a DSN of the wrong kind is refused with what is expected, every driver takes its own name
// as the scheme, and a closed port is reported as such.
func TestDSNs(t *testing.T) {
	for _, tc := range []struct {
		driver, dsn string
		code        int
		want        string
	}{
		{"mariadb", "tidb://root@127.0.0.1:1/", 64, "not for this driver but for --driver tidb; expected for example mariadb://"},
		{"mariadb", "postgres://root@127.0.0.1:1/", 64, "expected for example mariadb://"},
		{"postgres", "mysql://root@127.0.0.1:1/", 64, "expected for example postgres://"},
		{"badger", "postgres://h/", 64, "expected for example /var/tmp"},
		{"cassandra", "127.0.0.1:9042", 64, "expected a URL, for example cassandra://"},
		{"mongo", "127.0.0.1:1", 64, "expected a URL, for example mongodb://"},
		{"tidb", "tidb://root@127.0.0.1:1/", 69, "connection refused"},
		{"yugabyte", "yugabyte://root@127.0.0.1:1/", 69, "connection refused"},
		{"etcd", "etcd://127.0.0.1:1", 69, "connection refused"},
		{"etcd", "http://127.0.0.1:1,http://127.0.0.1:2", 69, "connection refused"},
	} {
		args := []string{"run", "--driver", tc.driver, "--dsn", tc.dsn}
		if tc.driver == "cassandra" {
			args = append(args, "--workload", "lwt")
		}
		if c := isohound(t, args...); c.code != tc.code || !strings.Contains(c.msg, tc.want) {
			t.Errorf("%s %s: exit code %d, %s", tc.driver, tc.dsn, c.code, c.msg)
		}
	}
	if c := isohound(t, "run", "--driver", "sqlite", "--dsn", "sqlite://"+t.TempDir(), "--sessions", "2", "--txns", "5", "--final-read=false"); c.code == 64 || c.code == 69 {
		t.Errorf("sqlite: %d %s", c.code, c.msg)
	}
}

// as runs a test's statements as the superuser of a private PostgreSQL, and returns the DSN of user hunter.
func as(t *testing.T, statements ...string) string {
	t.Helper()
	dsn := postgresDSN(t)
	c, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for _, s := range statements {
		if _, err := c.Exec(context.Background(), s); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Replace(dsn, "isohound@", "hunter@", 1)
}

// TestDeadlockTimeout: a user who may not set deadlock_timeout is told so, and does not wait for
// deadlocks to be found. The server's setting is given as 1 s, as by default.
func TestDeadlockTimeout(t *testing.T) {
	dsn := as(t, "CREATE ROLE hunter LOGIN", "GRANT CREATE ON DATABASE postgres TO hunter", "ALTER ROLE hunter SET deadlock_timeout = '1s'")
	defer as(t, "DROP OWNED BY hunter", "DROP ROLE hunter")
	out := filepath.Join(t.TempDir(), "run")
	c := isohound(t, "run", "--driver", "postgres", "--dsn", dsn, "--isolation", "read committed", "--check", "ru", "--workload", "general", "--keys", "20", "-p", "think=10ms", "--sessions", "8", "--txns", "5", "--out", out)
	if c.code != 0 && c.code != int(exitVacuous) || !strings.Contains(c.msg, "deadlock_timeout is 1s, and user hunter may not set it") || !strings.Contains(c.msg, "lock_timeout") {
		t.Fatalf("exit code %d: %s", c.code, c.msg)
	}
	r, err := results.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	if by := r.Stats.AbortsByCause; by["55P03 lock not available"] == 0 || by["40P01 deadlock"] > 0 {
		t.Errorf("aborts %v", by)
	}
	if c := isohound(t, "run", "--driver", "postgres", "--dsn", postgresDSN(t), "--sessions", "2", "--txns", "5"); strings.Contains(c.msg, "deadlock_timeout") {
		t.Errorf("a superuser is told: %s", c.msg)
	}
}

// TestTooManyConnections: a server that refuses more connections is reported as such, with the number
// that it allows.
func TestTooManyConnections(t *testing.T) {
	dsn := as(t, "CREATE ROLE hunter LOGIN CONNECTION LIMIT 4", "GRANT CREATE ON DATABASE postgres TO hunter")
	defer as(t, "DROP OWNED BY hunter", "DROP ROLE hunter")
	out := filepath.Join(t.TempDir(), "run")
	c := isohound(t, "run", "--driver", "postgres", "--dsn", dsn, "--sessions", "9", "--workload", "ctwitter", "--keys", "10", "--out", out, "--summary", out+".md")
	if c.code != 69 || strings.Contains(c.msg, "cannot be reached") || !strings.Contains(c.msg, "refuses more connections after 4 of 9; use fewer --sessions") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
	for _, name := range []string{out + ".md", filepath.Join(out, "junit.xml"), filepath.Join(out, "report.html"), filepath.Join(out, "verdict.json"), filepath.Join(out, "config.json")} {
		b, err := os.ReadFile(name)
		text := strings.ReplaceAll(string(b), "\\_", "_")
		if err != nil || !strings.Contains(text, "refuses more connections after 4 of 9; use fewer --sessions") || strings.Contains(text, "server lost") {
			t.Errorf("%s does not say why the run ended (%v)", name, err)
		}
	}
}

// TestSnapshotIsolationOff: who asks for repeatable read where it is no snapshot isolation is told so, and
// what to type.
func TestSnapshotIsolationOff(t *testing.T) {
	run := func(isolation string) string {
		return isohound(t, "run", "--driver", "mariadb", "--dsn", mariadbDSN(t)+"?innodb_snapshot_isolation=0", "--isolation", isolation, "--sessions", "2", "--txns", "5").msg
	}
	const typed = `repeatable read, innodb_snapshot_isolation=ON`
	if msg := run("repeatable read"); !strings.Contains(msg, "innodb_snapshot_isolation is OFF") || !strings.Contains(msg, `--isolation "`+typed+`"`) {
		t.Errorf("not told: %s", msg)
	}
	if msg := run(typed); strings.Contains(msg, "is OFF") {
		t.Errorf("told although it is on: %s", msg)
	}
}

// TestOwnKeys: a workload that has no keys in number --keys announces none.
func TestOwnKeys(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	c := isohound(t, "run", "--driver", "sim", "--workload", "tpcc", "-p", "warehouses=1", "-p", "districts=1", "-p", "scale=0.1%", "--sessions", "2", "--txns", "5", "--out", out)
	if c.code != 0 && c.code != 3 || strings.Contains(c.msg, ", 100 keys") || strings.Contains(c.msg, "--keys") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
}

// TestTwoLevels: an anomaly that violates two levels is printed once, and the folder of a run can be
// judged again.
func TestTwoLevels(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	c := isohound(t, "run", "--driver", "badger", "--isolation", "DetectConflicts=false", "--check", "si,ser", "--keys", "5", "--txns", "50", "--seed", "1", "--out", out)
	if c.code != 1 || strings.Count(c.out, "LostUpdate (lost-update") != 1 || !strings.Contains(c.out, "LostUpdate, the same as at si") {
		t.Errorf("exit code %d: %s", c.code, c.out)
	}
	if c := isohound(t, "check", out, "--level", "si,ser"); c.code != 1 || strings.Count(c.out, "LostUpdate (lost-update") != 1 || !strings.Contains(c.out, filepath.Join(out, "history.jsonl.zst")+": ser violated") {
		t.Errorf("check %s: exit code %d: %s%s", out, c.code, c.out, c.msg)
	}
}
