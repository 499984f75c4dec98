package weak

import (
	"cmp"
	"slices"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// explain returns the anomalies of a violated graph: a shortest cycle, and the shortest of the reads of
// initial values that must not be.
func (x *index) explain(f *finding) ([]verdict.Anomaly, error) {
	var out []verdict.Anomaly
	r := newReasons(x)
	if len(f.initial) > 0 {
		a, ok := r.initial(f.initial)
		if ok {
			out = append(out, a)
		}
	}
	if f.cyclic {
		cycle, err := x.shortest(f.forced)
		if err != nil {
			return nil, err
		}
		a := verdict.Anomaly{Kind: verdict.Cycle, Cycle: cycle, Shortest: len(cycle) == 2, Count: 1}
		r.give(&a)
		out = append(out, a)
	}
	slices.SortStableFunc(out, func(a, b verdict.Anomaly) int { return cmp.Compare(len(a.Cycle), len(b.Cycle)) })
	for n := range out {
		out[n].Txns = involved(&out[n])
	}
	return out, nil
}

// involved lists the transactions of an anomaly: those of its cycle first.
func involved(a *verdict.Anomaly) []int32 {
	var list []int32
	add := func(t int32) {
		if !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	for _, e := range a.Cycle {
		add(e.From)
	}
	for _, e := range a.Context {
		add(e.From)
		add(e.To)
	}
	return list
}

// reasons finds why edges are forced: which read forces an edge, and by which path its transaction must see
// the one from which the edge leads.
type reasons struct {
	x           *index
	rel         relation
	readersFrom []int32
	readers     []int32
	sessions    [][]int32
}

func newReasons(x *index) *reasons {
	r := &reasons{x: x, rel: relations[x.c.lvl], sessions: x.h.BySession()}
	r.readersFrom, r.readers = x.readersByTxn()
	return r
}

// give adds the keys, reads and paths of the forced edges of a's cycle.
func (r *reasons) give(a *verdict.Anomaly) {
	x := r.x
	for n := range a.Cycle {
		e := &a.Cycle[n]
		if e.Kind != verdict.WW || x.c.ru {
			continue
		}
		if v := x.followed(e.From, e.To); v != none {
			e.Key, e.Value = x.key[v], x.value(v)
			continue
		}
		path, at := r.forced(e.From, e.To)
		t := path[len(path)-1].To
		e.Key = x.reads[at].key
		e.Value = x.written(e.From, e.Key)
		if a.Forced == nil {
			a.Forced = map[int]verdict.OpRef{}
		}
		a.Forced[n] = verdict.OpRef{Txn: t, Op: int(x.reads[at].op)}
		for _, p := range path {
			if !slices.Contains(a.Context, p) {
				a.Context = append(a.Context, p)
			}
		}
	}
}

// forced returns why an edge is forced: a path by which the transaction of a read of what to wrote must see from,
// and that read.
func (r *reasons) forced(from, to int32) ([]verdict.Edge, int32) {
	x := r.x
	// The reads of what to wrote of the keys that from wrote, too, by their transactions.
	reads := map[int32][]int32{}
	for _, t := range r.readers[r.readersFrom[to]:r.readersFrom[to+1]] {
		if _, ok := reads[t]; ok {
			continue
		}
		reads[t] = nil
		for at := x.readsFrom[t]; at < x.readsFrom[t+1]; at++ {
			if x.reads[at].writer == to && x.writesKey(from, x.reads[at].key) {
				reads[t] = append(reads[t], at)
			}
		}
	}
	return r.path(from, func(t int32) []int32 { return reads[t] })
}

// missed returns why a transaction must see a write although it read the initial value.
func (r *reasons) missed(i initialRead) ([]verdict.Edge, int32) {
	return r.path(i.writer, func(t int32) []int32 {
		if t == i.reader {
			return []int32{i.at}
		}
		return nil
	})
}

// written returns what t finally wrote to k.
func (x *index) written(t int32, k history.Key) history.Value {
	for v := x.versionsFrom[t]; v < x.versionsFrom[t+1]; v++ {
		if x.key[v] == k {
			return x.value(v)
		}
	}
	return 0
}

// initial makes the anomaly of the read with the shortest path: the path, and the anti-dependency back.
func (r *reasons) initial(list []initialRead) (best verdict.Anomaly, ok bool) {
	x := r.x
	for _, i := range list {
		path, at := r.missed(i)
		if path == nil || ok && len(path) >= len(best.Cycle)-1 {
			continue
		}
		k := x.reads[at].key
		cycle := append(path, verdict.Edge{From: i.reader, To: i.writer, Kind: verdict.RW, Key: k, Value: x.h.Initial(k)})
		best, ok = verdict.Anomaly{Kind: verdict.Cycle, Cycle: earliest(cycle), Shortest: len(cycle) == 2, Count: 1}, true
	}
	return best, ok
}

// path returns a shortest path that the level's relation accepts, from a transaction to one of which reads
// returns reads of the index, and that read.
func (r *reasons) path(from int32, reads func(t int32) []int32) ([]verdict.Edge, int32) {
	x := r.x
	type node struct {
		txn   int32
		state int8
	}
	type came struct {
		from node
		kind verdict.EdgeKind
	}
	via := map[node]came{}
	start := node{from, 0}
	via[start] = came{}
	covered := map[[2]int32]int32{} // by session and state: the earliest transaction after which all were visited
	queue := []node{start}
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		if r.rel.accept[u.state] {
			for _, at := range reads(u.txn) {
				if x.c.lvl == level.RC && !x.readsBefore(u.txn, from, at) {
					continue
				}
				var path []verdict.Edge
				for v := u; v != start; v = via[v].from {
					path = append(path, x.edge(via[v].from.txn, v.txn, via[v].kind))
				}
				slices.Reverse(path)
				return path, at
			}
		}
		if state, ok := r.rel.step(u.state, verdict.WR); ok {
			for _, t := range r.readers[r.readersFrom[u.txn]:r.readersFrom[u.txn+1]] {
				v := node{t, state}
				if _, seen := via[v]; !seen {
					via[v] = came{u, verdict.WR}
					queue = append(queue, v)
				}
			}
		}
		state, ok := r.rel.step(u.state, verdict.SO)
		if !ok || x.h.Txns[u.txn].Status != history.Committed {
			continue
		}
		session := x.h.Txns[u.txn].Session
		end, done := covered[[2]int32{session, int32(state)}]
		if done && end <= u.txn {
			continue
		}
		covered[[2]int32{session, int32(state)}] = u.txn
		list := r.sessions[session]
		n, _ := slices.BinarySearch(list, u.txn)
		for _, t := range list[n+1:] {
			if done && t > end {
				break
			}
			v := node{t, state}
			if _, seen := via[v]; !seen && x.counted[t] {
				via[v] = came{u, verdict.SO}
				queue = append(queue, v)
			}
		}
	}
	return nil, none
}

// readsBefore reports whether t read from another transaction by an earlier statement than its read with number at.
func (x *index) readsBefore(t, from, at int32) bool {
	for n := x.readsFrom[t]; n < x.begin(at); n++ {
		if x.reads[n].writer == from {
			return true
		}
	}
	return false
}

// support adds the edges that show that the transactions of unknown outcome in a committed.
func (x *index) support(a *verdict.Anomaly) {
	seen := map[int32]bool{}
	work := slices.Clone(a.Txns)
	for n := 0; n < len(work); n++ {
		if e, ok := x.pulled[work[n]]; ok && !seen[e.From] {
			seen[e.From] = true
			a.Support = append(a.Support, e)
			work = append(work, e.To)
			if a.Kind == verdict.Contradiction {
				x.keep(a, e)
			}
		}
	}
}

// keep adds to a, which must be closed, the reads of an edge and all writes that they can have read.
func (x *index) keep(a *verdict.Anomaly, e verdict.Edge) {
	add := func(t int32, op int) {
		if ref := (verdict.OpRef{Txn: t, Op: op}); !slices.Contains(a.Ops, ref) {
			a.Ops = append(a.Ops, ref)
		}
		if !slices.Contains(a.Txns, t) {
			a.Txns = append(a.Txns, t)
		}
	}
	// A read that returned the value shows the edge alone. One that only says which value it did not find
	// would need the writes of all other values, too.
	var valued, denying []int
	for _, r := range x.readsBy(e.To) {
		if x.key[r.version] != e.Key || x.writer[r.version] != e.From {
			continue
		}
		if x.h.Ops(&x.h.Txns[e.To])[r.op].Kind == history.ReadNot {
			denying = append(denying, int(r.op))
		} else {
			valued = append(valued, int(r.op))
		}
	}
	class := len(valued) == 0
	if class {
		valued = denying
	}
	for _, op := range valued {
		add(e.To, op)
	}
	for i := range x.h.Txns {
		for j, op := range x.h.Ops(&x.h.Txns[i]) {
			switch {
			case op.Key != e.Key:
			case op.Kind == history.Write && (class || op.Value == e.Value):
				add(int32(i), j)
				add(int32(i), single.LastWrite(x.h.Ops(&x.h.Txns[i]), op.Key)) // what was overwritten stays overwritten
			case op.Kind == history.ReadNot && class && int32(i) == e.To:
				add(int32(i), j)
			}
		}
	}
}
