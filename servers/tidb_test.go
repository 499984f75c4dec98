package servers

import (
	"database/sql"
	"strings"
	"testing"
)

// TestTiDB: what was committed is there after a crash, and nothing is left behind. That of 2024 takes minutes to
// build, and is left out where it is not.
func TestTiDB(t *testing.T) {
	for _, version := range TiDBVersions {
		t.Run(version, func(t *testing.T) {
			if _, err := FindTiDB(version); err != nil && version != "2019" {
				t.Skip(err)
			}
			here(t)
			s, err := StartTiDB(version)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Stop)
			if !strings.Contains(s.Version(), "TiDB-"+version) {
				t.Errorf("version %q", s.Version())
			}
			n := 0
			for _, stmt := range []string{"CREATE TABLE test.t (k INT PRIMARY KEY)", "INSERT INTO test.t VALUES (7)"} {
				if err := query("root", s.port, func(db *sql.DB) error { _, err := db.Exec(stmt); return err }); err != nil {
					t.Fatal(err)
				}
			}
			s.Kill()
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
			if err := query("root", s.port, func(db *sql.DB) error { return db.QueryRow("SELECT k FROM test.t").Scan(&n) }); err != nil || n != 7 {
				t.Errorf("%d, %v", n, err)
			}
			resume, err := s.Pause(false)
			if err != nil {
				t.Fatal(err)
			}
			resume()
			if _, err := s.Pause(true); err == nil || !strings.Contains(err.Error(), "pause the whole server instead") {
				t.Error(err)
			}
			s.Stop()
			s.Stop() // does nothing
		})
	}
	for _, tc := range []struct {
		version string
		opts    []Option
		want    string
	}{{"2020", nil, "there is no TiDB 2020 here, but 2024 and 2019"}, {"2019", []Option{Set("tidb_txn_mode", "optimistic")}, "takes none"}} {
		if _, err := StartTiDB(tc.version, tc.opts...); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
}
