package skew

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
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

// dsn is the DSNs of the servers, by driver.
var dsn = map[string]string{}

func TestMain(m *testing.M) { os.Exit(servers.Both(m, dsn)) }

func newSkew(t *testing.T, c workloads.Common, set ...string) generator.Workload {
	t.Helper()
	return worktest.New(t, "skew", c, set...)
}

// outcome is a history and the invariants that were violated after it.
type outcome struct {
	h      *history.History
	broken []string
}

// run runs a workload on a database and checks its invariants.
func run(t *testing.T, w generator.Workload, driver, isolation string, sessions, txns int) outcome {
	t.Helper()
	ctx := context.Background()
	db := open(t, w, driver, isolation)
	var out bytes.Buffer
	log, err := native.NewLog(&out, false)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := generator.NewRecorder(log, history.Header{}, w)
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
	var o outcome
	if o.h, err = history.Load(ctx, src); err != nil {
		t.Fatal(err)
	}
	o.broken = broken(t, db, w)
	return o
}

// open makes a database with the workload's tables.
func open(t *testing.T, w generator.Workload, driver, isolation string) drivers.DB {
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
	t.Cleanup(func() { db.Close(ctx) })
	tables := w.(generator.Tables)
	if err := db.Create(ctx, w.Initial()); err != nil {
		t.Fatal(err)
	}
	if err := db.(drivers.TableDB).CreateTables(ctx, tables.Schema(), tables.Rows()); err != nil {
		t.Fatal(err)
	}
	return db
}

// broken lists the violated invariants.
func broken(t *testing.T, db drivers.DB, w generator.Workload) []string {
	t.Helper()
	var out []string
	for _, r := range generator.CheckInvariants(context.Background(), db, w) {
		if r.Error != "" {
			t.Fatal(r.Name, r.Error)
		}
		if r.Problem != "" {
			t.Logf("%s: %s (%s)", r.Name, r.Problem, r.Text)
			out = append(out, r.Name)
		}
	}
	return out
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
	for _, set := range append(names(), "all") {
		w := newSkew(t, workloads.Common{Sessions: 4}, "patterns="+set)
		draw := func(seed int64, worker int) string {
			p := w.Plan(worker, generator.Stream(seed, worker))
			var out strings.Builder
			for range 200 {
				program := p.Next()
				if r, ok := program.(rolledBack); ok {
					program = r.Program
					out.WriteString("rolled back ")
				}
				v := reflect.ValueOf(program).Elem()
				out.WriteString(v.Type().Name())
				for i := 1; i < v.NumField(); i++ { // the first is the pattern
					fmt.Fprintf(&out, " %v", v.Field(i))
				}
				out.WriteString("\n")
			}
			return out.String()
		}
		if draw(1, 0) != draw(1, 0) {
			t.Errorf("%s: the same seed gives another plan", set)
		}
		if draw(1, 0) == draw(2, 0) || draw(1, 0) == draw(1, 1) {
			t.Errorf("%s: plans do not differ", set)
		}
	}
}

// TestPatterns: the result of each pattern on each database. If the isolation protects the
// pattern, the invariants hold and the history is serializable. Otherwise the expected
// invariants are broken in every run.
func TestPatterns(t *testing.T) {
	const (
		yes   = verdict.Satisfied
		no    = verdict.Violated
		maybe = verdict.Unknown // not checked
	)
	for _, tc := range []struct {
		driver, isolation, patterns string
		broken                      []string // invariants
		ser, si                     verdict.Verdict
	}{
		{"badger", "serializable", "oncall,insert,upsert,churn", nil, yes, yes},
		{"badger", "serializable", "phantom", []string{"bookings"}, yes, yes},
		{"badger", "DetectConflicts=false", "oncall", []string{"on call"}, no, no},
		{"badger", "DetectConflicts=false", "insert", []string{"pairs"}, no, no},
		{"badger", "DetectConflicts=false", "upsert", nil, no, no},
		{"badger", "DetectConflicts=false", "churn", []string{"tokens"}, no, no},
		{"postgres", "serializable", "all", nil, yes, yes},
		{"postgres", "repeatable read", "oncall", []string{"on call"}, no, yes},
		{"postgres", "repeatable read", "phantom", []string{"bookings"}, maybe, yes},
		{"postgres", "repeatable read", "insert", []string{"pairs"}, no, yes},
		{"postgres", "repeatable read", "upsert", nil, no, yes},
		{"postgres", "repeatable read", "churn", nil, maybe, yes},
		{"mariadb", "serializable", "all", nil, yes, yes},
		{"mariadb", "repeatable read", "oncall", []string{"on call"}, no, maybe},
		{"mariadb", "repeatable read", "phantom", []string{"bookings"}, maybe, maybe},
		{"mariadb", "repeatable read", "insert", []string{"pairs"}, no, maybe},
		{"mariadb", "repeatable read", "upsert", nil, no, maybe},
		{"mariadb", "repeatable read", "churn", nil, maybe, maybe},
		{"mariadb", "read committed", "churn", nil, maybe, maybe},
		{"postgres", "read committed", "churn", nil, maybe, maybe},
	} {
		t.Run(tc.driver+" "+tc.isolation+" "+tc.patterns, func(t *testing.T) {
			const sessions, txns = 10, 100
			w := newSkew(t, workloads.Common{Sessions: sessions}, "patterns="+tc.patterns, "think=200us")
			o := run(t, w, tc.driver, tc.isolation, sessions, txns)
			t.Logf("%+v", o.h.Count())
			if !slices.Equal(o.broken, tc.broken) {
				t.Errorf("broken are %q, want %q", o.broken, tc.broken)
			}
			for lvl, want := range map[level.Level]verdict.Verdict{level.SER: tc.ser, level.SI: tc.si} {
				if want == maybe {
					continue
				}
				if got := judge(t, o.h, lvl); got != want {
					t.Errorf("%s: %s, want %s", lvl, got, want)
				}
			}
			if reason := checker.Vacuous(o.h); reason != "" {
				t.Error(reason)
			}
		})
	}
}
