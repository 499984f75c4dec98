package general

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	_ "github.com/isohound/isohound/drivers/badger"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/replay"
	"github.com/isohound/isohound/workloads"
	"github.com/isohound/isohound/workloads/plain"
)

func newWorkload(t *testing.T, c workloads.Common, set ...string) generator.Workload {
	t.Helper()
	w, err := replay.New("general", c, set...)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func draw(w generator.Workload, seed int64, worker, n int) []*plain.Txn {
	p := w.Plan(worker, generator.Stream(seed, worker))
	out := make([]*plain.Txn, n)
	for i := range out {
		out[i] = p.Next().(*plain.Txn)
	}
	return out
}

// kindOf finds the kind of a transaction from its operations alone.
func kindOf(t *testing.T, txn *plain.Txn, operations int, ascending bool) kind {
	t.Helper()
	if len(txn.Steps) != operations {
		t.Fatalf("%d operations, not %d", len(txn.Steps), operations)
	}
	reads, writes := map[string]bool{}, map[string]bool{}
	var order []string
	for i, s := range txn.Steps {
		set := reads
		if s.Write {
			set = writes
		}
		if set[s.Key] {
			t.Fatalf("key %s comes up twice: %+v", s.Key, txn.Steps)
		}
		set[s.Key] = true
		if s.Write && reads[s.Key] && txn.Steps[i-1].Key != s.Key {
			t.Fatalf("the write of %s does not follow its read: %+v", s.Key, txn.Steps)
		}
		if !(s.Write && reads[s.Key]) {
			order = append(order, s.Key)
		}
	}
	if ascending {
		for i := range order[1:] {
			a, b := order[i], order[i+1]
			if len(a) > len(b) || len(a) == len(b) && a >= b {
				t.Fatalf("keys do not ascend: %v", order)
			}
		}
	}
	switch {
	case len(writes) == 0:
		return readOnly
	case len(reads) == 0:
		return writeOnly
	}
	for k := range writes {
		if !reads[k] {
			t.Fatalf("key %s is written without being read: %+v", k, txn.Steps)
		}
	}
	if len(reads) != (operations+1)/2 {
		t.Fatalf("%d keys read in %d operations", len(reads), operations)
	}
	return readModifyWrite
}

// TestPlan: kinds occur in their shares, each with the right operations, for every distribution
// and number of operations.
func TestPlan(t *testing.T) {
	const n = 20_000
	for _, tc := range []struct {
		c          workloads.Common
		set        []string
		operations int
		ascending  bool
		want       [3]float64
	}{
		{workloads.Common{}, nil, 20, true, [3]float64{0.2, 0.4, 0.4}},
		{workloads.Common{Keys: 7, Dist: "zipfian", Skew: 3}, []string{"operations=7", "order=drawn"}, 7, false, [3]float64{0.2, 0.4, 0.4}},
		{workloads.Common{Dist: "hotspot"}, []string{"operations=8", "read-only=0", "write-only=10%", "rmw=30%"}, 8, true, [3]float64{0, 0.25, 0.75}},
		{workloads.Common{Dist: "exponential"}, []string{"operations=2", "write-only=0", "rmw=0"}, 2, true, [3]float64{1, 0, 0}},
	} {
		var seen [3]float64
		for _, txn := range draw(newWorkload(t, tc.c, tc.set...), 3, 0, n) {
			seen[kindOf(t, txn, tc.operations, tc.ascending)] += 1.0 / n
		}
		for k := range seen {
			// Four standard deviations.
			if math.Abs(seen[k]-tc.want[k]) > 4*math.Sqrt(tc.want[k]*(1-tc.want[k])/n)+1e-9 {
				t.Errorf("%v: kinds come up %v, not %v", tc.set, seen, tc.want)
			}
		}
	}
}

// TestSeed: the same seed gives the same plan for any number of sessions; other seeds and
// workers give other plans.
func TestSeed(t *testing.T) {
	few, many := newWorkload(t, workloads.Common{Sessions: 1}), newWorkload(t, workloads.Common{Sessions: 50})
	if !reflect.DeepEqual(draw(few, 1, 0, 200), draw(many, 1, 0, 200)) {
		t.Error("the same seed gives another plan")
	}
	if reflect.DeepEqual(draw(few, 1, 0, 200), draw(few, 2, 0, 200)) || reflect.DeepEqual(draw(few, 1, 0, 200), draw(few, 1, 1, 200)) {
		t.Error("plans do not differ")
	}
}

// TestVerdicts: a run on Badger is serializable, with unique values; without
// conflict detection it loses updates, which not even snapshot isolation allows.
func TestVerdicts(t *testing.T) {
	for isolation, want := range map[string]struct {
		level   level.Level
		verdict verdict.Verdict
	}{
		"serializable":          {level.SER, verdict.Satisfied},
		"DetectConflicts=false": {level.SI, verdict.Violated},
	} {
		w := newWorkload(t, workloads.Common{Sessions: 8, Keys: 60}, "operations=6", "think=20us")
		h, err := replay.Run("badger", isolation, w, generator.Config{Sessions: 8, Txns: 150, Retries: 3, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		written := map[[2]int64]bool{}
		for _, op := range h.AllOps() {
			at := [2]int64{int64(op.Key), int64(op.Value)}
			if op.Kind == history.Write && (written[at] || op.Value <= 0) {
				t.Fatalf("value %d is written twice to %s, or not positive", op.Value, h.KeyName(op.Key))
			}
			written[at] = written[at] || op.Kind == history.Write
		}
		if why := checker.Vacuous(h); why != "" {
			t.Errorf("%s: %s", isolation, why)
		}
		r, err := checker.Check(context.Background(), h, want.level, checker.Options{Certify: true})
		if err != nil || r.Verdict != want.verdict {
			t.Errorf("%s: %+v, %v", isolation, r, err)
		}
	}
}

func TestIdle(t *testing.T) {
	for set, want := range map[string]string{
		"rmw=10": "", "write-only=0": "", "rmw=0": "",
		"write-only=0 rmw=0": "no transaction writes", "read-only=0 rmw=0": "no transaction reads",
	} {
		got := newWorkload(t, workloads.Common{}, strings.Fields(set)...).(generator.Idle).Idle()
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", set, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, set := range []string{"operations=1", "operations=x", "operations=20000", "read-only=-1", "read-only=101", "write-only=x", "rmw=NaN",
		"read-only=0 write-only=0 rmw=0", "order=descending", "think=5", "think=-1ms", "foo=1", "operations", "operations=1001"} {
		_, err := replay.New("general", workloads.Common{}, strings.Fields(set)...)
		if err == nil || !strings.Contains(err.Error(), "-p ") {
			t.Errorf("-p %s: %v", set, err)
		}
	}
	for _, c := range []workloads.Common{{Keys: 19}, {Dist: "normal"}, {Dist: "zipfian", Skew: 1}} {
		if _, err := replay.New("general", c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	// Ten keys suffice for read-modify-write of twenty operations.
	if _, err := replay.New("general", workloads.Common{Keys: 10}, "read-only=0", "write-only=0"); err != nil {
		t.Error(err)
	}
}
