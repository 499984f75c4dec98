package polygraph

import (
	"slices"
	"sort"

	"github.com/isohound/isohound/checker/radix"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// visible are the claimed snapshots, if they are assumed (history.AssumeOrder) at a snapshot level. A transaction that a
// snapshot has commits before the reader starts, any other one after that. These edges belong to the known graph,
// but through points, as those of real time do: one chain of points stands for the commits up to some position, another
// one for the starts before some position. So there are O(n) edges.
//
// Only transactions that committed are in the known graph. The search adds clauses about those of unknown outcome.
type visible struct {
	links  []pointed
	points int32
	// open: some transaction of unknown outcome has a claim that matters.
	open bool

	wrote []bool // by transaction
	// numbers are the database's own numbers of the transactions that wrote, ascending, and txns those transactions.
	numbers []int64
	txns    []int32
}

// pointed is an edge of the known graph. A node below 0 is a point: -1 is the first one.
type pointed struct {
	from, to int32
	kind     verdict.EdgeKind
	rule     rule
}

// place is a node and where it is among commits and snapshots.
type place struct {
	node int32
	at   int64
}

func newVisible(m *model) *visible {
	v := &visible{wrote: make([]bool, len(m.txns))}
	var commits, starts []place
	for t, i := range m.txns {
		t := int32(t)
		c := m.h.Claim(int(i))
		number := m.h.DBTxn(int(i))
		at, told := m.h.SnapshotAt(int(i))
		v.wrote[t] = len(m.writesOf.of(t)) > 0
		if v.wrote[t] && number > 0 && m.h.HasVisible() {
			v.txns = append(v.txns, t)
		}
		if m.h.Txns[i].Status != history.Committed {
			v.open = v.open || told || c.Visible != nil || v.wrote[t] && (c.Commit != 0 || number > 0)
			continue
		}
		if v.wrote[t] && c.Commit != 0 {
			commits = append(commits, place{t<<1 | 1, c.Commit})
		}
		if told {
			starts = append(starts, place{t << 1, at})
		}
	}
	v.byPosition(commits, starts)
	number := func(t int32) int64 { return m.h.DBTxn(int(m.txns[t])) }
	v.txns = radix.SortBy(v.txns, number)
	for _, t := range v.txns {
		v.numbers = append(v.numbers, number(t))
	}
	v.bySets(m)
	return v
}

// byPosition adds the edges that follow from positions: a snapshot has the commits up to its own position.
func (v *visible) byPosition(commits, starts []place) {
	sorted := func(list []place) []place {
		ids := make([]int32, len(list))
		for n := range ids {
			ids[n] = int32(n)
		}
		out := make([]place, len(list))
		for to, from := range radix.SortBy(ids, func(n int32) int64 { return list[n].at }) {
			out[to] = list[from]
		}
		return out
	}
	commits, starts = sorted(commits), sorted(starts)
	v.chain(commits, starts, 0, verdict.VS, shownFirst)
	v.chain(starts, commits, 1, verdict.NV, hiddenFirst)
}

// chain adds paths from each of some nodes to those of others whose position is higher by at least a distance. Both lists
// are sorted by position.
func (v *visible) chain(from, to []place, distance int64, kind verdict.EdgeKind, by rule) {
	last, open := int32(0), false // the latest point of this chain; whether nothing leads away from it yet
	i := 0
	for _, b := range to {
		for ; i < len(from) && from[i].at <= b.at-distance; i++ {
			if !open {
				v.points++
				if last != 0 {
					v.links = append(v.links, pointed{last, -v.points, kind, by})
				}
				last, open = -v.points, true
			}
			v.links = append(v.links, pointed{from[i].node, last, kind, by})
		}
		if open = false; last != 0 {
			v.links = append(v.links, pointed{last, b.node, kind, by})
		}
	}
}

// bySets adds the edges that follow from snapshots as sets of transactions. Those of one database contain one another.
// Then they have an order, the smaller ones first, and each commit has a position in it: the first snapshot that has it.
// Two snapshots that do not contain one another contradict each other: each has a commit that the other one lacks.
func (v *visible) bySets(m *model) {
	if !m.h.HasVisible() {
		return
	}
	set := func(t int32) *history.Visible { return m.h.Claim(int(m.txns[t])).Visible }
	committed := func(t int32) bool { return m.txn(t).Status == history.Committed }
	below := make([]int64, len(v.numbers)+1) // how many of the first numbers are of transactions that committed
	at := make([]int32, len(m.txns))         // by transaction: its index in numbers, or none
	stamp(at)
	for n, t := range v.txns {
		at[t] = int32(n)
		if below[n+1] = below[n]; committed(t) {
			below[n+1]++
		}
	}
	has := func(s, t int32) bool { return s != t && set(s).Has(v.numbers[at[t]]) }
	var readers []int32
	size := make([]int64, len(m.txns))
	for s := range int32(len(m.txns)) {
		if x := set(s); x != nil && committed(s) {
			readers = append(readers, s)
			size[s] = below[v.below(x.Max)]
			for _, number := range x.Open {
				if n, known := slices.BinarySearch(v.numbers, number); known && committed(v.txns[n]) {
					size[s]--
				}
			}
			if at[s] != none && x.Has(v.numbers[at[s]]) {
				size[s]--
			}
		}
	}
	readers = radix.SortBy(readers, func(s int32) int64 { return size[s] })
	var commits, starts []place
	var waiting []int32                    // transactions with lower numbers that no snapshot so far has
	first := make([]int32, len(v.numbers)) // by number: the first snapshot that has it
	next := 0
	for n, s := range readers {
		take := func(t int32) bool {
			if !has(s, t) {
				return false
			}
			first[at[t]] = s
			commits = append(commits, place{t<<1 | 1, int64(n)})
			return true
		}
		waiting = slices.DeleteFunc(waiting, take)
		for ; next < v.below(set(s).Max); next++ {
			if t := v.txns[next]; committed(t) && !take(t) {
				waiting = append(waiting, t)
			}
		}
		starts = append(starts, place{s << 1, int64(n)})
		if int64(len(commits)) == size[s] {
			continue
		}
		for _, c := range commits {
			t := c.node >> 1
			before := first[at[t]]
			if has(s, t) {
				continue
			}
			for _, u := range v.txns { // what this one has and that one lacks
				if committed(u) && has(s, u) && !has(before, u) {
					v.links = append(v.links, v.directly(before, t, true)...)
					v.links = append(v.links, v.directly(before, u, false)...)
					v.links = append(v.links, v.directly(s, u, true)...)
					v.links = append(v.links, v.directly(s, t, false)...)
					return
				}
			}
		}
	}
	for _, t := range append(waiting, v.txns[next:]...) {
		if committed(t) {
			commits = append(commits, place{t<<1 | 1, int64(len(readers))})
		}
	}
	v.chain(commits, starts, 0, verdict.VS, shownFirst)
	v.chain(starts, commits, 1, verdict.NV, hiddenFirst)
}

// below returns how many numbers are lower.
func (v *visible) below(number int64) int {
	return sort.Search(len(v.numbers), func(n int) bool { return v.numbers[n] >= number })
}

// directly is the edge between a transaction with a snapshot and another one that it has or lacks. Its own commit it lacks
// anyway.
func (v *visible) directly(s, t int32, has bool) []pointed {
	switch {
	case s == t:
		return nil
	case has:
		return []pointed{{t<<1 | 1, s << 1, verdict.VS, shownFirst}}
	}
	return []pointed{{s << 1, t<<1 | 1, verdict.NV, hiddenFirst}}
}

// link adds the edges. first is the node of the first point.
func (v *visible) link(g *graph, first int32) {
	node := func(n int32) int32 {
		if n < 0 {
			return first - 1 - n
		}
		return n
	}
	for _, l := range v.links {
		g.add(node(l.from), node(l.to), l.kind, l.rule, none)
	}
}

// follow compares an execution with the snapshots. It calls wrong with pairs of transactions that contradict them: t, which
// wrote, and s, whose snapshot has or lacks it. Of each node it finds at most one pair for positions and one for sets.
// wrong returns false to end it.
func (v *visible) follow(m *model, g *graph, nodes func(yield func(int32) bool), included []bool, wrong func(t, s int32, has bool) bool) {
	x := &following{visible: v, m: m, included: included, wrong: wrong, latest: none, first: none, second: none, top: -1, looks: 64}
	x.prefix, x.done = make([]int32, len(v.numbers)+1), make([]bool, len(v.numbers))
	for n, t := range v.txns {
		if x.prefix[n+1] = x.prefix[n]; included[t] {
			x.prefix[n+1]++
		}
	}
	limit := int32(len(m.txns)) << g.split
	nodes(func(node int32) bool {
		if node >= limit || !included[g.txnOf(node)] {
			return true
		}
		t := g.txnOf(node)
		return (node != g.start(t) || x.starts(t)) && (node != g.commit(t) || x.commits(t))
	})
}

// following is the state of follow.
type following struct {
	*visible
	m        *model
	included []bool
	wrong    func(t, s int32, has bool) bool
	// latest is the committed transaction with the highest position. first and second are those that have started and
	// whose snapshots have the highest positions.
	latest, first, second int32
	// prefix counts the included transactions with the first numbers. done are those that committed, count is how many
	// they are, and top the last one.
	prefix []int32
	done   []bool
	count  int32
	top    int
	looks  int // how many snapshots may still be searched for what they have
}

func (x *following) claim(t int32) history.Claim { return x.m.h.Claim(int(x.m.txns[t])) }

func (x *following) starts(s int32) bool {
	if at, told := x.m.h.SnapshotAt(int(x.m.txns[s])); told {
		if x.latest != none && x.claim(x.latest).Commit > at && !x.wrong(x.latest, s, false) {
			return false
		}
		switch {
		case x.first == none || at > x.claim(x.first).Snapshot:
			x.first, x.second = s, x.first
		case x.second == none || at > x.claim(x.second).Snapshot:
			x.second = s
		}
	}
	v := x.claim(s).Visible
	if v == nil {
		return true
	}
	n := x.below(v.Max)
	if x.top >= n {
		return x.wrong(x.txns[x.top], s, false)
	}
	has := x.prefix[n]
	for _, number := range v.Open {
		if at, known := slices.BinarySearch(x.numbers, number); known && x.included[x.txns[at]] {
			if has--; x.done[at] {
				return x.wrong(x.txns[at], s, false)
			}
		}
	}
	if x.wrote[s] && v.Has(x.m.h.DBTxn(int(x.m.txns[s]))) {
		has--
	}
	if has == x.count || x.looks == 0 {
		return true
	}
	x.looks--
	for at, number := range x.numbers[:n] {
		if t := x.txns[at]; t != s && x.included[t] && !x.done[at] && v.Has(number) {
			return x.wrong(t, s, true)
		}
	}
	return true
}

func (x *following) commits(t int32) bool {
	if !x.wrote[t] {
		return true
	}
	if at := x.claim(t).Commit; at != 0 {
		s := x.first
		if s == t {
			s = x.second
		}
		if s != none && x.claim(s).Snapshot >= at && !x.wrong(t, s, true) {
			return false
		}
		if x.latest == none || at > x.claim(x.latest).Commit {
			x.latest = t
		}
	}
	if number := x.m.h.DBTxn(int(x.m.txns[t])); number > 0 {
		if at, known := slices.BinarySearch(x.numbers, number); known {
			x.done[at] = true
			x.count++
			x.top = max(x.top, at)
		}
	}
	return true
}

// agrees reports whether an execution agrees with the snapshots.
func (v *visible) agrees(e *execution) bool {
	right := true
	v.follow(e.m, e.g, slices.Values(e.nodes), e.included, func(_, _ int32, _ bool) bool {
		right = false
		return false
	})
	return right
}

// seenRight adds clauses where the order contradicts the snapshots, which it can only about transactions of unknown
// outcome. It reports whether there was nothing to add.
func (x *search) seenRight() bool {
	if x.m.visible == nil || !x.m.visible.open {
		return true
	}
	right := true
	nodes := func(yield func(int32) bool) {
		for v := x.o.first(); v != x.o.end() && yield(v); v = x.o.next[v] {
		}
	}
	x.m.visible.follow(x.m, x.g, nodes, x.included, func(t, s int32, has bool) bool {
		right = false
		x.shown(t, s, has)
		return true
	})
	return right
}

// shown adds the clause that t committed before s started, or not, as the snapshot of s says.
func (x *search) shown(t, s int32, has bool) {
	id := clauseID{isHidden, t, s}
	if has {
		id[0] = isShown
	}
	if x.mend.again(id) {
		return
	}
	x.used.txn(t)
	x.used.txn(s)
	x.proof.shown(t, s, has)
	k := x.m.key[x.m.writesOf.of(t)[0]]
	from, to := x.g.commit(t), x.g.start(s)
	if !has {
		from, to = to, from
	}
	x.addAbout(id, append(x.guard(t, s), x.precedes(k, from, to)))
}
