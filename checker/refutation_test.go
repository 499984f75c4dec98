package checker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// fromRandomClauses builds a history that has an execution only if clauses of
// three literals can all be true: for each clause a transaction reads a value
// that three others wrote, each of which comes behind the writer of a literal,
// and the writers of the opposite literals come behind it, through so many
// others that pass a value on. Each transaction is a session of its own.
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

// TestLargeContradiction: a counterexample of hundreds of transactions, which
// nobody can judge by trying every execution, is proved all the same, and that
// does not take longer than finding it.
func TestLargeContradiction(t *testing.T) {
	h := fromRandomClauses(rand.New(rand.NewPCG(7, 33)), 100, 440, 5)
	for _, lvl := range []level.Level{level.SER, level.SI} {
		var took [2]time.Duration
		for i, proof := range []bool{false, true} {
			if !proof && lvl.Snapshot() {
				continue // once is enough to compare
			}
			begun := time.Now()
			r, err := checker.Check(context.Background(), h, lvl, checker.Options{Engine: checker.Polygraph, Certify: proof})
			if err != nil {
				t.Fatal(err)
			}
			took[i] = time.Since(begun)
			if r.Verdict != verdict.Violated || r.Certified != proof {
				t.Fatalf("%s: %s, certified %v: %s", lvl, r.Verdict, r.Certified, r.Reason)
			}
			a := r.Anomalies[0]
			if (a.Refutation != nil) != proof {
				t.Fatalf("%s: a refutation: %v, asked for: %v", lvl, a.Refutation != nil, proof)
			}
			if !proof {
				continue
			}
			if len(a.Txns) < 100 || a.Kind != verdict.Contradiction {
				t.Errorf("%s: a counterexample of only %d transactions tests nothing", lvl, len(a.Txns))
			}
			t.Logf("%s: %d of %d transactions, %d steps, %v", lvl, len(a.Txns), len(h.Txns), len(a.Refutation.Steps), r.Stages)
			if !slices.ContainsFunc(a.Refutation.Steps, func(s verdict.Step) bool { return s.Rule == verdict.Forget }) {
				t.Errorf("%s: nothing is forgotten", lvl)
			}
			a.Refutation.Steps = a.Refutation.Steps[:len(a.Refutation.Steps)-1]
			if certify.Result(h, r) == nil {
				t.Errorf("%s: accepted without the empty clause", lvl)
			}
			r.Anomalies[0].Refutation = nil
			if err := certify.Result(h, r); err == nil {
				t.Errorf("%s: accepted without a refutation", lvl)
			}
		}
		if took[0] == 0 {
			continue
		}
		t.Logf("%s: %v without proof, %v with it", lvl, took[0], took[1])
		if took[1] > 3*took[0]+2*time.Second {
			t.Errorf("%s: %v without proof, %v with it", lvl, took[0], took[1])
		}
	}
}
