package linear_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/linear"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestAgainstOracle compares the engine with the trial of every execution, on
// random histories, and verifies every proof. ISOHOUND_HISTORIES sets how many
// per level; the long mode of docs/testing.md uses millions.
func TestAgainstOracle(t *testing.T) {
	n := randhist.Count(t, 20_000)
	for _, lvl := range (linear.Engine{}).Levels() {
		t.Run(lvl.String(), func(t *testing.T) {
			t.Parallel()
			seed := randhist.Seed(t, rand.Uint64())
			rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
			count := map[verdict.Verdict]int{}
			for range n {
				h := random(rng, lvl)
				for lvl.RealTime() && !h.Timed() {
					h = random(rng, lvl)
				}
				count[compare(t, h, lvl, seed)]++
			}
			t.Logf("seed %d: %v", seed, count)
			for _, v := range []verdict.Verdict{verdict.Satisfied, verdict.Violated} {
				if count[v] < n/10 && !randhist.Few(t) {
					t.Errorf("only %d of %d histories are %s; the generator tests one side only", count[v], n, v)
				}
			}
		})
	}
}

// TestClaims checks that at level lin, too, no claim is accepted against a history that has an
// execution (see the test of that name in certify).
func TestClaims(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 6))
	wrong, right := 0, 0
	for range randhist.Count(t, 4_000) {
		h := randomLWT(rng)
		allowed, decided := certify.Judge(h, level.LIN, 5_000_000)
		if !h.Closed || !decided {
			continue
		}
		for range 40 {
			a := randhist.Claim(rng, h)
			accepted := certify.Result(t.Context(), h, &verdict.Result{Level: level.LIN, Verdict: verdict.Violated, Anomalies: []verdict.Anomaly{a}}) == nil
			switch {
			case allowed && accepted:
				t.Fatalf("seed %d: accepted %+v\n%s", seed, a, dsl.Format(h))
			case allowed:
				wrong++
			case accepted:
				right++
			}
		}
	}
	if t.Logf("%d false claims, %d right ones", wrong, right); (wrong < 1000 || right < 20) && !randhist.Few(t) {
		t.Error("too few")
	}
}

func random(rng *rand.Rand, lvl level.Level) *history.History {
	if lvl == level.LIN {
		return randomLWT(rng)
	}
	return randhist.Mini(rng)
}

func compare(t *testing.T, h *history.History, lvl level.Level, seed uint64) verdict.Verdict {
	t.Helper()
	r, err := linear.Engine{}.Judge(context.Background(), h, lvl, engine.Options{Proof: true})
	var na *engine.Refusal
	if errors.As(err, &na) {
		t.Fatalf("seed %d: refused: %v\n%s", seed, err, dsl.Format(h))
	}
	if err != nil {
		t.Fatal(err)
	}
	bare, err := linear.Engine{}.Judge(context.Background(), h, lvl, engine.Options{VerdictOnly: true})
	if err != nil || bare.Verdict != r.Verdict || bare.Anomalies != nil || bare.Witness != nil {
		t.Fatalf("seed %d, %s: %s, but the verdict only: %+v, %v\n%s", seed, lvl, r.Verdict, bare, err, dsl.Format(h))
	}
	if r.Verdict == verdict.Unknown {
		if h.Closed && lvl != level.LIN {
			t.Fatalf("unknown on a closed history: %s\n%s", r.Reason, dsl.Format(h))
		}
		return r.Verdict
	}
	possible, budget := h, 50_000_000
	if !h.Closed && lvl != level.LIN {
		possible, budget = randhist.Completed(h), 1_000_000 // much may be missing
	}
	allowed, decided := certify.Judge(possible, lvl, budget)
	if !decided && possible != h {
		return r.Verdict
	}
	if !decided {
		t.Fatalf("seed %d: the oracle gave up\n%s", seed, dsl.Format(h))
	}
	if allowed != (r.Verdict == verdict.Satisfied) {
		t.Fatalf("seed %d, %s: engine says %s, oracle says allowed=%v\n%s%s", seed, lvl, r.Verdict, allowed, dsl.Format(h), describe(r))
	}
	if err := certify.Result(t.Context(), h, r); err != nil {
		t.Fatalf("seed %d, %s: proof of %s: %v\n%s%s", seed, lvl, r.Verdict, err, dsl.Format(h), describe(r))
	}
	return r.Verdict
}

func describe(r *verdict.Result) string {
	s := ""
	for _, a := range r.Anomalies {
		s += fmt.Sprintf("%v\n%s\n", a.Names, a.Text)
	}
	return s
}

// randomLWT makes a small history of lightweight transactions on one or two
// keys.
func randomLWT(rng *rand.Rand) *history.History {
	sym := history.NewSymbols()
	if rng.IntN(2) == 0 {
		sym.DefaultInitial = sym.Int(0)
	}
	keys := 1 + rng.IntN(2)
	txns := 2 + rng.IntN(6)
	chaos := []int{0, 5, 20}[rng.IntN(3)]
	b := history.NewBuilder(history.Header{}, sym, txns)
	current := map[history.Key]history.Value{}
	written := map[history.Key][]history.Value{}
	deleted := map[history.Key]bool{}
	next := int64(0)
	at := int64(0)
	slack := 1 + rng.Int64N(6)
	for i := range txns {
		k := sym.Key("k" + strconv.Itoa(rng.IntN(keys)))
		v, ok := current[k]
		if !ok {
			v = sym.Initial(k)
		}
		at += rng.Int64N(4)
		rec := history.Record{ID: int64(i), Session: int64(i), Due: history.NoTime, Status: history.Committed,
			Begin: at - rng.Int64N(slack), End: at + rng.Int64N(slack)}
		switch p := rng.IntN(16); {
		case p == 0:
			rec.Status = history.Aborted
		case p <= 2:
			rec.Status = history.Unknown
		}
		seen := v
		if rng.IntN(100) < chaos {
			choices := append([]history.Value{sym.Initial(k), sym.Int(next + 1)}, written[k]...)
			seen = choices[rng.IntN(len(choices))]
		}
		switch p := rng.IntN(10); {
		case p < 4:
			next++
			w := sym.Int(next)
			// Absence, too, is written once at most.
			delete := !deleted[k] && sym.Initial(k) != history.Absent && seen != history.Absent && rng.IntN(5) == 0
			if delete {
				deleted[k], w = true, history.Absent
			}
			written[k] = append(written[k], w)
			if !delete && (seen == history.Absent && rng.IntN(2) == 0 || rng.IntN(100) < chaos) {
				rec.Ops = []history.Op{{Kind: history.Write, Key: k, Value: w}}
			} else {
				rec.Ops = []history.Op{{Kind: history.Read, Key: k, Value: seen}, {Kind: history.Write, Key: k, Value: w}}
			}
			if rec.Status == history.Committed || rec.Status == history.Unknown && rng.IntN(2) == 0 {
				current[k] = w
			}
		case p < 7 && rng.IntN(20) == 0: // no operations
		case p < 7:
			rec.Ops = []history.Op{{Kind: history.Read, Key: k, Value: seen}}
		default:
			choices := append([]history.Value{sym.Initial(k), sym.Int(next + 1), history.Absent}, written[k]...)
			rec.Ops = []history.Op{{Kind: history.ReadNot, Key: k, Value: choices[rng.IntN(len(choices))]}}
		}
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	return b.Done(rng.IntN(8) > 0, nil)
}
