package append

import (
	"bytes"
	"context"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/linear"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	_ "github.com/isohound/isohound/drivers/badger"
	_ "github.com/isohound/isohound/drivers/mariadb"
	_ "github.com/isohound/isohound/drivers/postgres"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/elle"
	"github.com/isohound/isohound/history/fit"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/internal/worktest"
	"github.com/isohound/isohound/servers"
	"github.com/isohound/isohound/workloads"
)

// dsn is the DSNs of the servers, by driver.
var dsn = map[string]string{}

func TestMain(m *testing.M) { os.Exit(servers.Both(m, dsn)) }

func newLists(t *testing.T, c workloads.Common, set ...string) generator.Workload {
	t.Helper()
	return worktest.New(t, "append", c, set...)
}

// run executes a workload on a database.
func run(t *testing.T, w generator.Workload, driver, isolation string, sessions, txns int) *history.History {
	t.Helper()
	d, err := drivers.Find(driver)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	db, err := d.Open(ctx, drivers.Config{DSN: dsn[driver], Isolation: isolation, CallTimeout: generator.DefaultCallTimeout})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(ctx)
	tables := w.(generator.Tables)
	if err := db.Create(ctx, w.Initial()); err != nil {
		t.Fatal(err)
	}
	if err := db.(drivers.TableDB).CreateTables(ctx, tables.Schema(), tables.Rows()); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	log, err := native.NewLog(&out, false)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := generator.NewRecorder(log, history.Header{Workload: "append"}, w)
	if err != nil {
		t.Fatal(err)
	}
	r := generator.NewRunner(generator.Config{Sessions: sessions, Txns: txns, Retries: 3, Seed: 7, CallTimeout: generator.DefaultCallTimeout, Patience: generator.DefaultPatience}, db, w, rec)
	if _, err := r.Run(ctx, ctx); err != nil {
		t.Fatal(err)
	}
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

func judge(t *testing.T, h *history.History, lvl level.Level) verdict.Verdict {
	t.Helper()
	r, err := checker.Check(context.Background(), h, lvl, checker.Options{Certify: true})
	if err != nil {
		t.Fatal(err)
	}
	return r.Verdict
}

// TestPlan: the same seed gives the same plan, another seed another one, and different workers
// have different plans.
func TestPlan(t *testing.T) {
	w := newLists(t, workloads.Common{Sessions: 4, Keys: 20, Dist: "zipfian"}, "appends=8")
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

// TestRetirement: a key gets the requested number of appends on average, for every distribution,
// and its list fits into the column. A worker does not return to a key that has left the window.
func TestRetirement(t *testing.T) {
	for _, tc := range []struct {
		dist     string
		sessions int
		set      []string
		appends  float64
	}{
		{"uniform", 20, nil, 100},
		{"zipfian", 20, []string{"appends=32", "length=2"}, 32},
		{"latest", 4, []string{"appends=8", "reads=80"}, 8},
		{"exponential", 50, []string{"appends=300", "length=1"}, 300},
	} {
		w := newLists(t, workloads.Common{Sessions: tc.sessions, Keys: 10, Dist: tc.dist}, tc.set...)
		got, last := map[int64]int{}, int64(0)
		for worker := range tc.sessions {
			p := w.Plan(worker, generator.Stream(1, worker))
			newest := int64(0)
			for range 3000 {
				for _, op := range p.Next().(*transaction).ops {
					if op.key <= newest-10 {
						t.Fatalf("key %d after key %d", op.key, newest)
					}
					if newest = max(newest, op.key); !op.read {
						got[op.key]++
					}
				}
			}
			last = newest
		}
		sum, n, most := 0, 0, 0
		for key := int64(10); key < last-20; key++ {
			sum, n, most = sum+got[key], n+1, max(most, got[key])
		}
		if mean := float64(sum) / float64(n); mean < tc.appends*0.95 || mean > tc.appends*1.05 || n < 20 {
			t.Errorf("%s: %d keys got %.1f appends on average, want %.0f", tc.dist, n, mean, tc.appends)
		}
		if room := w.(*lists).size(); most*12 > room {
			t.Errorf("%s: %d elements do not fit into %d bytes", tc.dist, most, room)
		}
	}
}

// TestRecorded: an append is recorded as a read and a write, with a fresh element, beginning
// with the absent list.
func TestRecorded(t *testing.T) {
	h := run(t, newLists(t, workloads.Common{Sessions: 8, Keys: 5}, "appends=20", "rollback=5"), "badger", "serializable", 8, 300)
	if ok, why := elle.Appends(h); !ok {
		t.Fatal(why)
	}
	reads, writes, first, aborted := 0, 0, 0, 0
	for i := range h.Txns {
		ops := h.Ops(&h.Txns[i])
		if len(ops) > 8 {
			t.Errorf("%d operations", len(ops))
		}
		if h.Txns[i].Status == history.Aborted {
			aborted++
		}
		for n, op := range ops {
			switch {
			case op.Kind == history.Read:
				reads++
			case n == 0 || ops[n-1].Key != op.Key || ops[n-1].Kind != history.Read:
				t.Errorf("transaction %d: a write without a read", h.Txns[i].ID)
			default:
				writes++
				if ops[n-1].Value == history.Absent {
					first++
				}
			}
		}
	}
	if writes < 2000 || reads < 2*writes*8/10 || first < 100 || aborted < 100 {
		t.Errorf("%d reads, %d writes, %d of them of new lists, %d transactions aborted", reads, writes, first, aborted)
	}
}

// TestElle: a recorded history has the expected verdict, and keeps it when converted to lists
// with append in EDN and JSON.
func TestElle(t *testing.T) {
	for _, tc := range []struct {
		driver, isolation string
		ser, si           verdict.Verdict
	}{
		{"badger", "serializable", verdict.Satisfied, verdict.Satisfied},
		{"badger", "DetectConflicts=false", verdict.Violated, verdict.Violated},
		{"postgres", "serializable", verdict.Satisfied, verdict.Satisfied},
		{"postgres", "repeatable read", verdict.Violated, verdict.Satisfied},
		{"postgres", "read committed", verdict.Violated, verdict.Violated},
		{"mariadb", "serializable", verdict.Satisfied, verdict.Satisfied},
		{"mariadb", "repeatable read", verdict.Violated, verdict.Violated},
	} {
		t.Run(tc.driver+" "+tc.isolation, func(t *testing.T) {
			h := run(t, newLists(t, workloads.Common{Sessions: 10, Keys: 10}, "think=200us"), tc.driver, tc.isolation, 10, 100)
			t.Logf("%+v", h.Count())
			if h.Count().Unknown > 0 {
				t.Fatal("outcomes are unknown")
			}
			want := map[level.Level]verdict.Verdict{level.SER: tc.ser, level.SI: tc.si}
			for lvl, v := range want {
				if got := judge(t, h, lvl); got != v {
					t.Errorf("%s: %s, want %s", lvl, got, v)
				}
			}
			for _, json := range []bool{false, true} {
				back := through(t, h, json)
				for lvl, v := range want {
					if got := judge(t, back, lvl); got != v {
						t.Errorf("as lists, %s: %s, want %s", lvl, got, v)
					}
				}
			}
		})
	}
}

// through writes a history for Elle and reads it back.
func through(t *testing.T, h *history.History, json bool) *history.History {
	t.Helper()
	fits, losses, _, err := fit.To(h, elle.Carries("elle"))
	if err != nil || len(losses) > 0 {
		t.Fatal(err, losses)
	}
	var b bytes.Buffer
	if err := elle.Write(&b, fits, json); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `append, "lists(`) && !strings.Contains(b.String(), `"append", "lists(`) {
		t.Error("nothing is appended")
	}
	back, err := history.Load(context.Background(), elle.NewReader(&b, "f", json))
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// TestMini: with up to two operations transactions are mini-transactions.
func TestMini(t *testing.T) {
	h := run(t, newLists(t, workloads.Common{Sessions: 8, Keys: 10}, "length=2"), "badger", "serializable", 8, 300)
	r, err := linear.Engine{}.Judge(context.Background(), h, level.SSER, engine.Options{})
	if err != nil || r.Verdict != verdict.Satisfied {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestRefusals(t *testing.T) {
	spec, err := workloads.Find("append")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"length=0", "reads=101", "appends=0", "appends=1001", "rollback=x", "think=5", "foo=1"} {
		values, err := spec.Resolve([]string{set})
		if err == nil {
			_, err = spec.New(workloads.Common{Sessions: 1, Keys: 10, Dist: "uniform"}, values)
		}
		if err == nil || !strings.Contains(err.Error(), "-p ") {
			t.Errorf("-p %s: %v", set, err)
		}
	}
	if newLists(t, workloads.Common{Sessions: 1, Keys: 1}, "reads=100").(generator.Idle).Idle() == "" ||
		newLists(t, workloads.Common{Sessions: 1, Keys: 1}).(generator.Idle).Idle() != "" {
		t.Error("what appends nothing is not told apart")
	}
}
