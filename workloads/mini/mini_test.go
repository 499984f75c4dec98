package mini

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/linear"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	_ "github.com/isohound/isohound/drivers/badger"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/generator/shapes"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/workloads"
)

func newMini(t *testing.T, c workloads.Common, set ...string) generator.Workload {
	t.Helper()
	spec, err := workloads.Find("mini")
	if err != nil {
		t.Fatal(err)
	}
	values, err := spec.Resolve(set)
	if err != nil {
		t.Fatal(err)
	}
	if c.Dist == "" {
		c.Dist = "uniform"
	}
	w, err := spec.New(c, values)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// run executes a workload on Badger.
func run(t *testing.T, w generator.Workload, isolation string, sessions, txns int) *history.History {
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
	defer db.Close(ctx)
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
	r := generator.NewRunner(generator.Config{Sessions: sessions, Txns: txns, Retries: 3, Seed: 7, Patience: generator.DefaultPatience}, db, w, rec)
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

// TestPlan: the same seed gives the same plan, another seed another one, and different workers
// have different plans.
func TestPlan(t *testing.T) {
	for _, set := range [][]string{nil, {"birth=7"}} {
		w := newMini(t, workloads.Common{Sessions: 4, Keys: 20, Dist: "zipfian"}, set...)
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
}

// shapeOf formats a transaction like a shape, on the keys that it touches first and second.
func shapeOf(h *history.History, t *history.Txn) string {
	name, keys := "", []history.Key{}
	for _, op := range h.Ops(t) {
		at := 0
		for at < len(keys) && keys[at] != op.Key {
			at++
		}
		if at == len(keys) {
			keys = append(keys, op.Key)
		}
		letter := "R"
		if op.Kind == history.Write {
			letter = "W"
		}
		name += letter + "xyz"[at:at+1]
	}
	return name
}

// TestShapes: exactly the shapes of Definition 8 are recorded, all of them, and transactions
// that were rolled back.
func TestShapes(t *testing.T) {
	h := run(t, newMini(t, workloads.Common{Sessions: 8, Keys: 50}, "rollback=5"), "serializable", 8, 500)
	known, seen := map[string]bool{}, map[string]int{}
	for _, s := range shapes.All() {
		known[s.Name] = true
	}
	aborted := 0
	for i := range h.Txns {
		tx := &h.Txns[i]
		if tx.Status != history.Committed {
			aborted++
			continue
		}
		s := shapeOf(h, tx)
		if !known[s] {
			t.Errorf("transaction %d has shape %s", tx.ID, s)
		}
		seen[s]++
	}
	for s := range known {
		if seen[s] == 0 {
			t.Errorf("shape %s does not occur", s)
		}
	}
	if aborted < 100 {
		t.Errorf("%d aborted transactions", aborted)
	}
}

// TestWeights: only the requested shapes occur, in proportion.
func TestWeights(t *testing.T) {
	h := run(t, newMini(t, workloads.Common{Sessions: 1, Keys: 50}, "shapes=RxWx:3,RxRy", "rollback=0"), "serializable", 1, 2000)
	seen := map[string]int{}
	for i := range h.Txns {
		seen[shapeOf(h, &h.Txns[i])]++
	}
	if len(seen) != 2 || seen["RxWx"] < 1400 || seen["RxWx"] > 1600 {
		t.Errorf("%v", seen)
	}
}

// TestBirth: keys are created by an insertion, only once, and end with a tombstone, after which
// they are not written. The linear engine judges the history.
func TestBirth(t *testing.T) {
	h := run(t, newMini(t, workloads.Common{Sessions: 8, Keys: 10, Dist: "latest"}, "birth=5"), "serializable", 8, 400)
	born, dead := map[history.Key]int{}, map[history.Key]int{}
	for i := range h.Txns {
		tx := &h.Txns[i]
		if tx.Status != history.Committed {
			continue
		}
		found := map[history.Key]history.Value{}
		for _, op := range h.Ops(tx) {
			v, touched := found[op.Key]
			if op.Kind == history.Write {
				if touched && v == history.Absent {
					born[op.Key]++
				}
				if touched && v < 0 && v != history.Absent {
					t.Errorf("transaction %d writes the dead key %s", tx.ID, h.KeyName(op.Key))
				}
				if op.Value < 0 {
					dead[op.Key]++
				}
			}
			found[op.Key] = op.Value
		}
	}
	if len(born) < 50 || len(dead) < 50 {
		t.Errorf("%d keys were born and %d died", len(born), len(dead))
	}
	for k, n := range born {
		if n != 1 {
			t.Errorf("key %s was born %d times", h.KeyName(k), n)
		}
	}
	for k, n := range dead {
		if n != 1 {
			t.Errorf("key %s died %d times", h.KeyName(k), n)
		}
	}
	r, err := linear.Engine{}.Judge(context.Background(), h, level.SSER, engine.Options{})
	if err != nil || r.Verdict != verdict.Satisfied {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestDeath: real deletes leave keys absent. Histories in which a key is inserted twice are
// refused instead of judged wrongly.
func TestDeath(t *testing.T) {
	h := run(t, newMini(t, workloads.Common{Sessions: 4, Keys: 5, Dist: "latest"}, "birth=3", "death=delete"), "serializable", 4, 400)
	deletes := 0
	for _, op := range h.AllOps() {
		if op.Kind == history.Write && op.Value == history.Absent {
			deletes++
		}
	}
	if deletes < 50 {
		t.Errorf("%d deletes", deletes)
	}
	_, err := linear.Engine{}.Judge(context.Background(), h, level.SER, engine.Options{})
	var na *engine.Refusal
	if !errors.As(err, &na) || !strings.Contains(err.Error(), "unique") {
		t.Errorf("%v", err)
	}
}

func TestRefusals(t *testing.T) {
	spec, err := workloads.Find("mini")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"shapes=Wx", "shapes=RxWx:-1", "shapes=RxWx:0", "shapes=RxWx:x", "rollback=101", "rollback=-1", "rollback=x",
		"think=5", "think=-1ms", "birth=-1", "birth=x", "death=never", "foo=1", "birth"} {
		values, err := spec.Resolve([]string{set})
		if err == nil {
			_, err = spec.New(workloads.Common{Sessions: 1, Keys: 10, Dist: "uniform"}, values)
		}
		if err == nil || !strings.Contains(err.Error(), "-p ") {
			t.Errorf("-p %s: %v", set, err)
		}
	}
	values, _ := spec.Resolve(nil)
	if _, err := spec.New(workloads.Common{Sessions: 1, Keys: 1, Dist: "uniform"}, values); err == nil {
		t.Error("shapes on two keys with one key are accepted")
	}
}
