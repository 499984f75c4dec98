package polygraph

import (
	"context"
	"iter"
	"slices"

	"github.com/isohound/isohound/accel/parallel"
	"github.com/isohound/isohound/checker/sat"
)

// search looks for an execution: an order of all nodes in which every read returns its value. It
// starts from a topological order of the known graph. What the current order gets wrong, and only
// that, becomes clauses over "a before b":
//
//	a read S of a version by T, and W that wrote another value:
//	    W before T, or S before W
//	a read with several candidates:
//	    one of them is its source, which comes before it (sources.go)
//	writers T and U of one key, at snapshot isolation:
//	    T committed before U started, or U before T
//
// W is before S if W commits before S does; at snapshot isolation, before S starts.
//
// A transaction of unknown outcome counts if its variable is true. A source must count. Clauses
// about such a transaction hold only if it counts.
type search struct {
	ctx   context.Context
	m     *model
	g     *graph
	reach *reach
	how   Acceleration
	o     *order
	s     *sat.Solver

	belongs []int32 // by node: see schedule; or nil

	vars []variable
	// lastConflict is, by variable, the number of the latest theory conflict with its edge, counted
	// from 1, or 0.
	lastConflict []int64
	before       map[[2]int32]int32 // by pair of nodes: the variable that says that the first comes first
	counts       map[int32]int32    // by transaction: the variable that says that it counts
	sources      map[int32]*sources // by read
	open         []openRead
	openAt       []int32 // by read: its index in open plus 1, or 0
	truth        sat.Lit

	included []bool  // by transaction: whether it counts under the current assignment
	dirty    []int32 // keys to be verified again
	isDirty  []bool
	added    bool
	reading  bool        // Final is verifying keys
	late     [][]sat.Lit // clauses that are added after that
	mend     mend
	encoded  bool // encodeHard has run

	a     *accesses
	used  *evidence
	proof *prover // nil if no proof is written

	pipe *pipeline // nil: the default configuration
}

// variable is what a variable of the solver means.
type variable struct {
	kind varKind
	a, b int32 // nodes; or the transaction; or the read and the index of its source
}

type varKind uint8

const (
	isTruth varKind = iota
	isBefore
	isCounted
	isSource
	isOther       // the read; true: its source has no variable yet
	isWriteChains // the order of two write chains: the index of a chainPair
)

// chronological is sat.Chronological. Tests change it, because their searches are not deep.
var chronological int32 = sat.Chronological

func newSearch(ctx context.Context, s *saturator, nodes []int32, used *evidence) *search {
	x := &search{ctx: ctx, m: s.m, g: s.g, reach: s.reach, how: s.how, open: s.open, before: map[[2]int32]int32{}, counts: map[int32]int32{},
		sources: map[int32]*sources{}, openAt: make([]int32, len(s.m.reads)), used: used,
		included: s.m.counted(), isDirty: make([]bool, s.m.h.KeyCount())}
	for i := range s.open {
		x.openAt[s.open[i].read] = int32(i + 1)
	}
	x.o = newOrder(s.g, nodes)
	x.a = newAccesses(s.m, s.g)
	x.mend = newMend(len(s.m.txns))
	x.s = sat.New(x)
	x.s.Chronological = chronological
	x.truth = sat.Pos(x.newVar(variable{kind: isTruth}))
	x.s.Add(x.truth)
	return x
}

// begin lists the accesses to all keys and makes the keys dirty that the first order gets wrong.
func (x *search) begin() error {
	keys := x.m.h.KeyCount()
	wrong := make([]int32, keys) // by key: how many accesses are wrong
	const run = 256
	if err := parallel.Share(x.ctx, x.m.workers(), keys, run, func(numbers iter.Seq[int]) {
		var scratch []datedAccess
		for k := range numbers {
			scratch = x.a.list(int32(k), x.o.pos, scratch)
			writers := func(_, _ int32) { wrong[k]++ }
			x.replay(int32(k), x.a.of(int32(k)), func(int32, []int32) { wrong[k]++ }, writers, writers)
		}
	}); err != nil {
		return err
	}
	count := 0
	for k, bad := range wrong {
		if bad > 0 {
			x.makeDirty(int32(k))
			count += int(bad)
		}
	}
	x.expect(count)
	return nil
}

// expect allocates memory for what about that many wrong accesses will add. It is bounded: if there
// are many, growing costs little compared with the search.
func (x *search) expect(wrong int) {
	const vars, clauses, most = 3, 2, 1 << 14
	wrong = min(wrong, most)
	x.vars, x.lastConflict = slices.Grow(x.vars, vars*wrong), slices.Grow(x.lastConflict, vars*wrong)
	x.s.Reserve(vars * wrong)
	if len(x.before) == 0 {
		x.before = make(map[[2]int32]int32, vars*wrong)
	}
	x.mend.expect(clauses * wrong)
	x.late = slices.Grow(x.late, wrong)
}

// execution returns the current order with the transactions that count.
func (x *search) execution() *execution {
	e := &execution{x.m, x.g, make([]int32, 0, x.g.nodes), x.included}
	for v := x.o.first(); v != x.o.end(); v = x.o.next[v] {
		e.nodes = append(e.nodes, v)
	}
	return e
}

func (x *search) newVar(v variable) int32 {
	x.vars, x.lastConflict = append(x.vars, v), append(x.lastConflict, 0)
	return x.s.NewVar()
}

func (x *search) makeDirty(key int32) {
	if !x.isDirty[key] {
		x.isDirty[key] = true
		x.dirty = append(x.dirty, key)
	}
}

// dirtyAll makes the keys of a transaction dirty.
func (x *search) dirtyAll(t int32) {
	for _, w := range x.m.writesOf.of(t) {
		x.makeDirty(x.m.key[w])
	}
	for r := x.m.readFrom[t]; r < x.m.readFrom[t+1]; r++ {
		x.makeDirty(int32(x.m.reads[r].key))
	}
}

// dirtyMoved makes the keys dirty whose accesses have changed places because nodes moved.
func (x *search) dirtyMoved() {
	moved := x.o.moved
	defer x.o.forget()
	parts := workersFor(len(moved))
	found := make([][]int32, parts)
	parallel.Do(parts, func(p int) {
		for _, v := range moved[len(moved)*p/parts : len(moved)*(p+1)/parts] {
			found[p] = x.displaced(v, found[p])
		}
	})
	for _, keys := range found {
		for _, k := range keys {
			x.makeDirty(k)
		}
	}
}

// displaced appends the keys whose accesses by node v are out of order now, without the dirty ones.
// When the list of a key was last sorted it was right. So whatever is wrong now shows at a moved
// node: it has passed a neighbour in the list, in the direction of its move.
func (x *search) displaced(v int32, keys []int32) []int32 {
	m, g, a, pos := x.m, x.g, x.a, x.o.pos
	if v >= int32(len(m.txns))<<g.split {
		return keys
	}
	t, how := g.txnOf(v), x.o.ways[v]
	if v == g.start(t) {
		for r := m.readFrom[t]; r < m.readFrom[t+1]; r++ {
			if k := int32(m.reads[r].key); !x.isDirty[k] && !a.inPlace(k, a.readAt[r], pos, how) {
				keys = append(keys, k)
			}
		}
	}
	for _, w := range m.writesOf.of(t) {
		k := m.key[w]
		if x.isDirty[k] {
			continue
		}
		right := true
		if v == g.commit(t) {
			right = a.inPlace(k, a.writeAt[w], pos, how) && (!g.apart || how&later == 0 || a.beforeWriter(w, pos, x.included))
		} else if g.apart && how&earlier != 0 { // a start apart from its commit
			right = a.afterWriter(w, pos, x.included)
		}
		if !right {
			keys = append(keys, k)
		}
	}
	return keys
}

// precedes returns the literal that node a comes before node b. k is the key that asks; it matters
// only without Coalesce. The nodes are different, so "not before" means "after".
func (x *search) precedes(k, a, b int32) sat.Lit {
	if x.reach != nil {
		// The order keeps known edges, so only one direction can be known.
		switch first := x.o.pos[a] <= x.o.pos[b]; {
		case first && x.reaches(a, b):
			x.used.path(a, b)
			return x.truth
		case !first && x.reaches(b, a):
			x.used.path(b, a)
			x.proof.excluded(a, b)
			return x.truth.Not()
		}
	}
	flip := a > b
	if x.g.split == 1 && a&1 != b&1 {
		flip = a&1 == 0 // the pair begins with the commit
	}
	pair := [2]int32{a, b}
	if flip {
		pair = [2]int32{b, a}
	}
	v, ok := x.pairVar(k, pair)
	if !ok {
		v = x.newVar(variable{isBefore, pair[0], pair[1]})
		x.setPairVar(k, pair, v)
		x.added = true
	}
	if flip {
		return sat.Pos(v).Not()
	}
	return sat.Pos(v)
}

func (x *search) reaches(a, b int32) bool { return x.reach.reaches(a, b) }

// counted returns the literal that t counts.
func (x *search) counted(t int32) sat.Lit {
	if !x.m.optional[t] {
		return x.truth
	}
	v, ok := x.counts[t]
	if !ok {
		v = x.newVar(variable{kind: isCounted, a: t})
		x.counts[t] = v
		x.added = true
	}
	return sat.Pos(v)
}

// Assert implements sat.Theory.
func (x *search) Assert(l sat.Lit) []sat.Lit {
	switch v := x.vars[l.Var()]; v.kind {
	case isBefore, isWriteChains:
		a, b := x.edgeOf(l)
		if !x.o.insert(a, b, l) {
			conflict := []sat.Lit{l.Not()}
			x.o.path(a, b, x.used.edge, func(c sat.Lit) {
				conflict = append(conflict, c.Not())
				x.lastConflict[c.Var()] = x.s.Stats.Conflicts + 1
			})
			x.proof.conflict(x, a, b)
			return conflict
		}
	case isCounted:
		if l.Positive() {
			x.included[v.a] = true
			x.dirtyAll(v.a)
		}
	}
	return nil
}

// Retract implements sat.Theory.
func (x *search) Retract(l sat.Lit) {
	if x.pipe != nil {
		x.pipe.save(l)
	}
	switch v := x.vars[l.Var()]; v.kind {
	case isBefore, isWriteChains:
		x.o.remove()
		x.undone(l)
	case isCounted:
		if l.Positive() {
			x.included[v.a] = false
			x.dirtyAll(v.a)
		}
	}
}

// Final implements sat.Theory. It verifies every dirty key, and first makes those dirty whose
// accesses have changed places.
func (x *search) Final() (bool, error) {
	x.added = false
	x.dirtyMoved()
	list := x.dirty
	x.dirty = nil
	x.reading = true
	defer x.addLate()
	for n, k := range list {
		x.isDirty[k] = false
		if !x.verify(k) {
			x.makeDirty(k) // stays dirty until all its reads are right, even if no node moves
		}
		if n&0xff == 0 && x.ctx.Err() != nil {
			return false, context.Cause(x.ctx)
		}
	}
	if x.ctx.Err() != nil {
		return false, context.Cause(x.ctx)
	}
	wrong := len(x.dirty) > 0
	if !x.added && !wrong {
		wrong = !x.seenRight()
	}
	if !x.added && wrong && x.mend.vain() {
		return false, errStuck
	}
	return x.added || wrong, nil
}

func (x *search) addLate() {
	x.reading = false
	for _, lits := range x.late {
		x.s.Add(lits...)
		x.mend.note(lits)
	}
	clear(x.late)
	x.late = x.late[:0]
}

// verify adds clauses for everything that the order gets wrong about a key. It reports whether
// there was nothing wrong.
func (x *search) verify(k int32) bool {
	right := true
	x.replay(k, x.a.sort(k, x.o.pos), func(r int32, before []int32) {
		x.misread(r, before)
		right = false
	}, func(t, u int32) {
		x.apart(k, t, u)
		right = false
	}, func(t, u int32) {
		x.placedFirst(k, t, u)
		right = false
	})
	return right
}

// replay goes through the accesses to a key. It calls misread for each wrong read, with the
// accesses before it. It calls overlap for each two writers that overlap although they must not, and
// late for a writer t that comes after u, although the assumed order of versions has it before.
func (x *search) replay(k int32, list []int32, misread func(r int32, before []int32), overlap, late func(t, u int32)) {
	m, g, pos := x.m, x.g, x.o.pos
	class, last := k, none // the latest write: its class and its transaction
	highest := none        // the writer with the highest place so far
	for i, access := range list {
		if access >= 0 {
			rd := &m.reads[access]
			if rd.source != fromNowhere && x.included[rd.txn] && !m.accepts(rd.class, class) {
				misread(access, list[:i])
			}
			continue
		}
		u := m.writer[^access]
		if !x.included[u] {
			continue
		}
		if g.apart && last != none && pos[g.commit(last)] > pos[g.start(u)] {
			overlap(last, u)
		}
		if p := m.placed; p != nil && p.at[u] != 0 {
			switch {
			case highest == none || p.at[u] > p.at[highest]:
				highest = u
			case p.at[u] < p.at[highest]:
				late(u, highest)
			}
		}
		class, last = m.class[^access], u
	}
}

// guard returns literals that make a clause hold only if the given transactions count.
func (x *search) guard(txns ...int32) []sat.Lit {
	var out []sat.Lit
	for _, t := range txns {
		if x.m.optional[t] {
			out = append(out, x.counted(t).Not())
		}
	}
	return out
}

// add adds a clause. While Final verifies keys, clauses are only collected, because adding one may
// cause backtracking. They are added together at the end.
func (x *search) add(lits []sat.Lit) {
	x.added = true
	if x.reading {
		x.late = append(x.late, lits)
	} else {
		x.s.Add(lits...)
	}
}

// addAbout adds a clause that the search may have to note as wrong again.
func (x *search) addAbout(id clauseID, lits []sat.Lit) {
	x.mend.made(id, lits)
	x.add(lits)
}

// apart adds the clause that t and u, writers of key k, do not overlap.
func (x *search) apart(k, t, u int32) {
	id := clauseID{overlapping, t, u}
	if x.mend.again(id) {
		return
	}
	x.used.txn(t)
	x.used.txn(u)
	x.proof.apart(t, u)
	x.addAbout(id, append(x.guard(t, u), x.wroteFirst(k, t, u), x.wroteFirst(k, u, t)))
}

// placedFirst adds the clause that t writes key k before u does, as the database says.
func (x *search) placedFirst(k, t, u int32) {
	id := clauseID{misplaced, t, u}
	if x.mend.again(id) {
		return
	}
	x.used.txn(t)
	x.used.txn(u)
	x.proof.placedFirst(t, u)
	x.addAbout(id, append(x.guard(t, u), x.wroteFirst(k, t, u)))
}

// perMisread bounds the clauses for one wrong read. The writers nearest to the reader come first.
// Other writers get clauses later, if the read is still wrong then.
const perMisread = 16

// misread adds clauses for a wrong read. before has the accesses to its key that come before it.
func (x *search) misread(r int32, before []int32) {
	if x.ctx.Err() != nil {
		return // Final returns the error
	}
	m, g := x.m, x.g
	rd := &m.reads[r]
	from, guard := rd.source, x.guard(rd.txn)
	if from == fromOpen {
		var known bool
		if from, guard, known = x.chosenSource(r, guard); !known {
			return
		}
	}
	x.used.read(r)
	at := int32(-1)
	if from != fromInitial {
		t := m.writer[from]
		at = x.o.pos[g.commit(t)]
		if m.optional[rd.txn] && at > x.o.pos[g.start(rd.txn)] {
			if id := (clauseID{r, from, sourceLate}); !x.mend.again(id) {
				x.addAbout(id, append(slices.Clone(guard), x.precedes(int32(rd.key), g.commit(t), g.start(rd.txn))))
			}
			return
		}
	}
	count := 0
	for i := len(before) - 1; i >= 0 && count < perMisread; i-- {
		w := ^before[i]
		if w < 0 {
			continue
		}
		u := m.writer[w]
		if x.o.pos[g.commit(u)] <= at {
			break
		}
		if m.accepts(rd.class, m.class[w]) || u == rd.txn || !x.included[u] {
			continue
		}
		count++
		x.notBetween(r, from, w, guard)
	}
}

// notBetween adds the clause that write w, of another value, does not come between read r and its
// source.
func (x *search) notBetween(r, from, w int32, guard []sat.Lit) {
	m, g := x.m, x.g
	reader, u := m.reads[r].txn, m.writer[w]
	id := clauseID{r, from, w}
	if x.mend.again(id) {
		return
	}
	x.used.read(r)
	x.used.txn(u)
	x.proof.misread(r, from, u)
	lits := append(slices.Clone(guard), x.guard(u)...)
	lits = append(lits, x.precedes(m.key[w], g.start(reader), g.commit(u)))
	if from != fromInitial {
		lits = append(lits, x.wroteFirst(m.key[w], u, m.writer[from]))
	}
	x.addAbout(id, lits)
}
