package ycsbt

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

func newWorkload(t *testing.T, c workloads.Common, set ...string) *ycsbt {
	t.Helper()
	w, err := replay.New("ycsbt", c, set...)
	if err != nil {
		t.Fatal(err)
	}
	return w.(*ycsbt)
}

func draw(w generator.Workload, seed int64, worker, n int) []*plain.Txn {
	p := w.Plan(worker, generator.Stream(seed, worker))
	out := make([]*plain.Txn, n)
	for i := range out {
		out[i] = p.Next().(*plain.Txn)
	}
	return out
}

// near reports whether a share of n draws is within four standard deviations.
func near(got, want float64, n int) bool {
	return math.Abs(got-want) <= 4*math.Sqrt(want*(1-want)/float64(n))+1e-9
}

// TestPlan: reads, keys with duplicates and each of their values occur as often as the
// parameters say.
func TestPlan(t *testing.T) {
	for _, tc := range []struct {
		set               string
		c                 workloads.Common
		operations        int
		reads, duplicates float64
		values            int
		theta             float64
	}{
		{"", workloads.Common{}, 20, 0.5, 0.5, 100, 0.5},
		{"preset=RH", workloads.Common{}, 20, 0.95, 0.5, 100, 0.5},
		{"preset=WH", workloads.Common{}, 20, 0.3, 0.5, 100, 0.5},
		{"preset=HD", workloads.Common{}, 20, 0.5, 0.5, 100, 1.5},
		{"reads=80 preset=HD theta=1 operations=3", workloads.Common{}, 3, 0.8, 0.5, 100, 1},
		{"duplicates=10% values=7 theta=0", workloads.Common{Keys: 1000, Dist: "zipfian"}, 20, 0.5, 0.1, 7, 0},
		{"duplicates=100 values=1", workloads.Common{Keys: 3}, 20, 0.5, 1, 1, 0.5},
		{"duplicates=0", workloads.Common{Keys: 3}, 20, 0.5, 0, 100, 0.5},
	} {
		w := newWorkload(t, tc.c, strings.Fields(tc.set)...)
		keys := int64(0)
		for k := range w.common.Keys {
			if w.duplicated(k) {
				keys++
			}
		}
		if want := int64(math.Floor(float64(w.common.Keys) * tc.duplicates)); keys != want {
			t.Errorf("%s: %d of %d keys get duplicates, not %d", tc.set, keys, w.common.Keys, want)
		}
		duplicated := map[string]bool{}
		for k := range w.common.Keys {
			duplicated[plain.Key(k)] = w.duplicated(k)
		}
		operations, reads, drawn := 0, 0, 0
		seen := make([]int, tc.values+1)
		for _, txn := range draw(w, 5, 0, 5000) {
			if len(txn.Steps) != tc.operations || txn.Above != int64(tc.values) {
				t.Fatalf("%s: %d operations, unique values above %d", tc.set, len(txn.Steps), txn.Above)
			}
			for _, s := range txn.Steps {
				operations++
				switch {
				case !s.Write:
					reads++
				case duplicated[s.Key] != (s.Value != 0):
					t.Fatalf("%s: key %s is written with value %d", tc.set, s.Key, s.Value)
				case s.Value != 0:
					seen[s.Value]++
					drawn++
				}
			}
		}
		if !near(float64(reads)/float64(operations), tc.reads, operations) {
			t.Errorf("%s: %d of %d operations read", tc.set, reads, operations)
		}
		sum := 0.0
		for i := 1; i <= tc.values; i++ {
			sum += math.Pow(float64(i), -tc.theta)
		}
		for i := 1; i <= tc.values && drawn > 0; i++ {
			if want := math.Pow(float64(i), -tc.theta) / sum; !near(float64(seen[i])/float64(drawn), want, drawn) {
				t.Errorf("%s: value %d comes up %d times in %d, want a share of %.4f", tc.set, i, seen[i], drawn, want)
			}
		}
		if (drawn == 0) != (tc.duplicates == 0) {
			t.Errorf("%s: %d duplicates drawn", tc.set, drawn)
		}
	}
}

// TestPreset: the effective values are printed and recorded, and values set by the user take
// precedence.
func TestPreset(t *testing.T) {
	spec, err := workloads.Find("ycsbt")
	if err != nil {
		t.Fatal(err)
	}
	for set, want := range map[string][2]string{
		"preset=BL": {"50%", "0.5"}, "preset=RH": {"95%", "0.5"}, "preset=WH": {"30%", "0.5"}, "preset=HD": {"50%", "1.5"},
		"preset=HD reads=7%": {"7%", "1.5"}, "theta=2 preset=HD": {"50%", "2"},
	} {
		v, err := spec.Resolve(strings.Fields(set))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := spec.New(workloads.Common{Sessions: 1, Keys: 10, Dist: "uniform"}, v); err != nil {
			t.Fatal(err)
		}
		if got := [2]string{v["reads"], v["theta"]}; got != want {
			t.Errorf("%s: reads and theta are %v, not %v", set, got, want)
		}
	}
}

// TestSeed: the same seed gives the same plan, including values, for any number of sessions;
// other seeds and workers give other plans.
func TestSeed(t *testing.T) {
	few, many := newWorkload(t, workloads.Common{Sessions: 1}), newWorkload(t, workloads.Common{Sessions: 50})
	if !reflect.DeepEqual(draw(few, 1, 0, 200), draw(many, 1, 0, 200)) {
		t.Error("the same seed gives another plan")
	}
	if reflect.DeepEqual(draw(few, 1, 0, 200), draw(few, 2, 0, 200)) || reflect.DeepEqual(draw(few, 1, 0, 200), draw(few, 1, 1, 200)) {
		t.Error("plans do not differ")
	}
}

// TestVerdicts: a run on Badger is serializable, with duplicates. Without conflict detection it
// does not even satisfy snapshot isolation.
func TestVerdicts(t *testing.T) {
	for isolation, want := range map[string]struct {
		level   level.Level
		verdict verdict.Verdict
	}{
		"serializable":          {level.SER, verdict.Satisfied},
		"DetectConflicts=false": {level.SI, verdict.Violated},
	} {
		w := newWorkload(t, workloads.Common{Sessions: 8, Keys: 60}, "operations=6", "think=20us", "values=20")
		h, err := replay.Run("badger", isolation, w, generator.Config{Sessions: 8, Txns: 150, Retries: 3, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		duplicated := map[string]bool{}
		for k := range w.common.Keys {
			duplicated[plain.Key(k)] = w.duplicated(k)
		}
		written := map[[2]int64]int{}
		twice := 0
		for _, op := range h.AllOps() {
			if op.Kind != history.Write {
				continue
			}
			at := [2]int64{int64(op.Key), int64(op.Value)}
			written[at]++
			if duplicated[h.KeyName(op.Key)] != (op.Value <= 20) {
				t.Fatalf("value %d of key %s", op.Value, h.KeyName(op.Key))
			}
			if written[at] > 1 {
				twice++
				if !duplicated[h.KeyName(op.Key)] {
					t.Fatalf("value %d is written twice to %s", op.Value, h.KeyName(op.Key))
				}
			}
		}
		if twice < 1000 {
			t.Errorf("%d writes of a value that was there before", twice)
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
	for set, want := range map[string]string{"": "", "reads=0": "no operation reads", "reads=100%": "no operation writes"} {
		got := newWorkload(t, workloads.Common{}, strings.Fields(set)...).Idle()
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", set, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, set := range []string{"preset=XX", "preset=rh", "operations=0", "operations=x", "operations=20000", "reads=101", "reads=-1", "reads=x", "reads=by",
		"duplicates=101", "duplicates=x", "values=0", "values=x", "values=2000000", "theta=-1", "theta=NaN", "theta=Inf", "theta=x", "think=5", "foo=1"} {
		_, err := replay.New("ycsbt", workloads.Common{}, set)
		if err == nil || !strings.Contains(err.Error(), "-p ") {
			t.Errorf("-p %s: %v", set, err)
		}
	}
	if _, err := replay.New("ycsbt", workloads.Common{Dist: "normal"}); err == nil {
		t.Error("an unknown distribution is accepted")
	}
}
