package lwt

import (
	"bytes"
	"context"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	_ "github.com/isohound/isohound/drivers/badger"
	_ "github.com/isohound/isohound/drivers/mariadb"
	_ "github.com/isohound/isohound/drivers/postgres"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/internal/worktest"
	"github.com/isohound/isohound/servers"
	"github.com/isohound/isohound/workloads"
)

var dsn = map[string]string{}

func TestMain(m *testing.M) { os.Exit(servers.Both(m, dsn)) }

var ctx = context.Background()

func newLWT(t *testing.T, c workloads.Common, set ...string) generator.Workload {
	t.Helper()
	return worktest.New(t, "lwt", c, set...)
}

// open opens a new database.
func open(t *testing.T, driver, isolation string) drivers.DB {
	t.Helper()
	d, err := drivers.Find(driver)
	if err != nil {
		t.Fatal(err)
	}
	iso, err := d.Info().FindIsolation(isolation)
	if err != nil {
		t.Fatal(err)
	}
	db, err := d.Open(ctx, drivers.Config{DSN: dsn[driver], Isolation: iso.Name, CallTimeout: generator.DefaultCallTimeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close(ctx) })
	return db
}

// run executes a workload.
func run(t *testing.T, db drivers.DB, w generator.Workload, sessions, txns int) *history.History {
	t.Helper()
	if err := db.Create(ctx, w.Initial()); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	log, err := native.NewLog(&out, false)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := generator.NewRecorder(log, history.Header{}, w)
	if err != nil {
		t.Fatal(err)
	}
	r := generator.NewRunner(generator.Config{Sessions: sessions, Txns: txns, Retries: 3, CallTimeout: generator.DefaultCallTimeout, Patience: generator.DefaultPatience, Seed: 7}, db, w, rec)
	if _, err := r.Run(ctx, ctx); err != nil {
		t.Fatal(err)
	}
	s := r.Meter().Stats()
	t.Logf("%d committed, %d aborted, %d unknown, %.0f commits/s, median %.2f ms", s.Committed, s.Aborted, s.Unknown, s.CommitsPerSec, s.LatencyMS.P50)
	src, err := native.NewReader(&out, "h", 0)
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.Load(ctx, src)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// shape formats a lightweight transaction without its key and values: "r", "rw", "n", "w", and
// "r-" or "n-" if the value is absence.
func shape(h *history.History, t *history.Txn) string {
	s := ""
	for _, op := range h.Ops(t) {
		s += op.Kind.String()
		if op.Value == history.Absent {
			s += "-"
		}
	}
	return s
}

func shapes(h *history.History) map[string]int {
	n := map[string]int{}
	for i := range h.Txns {
		if h.Txns[i].Status == history.Committed {
			n[shape(h, &h.Txns[i])]++
		}
	}
	return n
}

func judge(t *testing.T, h *history.History, lvl level.Level) *verdict.Result {
	t.Helper()
	r, err := checker.Check(ctx, h, lvl, checker.Options{Certify: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestEngines: at each isolation that promises it, lightweight transactions are linearizable: of
// all kinds, concurrent, and on shared keys.
func TestEngines(t *testing.T) {
	for _, name := range []string{"badger", "postgres", "mariadb"} {
		d, err := drivers.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, iso := range d.Info().Isolations {
			if iso.Lightweight != "lin" {
				continue
			}
			t.Run(name+" "+iso.Name, func(t *testing.T) {
				h := run(t, open(t, name, iso.Name), newLWT(t, workloads.Common{}), 16, 200)
				n := shapes(h)
				t.Log(n)
				for s, least := range map[string]int{"r": 200, "rw": 200, "n": 10, "w": 10, "r-": 1, "n-": 20} {
					if n[s] < least {
						t.Errorf("%d transactions of the kind %s, fewer than %d", n[s], s, least)
					}
				}
				if r := judge(t, h, level.LIN); r.Verdict != verdict.Satisfied || !r.Certified {
					t.Errorf("%s %s %+v", r.Verdict, r.Reason, r.Anomalies)
				}
				if why := checker.Vacuous(h); why != "" {
					t.Error(why)
				}
			})
		}
	}
}

// TestUndetected: Badger without conflict detection loses compare-and-sets.
func TestUndetected(t *testing.T) {
	h := run(t, open(t, "badger", "DetectConflicts=false"), newLWT(t, workloads.Common{Keys: 2}), 16, 500)
	if r := judge(t, h, level.LIN); r.Verdict != verdict.Violated || !r.Certified {
		t.Errorf("%s %s", r.Verdict, r.Reason)
	}
}

// TestTransactions: the same steps as transactions are mini-transactions, which are
// serializable, and linearizable on these databases.
func TestTransactions(t *testing.T) {
	for _, driver := range []string{"badger", "postgres", "mariadb"} {
		h := run(t, open(t, driver, ""), newLWT(t, workloads.Common{}, "as=transaction"), 8, 100)
		for _, lvl := range []level.Level{level.SER, level.LIN} {
			if r := judge(t, h, lvl); r.Verdict != verdict.Satisfied || !r.Certified || r.Engine != "linear" {
				t.Errorf("%s: %s by %s: %s", lvl, r.Verdict, r.Engine, r.Reason)
			}
		}
		if n := shapes(h); n["rw"] < 100 || n["r-w"] < 5 || n["n"] > 0 {
			t.Errorf("%s: %v", driver, n)
		}
	}
}

// TestPlan: the same seed gives the same plan, another seed another one, and different workers
// have different plans.
func TestPlan(t *testing.T) {
	w := newLWT(t, workloads.Common{Sessions: 4, Dist: "zipfian"}, "birth=7")
	draw := func(seed int64, worker int) []generator.Program {
		p := w.Plan(worker, generator.Stream(seed, worker))
		var out []generator.Program
		for range 200 {
			out = append(out, p.Next())
		}
		return out
	}
	if !reflect.DeepEqual(draw(1, 0), draw(1, 0)) {
		t.Error("the same seed gives another plan")
	}
	if reflect.DeepEqual(draw(1, 0), draw(2, 0)) || reflect.DeepEqual(draw(1, 0), draw(1, 1)) {
		t.Error("plans do not differ")
	}
}

// TestChains: a single session inserts each key and then changes it by compare-and-sets from its
// own values. Only insertions that did not read first fail.
func TestChains(t *testing.T) {
	h := run(t, open(t, "badger", ""), newLWT(t, workloads.Common{Keys: 3}, "birth=0", "chain=100", "reads=0", "inserts=0"), 1, 1000)
	if n := shapes(h); n["n"] > 0 || n["n-"] > 0 || n["w"] != 3 || n["rw"] < 900 || n["r"] > 10 {
		t.Errorf("%v", n)
	}
	h = run(t, open(t, "badger", ""), newLWT(t, workloads.Common{Keys: 3}, "birth=20", "reads=50", "inserts=30"), 1, 2000)
	n := shapes(h)
	reads, inserts := n["r"]+n["r-"], n["n-"]
	if n["n"] > 0 || n["w"] < 80 || reads < 900 || inserts < 400 || inserts > 700 {
		t.Errorf("%v", n)
	}
}

// TestBirth: new keys keep entering the window, and each is inserted once.
func TestBirth(t *testing.T) {
	h := run(t, open(t, "badger", ""), newLWT(t, workloads.Common{Keys: 5, Dist: "latest"}, "birth=10"), 8, 400)
	born := map[history.Key]int{}
	for i := range h.Txns {
		tx := &h.Txns[i]
		if tx.Status == history.Committed && shape(h, tx) == "w" {
			born[h.Ops(tx)[0].Key]++
		}
	}
	if len(born) < 40 {
		t.Errorf("%d keys were born", len(born))
	}
	for k, n := range born {
		if n != 1 {
			t.Errorf("key %s was born %d times", h.KeyName(k), n)
		}
	}
}

func TestRefusals(t *testing.T) {
	spec, err := workloads.Find("lwt")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"chain=0", "chain=x", "reads=101", "reads=x", "inserts=-1", "birth=-1", "as=x", "foo=1"} {
		values, err := spec.Resolve([]string{set})
		if err == nil {
			_, err = spec.New(workloads.Common{Sessions: 1, Keys: 10, Dist: "uniform"}, values)
		}
		if err == nil || !strings.Contains(err.Error(), "-p ") {
			t.Errorf("-p %s: %v", set, err)
		}
	}
	if why := newLWT(t, workloads.Common{}, "reads=60", "inserts=40").(generator.Idle).Idle(); why == "" {
		t.Error("a workload without compare-and-sets is not called idle")
	}
	if why := newLWT(t, workloads.Common{}).(generator.Idle).Idle(); why != "" {
		t.Error(why)
	}
}
