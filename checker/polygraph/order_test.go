package polygraph

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/sat"
)

// TestOrder adds edges to random graphs, removes them again, and compares the order with a walk
// along all edges: the order keeps all edges, refuses an edge that closes a cycle, and returns that
// cycle and the nodes that have moved.
func TestOrder(t *testing.T) {
	refused, reordered, crossed := 0, 0, 0
	for seed := range 3000 {
		rng := rand.New(rand.NewPCG(uint64(seed), 81))
		o := randomOrder(rng, int32(2+rng.IntN(25)))
		next := int32(1) // the variable of the next edge
		for range 60 {
			if len(o.chosen) > 0 && rng.IntN(4) == 0 {
				o.remove()
				continue
			}
			from, to := rng.Int32N(o.g.nodes), rng.Int32N(o.g.nodes)
			before := slices.Clone(o.pos)
			o.forget()
			lit := sat.Pos(next)
			next++
			cycle := leads(o, to, from)
			if got := o.insert(from, to, lit); got == cycle {
				t.Fatalf("seed %d: %d before %d is added: %v, though a cycle: %v", seed, from, to, got, cycle)
			}
			if cycle {
				refused++
				checkPath(t, o, from, to)
			}
			if len(o.moved) > 0 {
				reordered++
				if slices.ContainsFunc(o.moved, func(v int32) bool { return o.ways[v] != o.ways[o.moved[0]] }) {
					crossed++
				}
			}
			checkOrder(t, o, before)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
	if refused < 1000 || reordered < 1000 || crossed < 1000 {
		t.Errorf("one-sided: %d refused, %d reordered, %d both ways", refused, reordered, crossed)
	}
}

// randomOrder returns the order of a random graph without a cycle. In some there is no room between
// positions.
func randomOrder(rng *rand.Rand, n int32) *order {
	g := &graph{nodes: n, out: make([]int32, n), in: make([]int32, n)}
	stamp(g.out)
	stamp(g.in)
	nodes := make([]int32, n)
	for i, v := range rng.Perm(int(n)) {
		nodes[i] = int32(v)
	}
	for range rng.IntN(2 * int(n)) {
		if i, j := rng.IntN(int(n)), rng.IntN(int(n)); i < j {
			g.add(nodes[i], nodes[j], 0, given, none)
		}
	}
	o := newOrder(g, nodes)
	if rng.IntN(2) == 0 {
		o.gap = 1 + rng.Int32N(3)
		for i, v := range nodes {
			o.pos[v] = int32(i+1) * o.gap
		}
	}
	return o
}

// leads reports whether there is a path from one node to another. A node leads to itself.
func leads(o *order, from, to int32) bool {
	met := make([]bool, o.g.nodes)
	met[from] = true
	for list := []int32{from}; len(list) > 0; {
		v := list[len(list)-1]
		list = list[:len(list)-1]
		follow := func(a, b int32) {
			if a == v && !met[b] {
				met[b] = true
				list = append(list, b)
			}
		}
		for _, e := range o.g.edges {
			follow(e.from, e.to)
		}
		for _, e := range o.chosen {
			follow(e.from, e.to)
		}
	}
	return met[to]
}

// checkPath checks the path that an insert has found, which is listed backwards.
func checkPath(t *testing.T, o *order, from, to int32) {
	t.Helper()
	at := from
	step := func(a, b int32) {
		if b != at {
			t.Errorf("the path to %d goes on with an edge from %d to %d", at, a, b)
		}
		at = a
	}
	o.path(from, to, func(e int32) { step(o.g.edges[e].from, o.g.edges[e].to) }, func(l sat.Lit) {
		i := slices.IndexFunc(o.chosen, func(e chosenEdge) bool { return e.lit == l })
		step(o.chosen[i].from, o.chosen[i].to)
	})
	if at != to {
		t.Errorf("the path from %d to %d begins at %d", to, from, at)
	}
}

// checkOrder checks that the order keeps its edges and is consistent, and that moved has the nodes
// whose positions changed.
func checkOrder(t *testing.T, o *order, before []int32) {
	t.Helper()
	for _, e := range o.g.edges {
		if o.pos[e.from] >= o.pos[e.to] {
			t.Errorf("the known edge from %d to %d is not kept", e.from, e.to)
		}
	}
	for _, e := range o.chosen {
		if o.pos[e.from] >= o.pos[e.to] {
			t.Errorf("the chosen edge from %d to %d is not kept", e.from, e.to)
		}
	}
	count, last := int32(0), int32(0)
	for v := o.first(); v != o.end(); v = o.next[v] {
		if o.pos[v] <= last || o.prev[o.next[v]] != v {
			t.Errorf("node %d stands at %d behind %d", v, o.pos[v], last)
		}
		last = o.pos[v]
		count++
	}
	if count != o.g.nodes {
		t.Errorf("%d of %d nodes are in the order", count, o.g.nodes)
	}
	for u := range o.g.nodes {
		for v := range o.g.nodes {
			if before[u] < before[v] && o.pos[u] > o.pos[v] && o.ways[u]&later == 0 && o.ways[v]&earlier == 0 {
				t.Errorf("nodes %d and %d have changed places, and neither is told to have moved", u, v)
			}
		}
	}
}
