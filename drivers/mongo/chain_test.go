package mongo_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	_ "github.com/isohound/isohound/drivers/mongo"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/internal/mongotest"
	"github.com/isohound/isohound/workloads"
	_ "github.com/isohound/isohound/workloads/blindw"
	_ "github.com/isohound/isohound/workloads/lwt"
	_ "github.com/isohound/isohound/workloads/mini"
)

// run runs a workload through the driver against s and loads the history.
func run(t *testing.T, s *mongotest.Server, isolation, workload string, keys int64, txns int, params ...string) *history.History {
	t.Helper()
	ctx := context.Background()
	spec, err := workloads.Find(workload)
	if err != nil {
		t.Fatal(err)
	}
	values, err := spec.Resolve(params)
	if err != nil {
		t.Fatal(err)
	}
	w, err := spec.New(workloads.Common{Sessions: 8, Keys: keys, Dist: "uniform"}, values)
	if err != nil {
		t.Fatal(err)
	}
	d, err := drivers.Find("mongo")
	if err != nil {
		t.Fatal(err)
	}
	db, err := d.Open(ctx, drivers.Config{DSN: s.URI(), Isolation: isolation})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(ctx)
	if err := db.Create(ctx, w.Initial()); err != nil {
		t.Fatal(err)
	}
	if tables, ok := w.(generator.Tables); ok {
		if err := db.(drivers.TableDB).CreateTables(ctx, tables.Schema(), tables.Rows()); err != nil {
			t.Fatal(err)
		}
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
	cfg := generator.Config{Sessions: 8, Txns: txns, Retries: 3, Seed: 7, CallTimeout: generator.DefaultCallTimeout, Patience: generator.DefaultPatience}
	if _, err := generator.NewRunner(cfg, db, w, rec).Run(ctx, ctx); err != nil {
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

// TestChain tests the whole path from the fake server to a verdict. Errors of the server must be
// found, and correct behaviour must not be reported.
func TestChain(t *testing.T) {
	const causal, acausal = "snapshot, majority", "snapshot, majority, causalConsistency=false"
	commit := []string{"commitTransaction"}
	for name, tc := range map[string]struct {
		isolation string
		prepare   func(*mongotest.Server)
		unknown   bool // transactions of unknown outcome
		want      map[level.Level]verdict.Verdict
	}{
		"snapshots": {causal, func(*mongotest.Server) {}, false,
			map[level.Level]verdict.Verdict{level.SI: verdict.Satisfied, level.StrongSI: verdict.Satisfied, level.SER: verdict.Violated}},
		"conflicts ignored": {causal, (*mongotest.Server).IgnoreConflicts, false,
			map[level.Level]verdict.Verdict{level.SI: verdict.Violated}},
		// Old snapshots are allowed, as long as they contain what the session knows.
		"old snapshots": {causal, func(s *mongotest.Server) { s.Lag(6) }, false,
			map[level.Level]verdict.Verdict{level.SI: verdict.Satisfied, level.StrongSI: verdict.Violated}},
		"old snapshots, sessions that do not say what they know": {acausal, func(s *mongotest.Server) { s.Lag(6) }, false,
			map[level.Level]verdict.Verdict{level.SINoSO: verdict.Satisfied, level.SI: verdict.Violated}},
		"answers lost": {causal, func(s *mongotest.Server) {
			s.Inject(mongotest.Fault{Commands: commit, Times: 8, LoseAnswer: true})
			s.Inject(mongotest.Fault{Commands: commit, Times: 8, CloseConnection: true})
		}, false, map[level.Level]verdict.Verdict{level.SI: verdict.Satisfied}},
		"unconfirmed": {causal, func(s *mongotest.Server) {
			s.Inject(mongotest.Fault{Commands: commit, Times: 30, WriteConcernError: mongotest.WriteConcernTimeout})
			s.Inject(mongotest.Fault{Commands: commit, Times: 30, Code: mongotest.MaxTimeMSExpired})
		}, true, map[level.Level]verdict.Verdict{level.SI: verdict.Satisfied}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := mongotest.Start()
			if err != nil {
				t.Fatal(err)
			}
			defer s.Stop()
			tc.prepare(s)
			h := run(t, s, tc.isolation, "mini", 20, 120)
			n := h.Count()
			t.Logf("%d transactions in %d sessions, %d committed, %d unknown", n.Txns, n.Sessions, n.Committed, n.Unknown)
			if n.Committed < 300 || tc.unknown != (n.Unknown > 0) {
				t.Errorf("%+v", n)
			}
			for lvl, want := range tc.want {
				r, err := checker.Check(context.Background(), h, lvl, checker.Options{Certify: true})
				if err != nil || r.Verdict != want {
					t.Errorf("%s: %v, %v, want %v", lvl, r, err, want)
				}
			}
		})
	}
}

// TestScanChain: statements with conditions come from the transaction's snapshot, and a server that
// ignores conflicts is found out.
func TestScanChain(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(*mongotest.Server)
		want    map[level.Level]verdict.Verdict
	}{
		"snapshots":         {func(*mongotest.Server) {}, map[level.Level]verdict.Verdict{level.SI: verdict.Satisfied, level.StrongSI: verdict.Satisfied}},
		"conflicts ignored": {(*mongotest.Server).IgnoreConflicts, map[level.Level]verdict.Verdict{level.SI: verdict.Violated}},
		"old snapshots":     {func(s *mongotest.Server) { s.Lag(6) }, map[level.Level]verdict.Verdict{level.SI: verdict.Satisfied}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := mongotest.Start()
			if err != nil {
				t.Fatal(err)
			}
			defer s.Stop()
			tc.prepare(s)
			h := run(t, s, "snapshot, majority", "blindw", 20, 40, "variant=Pred")
			if n := h.Count(); n.Committed < 100 {
				t.Errorf("%+v", n)
			}
			for lvl, want := range tc.want {
				r, err := checker.Check(context.Background(), h, lvl, checker.Options{Certify: true})
				if err != nil || r.Verdict != want {
					t.Errorf("%s: %v, %v, want %v", lvl, r, err, want)
				}
			}
		})
	}
}

// TestLightweightChain: on a server that may return old states, only read concern linearizable
// is linearizable.
func TestLightweightChain(t *testing.T) {
	for isolation, want := range map[string]verdict.Verdict{"linearizable, majority": verdict.Satisfied, "local, w1": verdict.Violated} {
		t.Run(isolation, func(t *testing.T) {
			s, err := mongotest.Start()
			if err != nil {
				t.Fatal(err)
			}
			defer s.Stop()
			s.Lag(6)
			h := run(t, s, isolation, "lwt", 5, 120)
			if n := h.Count(); n.Committed < 300 {
				t.Errorf("%+v", n)
			}
			r, err := checker.Check(context.Background(), h, level.LIN, checker.Options{Certify: true})
			if err != nil || r.Verdict != want {
				t.Errorf("%v, %v, want %v", r, err, want)
			}
		})
	}
}
