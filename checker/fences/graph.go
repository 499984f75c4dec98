package fences

import "sort"

// graph is the known graph of a round. Vertices are the kept transactions. Sessions are chains; a transaction of unknown
// outcome is a chain by itself when it counts, and in none before.
type graph struct {
	r     *Rounds
	nodes []*node
	chain []int32   // by vertex, -1 for optional ones
	place []int32   // by vertex, in its chain
	of    [][]int32 // by chain, its vertices
	in    [][]int32 // by vertex, those with edges to it
	// sorted is a topological order. reach has for each vertex v and chain c how many of c's vertices, from its first, are v or
	// reach v: reach[v*len(of)+c].
	sorted []int32
	reach  []int32
	reads  []read
	keys   map[int32]*accesses // by key
	// star is G*, and component has its strongly connected components, of which there are count; nil before they are needed.
	star      [][]int32
	component []int32
	count     int
}

// read is a read of what from wrote, or of the initial value: from is -1.
type read struct {
	by, from int32
	key      int32
}

// accesses are the accesses to one key.
type accesses struct {
	writers  []group
	optional []int32 // writers in no chain
	readers  []read
	// pinned: something in no chain accesses the key.
	pinned bool
}

// group are the writers of a key in one chain, in its order.
type group struct {
	chain int32
	txns  []int32
}

func (r *Rounds) graph() *graph {
	n := len(r.kept)
	g := &graph{r: r, nodes: r.kept, chain: make([]int32, n), place: make([]int32, n), in: make([][]int32, n), keys: map[int32]*accesses{}}
	dense := map[int32]int32{}
	for i, x := range r.kept {
		x.number = int32(i)
	}
	for i, x := range r.kept {
		v := int32(i)
		if g.chain[v] = -1; !x.optional {
			c, known := dense[x.chain]
			if !known {
				c = int32(len(g.of))
				dense[x.chain] = c
				g.of = append(g.of, nil)
			}
			if list := g.of[c]; len(list) > 0 {
				g.in[v] = append(g.in[v], list[len(list)-1])
			}
			g.chain[v], g.place[v] = c, int32(len(g.of[c]))
			g.of[c] = append(g.of[c], v)
		}
		for _, p := range x.preds {
			g.in[v] = append(g.in[v], p.number)
		}
		for _, op := range x.reads {
			rd := read{by: v, from: -1, key: int32(op.Key)}
			if w, _ := r.source(x, op); w != nil {
				rd.from = w.number
				g.in[v] = append(g.in[v], w.number)
			}
			g.reads = append(g.reads, rd)
			a := g.access(rd.key)
			a.readers, a.pinned = append(a.readers, rd), a.pinned || x.optional
		}
		for _, op := range x.writes {
			a := g.access(int32(op.Key))
			if x.optional {
				a.optional, a.pinned = append(a.optional, v), true
				continue
			}
			a.write(g.chain[v], v)
		}
	}
	return g
}

func (g *graph) access(key int32) *accesses {
	a := g.keys[key]
	if a == nil {
		a = &accesses{}
		g.keys[key] = a
	}
	return a
}

func (a *accesses) write(chain, v int32) {
	for i := range a.writers {
		if a.writers[i].chain == chain {
			a.writers[i].txns = append(a.writers[i].txns, v)
			return
		}
	}
	a.writers = append(a.writers, group{chain, []int32{v}})
}

// order sorts the vertices and computes what reaches them. It returns false if there is a cycle.
func (g *graph) order() bool {
	all := make([]int32, len(g.nodes))
	for v := range all {
		all[v] = int32(v)
	}
	var ok bool
	g.sorted, ok = sortedBy(len(g.nodes), g.in)
	if ok {
		g.reach = g.reachable(all, len(g.nodes), g.sorted, g.in)
	}
	return ok
}

// sortedBy returns a topological order of n vertices, and whether there is one.
func sortedBy(n int, in [][]int32) ([]int32, bool) {
	from, degree := make([]int32, n+1), make([]int32, n)
	for v := range in {
		degree[v] = int32(len(in[v]))
		for _, u := range in[v] {
			from[u+1]++
		}
	}
	for v := range n {
		from[v+1] += from[v]
	}
	out, at := make([]int32, from[n]), make([]int32, n)
	for v := range in {
		for _, u := range in[v] {
			out[from[u]+at[u]] = int32(v)
			at[u]++
		}
	}
	sorted := make([]int32, 0, n)
	for v := range in {
		if degree[v] == 0 {
			sorted = append(sorted, int32(v))
		}
	}
	for i := 0; i < len(sorted); i++ {
		u := sorted[i]
		for _, v := range out[from[u]:from[u+1]] {
			if degree[v]--; degree[v] == 0 {
				sorted = append(sorted, v)
			}
		}
	}
	return sorted, len(sorted) == n
}

// reachable computes reach in a graph whose n vertices are sets of vertices of g: set has that of each one. sorted are these
// sets, and in the edges between them.
func (g *graph) reachable(set []int32, n int, sorted []int32, in [][]int32) []int32 {
	k := len(g.of)
	reach := make([]int32, n*k)
	for v, c := range g.chain {
		if c >= 0 {
			at := int(set[v])*k + int(c)
			reach[at] = max(reach[at], g.place[v]+1)
		}
	}
	for _, v := range sorted {
		row := reach[int(v)*k : int(v+1)*k]
		for _, u := range in[v] {
			for c, p := range reach[int(u)*k : int(u+1)*k] {
				if p > row[c] {
					row[c] = p
				}
			}
		}
	}
	return reach
}

// reaches reports whether u is v or reaches it. A vertex in no chain reaches none.
func (g *graph) reaches(u, v int32) bool {
	return g.chain[u] >= 0 && g.reach[int(v)*len(g.of)+int(g.chain[u])] > g.place[u]
}

// before returns how many of a group reach v, or are v: the first ones.
func (g *graph) before(x *group, v int32) int {
	upTo := g.reach[int(v)*len(g.of)+int(x.chain)]
	return sort.Search(len(x.txns), func(i int) bool { return g.place[x.txns[i]] >= upTo })
}

// after returns the index of the first of a group that u reaches, or is.
func (g *graph) after(x *group, u int32) int {
	return sort.Search(len(x.txns), func(i int) bool { return g.reaches(u, x.txns[i]) })
}

// saturate adds edges that every execution has, until there are no more. It returns false if there is a cycle.
func (g *graph) saturate() bool {
	for {
		added := 0
		link := func(from, to int32) {
			g.in[to] = append(g.in[to], from)
			added++
		}
		for i := range g.reads {
			if !g.infer(&g.reads[i], link) {
				return false
			}
		}
		if added == 0 {
			return true
		}
		if !g.order() {
			return false
		}
	}
}

// infer adds the edges that follow from one read. It returns false if the read is wrong.
func (g *graph) infer(rd *read, link func(from, to int32)) bool {
	a, r, from := g.keys[rd.key], rd.by, rd.from
	optional := g.chain[r] < 0
	if from >= 0 && g.chain[from] < 0 {
		return true // both may never count
	}
	for i := range a.writers {
		x := &a.writers[i]
		last := g.before(x, r) - 1 // the last writer before the reader
		if last >= 0 && x.txns[last] == r {
			last--
		}
		if last >= 0 && x.txns[last] != from {
			b := x.txns[last]
			switch {
			case from >= 0 && g.reaches(b, from):
			case optional:
				// If the reader counts, b comes before from. That is impossible if from comes before b.
				g.nodes[r].impossible = g.nodes[r].impossible || from < 0 || g.reaches(from, b)
			case from < 0:
				return false
			default:
				link(b, from)
			}
		}
		if optional {
			continue // it comes before the others only if it counts
		}
		first := 0 // the first writer after what was read
		if from >= 0 {
			first = g.after(x, from)
		}
		if first < len(x.txns) && x.txns[first] == from {
			first++
		}
		if first < len(x.txns) {
			if b := x.txns[first]; b != r && !g.reaches(r, b) {
				link(r, b)
			}
		}
	}
	if optional {
		return true
	}
	for _, u := range a.optional {
		if u != r && (from < 0 || g.reaches(from, u)) && !g.reaches(r, u) {
			link(r, u)
		}
	}
	return true
}
