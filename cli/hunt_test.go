package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/results"
)

// TestHunt runs mini on real databases, 20 sessions on 100 keys, and compares
// each level's verdict with what the isolation allows.
func TestHunt(t *testing.T) {
	for _, tc := range []struct {
		name, isolation string
		dsn             func(*testing.T) string
		expect          map[string]string // level: satisfied, or the anomaly
	}{
		{"badger", "serializable", nil, map[string]string{"ser": "satisfied"}},
		{"badger", "DetectConflicts=false", nil, map[string]string{"si": "LostUpdate"}},
		{"bbolt", "serializable", nil, map[string]string{"ser": "satisfied", "sser": "satisfied"}},
		{"sqlite", "deferred", nil, map[string]string{"ser": "satisfied", "sser": "satisfied"}},
		{"sqlite", "immediate", nil, map[string]string{"ser": "satisfied", "sser": "satisfied"}},
		{"sqlite", "deferred, journal_mode=DELETE", nil, map[string]string{"ser": "satisfied", "sser": "satisfied"}},
		{"sqlite", "immediate, journal_mode=DELETE", nil, map[string]string{"ser": "satisfied", "sser": "satisfied"}},
		{"sqlite", "read uncommitted", nil, map[string]string{"si": "LostUpdate", "ser": "LostUpdate"}},
		{"postgres", "serializable", postgresDSN, map[string]string{"ser": "satisfied", "sser": "satisfied", "si": "satisfied"}},
		{"postgres", "repeatable read", postgresDSN, map[string]string{"si": "satisfied", "strong-si": "satisfied", "ser": "WriteSkew"}},
		{"postgres", "read committed", postgresDSN, map[string]string{"si": "LostUpdate", "ser": "LostUpdate"}},
		{"mariadb", "serializable", mariadbDSN, map[string]string{"ser": "satisfied", "sser": "satisfied"}},
		{"mariadb", "repeatable read, innodb_snapshot_isolation=ON", mariadbDSN, map[string]string{"si": "satisfied"}},
		{"mariadb", "repeatable read, innodb_snapshot_isolation=OFF", mariadbDSN, map[string]string{"si": "LostUpdate"}},
		{"mariadb", "read committed", mariadbDSN, map[string]string{"si": "LostUpdate"}},
		{"mariadb", "read uncommitted", mariadbDSN, map[string]string{"si": "LostUpdate"}},
	} {
		t.Run(tc.name+" "+tc.isolation, func(t *testing.T) {
			var levels []string
			wantCode := 0
			for l, v := range tc.expect {
				levels = append(levels, l)
				if v != "satisfied" {
					wantCode = 1
				}
			}
			slices.Sort(levels)
			out := filepath.Join(t.TempDir(), "run")
			args := []string{"run", "--driver", tc.name, "--isolation", tc.isolation, "--check", strings.Join(levels, ","),
				"--sessions", "20", "--keys", "100", "--txns", "400", "--out", out, "--json", "--no-progress"}
			if tc.dsn != nil {
				args = append(args, "--dsn", tc.dsn(t))
			}
			c := isohound(t, args...)
			t.Log(c.msg)
			if c.code != wantCode {
				t.Errorf("exit code %d, want %d\n%s", c.code, wantCode, c.out)
			}
			all := c.outcomes(t)
			if len(all) != len(levels) {
				t.Fatalf("%d outcomes, want %d:\n%s", len(all), len(levels), c.out)
			}
			for _, o := range all {
				want := tc.expect[o.Level]
				if !o.Certified || o.Committed < 1000 || o.Sessions < 20 || o.Seed == 0 {
					t.Errorf("%s: certified %v, %d committed in %d sessions, seed %d", o.Level, o.Certified, o.Committed, o.Sessions, o.Seed)
				}
				if want == "satisfied" {
					if o.Verdict != verdict.Satisfied {
						t.Errorf("%s: %s, want satisfied: %s %v", o.Level, o.Verdict, o.Reason, o.Anomalies)
					}
					continue
				}
				found := slices.ContainsFunc(o.Anomalies, func(a results.Anomaly) bool { return slices.Contains(a.Names, want) })
				if o.Verdict != verdict.Violated || !found {
					t.Errorf("%s: %s with %v, want %s", o.Level, o.Verdict, o.Anomalies, want)
				}
			}
			for _, f := range []string{"config.json", "history.jsonl.zst", "stats.json", "verdict.json", "report.html", "junit.xml"} {
				if st, err := os.Stat(filepath.Join(out, f)); err != nil || st.Size() == 0 {
					t.Errorf("%s: %v", f, err)
				}
			}
		})
	}
}
