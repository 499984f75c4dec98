package polygraph

import (
	"context"
)

// visit draws what follows about key k, which has writers in the given chains.
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

// lastBy returns the last writer from lo to hi, which are of one chain, whose
// start stands there at a place up to bound, or lo-1.
func (w *worker) lastBy(lo, hi, bound int32) int32 {
	for hi-lo > 8 {
		mid := lo + (hi-lo)/2
		if w.writers[mid].start <= bound {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	for hi >= lo && w.writers[hi].start > bound {
		hi--
	}
	return hi
}

// othersBefore calls f for the last writer, in each chain of mask, of another
// value than class whose commit comes before the start of a reader, of
// transaction t and with the given row.
func (w *worker) othersBefore(row []int32, class, t int32, mask uint64, f func(i int32) bool) {
	for c, end := range w.segments[1:] {
		if row[c] == 0 || mask&w.bits[c] == 0 {
			continue
		}
		lo := w.segments[c]
		for i := w.lastBy(lo, end-1, row[c]-w.g.split); i >= lo; i-- {
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

// seenWith: what a reader has seen beside the version that it read was written
// before that version.
func (w *worker) seenWith(n int32, r *localReader) {
	w.othersBefore(w.readRow(n), r.class, r.txn, r.news, func(i int32) bool {
		u := &w.writers[i]
		if r.source == fromInitial {
			if w.refutes == nil {
				w.refutes = &openRead{read: r.read, ruledOut: []ruledOut{{fromInitial, u.txn, int32(len(w.g.edges))}}}
			}
			return false
		}
		if i != r.source && w.startRow(r.source)[u.chain] < u.commit {
			w.link(w.g.commit(u.txn), w.g.start(w.writers[r.source].txn), overTake, r.read)
		}
		return true
	})
}

// overwrites: the readers of a version come before what follows the version,
// and writers of one key do not overlap. Of the versions that u follows, the
// readers of one that another such version of another value follows come before
// that one already.
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
			if v := &w.writers[i]; i != latest && v.class != class && last[v.chain] >= v.start {
				continue
			}
			w.readersBefore(w.writers[i].readers, n, u)
		}
	}
	if u.class != w.key && !overwritten {
		w.readersBefore(w.initial, n, u)
	}
}

// readersBefore has the readers of a version, of which the first is given, come
// before the commit of u, which is writer n.
func (w *worker) readersBefore(first, n int32, u *localWriter) {
	for i := first; i != none; i = w.readers[i].next {
		if r := &w.readers[i]; r.txn != u.txn && !w.m.accepts(r.class, u.class) && !w.startedBefore(i, n) {
			w.link(w.g.start(r.txn), w.g.commit(u.txn), overWrite, r.read)
		}
	}
}
