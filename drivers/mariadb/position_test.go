package mariadb

import (
	"maps"
	"os/exec"
	"strings"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/servers"
)

// positions: transactions of TiDB tell the timestamps of their starts and commits, and only those that see one state
// tell it as their snapshot. That of 2019 tells nothing.
func positions(t *testing.T, s *servers.TiDB, version string) {
	for _, iso := range isolationsOf(version) {
		db, err := driver{tidb}.Open(ctx, drivers.Config{DSN: s.DSN(), Isolation: iso, Positions: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close(ctx) })
		if err := db.Create(ctx, maps.All(drivertest.Initial)); err != nil {
			t.Fatal(err)
		}
		if tells := db.(drivers.Positioner).Positions() != ""; tells != (version != "2019") {
			t.Errorf("%s: it tells positions: %v", iso, tells)
		}
		if version != "2019" {
			placed(t, db, iso)
		}
	}
	// Not asked, a transaction looks at nothing.
	if x := drivertest.Begin(t, drivertest.Open(t, driver{tidb}, s.DSN(), optimistic)).(tx); x.place != nil || x.Position() != (drivers.Position{}) {
		t.Error("it looks although nobody asked")
	}
}

func placed(t *testing.T, db drivers.DB, iso string) {
	s, err := db.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	// Each of them runs in the same session, so that the server still tells of the one before. The timestamp is that of the
	// start.
	place := func(do func(x drivers.Tx) error) (drivers.Position, int64) {
		t.Helper()
		x, err := s.Begin(ctx)
		var started int64
		if err == nil {
			err = x.(tx).c.QueryRowContext(ctx, askStart).Scan(&started)
		}
		if err == nil {
			err = do(x)
		}
		if err == nil {
			err = x.Commit(ctx)
		}
		if err != nil {
			t.Fatalf("%s: %v", iso, err)
		}
		return x.(drivers.Positioned).Position(), started
	}
	read := func(x drivers.Tx) error { _, _, err := x.Read(ctx, "a"); return err }
	update := func(x drivers.Tx) error { _, err := x.Update(ctx, "a", 7); return err }
	same := func(x drivers.Tx) error { _, err := x.Update(ctx, "a ", 3); return err }
	nobody := func(x drivers.Tx) error { _, err := x.Delete(ctx, "nobody"); return err }
	lock := func(x drivers.Tx) error {
		x.(tx).writing()
		var v int64
		return x.(tx).c.QueryRowContext(ctx, "SELECT v FROM kv WHERE k = 'a' FOR UPDATE").Scan(&v)
	}
	var last int64
	for _, step := range []struct {
		name    string
		do      func(x drivers.Tx) error
		commits bool
	}{
		{"update", update, true}, {"nobody", nobody, false}, {"the same value", same, iso != optimistic}, {"a lock", lock, false}, {"the same value after a lock", same, iso != optimistic},
		{"insert", func(x drivers.Tx) error { return x.Insert(ctx, "new", 7) }, true},
		{"delete", func(x drivers.Tx) error { _, err := x.Delete(ctx, "A"); return err }, true},
	} {
		p, started := place(step.do)
		if started <= last || (p.Commit != 0) != step.commits || step.commits && p.Commit <= started || p.Snapped != (iso == optimistic && !strings.HasPrefix(step.name, "the same")) || p.Snapped && p.Snapshot != started {
			t.Errorf("%s: %s: it started at %d and is at %+v", iso, step.name, started, p)
		}
		after, id := place(read)
		if after.Commit != 0 || after.Snapped != (iso != readCommitted) || id <= max(p.Commit, started) || after.Snapped && after.Snapshot != id {
			t.Errorf("%s: %s: at %+v; a reader that started at %d, after it, is at %+v", iso, step.name, p, id, after)
		}
		last = id
	}
	if iso != optimistic {
		return
	}
	// A commit that failed is not taken for that of the next transaction.
	one, err := s.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Update(ctx, "a", 10); err != nil {
		t.Fatal(err)
	}
	other := drivertest.Begin(t, db)
	if _, err := other.Update(ctx, "a", 9); err != nil {
		t.Fatal(err)
	}
	if err := other.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	drivertest.Class(t, "conflict", one.Commit(ctx), drivers.Aborted, false)
	if p, _ := place(same); p.Commit != 0 {
		t.Errorf("%s: a transaction that changed nothing, after one that failed, is at %+v", iso, p)
	}
	// After a question without an answer, the next answer may be old.
	s.(*session).unsure = true
	if p, _ := place(update); p.Commit != 0 {
		t.Errorf("%s: at %+v without knowing what was told before", iso, p)
	}
	if p, _ := place(func(x drivers.Tx) error { _, err := x.Update(ctx, "a", 8); return err }); p.Commit == 0 {
		t.Errorf("%s: at %+v", iso, p)
	}
}

// TestReadCommit: a commit that failed has no place.
func TestReadCommit(t *testing.T) {
	for text, want := range map[string][2]int64{
		`{"txn_scope":"global","start_ts":470691875647651840,"commit_ts":470691875648700416,"txn_commit_mode":"1pc"}`: {470691875647651840, 470691875648700416},
		`{"start_ts":470691875647651840,"commit_ts":470691875648700416,"error":"write conflict"}`:                     {},
		`{"start_ts":470691875647651840,"commit_ts":0}`:                                                               {},
		`{}`: {},
		``:   {},
	} {
		if started, committed := readCommit(text); started != want[0] || committed != want[1] {
			t.Errorf("%s: %d, %d", text, started, committed)
		}
	}
}

// BenchmarkPositionsOfTiDB has what positions cost many sessions.
func BenchmarkPositionsOfTiDB(b *testing.B) {
	if _, err := exec.LookPath("tidb-server-2024"); err != nil {
		b.Skip("tidb-server-2024 is not on PATH; ./run.sh tidb builds it into bin/")
	}
	s, err := servers.StartTiDB("2024")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Stop)
	for _, iso := range isolationsOf("2024") {
		b.Run(iso, func(b *testing.B) { drivertest.PositionsCost(b, driver{tidb}, s.DSN(), iso) })
	}
}
