package polygraph_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestAgainstOracle compares the engine with the trial of every execution, on
// random histories of every kind, and verifies every proof. ISOHOUND_HISTORIES
// sets how many per level.
func TestAgainstOracle(t *testing.T) {
	n := randhist.Count(t, 20_000)
	for _, lvl := range (polygraph.Engine{}).Levels() {
		t.Run(lvl.String(), func(t *testing.T) {
			t.Parallel()
			seed := randhist.Seed(t, rand.Uint64())
			rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
			count := map[verdict.Verdict]int{}
			backends := map[string]int{}
			searched := 0
			for range n {
				h := randhist.New(rng)
				for lvl.RealTime() && !h.Timed() {
					h = randhist.New(rng)
				}
				if lvl == level.PC && rng.IntN(2) == 0 {
					h = randhist.Prefix(rng)
				}
				v, s := compare(t, h, lvl, seed, polygraph.Engine{})
				count[v]++
				name, machine := randomMachine(rng)
				_, found := compare(t, h, lvl, seed, polygraph.Engine{Config: randomConfig(rng), Accel: polygraph.Acceleration{}.On(machine)})
				s = s || found
				backends[name]++
				if s {
					searched++
				}
			}
			t.Logf("seed %d: %v, %d with conflicts, backends %v", seed, count, searched, backends)
			for _, v := range []verdict.Verdict{verdict.Satisfied, verdict.Violated} {
				if count[v] < n/10 && !randhist.Few(t) {
					t.Errorf("only %d of %d histories are %s; the generator tests one side only", count[v], n, v)
				}
			}
		})
	}
}

// TestOwnReadKept checks that a transaction of unknown outcome, T0, is kept completely in a
// counterexample, with a read of its own write. Only T2 reads that value from another transaction,
// so T2's own write of it is not needed.
func TestOwnReadKept(t *testing.T) {
	h := dsl.MustParse(`
		s3 T0: w(k2,2) r(k2,2) w(k0,3) unknown
		s3 T1: w(k2,1)
		s0 T2: r(k0,3) r(k2,2) w(k2,2)
		s3 T3: w(k1,3)
		s0 T4: r(k0,0)`)
	for _, lvl := range []level.Level{level.SER, level.SI} {
		if v, _ := compare(t, h, lvl, 0, polygraph.Engine{}); v != verdict.Violated {
			t.Errorf("%s %s", lvl, v)
		}
	}
}

func compare(t *testing.T, h *history.History, lvl level.Level, seed uint64, e polygraph.Engine) (v verdict.Verdict, searched bool) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("seed %d, %s, %s", seed, lvl, e.Config)
		}
	}()
	cfg := e.Config
	r, err := e.Judge(context.Background(), h, lvl, engine.Options{Proof: true})
	if err != nil {
		t.Fatalf("seed %d, %s, %s: %v\n%s", seed, lvl, cfg, err, dsl.Format(h))
	}
	bare, err := e.Judge(context.Background(), h, lvl, engine.Options{VerdictOnly: true})
	if err != nil || bare.Verdict != r.Verdict || bare.Anomalies != nil || bare.Witness != nil {
		t.Fatalf("seed %d, %s, %s: %s, but the verdict only: %+v, %v\n%s", seed, lvl, cfg, r.Verdict, bare, err, dsl.Format(h))
	}
	if r.Verdict == verdict.Unknown {
		if h.Closed {
			t.Fatalf("seed %d, %s, %s: unknown on a closed history: %s\n%s", seed, lvl, cfg, r.Reason, dsl.Format(h))
		}
		return r.Verdict, false
	}
	possible, budget := h, 50_000_000
	if !h.Closed {
		possible, budget = randhist.Completed(h), 1_000_000 // much may be missing
		if h.OrderAssumed() || h.SnapshotsAssumed() {
			possible = possible.AssumeOrder()
		}
	}
	allowed, decided := certify.Judge(possible, lvl, budget)
	if !decided && possible != h {
		return r.Verdict, false
	}
	if !decided {
		t.Fatalf("seed %d: the oracle gave up\n%s", seed, dsl.Format(h))
	}
	if allowed != (r.Verdict == verdict.Satisfied) {
		t.Fatalf("seed %d, %s, %s: engine says %s, oracle says allowed=%v\n%s", seed, lvl, cfg, r.Verdict, allowed, dsl.Format(h))
	}
	if err := certify.Result(t.Context(), h, r); err != nil {
		t.Fatalf("seed %d, %s, %s: proof of %s: %v\n%s%+v", seed, lvl, cfg, r.Verdict, err, dsl.Format(h), r.Anomalies)
	}
	if r.Search != nil && cfg.Has(polygraph.Eager) && !h.OrderAssumed() && !h.SnapshotsAssumed() && r.Search.OnDemand > 0 {
		t.Fatalf("seed %d, %s, %s: %d clauses were missing up front\n%s", seed, lvl, cfg, r.Search.OnDemand, dsl.Format(h))
	}
	if !slices.ContainsFunc(h.AllOps(), func(op history.Op) bool { return op.Kind == history.ReadNot }) {
		replay(t, h, r) // the steps of refutations can only express single values
	}
	return r.Verdict, r.Search != nil && r.Search.Conflicts > 0
}
