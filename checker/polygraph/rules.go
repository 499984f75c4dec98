package polygraph

import (
	"context"
)

// visit infers edges for key k. chains are the classes of the chains with writers of k, as bits.
func (w *worker) visit(ctx context.Context, k int32, chains uint64, all bool) {
	if !w.gather(k, chains, all) {
		return
	}
	for i := range w.readers {
		if i&0xff == 0xff && ctx.Err() != nil {
			return
		}
		if r := &w.readers[i]; r.live && r.news != 0 && r.source >= fromInitial {
			w.seenWith(int32(i), r)
		}
	}
	for i := range w.writers {
		if i&0xff == 0xff && ctx.Err() != nil {
			return
		}
		if u := &w.writers[i]; u.live && u.news != 0 {
			w.overwrites(int32(i), u)
		}
	}
	for n, i := range w.openOn.of(k) {
		if n&0xf == 0xf && ctx.Err() != nil {
			return
		}
		if o := &w.open[i]; !w.refined(o) {
			w.afterAll(o)
			w.beforeWhatFollowsAll(o)
		}
	}
}

// lastBy returns the last writer from lo to hi whose turn is at position bound of their chain or
// before, or lo-1. The writers from lo to hi must be of one chain.
func (w *worker) lastBy(lo, hi, bound int32) int32 {
	for hi-lo > 8 {
		mid := lo + (hi-lo)/2
		if w.writers[mid].turn <= bound {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	for hi >= lo && w.writers[hi].turn > bound {
		hi--
	}
	return hi
}

// othersBefore calls f in each chain of mask for the last writer of another value that commits
// before a reader starts. The reader has the given row and class, and t is its transaction. If f
// returns false, othersBefore stops.
func (w *worker) othersBefore(row []int32, class, t int32, mask uint64, f func(i int32) bool) {
	for c, end := range w.segments[1:] {
		if row[c] == 0 || mask&w.bits[c] == 0 {
			continue
		}
		lo := w.segments[c]
		for i := w.lastBy(lo, end-1, row[c]-w.g.split+w.g.late); i >= lo; i-- {
			u := &w.writers[i]
			if w.m.accepts(class, u.class) {
				continue
			}
			if u.txn != t && u.live {
				if !f(i) {
					return
				}
				break
			}
		}
	}
}

// seenWith applies overTake: writers of other values that reach a reader committed before the
// version that it read.
func (w *worker) seenWith(n int32, r *localReader) {
	w.othersBefore(w.readRow(n), r.class, r.txn, r.news, func(i int32) bool {
		u := &w.writers[i]
		if r.source == fromInitial {
			if w.refutes == nil {
				w.refutes = &openRead{read: r.read, ruledOut: []ruledOut{{fromInitial, u.txn, int32(len(w.g.edges))}}}
			}
			return false
		}
		if i != r.source && w.turnRow(r.source)[u.chain] < u.commit {
			w.link(w.g.commit(u.txn), w.g.turn(w.writers[r.source].txn), overTake, r.read)
		}
		return true
	})
}

// overwrites applies overWrite, where u is the writer that follows a version, and overlap. It
// leaves out the readers of a version if u also follows a later version of another value: they come
// before that version, and so before u.
func (w *worker) overwrites(n int32, u *localWriter) {
	row := w.commitRow(n)
	before := w.scratch[:0]
	latest, overwritten := none, false
	for c, end := range w.segments[1:] {
		if row[c] == 0 || u.news&w.bits[c] == 0 {
			continue
		}
		lo := w.segments[c]
		i := w.lastBy(lo, end-1, row[c])
		for i >= lo && (i == n || !w.writers[i].live) {
			i--
		}
		if i < lo {
			continue
		}
		v := &w.writers[i]
		if w.g.apart && w.startRow(n)[c] < v.commit {
			w.link(w.g.commit(v.txn), w.g.start(u.txn), overlap, none)
		}
		overwritten = overwritten || v.class != w.key
		if v.class != u.class {
			before = append(before, i)
			if latest == none || v.rank > w.writers[latest].rank {
				latest = i
			}
		}
	}
	w.scratch = before
	if latest != none {
		last, class := w.commitRow(latest), w.writers[latest].class
		for _, i := range before {
			if v := &w.writers[i]; i != latest && v.class != class && last[v.chain] >= v.turn {
				continue
			}
			w.readersBefore(w.writers[i].readers, n, u)
		}
	}
	if u.class != w.key && !overwritten {
		w.readersBefore(w.initial, n, u)
	}
}

// readersBefore adds edges from the readers of a version to the commit of u, which is writer n.
// first is the first reader.
func (w *worker) readersBefore(first, n int32, u *localWriter) {
	for i := first; i != none; i = w.readers[i].next {
		if r := &w.readers[i]; r.txn != u.txn && !w.m.accepts(r.class, u.class) && !w.startedBefore(i, n) {
			w.link(w.g.start(r.txn), w.g.commit(u.txn), overWrite, r.read)
		}
	}
}
