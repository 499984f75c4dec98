package fences

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// printed is the rule of the Cobra paper (Figure 12). It is not sound: TestTheorem52.
func printed(g *graph) []bool {
	const none = 1 << 30
	n := len(g.nodes)
	epoch := make([]int, n)
	agree := none
	for _, list := range g.of { // ASSIGNEPOCH
		current := none
		for _, v := range slices.Backward(list) {
			epoch[v] = none
			if current != none {
				epoch[v] = current - 1
			}
			if x := g.nodes[v]; x.place >= 0 {
				if current == none {
					agree = min(agree, x.place)
				}
				epoch[v], current = x.place, x.place
			}
		}
		if current == none {
			agree = -1
		}
	}
	old := func(v int32) bool { return epoch[v] <= agree-2 }
	frozen := make([]bool, n) // SETFROZEN
	for _, v := range g.sorted {
		frozen[v] = old(v) && !slices.ContainsFunc(g.in[v], func(u int32) bool { return !frozen[u] })
	}
	writes := func(v int32, key history.Key) bool {
		return slices.ContainsFunc(g.nodes[v].writes, func(op history.Op) bool { return op.Key == key })
	}
	obsolete := func(v int32) bool { // SETOBSOLETE; one that only reads is, too
		for _, op := range g.nodes[v].writes {
			later := false
			for u := range int32(n) {
				later = later || u != v && old(u) && writes(u, op.Key) && g.reaches(v, u)
			}
			if !later {
				return false
			}
		}
		return true
	}
	component, count := g.components() // SETREMOVABLE
	stays := make([]bool, count)
	for v := range int32(n) {
		if !frozen[v] || !obsolete(v) {
			stays[component[v]] = true
		}
	}
	gone := make([]bool, n)
	for v := range gone {
		gone[v] = !stays[component[v]] && g.nodes[v].place < 0
	}
	return gone
}

// TestTheorem52: the rule of the paper, and the rule here without its edges, forget the violation of the
// history scenarios/figures/cobra-theorem52 if a round ends before its last transaction.
func TestTheorem52(t *testing.T) {
	h := theorem52(t)
	if v := judged(t, h); v != verdict.Violated {
		t.Fatalf("the history is %s", v)
	}
	for _, c := range []struct {
		name string
		set  func(*Rounds)
		want State
	}{
		{"the rule", func(*Rounds) {}, Violated},
		{"without edges", func(r *Rounds) { r.bare = true }, Going},
		{"as printed", func(r *Rounds) { r.bare, r.choose = true, printed }, Going},
	} {
		size := len(h.Txns) - 1
		state, _, r := inRounds(t, h, func() int { return size }, c.set)
		if state != c.want || r.stats.Removed == 0 {
			t.Errorf("%s: state %d after %d were removed, want %d", c.name, state, r.stats.Removed, c.want)
		}
	}
}

// without has a rule with other conditions: keep says which vertices stay, and with them their components.
func without(keep func(g *graph, v int32, later []bool) bool) func(r *Rounds) {
	return func(r *Rounds) {
		r.choose = func(g *graph) []bool {
			component, count := g.components()
			later := g.later()
			stays := make([]bool, count)
			for v := range int32(len(g.nodes)) {
				if keep(g, v, later) {
					stays[component[v]] = true
				}
			}
			gone := make([]bool, len(g.nodes))
			for v := range gone {
				gone[v] = !stays[component[v]]
			}
			return gone
		}
	}
}

// TestPinned: T3, of unknown outcome, read x from T2, which is overwritten. Later it turns out that T3 counts. Its read is right if T2 is
// still there.
func TestPinned(t *testing.T) {
	text := `s1 T1: r(E,0) w(E,1)
s1 T2: w(x,1)
s3 T4: r(E,1) w(E,2)
s3 T3: r(x,1) w(y,1) unknown
s2 T5: r(x,1) w(x,2)
s2 T6: r(E,2) w(E,3)
s1 T7: r(E,3) w(E,4)
s3 T8: r(E,4) w(E,5)
s2 T11: r(E,5) w(E,6)
s2 T10: r(y,1)
`
	h, err := dsl.Parse(text, "test")
	if err != nil {
		t.Fatal(err)
	}
	if v := judged(t, h); v != verdict.Satisfied {
		t.Fatalf("the history is %s", v)
	}
	for _, c := range []struct {
		set  func(*Rounds)
		want State
	}{
		{func(*Rounds) {}, Going},
		{without(func(g *graph, v int32, later []bool) bool { return !g.within(v) || later[v] || !g.overwritten(v) }), Violated},
	} {
		state, _, r := inRounds(t, h, func() int { return 9 }, c.set)
		if state != c.want {
			t.Errorf("state %d after %d were removed, want %d", state, r.stats.Removed, c.want)
		}
	}
}

// TestMutants: the random histories show that the edges, and conditions of the rule, are necessary.
func TestMutants(t *testing.T) {
	const seed = 52 // the same histories always: how many it takes is luck
	for _, c := range []struct {
		name string
		set  func(*Rounds)
	}{
		{"no edges", func(r *Rounds) { r.bare = true }},
		{"the rule as printed", func(r *Rounds) { r.bare, r.choose = true, printed }},
		{"not overwritten", without(func(g *graph, v int32, later []bool) bool {
			return !g.within(v) || later[v] || g.pinned(v) || v == g.fence()
		})},
		{"not within", without(func(g *graph, v int32, later []bool) bool { return later[v] || g.pinned(v) || !g.overwritten(v) })},
	} {
		wrong, n := 0, uint64(0)
		for ; n < 20000 && wrong == 0; n++ {
			rng := rand.New(rand.NewPCG(seed, n))
			h, _ := simulated(rng)
			most := 1 + rng.IntN(20)
			state, at, _ := inRounds(t, h, func() int { return 1 + rng.IntN(most) }, c.set)
			want := judged(t, h)
			if state == Going && want == verdict.Violated || (state == Violated) && (want != verdict.Violated || judged(t, prefix(h, at, at == len(h.Txns))) != verdict.Violated) {
				wrong++
			}
		}
		t.Logf("%s: %d histories until a wrong verdict", c.name, n)
		if wrong == 0 {
			t.Errorf("%s: no wrong verdict", c.name)
		}
	}
}
