package tpcc

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	_ "github.com/isohound/isohound/drivers/badger"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/workloads"
)

// small is a population on which transactions often conflict.
var small = []string{"warehouses=2", "scale=0.2%", "items=20", "districts=3"}

func newTPCC(t *testing.T, set ...string) *tpcc {
	t.Helper()
	w, err := makeTPCC(workloads.Common{Seed: 7}, set...)
	if err != nil {
		t.Fatal(err)
	}
	return w.(*tpcc)
}

func makeTPCC(c workloads.Common, set ...string) (generator.Workload, error) {
	spec, err := workloads.Find("tpcc")
	if err != nil {
		return nil, err
	}
	values, err := spec.Resolve(set)
	if err != nil {
		return nil, err
	}
	return spec.New(c, values)
}

// load opens a Badger store with the population.
func load(t *testing.T, w *tpcc, isolation string) drivers.DB {
	t.Helper()
	d, err := drivers.Find("badger")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	db, err := d.Open(ctx, drivers.Config{Isolation: isolation})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close(ctx) })
	if err := db.(drivers.TableDB).CreateTables(ctx, w.Schema(), w.Rows()); err != nil {
		t.Fatal(err)
	}
	return db
}

// begin opens a transaction that is rolled back at the end of the test.
func begin(t *testing.T, db drivers.DB) drivers.Tx {
	t.Helper()
	ctx := context.Background()
	s, err := db.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := s.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tx.Rollback(ctx); err != nil {
			t.Error(err)
		}
		s.Close()
	})
	return tx
}

// violated returns the numbers of the conditions that are violated in tx, and descriptions.
func violated(t *testing.T, w *tpcc, tx drivers.Tx) (numbers []string, problems []string) {
	t.Helper()
	all := w.Invariants()
	if len(all) != 12 {
		t.Fatalf("%d conditions", len(all))
	}
	for _, inv := range all {
		problem, err := inv.Check(context.Background(), tx)
		if err != nil {
			t.Fatalf("%s: %v", inv.Name, err)
		}
		if problem != "" {
			numbers = append(numbers, strings.TrimPrefix(inv.Name, "consistency "))
			problems = append(problems, inv.Name+": "+problem)
		}
	}
	return numbers, problems
}

// drive runs a workload on a loaded database.
func drive(t *testing.T, w generator.Workload, db drivers.DB, sessions, txns int) (*history.History, generator.Stats) {
	t.Helper()
	var out bytes.Buffer
	log, err := native.NewLog(&out, false)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := generator.NewRecorder(log, history.Header{}, w)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	r := generator.NewRunner(generator.Config{Sessions: sessions, Txns: txns, Retries: 10, Seed: 7, Patience: generator.DefaultPatience}, db, w, rec)
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
	return h, r.Meter().Stats()
}

// dump returns all rows of all tables, each as a text.
func dump(t *testing.T, db drivers.DB, w *tpcc) map[string]string {
	t.Helper()
	tx := begin(t, db).(drivers.TableTx)
	out := map[string]string{}
	for _, table := range w.Schema() {
		rows, err := tx.Scan(context.Background(), table, schema.Predicate{}, table.All())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			for g, values := range r.Groups {
				out[table.Item(r.Key, g)] = fmt.Sprint(values)
			}
		}
	}
	return out
}

// TestRun: after concurrent transactions of all kinds on a serializable database
// all conditions hold, and the history is serializable.
func TestRun(t *testing.T) {
	for _, set := range [][]string{nil, {"next=set", "warehouses=1"}, {"remote-stock=50%", "remote-payment=60%", "warehouses=3"}} {
		t.Run(strings.Join(set, " "), func(t *testing.T) {
			w := newTPCC(t, slices.Concat(small, set)...)
			db := load(t, w, "serializable")
			before := dump(t, db, w)
			h, stats := drive(t, w, db, 8, 150)
			if numbers, problems := violated(t, w, begin(t, db)); len(numbers) > 0 {
				t.Errorf("%s", strings.Join(problems, "\n"))
			}
			r, err := checker.Check(context.Background(), h, level.SER, checker.Options{Certify: true})
			if err != nil || r.Verdict != verdict.Satisfied {
				t.Errorf("%+v, %v", r, err)
			}
			after := dump(t, db, w)
			if stats.Committed < 900 || stats.AbortsByCause["conflict"] == 0 {
				t.Errorf("%d committed, aborted: %v", stats.Committed, stats.AbortsByCause)
			}
			changed := map[string]int{}
			for item, v := range after {
				table, _, _ := strings.Cut(item, "(")
				if before[item] == "" {
					changed["+"+table]++
				} else if before[item] != v {
					changed[table]++
				}
			}
			for item := range before {
				table, _, _ := strings.Cut(item, "(")
				if after[item] == "" {
					changed["-"+table]++
				}
			}
			for _, what := range []string{"+orders", "+order_line", "+history", "+new_order", "-new_order", "stock", "orders", "order_line", "warehouse", "district", "customer"} {
				if changed[what] == 0 {
					t.Errorf("no change of %s: %v", what, changed)
				}
			}
		})
	}
}

// TestWeak: on a database that loses updates, the conditions and the checker both detect it.
func TestWeak(t *testing.T) {
	w := newTPCC(t, slices.Concat(small, []string{"next=set"})...)
	db := load(t, w, "DetectConflicts=false")
	h, _ := drive(t, w, db, 8, 150)
	numbers, _ := violated(t, w, begin(t, db))
	if len(numbers) < 3 {
		t.Errorf("violated: %v", numbers)
	}
	r, err := checker.Check(context.Background(), h, level.SER, checker.Options{})
	if err != nil || r.Verdict != verdict.Violated {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestRollback: an order of an unused item is rolled back and leaves nothing.
func TestRollback(t *testing.T) {
	w := newTPCC(t, slices.Concat(small, []string{"rollback=100%", "mix=1,0,0,0,0"})...)
	db := load(t, w, "serializable")
	before := dump(t, db, w)
	h, stats := drive(t, w, db, 4, 50)
	if n := h.Count(); n.Aborted != 200 || stats.AbortsByCause["rolled back by the workload"] != 200 {
		t.Errorf("%+v, %v", n, stats.AbortsByCause)
	}
	for item, v := range dump(t, db, w) {
		if before[item] != v {
			t.Errorf("%s is %s, was %s", item, v, before[item])
		}
	}
	writes := 0
	for _, op := range h.AllOps() {
		if op.Kind == history.Write {
			writes++
		}
	}
	if writes < 200*5 {
		t.Errorf("%d writes were rolled back", writes)
	}
}

func TestRefusals(t *testing.T) {
	for _, set := range []string{"warehouses=0", "districts=11", "districts=0", "scale=101", "scale=x", "customers=0", "customers=x", "items=-1",
		"orders=0", "mix=1,2,3", "mix=0,0,0,0,0", "mix=a,1,1,1,1", "mix=-1,1,1,1,1", "remote-stock=101", "remote-payment=-1", "rollback=x",
		"next=both", "pad=200", "pace=-1", "foo=1"} {
		if _, err := makeTPCC(workloads.Common{}, set); err == nil || !strings.Contains(err.Error(), "-p ") {
			t.Errorf("-p %s: %v", set, err)
		}
	}
	for _, c := range []workloads.Common{{Keys: 50}, {Dist: "zipfian"}, {Skew: 0.5}} {
		if _, err := makeTPCC(c); err == nil || !strings.Contains(err.Error(), "--keys") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
