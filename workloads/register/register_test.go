package register

import (
	"bytes"
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
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/history/fit"
	"github.com/isohound/isohound/internal/replay"
	"github.com/isohound/isohound/workloads"
	"github.com/isohound/isohound/workloads/plain"
)

func newWorkload(t *testing.T, c workloads.Common, set ...string) generator.Workload {
	t.Helper()
	w, err := replay.New("register", c, set...)
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

func near(got, want float64, n int) bool {
	return math.Abs(got-want) <= 4*math.Sqrt(want*(1-want)/float64(n))+1e-9
}

// TestPlan: all lengths are equally frequent, reads occur in their share, and the window of keys
// moves.
func TestPlan(t *testing.T) {
	const n = 20_000
	for _, tc := range []struct {
		set      string
		min, max int
		reads    float64
		retire   int
	}{
		{"", 1, 4, 0.5, 2},
		{"min-length=1 max-length=1 reads=80", 1, 1, 0.8, 2},
		{"min-length=3 max-length=5 retire=0", 3, 5, 0.5, 0},
		{"retire=7", 1, 4, 0.5, 7},
	} {
		lengths, operations, reads := map[int]int{}, 0, 0
		w := newWorkload(t, workloads.Common{}, strings.Fields(tc.set)...)
		for i, txn := range draw(w, 3, 0, n) {
			base := 0
			if tc.retire > 0 {
				base = i / tc.retire
			}
			window := map[string]bool{}
			for k := range 10 {
				window[plain.Key(int64(base+k))] = true
			}
			lengths[len(txn.Steps)]++
			for _, s := range txn.Steps {
				operations++
				if !s.Write {
					reads++
				}
				if !window[s.Key] || s.Value != 0 {
					t.Fatalf("%s: transaction %d has %+v", tc.set, i, s)
				}
			}
		}
		if len(lengths) != tc.max-tc.min+1 || !near(float64(reads)/float64(operations), tc.reads, operations) {
			t.Errorf("%s: lengths %v, %d reads in %d operations", tc.set, lengths, reads, operations)
		}
		for l := tc.min; l <= tc.max; l++ {
			if !near(float64(lengths[l])/n, 1/float64(tc.max-tc.min+1), n) {
				t.Errorf("%s: lengths %v", tc.set, lengths)
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

// TestElle: a run has nothing that Elle's format cannot carry, so that both judge the same
// history: after export and import the verdict is the same.
func TestElle(t *testing.T) {
	for isolation, want := range map[string]struct {
		level   level.Level
		verdict verdict.Verdict
	}{
		"serializable":          {level.SER, verdict.Satisfied},
		"DetectConflicts=false": {level.SI, verdict.Violated},
	} {
		ctx := context.Background()
		w := newWorkload(t, workloads.Common{Sessions: 8}, "think=50us", "min-length=2")
		h, err := replay.Run("badger", isolation, w, generator.Config{Sessions: 8, Txns: 150, Retries: 3, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		absent := 0
		written := map[[2]int64]bool{}
		for _, op := range h.AllOps() {
			at := [2]int64{int64(op.Key), int64(op.Value)}
			switch {
			case op.Kind == history.Read && op.Value == history.Absent:
				absent++
			case op.Kind == history.Write && (written[at] || op.Value <= 0):
				t.Fatalf("value %d is written twice to %s, or not positive", op.Value, h.KeyName(op.Key))
			}
			written[at] = written[at] || op.Kind == history.Write
		}
		if absent == 0 {
			t.Error("no key was read before it was written")
		}
		out, losses, _, err := fit.To(h, file.Carries(file.Elle))
		if err != nil || len(losses) > 0 {
			t.Fatalf("%v, %v", losses, err)
		}
		var b bytes.Buffer
		if err := file.Write(&b, out, file.Elle); err != nil {
			t.Fatal(err)
		}
		back, err := file.Load(ctx, "-", file.Elle, &b)
		if err != nil {
			t.Fatal(err)
		}
		for name, h := range map[string]*history.History{"recorded": h, "through Elle's format": back} {
			r, err := checker.Check(ctx, h, want.level, checker.Options{Certify: true})
			if err != nil || r.Verdict != want.verdict {
				t.Errorf("%s, %s: %+v, %v", isolation, name, r, err)
			}
		}
		if why := checker.Vacuous(h); why != "" {
			t.Errorf("%s: %s", isolation, why)
		}
	}
}

func TestIdle(t *testing.T) {
	for set, want := range map[string]string{"reads=50": "", "reads=0": "no operation reads", "reads=100%": "no operation writes"} {
		got := newWorkload(t, workloads.Common{}, set).(generator.Idle).Idle()
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", set, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, set := range []string{"min-length=0", "min-length=x", "min-length=5", "max-length=0", "max-length=x", "max-length=20000", "reads=101", "reads=x",
		"retire=-1", "retire=x", "think=5", "foo=1"} {
		_, err := replay.New("register", workloads.Common{}, set)
		if err == nil || !strings.Contains(err.Error(), "-p ") {
			t.Errorf("-p %s: %v", set, err)
		}
	}
	if _, err := replay.New("register", workloads.Common{Dist: "normal"}); err == nil {
		t.Error("an unknown distribution is accepted")
	}
}
