package scan

import (
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	_ "github.com/isohound/isohound/drivers/badger"
	_ "github.com/isohound/isohound/drivers/mariadb"
	_ "github.com/isohound/isohound/drivers/postgres"
	_ "github.com/isohound/isohound/drivers/sqlite"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/worktest"
	"github.com/isohound/isohound/workloads"
)

// phantoms are transactions of which only what scans do not find can violate snapshot isolation or
// serializability: each write inserts a row of its own, and no row changes.
const phantoms = "scans=read then=insert,item,again most=1000"

// TestDatabases: what each isolation keeps and breaks. A run that does not show an anomaly is repeated
// with other seeds; every run must satisfy the levels that are kept.
func TestDatabases(t *testing.T) {
	const tries = 8
	skews := []string{"PredicateWriteSkew", "G2"}
	for _, tc := range []struct {
		driver, isolation, set string
		kept                   level.Level // and all weaker levels; 0: none
		broken                 level.Level // 0: none
		names                  []string    // one of them is the anomaly
	}{
		{"postgres", "serializable", "", level.SER, 0, nil},
		{"postgres", "serializable", "index=hash tables=20 empty=20 stay=10", level.SER, 0, nil},
		{"postgres", "serializable", "index=gin tables=20 empty=20 stay=10", level.SER, 0, nil},
		{"postgres", "serializable", "index=brin conditions=key,indexed,unindexed,all", level.SER, 0, nil},
		{"postgres", "serializable", phantoms, level.SER, 0, nil},
		{"postgres", "repeatable read", phantoms, level.SI, level.SER, skews},
		// An insertion over a row that another transaction has deleted since the snapshot succeeds.
		{"postgres", "repeatable read", "then=delete,upsert,again", 0, level.SI, []string{"NonRepeatableReads", "LostUpdate", "G-single"}},
		{"postgres", "read committed", phantoms, 0, level.SI, []string{"NonRepeatableReads", "Phantom"}},
		{"mariadb", "serializable", "", level.SER, 0, nil},
		{"mariadb", "serializable", phantoms, level.SER, 0, nil},
		{"mariadb", "repeatable read, innodb_snapshot_isolation=ON", phantoms, level.SI, level.SER, skews},
		{"mariadb", "repeatable read, innodb_snapshot_isolation=OFF", phantoms, level.SI, level.SER, skews},
		{"mariadb", "repeatable read, innodb_snapshot_isolation=OFF", "", 0, level.SI, []string{"NonRepeatableReads", "LostUpdate"}},
		{"mariadb", "read committed", phantoms, 0, level.SI, []string{"NonRepeatableReads", "Phantom"}},
		{"badger", "serializable", phantoms, level.SI, level.SER, skews},
		{"sqlite", "deferred", "", level.SSER, 0, nil},
	} {
		t.Run(strings.TrimSpace(tc.driver+" "+tc.isolation+" "+tc.set), func(t *testing.T) {
			for seed := int64(1); ; seed++ {
				h := record(t, tc.driver, tc.isolation, seed, strings.Fields(tc.set)...)
				if tc.kept != 0 {
					if r := judge(t, h, tc.kept); r.Verdict != verdict.Satisfied {
						t.Fatalf("seed %d: %s %s: %s %v", seed, tc.kept, r.Verdict, r.Reason, r.Anomalies)
					}
				}
				if tc.broken == 0 {
					return
				}
				var names []string
				r := judge(t, h, tc.broken)
				for _, a := range r.Anomalies {
					names = append(names, a.Names...)
				}
				if r.Verdict == verdict.Violated && slices.ContainsFunc(tc.names, func(n string) bool { return slices.Contains(names, n) }) {
					return
				}
				if t.Logf("seed %d: %s %s, %v", seed, tc.broken, r.Verdict, names); seed == tries {
					t.Fatalf("none of %v in %d runs", tc.names, tries)
				}
			}
		})
	}
}

// record runs the workload, and returns its history with what its scans did not find.
func record(t *testing.T, driver, isolation string, seed int64, set ...string) *history.History {
	t.Helper()
	const sessions = 10
	w := worktest.New(t, "scan", workloads.Common{Sessions: sessions}, set...)
	db := worktest.Open(t, driver, drivers.Config{DSN: dsn[driver], Isolation: isolation, CallTimeout: generator.DefaultCallTimeout}, w)
	h := worktest.Run(t, db, w, generator.Config{Sessions: sessions, Txns: 60, Retries: 3, Seed: seed, CallTimeout: generator.DefaultCallTimeout, Patience: generator.DefaultPatience})
	if why := checker.Vacuous(h); why != "" {
		t.Fatal(why)
	}
	h, _, err := scans.Expand(t.Context(), h, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	if s := h.Scans; s.Scans < 100 || s.Judged != s.Scans || s.ClassReads < 100 {
		t.Fatalf("scans %+v", s)
	}
	return h
}

func judge(t *testing.T, h *history.History, lvl level.Level) *verdict.Result {
	t.Helper()
	r, err := checker.Check(t.Context(), h, lvl, checker.Options{Certify: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
