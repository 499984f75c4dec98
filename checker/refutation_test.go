package checker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// fromRandomClauses builds a history that has an execution only if a formula of clauses of three
// literals is satisfiable. For each clause a transaction reads a value that three others wrote.
// Each of these comes after the writer of a literal. The reader comes before the writers of the
// opposite literals, through relays transactions that pass a value on. Each transaction is a
// session of its own.
func fromRandomClauses(rng *rand.Rand, vars, clauses, relays int) *history.History {
	var b strings.Builder
	n := 0
	add := func(format string, args ...any) {
		n++
		fmt.Fprintf(&b, "s%d: %s\n", n, fmt.Sprintf(format, args...))
	}
	behind := map[int]string{} // by literal: what its writer reads
	for j := range clauses {
		add("r(c%d,1) w(s%d-0,1)", j, j)
		for i := range relays {
			add("r(s%d-%d,1) w(s%d-%d,1)", j, i, j, i+1)
		}
		for _, v := range rng.Perm(vars)[:3] {
			l := v + 1
			if rng.IntN(2) == 0 {
				l = -l
			}
			add("r(v%d,1) w(c%d,1)", l, j)
			behind[-l] += fmt.Sprintf("r(s%d-%d,1) ", j, relays)
		}
	}
	for l := -vars; l <= vars; l++ {
		if l != 0 {
			add("%sw(v%d,1)", behind[l], l)
		}
	}
	return dsl.MustParse(b.String())
}

// TestLargeContradiction checks that a counterexample of hundreds of transactions, too large for
// the trial of every execution, is proved.
func TestLargeContradiction(t *testing.T) {
	for _, lvl := range []level.Level{level.SER, level.SI} {
		// How much of a history refutes it depends on how the search goes.
		if !slices.ContainsFunc([]uint64{33, 30, 34, 31, 32, 35, 36, 37}, func(seed uint64) bool {
			return largeContradiction(t, fromRandomClauses(rand.New(rand.NewPCG(7, seed)), 100, 440, 5), lvl)
		}) {
			t.Errorf("%s: no large counterexample whose refutation forgets clauses", lvl)
		}
	}
}

// BenchmarkContradiction compares with and without a proof.
func BenchmarkContradiction(b *testing.B) {
	h := fromRandomClauses(rand.New(rand.NewPCG(7, 33)), 100, 440, 5)
	for name, proof := range map[string]bool{"without proof": false, "with proof": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				contradiction(b, h, level.SER, proof)
			}
		})
	}
}

// contradiction checks a history that has no execution.
func contradiction(t testing.TB, h *history.History, lvl level.Level, proof bool) *verdict.Result {
	t.Helper()
	r, err := checker.Check(context.Background(), h, lvl, checker.Options{Engine: checker.Polygraph, Certify: proof})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != verdict.Violated || r.Certified != proof {
		t.Fatalf("%s: %s, certified %v: %s", lvl, r.Verdict, r.Certified, r.Reason)
	}
	if a := r.Anomalies[0]; a.Refutation != nil && !proof {
		t.Fatalf("%s: a refutation that nobody asked for", lvl)
	}
	return r
}

// largeContradiction reports whether the counterexample is large and its refutation forgets
// clauses. If so, no step of the refutation may be missing.
func largeContradiction(t *testing.T, h *history.History, lvl level.Level) bool {
	t.Helper()
	r := contradiction(t, h, lvl, true)
	a := &r.Anomalies[0]
	if len(a.Txns) < 100 || a.Refutation == nil || !slices.ContainsFunc(a.Refutation.Steps, func(s verdict.Step) bool { return s.Rule == verdict.Forget }) {
		return false
	}
	t.Logf("%s: %d of %d transactions, %d steps, %v", lvl, len(a.Txns), len(h.Txns), len(a.Refutation.Steps), r.Stages)
	if a.Kind != verdict.Contradiction {
		t.Errorf("%s: kind %v", lvl, a.Kind)
	}
	a.Refutation.Steps = a.Refutation.Steps[:len(a.Refutation.Steps)-1]
	if certify.Result(t.Context(), h, r) == nil {
		t.Errorf("%s: accepted without the empty clause", lvl)
	}
	a.Refutation = nil
	if certify.Result(t.Context(), h, r) == nil {
		t.Errorf("%s: accepted without a refutation", lvl)
	}
	return true
}
