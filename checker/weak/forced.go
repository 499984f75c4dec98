package weak

import (
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
)

// sink takes the forced edges that a pass over the history finds.
type sink struct {
	rank []int32 // the places of the transactions in some order of SO and WR
	// stale are the reads that did not return the latest version in that order, unless keep is set: only
	// they can force an edge that contradicts the order.
	stale []bool
	// backward: a forced edge contradicts that order.
	backward bool
	// keep: list gets the forced edges.
	keep bool
	list []forcedEdge
	// initial are reads of an initial value by a transaction that must see another write, not more than
	// maxInitial.
	initial []initialRead
}

// initialRead says that read number at of the index, by reader, returned the initial value, although
// reader must see writer, which wrote the key.
type initialRead struct{ writer, reader, at int32 }

const maxInitial = 64

// force adds that from commits before to, or before the initial state, because of a read by reader, number
// at of the index.
func (s *sink) force(from, to, reader, at int32) {
	if to == none {
		if len(s.initial) < maxInitial {
			s.initial = append(s.initial, initialRead{from, reader, at})
		}
		return
	}
	if s.rank[from] > s.rank[to] {
		s.backward = true
	}
	if s.keep {
		if n := len(s.list); n == 0 || s.list[n-1] != (forcedEdge{from, to}) {
			s.list = append(s.list, forcedEdge{from, to})
		}
	}
}

// wants reports whether the edges are wanted that read number at forces.
func (s *sink) wants(at int32) bool { return s.keep || s.stale[at] }

// stale finds the reads that did not return the latest version in o. It returns nil if there are none.
// Then o is a serial order of the transactions.
func (x *index) stale(o *order) ([]bool, error) {
	var stale []bool
	latest := make([]int32, x.h.KeyCount())
	fill(latest, none)
	for n, t := range o.txns {
		if err := x.stopped(n); err != nil {
			return nil, err
		}
		for at := x.readsFrom[t]; at < x.readsFrom[t+1]; at++ {
			if r := &x.reads[at]; latest[r.key] != r.writer {
				if stale == nil {
					stale = make([]bool, len(x.reads))
				}
				stale[at] = true
			}
		}
		for v := x.versionsFrom[t]; v < x.versionsFrom[t+1]; v++ {
			latest[x.key[v]] = t
		}
	}
	return stale, nil
}

// forced finds the forced edges of the level, as far as they do not follow from others. o is a topological
// order of session order and reads.
func (x *index) forced(o *order, s *sink) error {
	run := func(passes ...func(*order, *sink) error) error {
		for _, pass := range passes {
			if err := pass(o, s); err != nil {
				return err
			}
			if s.backward && !s.keep {
				break
			}
		}
		return nil
	}
	switch x.c.lvl {
	case level.RC:
		return run(x.direct)
	case level.RA:
		return run(x.sessions, x.direct)
	case level.CC:
		return run(x.causal)
	case level.RYW:
		return run(x.sessions)
	case level.MW:
		return run(x.prefixes)
	case level.MR, level.WFR:
		return run(x.seen)
	default:
		return run(x.sessions, x.prefixes, x.seen)
	}
}

// stopped is called in loops over transactions, and polls the context now and then.
func (x *index) stopped(n int) error {
	if n%pollEvery == 0 {
		return x.c.stopped()
	}
	return nil
}

// sessions finds the edges from the transactions before a reader in its session: of those that wrote the
// key, the latest one is enough.
func (x *index) sessions(_ *order, s *sink) error {
	last, mark := make([]int32, x.h.KeyCount()), make([]int32, x.h.KeyCount())
	for session, txns := range x.h.BySession() {
		now := int32(session) + 1
		for n, t := range txns {
			if err := x.stopped(n); err != nil {
				return err
			}
			if !x.counted[t] {
				continue
			}
			for at := x.readsFrom[t]; at < x.readsFrom[t+1]; at++ {
				if r := &x.reads[at]; s.wants(at) && mark[r.key] == now && last[r.key] != r.writer {
					s.force(last[r.key], r.writer, t, at)
				}
			}
			if x.h.Txns[t].Status != history.Committed {
				continue
			}
			for v := x.versionsFrom[t]; v < x.versionsFrom[t+1]; v++ {
				mark[x.key[v]], last[x.key[v]] = now, t
			}
		}
	}
	return nil
}

// few is up to how many reads, and writes, are compared in pairs. More are found by their keys.
const few = 8

// direct finds the edges from the transactions that the reader itself read from: at RC by an earlier
// statement than the read that forces the edge, at RA at any time.
//
// For each reader and transaction that it read from, the smaller side is gone through: the keys that the
// one wrote, or the reads of the other. So the pass takes time O(n^1.5) (AWDIT, PLDI 2025).
type direct struct {
	x       *index
	s       *sink
	ordered bool
	// By key: the read of the key that was found last, valid if mark is the reader plus 1.
	at, mark []int32
	// By transaction: the first read of the reader from it, valid if from is the reader plus 1.
	first, from []int32
	wide        []pair
}

// pair is a reader and a transaction with many writes that it read from, first with read number at.
type pair struct{ writer, reader, at int32 }

func (x *index) direct(_ *order, s *sink) error {
	d := &direct{x: x, s: s, ordered: x.c.lvl == level.RC}
	for t := range x.counted {
		if err := x.stopped(t); err != nil {
			return err
		}
		if !x.counted[t] {
			continue
		}
		switch n := x.readsFrom[t+1] - x.readsFrom[t]; {
		case n < 2:
		case n <= few:
			d.fewReads(int32(t))
		default:
			d.manyReads(int32(t))
		}
		if s.backward && !s.keep {
			return nil
		}
	}
	return d.wideWriters()
}

// writes returns how many keys t wrote.
func (x *index) writesOf(t int32) int32 { return x.versionsFrom[t+1] - x.versionsFrom[t] }

// fewReads compares the reads of t in pairs.
func (d *direct) fewReads(t int32) {
	x := d.x
	lo, hi := x.readsFrom[t], x.readsFrom[t+1]
	for i := lo; i < hi; i++ {
		w := x.reads[i].writer
		if w == none {
			continue
		}
		if x.writesOf(w) > few {
			d.wide = append(d.wide, pair{w, t, i})
			continue
		}
		from := lo
		if d.ordered {
			from = x.end(i, hi)
		}
		for j := from; j < hi; j++ {
			if r := &x.reads[j]; r.writer != w && d.s.wants(j) && x.writesKey(w, r.key) {
				d.s.force(w, r.writer, t, j)
			}
		}
	}
}

// manyReads finds the reads of t by their keys. At RC it goes through the reads backwards, so that the
// read of a key that was found last is the next one. The reads of the key after that one are in order with
// it.
func (d *direct) manyReads(t int32) {
	x := d.x
	if d.mark == nil {
		d.at, d.mark = make([]int32, x.h.KeyCount()), make([]int32, x.h.KeyCount())
		d.first, d.from = make([]int32, len(x.counted)), make([]int32, len(x.counted))
	}
	lo, hi := x.readsFrom[t], x.readsFrom[t+1]
	for i := lo; i < hi; i++ {
		r := &x.reads[i]
		if w := r.writer; w != none && d.from[w] != t+1 {
			d.from[w], d.first[w] = t+1, i
		}
		if !d.ordered {
			d.at[r.key], d.mark[r.key] = i, t+1
		}
	}
	for end := hi; end > lo; {
		begin := x.begin(end - 1)
		for i := begin; i < end; i++ {
			d.forceAll(t, i, hi-lo)
		}
		for i := end - 1; i >= begin && d.ordered; i-- {
			d.at[x.reads[i].key], d.mark[x.reads[i].key] = i, t+1
		}
		end = begin
	}
}

// forceAll adds the edges from the transaction that t read from with read i, if there are reads that force them.
// t has so many reads.
func (d *direct) forceAll(t, i, reads int32) {
	x := d.x
	w := x.reads[i].writer
	if w == none {
		return
	}
	if d.first[w] == i {
		if x.writesOf(w) > max(few, reads) {
			d.wide = append(d.wide, pair{w, t, i})
		} else {
			for u := x.versionsFrom[w]; u < x.versionsFrom[w+1]; u++ {
				d.forceAt(w, t, x.key[u])
			}
		}
	}
	if d.ordered {
		d.forceAt(w, t, x.reads[i].key)
	}
}

// forceAt adds the edge from w that the read of k by t that was found last forces.
func (d *direct) forceAt(w, t int32, k history.Key) {
	if d.mark[k] != t+1 {
		return
	}
	if from := d.x.reads[d.at[k]].writer; from != w && d.s.wants(d.at[k]) {
		d.s.force(w, from, t, d.at[k])
	}
}
