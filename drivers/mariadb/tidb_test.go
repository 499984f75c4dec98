package mariadb

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/replay"
	"github.com/isohound/isohound/servers"
	"github.com/isohound/isohound/workloads"
	_ "github.com/isohound/isohound/workloads/ctwitter"
	_ "github.com/isohound/isohound/workloads/mini"
	_ "github.com/isohound/isohound/workloads/rubis"
)

// eachTiDB runs a test on every version of TiDB that is built. That of 2019 must be; that of 2024
// takes minutes to build, and is left out where it is not.
func eachTiDB(t *testing.T, run func(t *testing.T, s *servers.TiDB, version string)) {
	for _, version := range servers.TiDBVersions {
		t.Run(version, func(t *testing.T) {
			if _, err := exec.LookPath("tidb-server-" + version); err != nil && version != "2019" {
				t.Skipf("tidb-server-%s is not on PATH; ./run.sh tidb builds it into bin/", version)
			}
			s, err := servers.StartTiDB(version)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Stop)
			run(t, s, version)
		})
	}
}

// TestTiDB runs everything that needs a server of TiDB.
func TestTiDB(t *testing.T) {
	eachTiDB(t, func(t *testing.T, s *servers.TiDB, version string) {
		d := driver{tidb}
		t.Run("contract", func(t *testing.T) { drivertest.Run(t, d, s.DSN(), false) })
		t.Run("tables", func(t *testing.T) { drivertest.Tables(t, d, s.DSN()) })
		t.Run("counting", func(t *testing.T) { drivertest.Counting(t, d, s.DSN()) })
		for _, iso := range isolationsOf(version) {
			t.Run(iso, func(t *testing.T) {
				drivertest.Lightweight(t, at{d, iso}, s.DSN())
				inEffect(t, s, iso, version)
			})
		}
		t.Run("refused", func(t *testing.T) { refusedByVersion(t, s, version) })
		t.Run("updates", func(t *testing.T) { lostUpdates(t, s, version) })
		t.Run("positions", func(t *testing.T) { positions(t, s, version) })
	})
}

// isolationsOf are the isolations that a version has.
func isolationsOf(version string) []string {
	if version == "2019" {
		return []string{optimistic, readCommitted, autoRetry}
	}
	return []string{optimistic, pessimistic, readCommitted}
}

// at is a driver whose default is an isolation.
type at struct {
	driver
	isolation string
}

func (d at) Info() drivers.Info {
	info := d.driver.Info()
	info.Isolations = slices.DeleteFunc(slices.Clone(info.Isolations), func(i drivers.Isolation) bool { return i.Name != d.isolation })
	return info
}

// inEffect asks the server which settings are in effect.
func inEffect(t *testing.T, s *servers.TiDB, iso, version string) {
	x := drivertest.Begin(t, drivertest.Open(t, driver{tidb}, s.DSN(), iso)).(tx)
	want := map[string]string{disableAutoRetry: "ON", "tx_isolation": "REPEATABLE-READ", txnMode: "pessimistic"}
	switch iso {
	case optimistic:
		want[txnMode] = "optimistic"
	case readCommitted:
		want["tx_isolation"] = "READ-COMMITTED"
	case autoRetry:
		want[disableAutoRetry] = "OFF"
	}
	if version == "2019" {
		delete(want, txnMode)
	}
	for name, value := range want {
		if got, _, err := sessionVariable(ctx, x.c, name); err != nil || got != value {
			t.Errorf("%s: %s is %s, not %s (%v)", iso, name, got, value, err)
		}
	}
}

// refusedByVersion: isolations that a version does not have, and tables where statements are executed again.
func refusedByVersion(t *testing.T, s *servers.TiDB, version string) {
	iso, want := autoRetry, "does not retry transactions any more"
	if version == "2019" {
		iso, want = pessimistic, "all its transactions are optimistic"
		db := drivertest.Open(t, driver{tidb}, s.DSN(), autoRetry)
		if err := db.(drivers.TableDB).CreateTables(ctx, nil, nil); err == nil || !strings.Contains(err.Error(), "use a workload without tables") {
			t.Errorf("tables: %v", err)
		}
	}
	if _, err := (driver{tidb}).Open(ctx, drivers.Config{DSN: s.DSN(), Isolation: iso}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v", iso, err)
	}
	if _, err := (driver{}).Open(ctx, drivers.Config{DSN: s.DSN(), Isolation: serializable}); err == nil || !strings.Contains(err.Error(), "this is TiDB; use --driver tidb") {
		t.Errorf("driver mariadb: %v", err)
	}
}

// lostUpdates lets two transactions read a key and update it, one after the other, so that nothing
// depends on luck. Which isolations lose the first update is documented.
func lostUpdates(t *testing.T, s *servers.TiDB, version string) {
	for _, iso := range isolationsOf(version) {
		db := drivertest.Open(t, driver{tidb}, s.DSN(), iso)
		one, two := drivertest.Begin(t, db), drivertest.Begin(t, db)
		for _, x := range []drivers.Tx{one, two} {
			if v, _, err := x.Read(ctx, "a"); err != nil || v != 1 {
				t.Fatalf("%s: %d, %v", iso, v, err)
			}
		}
		if _, err := one.Update(ctx, "a", 10); err != nil {
			t.Fatal(err)
		}
		if err := one.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		_, err := two.Update(ctx, "a", 20)
		if err == nil {
			err = two.Commit(ctx)
		}
		// That of 2019 has optimistic transactions on a snapshot under the name of read committed, too.
		loses := iso == pessimistic || iso == autoRetry || iso == readCommitted && version != "2019"
		if loses != (err == nil) {
			t.Errorf("%s: the second update: %v", iso, err)
		}
		if err != nil {
			drivertest.Class(t, iso, err, drivers.Aborted, false)
		}
		want := int64(10)
		if loses {
			want = 20
		}
		if v, _, err := drivertest.Begin(t, db).Read(ctx, "a"); err != nil || v != want {
			t.Errorf("%s: a is %d, not %d (%v)", iso, v, want, err)
		}
	}
}

// TestTiDBVerdicts: runs hold what is promised, and no outcome is unknown.
func TestTiDBVerdicts(t *testing.T) {
	eachTiDB(t, func(t *testing.T, s *servers.TiDB, version string) {
		for _, iso := range isolationsOf(version) {
			held(t, s, version, "mini", iso, workloads.Common{Sessions: 8, Keys: 10}, 60)
		}
		for _, workload := range []string{"ctwitter", "rubis"} {
			held(t, s, version, workload, optimistic, workloads.Common{Sessions: 4, Keys: 30}, 10)
		}
	})
}

// held records a run of so many transactions of each session, and checks what the isolation promises.
func held(t *testing.T, s *servers.TiDB, version, workload, isolation string, common workloads.Common, txns int) {
	iso, err := tidb.info.FindIsolation(isolation)
	if err != nil {
		t.Fatal(err)
	}
	w, err := replay.New(workload, common)
	if err != nil {
		t.Fatal(err)
	}
	cfg := generator.Config{Sessions: common.Sessions, Txns: txns, Retries: 3, Seed: 7, CallTimeout: generator.DefaultCallTimeout, Patience: generator.DefaultPatience}
	raw, err := replay.Record(driver{tidb}, drivers.Config{DSN: s.DSN(), Isolation: iso.Name, Positions: true}, w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	h, err := replay.Load(raw)
	if err != nil {
		t.Fatal(err)
	}
	if n := h.Count(); n.Committed < common.Sessions*txns/5 || n.Unknown > 0 {
		t.Errorf("%s, %s: %+v", workload, iso.Name, n)
	}
	if version != "2019" {
		placedAll(t, h, iso.Name)
	}
	for _, promised := range strings.Split(iso.Promises, ",") {
		lvl, err := level.Parse(promised)
		if err != nil {
			t.Fatal(err)
		}
		r, err := checker.Check(ctx, h, lvl, checker.Options{Certify: true})
		if err != nil || r.Verdict != verdict.Satisfied {
			t.Errorf("%s, %s: %s: %v, %v", workload, iso.Name, lvl, r, err)
		} else if version != "2019" && iso.Name == optimistic && (r.Claim == nil || !r.Claim.Fits) {
			t.Errorf("%s, %s: %s: by %s, claim %+v", workload, iso.Name, lvl, r.Engine, r.Claim)
		}
	}
}

// placedAll: every transaction that committed a write tells its commit, and those that see one state tell their snapshots.
func placedAll(t *testing.T, h *history.History, iso string) {
	for i := range h.Txns {
		x, c := &h.Txns[i], h.Claim(i)
		if x.Status != history.Committed {
			continue
		}
		writes := slices.ContainsFunc(h.Ops(x), func(o history.Op) bool { return o.Kind == history.Write })
		if writes != (c.Commit != 0) || c.Snapped != (iso == optimistic || iso == pessimistic && !writes) {
			t.Errorf("%s: transaction %d, which writes: %v, is at %+v", iso, x.ID, writes, c)
		}
	}
}

// TestTiDBKilled: what was committed before the server is killed is there when it is started again, and a
// transaction that was open is not. A commit that a killed server does not answer is of unknown outcome.
func TestTiDBKilled(t *testing.T) {
	eachTiDB(t, func(t *testing.T, s *servers.TiDB, version string) {
		db, err := driver{tidb}.Open(ctx, drivers.Config{DSN: s.DSN(), Isolation: optimistic, CallTimeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Create(ctx, maps.All(drivertest.Initial)); err != nil {
			t.Fatal(err)
		}
		for _, commit := range []bool{true, false} {
			x := drivertest.Begin(t, db)
			key := map[bool]string{true: "a", false: "A"}[commit]
			if _, err := x.Update(ctx, key, 50); err != nil {
				t.Fatal(err)
			}
			if commit {
				if err := x.Commit(ctx); err != nil {
					t.Fatal(err)
				}
				continue
			}
			s.Kill()
			drivertest.Class(t, "commit", x.Commit(ctx), drivers.OutcomeUnknown, true)
		}
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		x := drivertest.Begin(t, db)
		for key, want := range map[string]int64{"a": 50, "A": drivertest.Initial["A"], "a ": drivertest.Initial["a "]} {
			if v, found, err := x.Read(ctx, key); err != nil || !found || v != want {
				t.Errorf("%q is %d, %v; want %d (%v)", key, v, found, want, err)
			}
		}
		if err := db.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}
