package fences

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

func judged(t *testing.T, h *history.History) verdict.Verdict {
	t.Helper()
	r, err := checker.Check(context.Background(), h, level.SER, checker.Options{VerdictOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	return r.Verdict
}

func judge(ctx context.Context, h *history.History) (verdict.Verdict, string, error) {
	r, err := checker.Check(ctx, h, level.SER, checker.Options{VerdictOnly: true})
	if err != nil {
		return verdict.Unknown, "", err
	}
	return r.Verdict, r.Reason, nil
}

// inRounds judges h in rounds that end after some records. It returns the state at the end, and the number of records until then.
func inRounds(t *testing.T, h *history.History, sizes func() int, set func(*Rounds)) (State, int, *Rounds) {
	t.Helper()
	r := New(h.Symbols, h.Key("E"), judge)
	set(r)
	left := sizes()
	for i := range h.Txns {
		rec := h.Record(i)
		if r.Add(&rec) == Whole {
			return Whole, i + 1, r
		}
		last := i == len(h.Txns)-1
		if left--; left > 0 && !last {
			continue
		}
		left = sizes()
		state, err := r.Round(context.Background(), last)
		if err != nil {
			t.Fatal(err)
		}
		if state == Waits && !last && judged(t, prefix(h, i+1, false)) != verdict.Violated {
			state = Going
		}
		if state != Going {
			return state, i + 1, r
		}
	}
	return Going, len(h.Txns), r
}

func prefix(h *history.History, n int, closed bool) *history.History {
	b := history.NewBuilder(h.Header, h.Symbols, n)
	for i := range n {
		rec := h.Record(i)
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	return b.Done(closed, nil)
}

// TestAgainstWhole: a history that is judged in rounds of any size gets the verdict of the whole history.
func TestAgainstWhole(t *testing.T) {
	count := randhist.Count(t, 4000)
	seed := randhist.Seed(t, 52)
	var satisfied, violated, removed, whole int
	for n := range count {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		h, fenced := simulated(rng)
		want := judged(t, h)
		if want == verdict.Unknown {
			continue // nothing committed
		}
		if len(h.Txns) <= 8 {
			if allowed, decided := certify.Judge(h, level.SER, 1<<16); decided && allowed != (want == verdict.Satisfied) {
				t.Fatalf("seed %d, history %d: the trial of all executions disagrees with %s\n%s", seed, n, want, dsl.Format(h))
			}
		}
		most := 1 + rng.IntN(20)
		idle := []int{5, 20, 1000}[rng.IntN(3)]
		patience := []int{5, 1000}[rng.IntN(2)]
		key := "E"
		if rng.IntN(8) == 0 { // any key may be taken for that of fences
			key, fenced = "k0", false
		}
		state, at, r := inRounds(t, h, func() int { return 1 + rng.IntN(most) }, func(r *Rounds) { r.Idle, r.Patience, r.fence = idle, patience, h.Key(key) })
		removed += r.stats.Removed
		fail := func(what string) {
			t.Fatalf("seed %d, history %d: %s after %d of %d records (%+v), and the whole is %s\n%s", seed, n, what, at, len(h.Txns), r.stats, want, dsl.Format(h))
		}
		switch state {
		case Going:
			if satisfied++; want != verdict.Satisfied {
				fail("satisfied")
			}
		case Violated, Waits:
			if state == Waits && at == len(h.Txns) && want == verdict.Satisfied && (idle < 1000 || !fenced) {
				whole++ // a session went on without a fence, and waits
				break
			}
			violated++
			last := at == len(h.Txns)
			if want != verdict.Violated || judged(t, prefix(h, at, last)) != verdict.Violated {
				fail("violated")
			}
		case Whole:
			whole++
		default:
			fail(r.why)
		}
	}
	t.Logf("%d histories: %d satisfied, %d violated, %d to be judged as a whole; %d transactions removed", count, satisfied, violated, whole, removed)
	if (satisfied < count/5 || violated < count/10 || removed < count || whole > count/4) && !randhist.Few(t) {
		t.Errorf("the histories show too little: %d satisfied, %d violated, %d as a whole, %d removed", satisfied, violated, whole, removed)
	}
}

// theorem52 is the history on which the paper's rule is wrong.
func theorem52(t *testing.T) *history.History {
	t.Helper()
	path := filepath.Join("..", "..", "scenarios", "figures", "cobra-theorem52.txt")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h, err := dsl.Parse(string(text), path)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
