package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/internal/sqlreplay"
	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/servers"
)

// TestReproductionSQL: the SQL of reproduction folders, executed on the servers, shows what its head claims, and most of it
// claims that each read returns what was recorded. The same with isolationtester, where there is one. Runs differ from time to
// time, and a rare one shows what the model of a server lacks: one file in 25 may claim too much.
func TestReproductionSQL(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	tester := sqlreplay.Tester()
	if tester == "" {
		t.Log("this machine has no isolationtester (Debian: postgresql-client-15), so that no .spec is executed")
	}
	// ./run.sh test builds the version of 2019 only; the newer one runs where ./run.sh tidb built it.
	version, modes := "2024", []string{"repeatable read, tidb_txn_mode=optimistic", "repeatable read, tidb_txn_mode=pessimistic"}
	if _, err := servers.FindTiDB(version); err != nil {
		version, modes = "2019", modes[:1] // it has no pessimistic transactions
	}
	tidb, err := servers.StartTiDB(version)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tidb.Stop)
	all := []string{"scan", "skew", "append", "mini"}
	for _, db := range []struct {
		driver, dsn           string
		isolations, workloads []string
		connect               func(context.Context) (sqlreplay.Client, error)
	}{
		{"postgres", postgresDSN(t), []string{"read committed", "repeatable read"}, all, sqlreplay.Postgres(postgresDSN(t))},
		{"mariadb", mariadbDSN(t), []string{"read committed", "repeatable read", "repeatable read, innodb_snapshot_isolation=ON"}, all, sqlreplay.MariaDB(mariadbDSN(t), "reprosql")},
		{"tidb", tidb.DSN(), modes, []string{"scan", "append"}, sqlreplay.MariaDB(tidb.DSN(), "reprosql")},
	} {
		files, claimed, specs, wrong := 0, 0, 0, 0
		for _, isolation := range db.isolations {
			for _, workload := range db.workloads {
				dir := filepath.Join(t.TempDir(), "run")
				c := isohound(t, "run", "--driver", db.driver, "--dsn", db.dsn, "--isolation", isolation, "--workload", workload, "--txns", "120",
					"--sessions", "5", "--check", "ser", "--explain-timeout", "5s", "--no-progress", "--out", dir)
				if c.code > int(exitViolated) && c.code != int(exitVacuous) { // a slow machine
					t.Fatalf("%s, %s: exit code %d\n%s%s", isolation, workload, c.code, c.out, c.msg)
				}
				paths, err := filepath.Glob(filepath.Join(dir, results.ReproFolder, "minimal*.s*"))
				if err != nil {
					t.Fatal(err)
				}
				for _, path := range paths {
					b, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					var r *sqlreplay.Result
					switch {
					case strings.HasSuffix(path, ".sql"):
						files++
						r, err = sqlreplay.Run(ctx, db.connect, string(b))
					case tester == "":
						continue
					default:
						specs++
						r, err = sqlreplay.Spec(ctx, tester, db.dsn, string(b))
					}
					if err != nil {
						t.Fatalf("%s, %s: %v\n%s", isolation, workload, err, b)
					}
					if r.Claims && strings.HasSuffix(path, ".sql") {
						claimed++
					}
					if r.Claims && !r.Shows() {
						wrong++
						t.Logf("%s, %s, %s: %s\nwaited: %q\n%s", isolation, workload, filepath.Base(path), strings.Join(r.Wrong, "\n"), r.Waited, b)
					}
				}
			}
		}
		t.Logf("%s: of %d files %d say that they show the violation, %d wrongly; %d specifications", db.driver, files, claimed, wrong, specs)
		if wrong > (files+specs)/25 {
			t.Errorf("%s: %d files claim too much", db.driver, wrong)
		}
		if files < 2 || claimed == 0 || claimed < files*3/4-2 {
			t.Errorf("%s: only %d of %d files show the violation", db.driver, claimed, files)
		}
	}
}
