package scans_test

import (
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/internal/randhist"
)

// TestExecute: an execution of a valid history is guessed without an engine, with ranges that many
// transactions change at once, and it is one of every level.
func TestExecute(t *testing.T) {
	for _, width := range []int{1, 4, 16} {
		for seed := range uint64(2) {
			h := synth.Pred(24, 500, 1000, 8, width, seed)
			levels := []level.Level{level.SSER, level.SER, level.SI, level.StrongSI, level.PC, level.CC}
			x, rest, err := scans.Execute(t.Context(), h, levels, nil)
			if err != nil || rest == nil {
				t.Errorf("width %d, seed %d: no execution, %v", width, seed, err)
				continue
			}
			if s := x.Scans; s.Scans != 4000 || s.Judged != 4000 || s.Reason != "" {
				t.Errorf("%+v", s)
			}
			for _, lvl := range levels {
				if err := certify.Result(t.Context(), x, rest.Settled(lvl)); err != nil {
					t.Errorf("width %d, seed %d, %s: %v", width, seed, lvl, err)
				}
			}
		}
	}
	if _, rest, err := scans.Execute(t.Context(), synth.Pred(4, 100, 200, 8, 4, 1), []level.Level{level.LIN}, nil); rest != nil || err != nil {
		t.Errorf("a serial order of transactions decides lin, %v", err)
	}
}

// TestExecuteClocks: without a common clock an execution is guessed at levels without real time, and at no other.
func TestExecuteClocks(t *testing.T) {
	for _, lvl := range []level.Level{level.SSER, level.StrongSI, level.SER, level.SI} {
		h := synth.Pred(24, 500, 1000, 8, 4, 1)
		h.NoCommonClock = true
		x, rest, err := scans.Execute(t.Context(), h, []level.Level{lvl}, nil)
		if err != nil || (rest != nil) == lvl.RealTime() {
			t.Errorf("%s: guessed %v, %v", lvl, rest != nil, err)
			continue
		}
		if rest != nil {
			if err := certify.Result(t.Context(), x, rest.Settled(lvl)); err != nil {
				t.Errorf("%s: %v", lvl, err)
			}
		}
	}
}

// TestGuessSnapshots: executions at si are guessed, also of histories that are not serializable. A guess is
// one of the history: its proof holds, and the trial of all executions allows the history.
func TestGuessSnapshots(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 3))
	n := randhist.Count(t, 2_000)
	guessed, skewed, allowed := 0, 0, 0
	for range n {
		r := newRun(rng, level.SI)
		h := r.history(t)
		x, rest, err := scans.Expand(t.Context(), h, 0)
		if err != nil || rest == nil {
			continue
		}
		asked := false
		x, err = rest.Settle(t.Context(), level.SI, x, func(*history.History) (*verdict.Result, error) {
			asked = true
			return &verdict.Result{Level: level.SI}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		rest.Done()
		if r.allowed(level.SI) {
			allowed++
		}
		if asked {
			continue
		}
		guessed++
		if err := certify.Result(t.Context(), x, rest.Settled(level.SI)); err != nil || !r.allowed(level.SI) {
			t.Fatalf("seed %d: guessed, %v\n%s", seed, err, r.text(t))
		}
		if !r.allowed(level.SER) {
			skewed++
		}
	}
	t.Logf("seed %d: %d of %d allowed histories guessed, %d of them not serializable", seed, guessed, allowed, skewed)
	if guessed < allowed*3/4 || skewed == 0 && n >= 1000 {
		t.Errorf("seed %d: %d of %d guessed, %d not serializable", seed, guessed, allowed, skewed)
	}
}

// TestPageOfMissingRow: a full page ends with a row that does not exist when its statement is evaluated: the
// transaction has deleted the row itself. Nothing can be compared with it.
func TestPageOfMissingRow(t *testing.T) {
	u := tables[1]
	sym := history.NewSymbols()
	item := func(key string) history.Key { return sym.Key(u.Item([]any{key}, 1)) }
	for i, key := range []string{"a", "b", "c"} {
		sym.SetInitial(item(key), sym.Int(int64(5+i)))
	}
	b := history.NewBuilder(history.Header{Schema: tables}, sym, 1)
	rec := history.Record{ID: 1, Status: history.Committed, Begin: history.NoTime, End: history.NoTime, Ops: []history.Op{
		{Kind: history.Write, Key: item("a"), Value: history.Absent}, {Kind: history.Read, Key: item("a"), Value: sym.Int(5)}}}
	rec.Predicates = []history.Predicate{{Ops: [2]int{1, 2}, Statement: &history.Statement{Kind: history.ScanRead, Table: "u", Groups: []string{"b"}, Predicate: schema.Where(schema.AtLeast("z", int64(0))).By("z").First(1)}}}
	if err := b.Add(&rec); err != nil {
		t.Fatal(err)
	}
	if _, rest, err := scans.Execute(t.Context(), b.Done(true, nil), []level.Level{level.SER}, nil); rest != nil || err != nil {
		t.Errorf("an execution was guessed, %v", err)
	}
}
