package polygraph_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// fromClauses builds a history with many choices. For each clause a transaction reads a value that
// three others wrote. Each of these comes after the writer of a literal, and the reader comes
// before the writers of the opposite literals. So the source of the read decides the order of the
// two writers of a variable. Each transaction is a session of its own.
func fromClauses(clauses [][]int) *history.History {
	var b strings.Builder
	a := map[int]string{} // by signed variable: what its transaction reads
	vars := map[int]bool{}
	n := 0
	add := func(ops string) {
		n++
		fmt.Fprintf(&b, "s%d: %s\n", n, strings.TrimSpace(ops))
	}
	for j, c := range clauses {
		add(fmt.Sprintf("r(c%d,1) w(s%d,1)", j, j))
		for _, l := range c {
			vars[max(l, -l)] = true
			add(fmt.Sprintf("r(v%d,1) w(c%d,1)", l, j))
			a[-l] += fmt.Sprintf("r(s%d,1) ", j)
		}
	}
	for v := range vars {
		add(a[v] + fmt.Sprintf("w(v%d,1)", v))
		add(a[-v] + fmt.Sprintf("w(v%d,1)", -v))
	}
	return dsl.MustParse(b.String())
}

func randomClauses(rng *rand.Rand, vars, clauses int) [][]int {
	var out [][]int
	for range clauses {
		var c []int
		for _, v := range rng.Perm(vars)[:3] {
			l := v + 1
			if rng.IntN(2) == 0 {
				l = -l
			}
			c = append(c, l)
		}
		out = append(out, c)
	}
	return out
}

// TestHard checks that all configurations give the same verdicts, with session order and, if every
// transaction has its own session, without it.
func TestHard(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	count := map[verdict.Verdict]int{}
	for n := range 120 {
		vars := 4 + n%9
		h := fromClauses(randomClauses(rng, vars, 1+rng.IntN(2*vars)))
		for _, snapshot := range []bool{false, true} {
			levels := []level.Level{level.SER, level.SERNoSO}
			if snapshot {
				levels = []level.Level{level.SI, level.SINoSO}
			}
			var first verdict.Verdict
			for i, lvl := range levels {
				for j, cfg := range []polygraph.Config{{}, polygraph.Config{}.Without(polygraph.Pruning), polygraph.Paper(), randomConfig(rng)} {
					r, err := polygraph.Decide(context.Background(), h, lvl, polygraph.Engine{Config: cfg})
					if j == 0 || first == verdict.Satisfied {
						r, err = polygraph.Engine{Config: cfg}.Judge(context.Background(), h, lvl, engine.Options{Proof: true})
					}
					if err != nil {
						t.Fatal(err)
					}
					if i == 0 && j == 0 {
						first = r.Verdict
						count[first]++
					}
					if r.Verdict != first || r.Verdict == verdict.Unknown {
						t.Fatalf("history %d at %s, %s: %s, %s before", n, lvl, cfg, r.Verdict, first)
					}
					if r.Witness == nil && r.Anomalies == nil {
						continue // shrinking a counterexample takes long
					}
					if err := certify.Result(t.Context(), h, r); err != nil && !errors.Is(err, certify.ErrTooLarge) {
						t.Fatalf("history %d at %s: %v", n, lvl, err)
					}
				}
			}
		}
	}
	if count[verdict.Satisfied] < 20 || count[verdict.Violated] < 20 {
		t.Errorf("one-sided: %v", count)
	}
}

// TestHardEncoded checks that searches that get all their clauses at the first decision, or after
// the first conflict, have the verdicts of the trial of every execution, and proofs that hold.
func TestHardEncoded(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	count := map[verdict.Verdict]int{}
	for n := range randhist.Count(t, 10_000) {
		restore := polygraph.HardAfter(int64(n % 2))
		for _, lvl := range (polygraph.Engine{}).Levels() {
			h := randhist.New(rng)
			for lvl.RealTime() && !h.Timed() {
				h = randhist.New(rng)
			}
			e := polygraph.Engine{Config: polygraph.Config{}.Without(polygraph.Schedule)}
			if n%3 == 0 {
				e.Config = e.Config.Without(polygraph.Pruning)
			}
			v, s := compare(t, h, lvl, 9, e)
			if s {
				count[v]++
			}
		}
		restore()
	}
	t.Logf("with conflicts: %v", count)
	if (count[verdict.Satisfied] < 100 || count[verdict.Violated] < 100) && !randhist.Few(t) {
		t.Errorf("one-sided: %v", count)
	}
}

// TestFewHotKeys checks that histories of few hot keys with repeated values get the clauses of all constraints: they are
// decided with fewer than half of the conflicts, 12,544 in all and 31,785 without.
func TestFewHotKeys(t *testing.T) {
	conflicts := int64(0)
	for seed := range uint64(3) {
		h := synth.General(synth.GeneralConfig{Sessions: 40, Txns: 160, Ops: 8, Keys: 4, Reads: 0.5, Duplicates: 0.8, Values: 10, Theta: 0.5, Seed: seed + 1})
		r, err := polygraph.Engine{}.Judge(t.Context(), h, level.SER, engine.Options{Proof: true})
		if err != nil || r.Verdict != verdict.Satisfied {
			t.Fatalf("seed %d: %v, %v", seed+1, r, err)
		}
		if err := certify.Result(t.Context(), h, r); err != nil {
			t.Errorf("seed %d: %v", seed+1, err)
		}
		conflicts += int64(r.Search.Conflicts)
	}
	if t.Logf("%d conflicts", conflicts); conflicts > 20_000 {
		t.Errorf("%d conflicts in all", conflicts)
	}
}

// TestTimeout checks that a search that is too hard stops in time.
func TestTimeout(t *testing.T) {
	h := fromClauses(randomClauses(rand.New(rand.NewPCG(7, 8)), 400, 1720))
	for _, lvl := range []level.Level{level.SER, level.SI} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		begun := time.Now()
		r, err := polygraph.Engine{}.Judge(ctx, h, lvl, engine.Options{})
		cancel()
		took := time.Since(begun)
		if err == nil && r.Verdict == verdict.Unknown || err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, %v", lvl, r, err)
		}
		if took > 10*time.Second {
			t.Errorf("%s: given up after %v, not after a second", lvl, took)
		}
	}
}
