// Package worktest runs workloads on tables for their tests. The database stays open afterwards,
// so that a test can check the invariants and damage the data.
package worktest

import (
	"bytes"
	"context"
	"reflect"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/internal/replay"
	"github.com/isohound/isohound/workloads"
)

// New makes a workload; see replay.New.
func New(t testing.TB, name string, common workloads.Common, set ...string) generator.Workload {
	t.Helper()
	w, err := replay.New(name, common, set...)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Open opens a database with the initial data of w. It is closed at the end of the test.
func Open(t testing.TB, driver string, cfg drivers.Config, w generator.Workload) drivers.DB {
	t.Helper()
	ctx := context.Background()
	d, err := drivers.Find(driver)
	if err != nil {
		t.Fatal(err)
	}
	db, err := d.Open(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := db.Create(ctx, w.Initial()); err != nil {
		t.Fatal(err)
	}
	if tables, ok := w.(generator.Tables); ok {
		if err := db.(drivers.TableDB).CreateTables(ctx, tables.Schema(), tables.Rows()); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// Run runs w and returns the recorded history.
func Run(t testing.TB, db drivers.DB, w generator.Workload, cfg generator.Config) *history.History {
	t.Helper()
	ctx := context.Background()
	var out bytes.Buffer
	log, err := native.NewLog(&out, false)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := generator.NewRecorder(log, history.Header{}, w)
	if err != nil {
		t.Fatal(err)
	}
	reason, err := generator.NewRunner(cfg, db, w, rec).Run(ctx, ctx)
	if err != nil || reason != generator.Complete {
		t.Fatalf("%s, %v", reason, err)
	}
	h, err := replay.Load(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Verdict checks a history, with proof, and fails unless the verdict is want.
func Verdict(t testing.TB, h *history.History, lvl level.Level, want verdict.Verdict) {
	t.Helper()
	r, err := checker.Check(context.Background(), h, lvl, checker.Options{Certify: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != want {
		t.Errorf("%v at %v: %s", r.Verdict, lvl, r.Reason)
	}
}

// Problems returns the violated invariants of the workload, by name.
func Problems(t testing.TB, db drivers.DB, w generator.Workload) map[string]string {
	t.Helper()
	results := generator.CheckInvariants(context.Background(), db, w)
	if len(results) == 0 {
		t.Fatal("the workload has no invariants")
	}
	problems := map[string]string{}
	for _, r := range results {
		if r.Error != "" {
			t.Fatalf("%s: %s", r.Name, r.Error)
		}
		if r.Problem != "" {
			problems[r.Name] = r.Problem
		}
	}
	return problems
}

// Change changes a database in a transaction that commits.
func Change(t testing.TB, db drivers.DB, change func(ctx context.Context, tx drivers.TableTx) error) {
	t.Helper()
	ctx := context.Background()
	s, err := db.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tx, err := s.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := change(ctx, tx.(drivers.TableTx)); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}

// SamePlans checks that the workloads that create returns have the same plans for the same seed
// and worker, and different plans otherwise.
func SamePlans(t testing.TB, create func() generator.Workload) {
	t.Helper()
	draw := func(seed int64, worker int) (out []generator.Program) {
		p := create().Plan(worker, generator.Stream(seed, worker))
		for range 300 {
			out = append(out, p.Next())
		}
		return out
	}
	first := draw(1, 0)
	if !reflect.DeepEqual(first, draw(1, 0)) {
		t.Error("the same seed gives another plan")
	}
	if reflect.DeepEqual(first, draw(2, 0)) || reflect.DeepEqual(first, draw(1, 1)) {
		t.Error("plans do not differ")
	}
}
