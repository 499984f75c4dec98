package blindw

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	_ "github.com/isohound/isohound/drivers/badger"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/internal/modeldb"
	"github.com/isohound/isohound/internal/replay"
	"github.com/isohound/isohound/workloads"
	"github.com/isohound/isohound/workloads/plain"
)

func newWorkload(t *testing.T, c workloads.Common, set ...string) generator.Workload {
	t.Helper()
	w, err := replay.New("blindw", c, set...)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func draw(w generator.Workload, seed int64, worker, n int) []generator.Program {
	p := w.Plan(worker, generator.Stream(seed, worker))
	out := make([]generator.Program, n)
	for i := range out {
		out[i] = p.Next()
	}
	return out
}

func near(got, want float64, n int) bool {
	return math.Abs(got-want) <= 4*math.Sqrt(want*(1-want)/float64(n))+1e-9
}

// TestVariants: each variant has its share of read-only transactions; all others only write. All
// have eight operations on different keys.
func TestVariants(t *testing.T) {
	const n = 5000
	for set, want := range map[string]float64{
		"": 0.5, "variant=RM": 0.9, "variant=RW": 0.5, "variant=RH": 0.8, "variant=WR": 0.5, "variant=WH": 0.2,
		"variant=RH reads=12.5": 0.125, "reads=100": 1, "order=drawn": 0.5,
	} {
		w := newWorkload(t, workloads.Common{}, strings.Fields(set)...)
		readers := 0
		for _, program := range draw(w, 3, 0, n) {
			txn := program.(*plain.Txn)
			seen := map[string]bool{}
			for _, s := range txn.Steps {
				if seen[s.Key] || s.Write != txn.Steps[0].Write || s.Value != 0 {
					t.Fatalf("%s: %+v", set, txn.Steps)
				}
				seen[s.Key] = true
			}
			if len(seen) != 8 {
				t.Fatalf("%s: %d operations", set, len(seen))
			}
			if !txn.Steps[0].Write {
				readers++
			}
		}
		if !near(float64(readers)/n, want, n) {
			t.Errorf("%s: %d of %d transactions only read", set, readers, n)
		}
		if got := newWorkload(t, workloads.Common{}, strings.Fields(set)...); len(slices.Collect(keysOf(got))) != 10_000 {
			t.Errorf("%s: not 10,000 keys", set)
		}
		if _, ok := w.(generator.Tables); ok {
			t.Errorf("%s: tables", set)
		}
	}
}

func keysOf(w generator.Workload) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range w.Initial() {
			if !yield(k) {
				return
			}
		}
	}
}

// TestRanges: half of the transactions of Pred only read ranges, and half only update them, half
// on each column. No update leaves the domain or changes nothing.
func TestRanges(t *testing.T) {
	const n = 5000
	w := newWorkload(t, workloads.Common{Keys: 50}, "variant=Pred", "rows=5").(*ranges)
	if !reflect.DeepEqual(w.Needs(), []drivers.Capability{drivers.Tables, drivers.Predicates}) {
		t.Errorf("it needs %v", w.Needs())
	}
	updates, first := 0, 0
	for _, program := range draw(w, 3, 0, n) {
		txn := program.(*rangeTxn)
		if txn.update {
			updates++
		}
		if len(txn.steps) != 8 || txn.width != 5*spacing {
			t.Fatalf("%+v", txn)
		}
		for _, s := range txn.steps {
			if s.column == "v1" {
				first++
			}
			if s.from < 0 || s.to < 0 || s.from+txn.width > w.domain || s.to+txn.width > w.domain || s.from == s.to {
				t.Fatalf("%+v", s)
			}
		}
	}
	if !near(float64(updates)/n, 0.5, n) || !near(float64(first)/(8*n), 0.5, 8*n) {
		t.Errorf("%d of %d update, %d of %d ranges are of v1", updates, n, first, 8*n)
	}
	rows := 0
	for _, r := range w.Rows() {
		for _, g := range r.Groups {
			if v := g[0].(int64); v < 0 || v >= w.domain {
				t.Errorf("row %+v", r)
			}
		}
		rows++
	}
	if rows != 50 {
		t.Errorf("%d rows", rows)
	}
}

// TestSpread: after a long run the rows are still spread over the whole domain, ranges find
// about the expected number of rows, and rows differ.
func TestSpread(t *testing.T) {
	const txns, n, width = 2000, 60, 3
	w := newWorkload(t, workloads.Common{Sessions: 1, Keys: n}, "variant=Pred", "rows=3")
	raw, err := replay.Serial(modeldb.Driver{}, drivers.Config{}, w, 1, txns, 5)
	if err != nil {
		t.Fatal(err)
	}
	h, err := replay.Load(raw)
	if err != nil {
		t.Fatal(err)
	}
	predicates, rows := 0, 0
	var quarter [4]int
	last := map[[2]int64]bool{}
	for i := range h.Txns {
		for _, p := range h.Predicates(i) {
			predicates++
			rows += (p.Ops[1] - p.Ops[0]) / 2 // two operations for each row, in a read and in an update
		}
		if i < txns*3/4 {
			continue
		}
		for _, op := range h.Ops(&h.Txns[i]) {
			last[[2]int64{int64(op.Key), int64(op.Value)}] = true
			quarter[int64(op.Value)*4/(n*spacing)]++
		}
	}
	// A window lies inside the domain, so rows near its ends are found a little less often.
	if mean := float64(rows) / float64(predicates); predicates != 8*txns || mean < 0.8*width || mean > 1.2*width {
		t.Errorf("%d predicates found %d rows", predicates, rows)
	}
	for _, q := range quarter {
		if total := quarter[0] + quarter[1] + quarter[2] + quarter[3]; q < total/8 {
			t.Errorf("the quarters of the domain have %v", quarter)
		}
	}
	values := map[int64]int{}
	for at := range last {
		values[at[1]]++
	}
	if len(values) < len(last)*9/10 {
		t.Errorf("%d values of rows are %d different ones", len(last), len(values))
	}
}

// TestSeed: the same seed gives the same plan for any number of sessions; other seeds and
// workers give other plans.
func TestSeed(t *testing.T) {
	for _, variant := range []string{"variant=RW", "variant=Pred"} {
		few, many := newWorkload(t, workloads.Common{Sessions: 1}, variant), newWorkload(t, workloads.Common{Sessions: 50}, variant)
		if !reflect.DeepEqual(draw(few, 1, 0, 200), draw(many, 1, 0, 200)) {
			t.Error("the same seed gives another plan")
		}
		if reflect.DeepEqual(draw(few, 1, 0, 200), draw(few, 2, 0, 200)) || reflect.DeepEqual(draw(few, 1, 0, 200), draw(few, 1, 1, 200)) {
			t.Error("plans do not differ")
		}
	}
}

// TestVerdicts: runs on Badger. Without conflict detection, blind writes lose nothing: read-only
// transactions read snapshots, which follow the order of commits, so every execution is
// serializable. Updates of ranges without conflict detection do lose updates.
func TestVerdicts(t *testing.T) {
	for _, tc := range []struct {
		variant, isolation string
		txns               int
		level              level.Level
		verdict            verdict.Verdict
	}{
		{"RW", "serializable", 150, level.SER, verdict.Satisfied},
		{"RW", "DetectConflicts=false", 150, level.SER, verdict.Satisfied},
		{"Pred", "serializable", 30, level.SER, verdict.Satisfied},
		{"Pred", "DetectConflicts=false", 30, level.SI, verdict.Violated},
	} {
		w := newWorkload(t, workloads.Common{Sessions: 8, Keys: 40}, "variant="+tc.variant, "operations=4", "think=20us")
		h, err := replay.Run("badger", tc.isolation, w, generator.Config{Sessions: 8, Txns: tc.txns, Retries: 3, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		if why := checker.Vacuous(h); why != "" {
			t.Errorf("%s, %s: %s", tc.variant, tc.isolation, why)
		}
		r, err := checker.Check(context.Background(), h, tc.level, checker.Options{Certify: true})
		if err != nil || r.Verdict != tc.verdict {
			t.Errorf("%s, %s: %+v, %v", tc.variant, tc.isolation, r, err)
		}
	}
}

func TestIdle(t *testing.T) {
	for set, want := range map[string]string{
		"reads=50": "", "variant=WH": "", "reads=0": "no transaction reads", "reads=100%": "no transaction writes", "variant=Pred reads=100": "no transaction writes",
	} {
		got := newWorkload(t, workloads.Common{}, strings.Fields(set)...).(generator.Idle).Idle()
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", set, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, set := range []string{"variant=XX", "variant=rw", "operations=0", "operations=x", "operations=10001", "reads=101", "reads=x", "rows=0", "rows=x",
		"variant=Pred rows=10000", "order=x", "think=5", "foo=1"} {
		_, err := replay.New("blindw", workloads.Common{}, strings.Fields(set)...)
		if err == nil || !strings.Contains(err.Error(), "-p ") {
			t.Errorf("-p %s: %v", set, err)
		}
	}
	for _, tc := range []struct {
		c   workloads.Common
		set string
	}{
		{workloads.Common{Keys: 7}, "variant=RW"}, {workloads.Common{Dist: "normal"}, "variant=RW"},
		{workloads.Common{Dist: "zipfian"}, "variant=Pred"}, {workloads.Common{Dist: "uniform", Skew: 0.5}, "variant=Pred"},
	} {
		if _, err := replay.New("blindw", tc.c, tc.set); err == nil {
			t.Errorf("%+v is accepted", tc)
		}
	}
}
