package rounds_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/rounds"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/randhist"
)

// weakLevels are those of TestWeakWindows.
var weakLevels = []level.Level{level.CC, level.RA, level.RC, level.Session, level.RYW, level.MR, level.MW, level.WFR, level.RU}

// judgeWeak judges the next window at a weak level.
func judgeWeak(t *testing.T, state *rounds.Run, h *history.History, lvl level.Level) verdict.Verdict {
	state.Enter(h)
	ctx := context.Background()
	r, err := checker.Check(ctx, h, lvl, checker.Options{Certify: true})
	if err != nil {
		t.Fatal(err)
	}
	why := ""
	switch r.Verdict {
	case verdict.Satisfied:
		why, err = rounds.Ends(ctx, h, lvl, r.Witness)
	case verdict.Violated:
		if own := state.Own(h); own != nil {
			if v := check(t, own, lvl); v == verdict.Violated {
				h = own
			}
		}
		why, err = state.Doubt(h, lvl, func(h *history.History) (verdict.Verdict, error) { return check(t, h, lvl), nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	if why != "" {
		return verdict.Unknown
	}
	return r.Verdict
}

// TestWeakWindows: at weak levels, windows never say something else than the whole run. Transactions see old states and
// states that change under them.
func TestWeakWindows(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 23))
	n := randhist.Count(t, 30_000) / 10
	count := map[string]int{}
	for range n {
		r := simulate(rng, rng.IntN(2) == 0)
		for w := range r.windows {
			r.windows[w].cut, r.windows[w].number, r.windows[w].fresh = w+1 < len(r.windows), w+1, !r.dups
		}
		for _, lvl := range weakLevels {
			whole, got := r.compare(t, seed, lvl, judgeWeak)
			count[fmt.Sprintf("%v %v as %v", lvl, whole, got)]++
		}
	}
	t.Logf("%v", count)
}

// TestLateAtCC: what a transaction of unknown outcome wrote may be seen after the cut although it committed before what the
// cut read. The window has no order then, and the run has one.
func TestLateAtCC(t *testing.T) {
	read := func(k string, v int64) operation { return operation{history.Read, k, v} }
	wrote := func(k string, v int64) operation { return operation{history.Write, k, v} }
	txn := func(id, session int64, ops ...operation) record {
		return record{id, session, 2 * id, 2*id + 1, history.Committed, ops}
	}
	f0, f1 := fenceOf(0), fenceOf(1)
	late := record{3, 1000, 6, 7, history.Unknown, []operation{wrote("x", 7), wrote("y", 8)}}
	before := []record{
		txn(1, 0, wrote("x", 1)), txn(2, 1, wrote("y", 2)), late, txn(4, 0, read(f0, 0), wrote(f0, 101)), txn(5, 1, read(f1, 0), wrote(f1, 102)),
		txn(6, 1, read(f0, 101), read(f1, 102)), txn(7, 1, read("x", 1), read("y", 2)), txn(8, 1, read(f1, 102), wrote(f1, 103)),
	}
	after := []record{txn(9, 0, read(f1, 103)), txn(10, 0, read("x", 7), read("y", 2))}
	whole := &builder{recs: append(slices.Clone(before), after...)}
	if got := check(t, whole.history(t), level.CC); got != verdict.Satisfied {
		t.Fatalf("the run is %s", got)
	}
	var state rounds.Run
	first := &builder{recs: before, number: 1, cut: true}
	second := &builder{recs: append([]record{late}, after...), number: 2, initial: map[string]int64{"x": 1, "y": 2, f0: 101, f1: 103}}
	if got := judgeWeak(t, &state, first.history(t), level.CC); got != verdict.Satisfied {
		t.Errorf("the first window is %s", got)
	}
	if got := judgeWeak(t, &state, second.history(t), level.CC); got != verdict.Unknown {
		t.Errorf("the second window is %s", got)
	}
}
