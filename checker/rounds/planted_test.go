package rounds_test

import (
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/rounds"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// commit is a transaction of session s that reads what is given and writes new values to keys.
func (r *run) commit(s int, reads map[string]int64, writes ...string) {
	var ops []operation
	for _, k := range []string{"k0", "k1"} {
		if v, ok := reads[k]; ok {
			ops = append(ops, operation{history.Read, k, v})
		}
	}
	for _, k := range writes {
		r.state[k] = r.fresh()
		ops = append(ops, operation{history.Write, k, r.state[k]})
	}
	r.add(r.number[s], history.Committed, ops...)
}

// only is the part of a state with some keys.
func only(state map[string]int64, keys ...string) map[string]int64 {
	out := map[string]int64{}
	for _, k := range keys {
		out[k] = state[k]
	}
	return out
}

// A violation of ser has two halves. The second one gets the state before the first, and with an empty second half
// the history is satisfied. si says that it violates snapshot isolation, too.
type planted struct {
	name          string
	si            bool
	first, second func(r *run, before map[string]int64)
}

var violations = []planted{
	{"lost update", true,
		func(r *run, before map[string]int64) { r.commit(0, only(before, "k0"), "k0") },
		func(r *run, before map[string]int64) { r.commit(1, only(before, "k0"), "k0") }},
	{"write skew", false,
		func(r *run, before map[string]int64) { r.commit(0, before, "k0") },
		func(r *run, before map[string]int64) { r.commit(1, before, "k1") }},
	{"half a transaction read", true,
		func(r *run, before map[string]int64) { r.commit(0, before, "k0", "k1") },
		func(r *run, before map[string]int64) {
			r.commit(1, map[string]int64{"k0": r.state["k0"], "k1": before["k1"]})
		}},
	{"own write not read", true,
		func(r *run, before map[string]int64) { r.commit(0, before, "k0") },
		func(r *run, before map[string]int64) { r.commit(0, only(before, "k0")) }},
}

// ordinary are transactions without a violation.
func (r *run) ordinary() {
	for s := range r.sessions {
		r.commit(s, maps.Clone(r.state), []string{"k0", "k1"}[r.rng.IntN(2)])
	}
}

// TestPlanted: violations before, in, across and after a cut are found, in the window where they are.
func TestPlanted(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 22))
	// steps of a run: what comes before the cut, the cut, and what comes after it.
	try := func(name string, window int, si bool, before, cut, after func(r *run)) {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			r := &run{rng: rng, sessions: 3, keys: 2, state: map[string]int64{"k0": 0, "k1": 0}, windows: []*builder{{}}}
			r.fences, r.number, r.broken, r.ended = make([]int64, 3), []int64{0, 1, 2}, make([][]int64, 3), map[int64]int64{}
			r.ordinary()
			before(r)
			cut(r)
			after(r)
			r.ordinary()
			for _, lvl := range []level.Level{level.SER, level.SI, level.SSER, level.StrongSI} {
				weaker := lvl == level.SI || lvl == level.StrongSI
				if weaker && !si && window > 0 { // real time decides, at random
					continue
				}
				if got := check(t, r.whole.history(t), lvl) == verdict.Violated; got != (window > 0) {
					t.Fatalf("seed %d, %s: the whole run is violated: %v\n%s", seed, lvl, got, dsl.Format(r.whole.history(t)))
				}
				var state rounds.Run
				for n, w := range r.windows {
					v := judge(t, &state, w.history(t), lvl)
					if n+1 == window && v != verdict.Violated || n+1 < window && v != verdict.Satisfied || window == 0 && v != verdict.Satisfied {
						t.Fatalf("seed %d, %s: window %d is %s\n%s", seed, lvl, n+1, v, dsl.Format(w.history(t)))
					}
				}
			}
		})
	}
	nothing := func(*run) {}
	cut := func(r *run) { r.cut(0) }
	try("nothing", 0, false, nothing, cut, nothing)
	for _, v := range violations {
		var old map[string]int64
		first := func(r *run) {
			old = maps.Clone(r.state)
			v.first(r, old)
		}
		both := func(r *run) {
			first(r)
			v.second(r, old)
		}
		second := func(r *run) { v.second(r, old) }
		try("first half of "+v.name, 0, v.si, first, cut, nothing)
		try(v.name+" before", 1, v.si, both, cut, nothing)
		try(v.name+" after", 2, v.si, nothing, cut, both)
		// The second half does not see what was there at the cut: that is no snapshot at any level with session order.
		try(v.name+" across", 2, true, first, cut, second)
	}
	// What the cut reads is wrong: a committed transaction is missing in it, or half of one.
	for _, missing := range [][]string{{"k0", "k1"}, {"k1"}} {
		try("missing in the cut: "+strings.Join(missing, " and "), 1, true,
			nothing,
			func(r *run) {
				old := only(r.state, missing...)
				r.commit(0, r.state, "k0", "k1")
				right := maps.Clone(r.state)
				maps.Copy(r.state, old)
				r.cut(0)
				r.state = right
			},
			nothing)
	}
}
