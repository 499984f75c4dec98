package certify

import (
	"maps"
	"slices"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// facts are derived from the history alone, and counterexamples are checked against them. They are
// derived only as far as the anomalies need them, because a history may be large and its
// counterexamples are small.
type facts struct {
	lookup
	stop *stop
	lvl  level.Level
	// named are the writers of all values that the anomalies name: those of wanted.
	named  *writers
	wanted map[cell]bool
	// pulled are the transactions of unknown outcome that must have committed, because a
	// transaction that counts read from them. Each has that transaction and what it read. It is nil
	// until it is needed.
	pulled map[int32]pull
	// accesses are those of keys with class reads, found so far.
	accesses map[history.Key]*accesses
	// allowed is the latest result of allowedSources.
	allowed struct {
		known   bool
		reads   sameVersion
		sources []int32
	}
}

// cell is a value of a key.
type cell struct {
	key   history.Key
	value history.Value
}

type pull struct {
	by   int32
	read cell
}

func newFacts(stop *stop, h *history.History, lvl level.Level, anomalies []verdict.Anomaly) (*facts, error) {
	wanted := map[cell]bool{}
	f := &facts{stop: stop, lookup: lookup{h: h}, lvl: lvl, wanted: wanted}
	for n := range anomalies {
		a := &anomalies[n]
		for _, r := range append(slices.Collect(maps.Values(a.Forced)), a.Ops...) {
			op := h.Ops(&h.Txns[r.Txn])[r.Op]
			wanted[cell{op.Key, op.Value}] = true
		}
		for _, e := range slices.Concat(a.Cycle, a.Context, a.Support) {
			if e.Kind != verdict.SO && e.Kind != verdict.RT {
				wanted[cell{e.Key, e.Value}] = true
			}
		}
	}
	var err error
	f.named, err = f.writersOf(stop, wanted)
	return f, err
}

// lookup finds operations by their keys.
type lookup struct {
	h *history.History
	// long has the places in transactions with many operations.
	long map[int32]map[history.Key]place
	// read has, by key, the operations with which a transaction read from outside, in order: the latest of which outside was asked.
	// nil is not known yet.
	read struct {
		txn   int32
		lists map[history.Key][]int
	}
}

// sameVersion names reads of a key from outside by a transaction that saw one version: those among its operations from, up to to. If to is 0
// it is any one that did not see the value alone.
type sameVersion struct {
	txn      int32
	key      history.Key
	from, to int
	alone    history.Value
}

// place has two indices of operations of a transaction on a key: the first one that determines the
// key's value, and the last write. -1 is none.
type place struct{ first, write int }

// short is up to how many operations a transaction is scanned each time.
const short = 32

func (l *lookup) at(i int32, k history.Key) place {
	ops := l.h.Ops(&l.h.Txns[i])
	if len(ops) > short {
		places, ok := l.long[i]
		if !ok {
			if l.long == nil {
				l.long = map[int32]map[history.Key]place{}
			}
			places = map[history.Key]place{}
			for n, op := range ops {
				p, ok := places[op.Key]
				if !ok {
					p = place{-1, -1}
				}
				places[op.Key] = p.with(n, op)
			}
			l.long[i] = places
		}
		if p, ok := places[k]; ok {
			return p
		}
		return place{-1, -1}
	}
	p := place{-1, -1}
	for n, op := range ops {
		if op.Key == k {
			p = p.with(n, op)
		}
	}
	return p
}

// with adds operation n, which is on the same key.
func (p place) with(n int, op history.Op) place {
	if p.first < 0 && op.Kind != history.ReadNot {
		p.first = n
	}
	if op.Kind == history.Write {
		p.write = n
	}
	return p
}

// readFromOutside returns what the transaction at i read of k from another transaction: the value
// of its first operation on k that has one, if that is a read. An insertion, a lone write at level
// lin, is no read.
func (l *lookup) readFromOutside(i int32, k history.Key) (history.Value, bool) {
	n := l.at(i, k).first
	if n < 0 {
		return 0, false
	}
	op := l.h.Ops(&l.h.Txns[i])[n]
	return op.Value, op.Kind == history.Read
}

func (l *lookup) reads(i int32, c cell) bool {
	v, ok := l.readFromOutside(i, c.key)
	return ok && v == c.value
}

// readBefore reports whether the transaction at i read c before it wrote the key. At some weak levels
// that need not be its first read of the key.
func (l *lookup) readBefore(i int32, c cell) bool {
	for _, op := range l.h.Ops(&l.h.Txns[i]) {
		switch {
		case op.Key != c.key:
		case op.Kind == history.Read && op.Value == c.value:
			return true
		case op.Kind == history.Write:
			return false
		}
	}
	return false
}

func (l *lookup) writes(i int32, k history.Key) bool { return l.at(i, k).write >= 0 }

func (l *lookup) id(i int32) int64 { return l.h.Txns[i].ID }

// writers are the transactions that wrote certain values.
type writers struct {
	*lookup
	// all are all writers of a cell. finals are those that can have committed and whose last write
	// of the key has the value.
	all, finals map[cell][]int32
}

// writersOf finds all writers of the wanted cells.
func (l *lookup) writersOf(stop *stop, wanted map[cell]bool) (*writers, error) {
	w := &writers{l, map[cell][]int32{}, map[cell][]int32{}}
	if len(wanted) == 0 {
		return w, nil
	}
	keys := make([]bool, l.h.KeyCount()) // a quick first test
	for c := range wanted {
		keys[c.key] = true
	}
	last := make([]int32, l.h.KeyCount()) // by key: the latest transaction that writes it, plus 1
	for i := range l.h.Txns {
		t := &l.h.Txns[i]
		if err := stop.after(1 + t.OpCount()); err != nil {
			return nil, err
		}
		for _, op := range slices.Backward(l.h.Ops(t)) {
			if op.Kind != history.Write || !keys[op.Key] {
				continue
			}
			final := last[op.Key] != int32(i)+1
			last[op.Key] = int32(i) + 1
			c := cell{op.Key, op.Value}
			if !wanted[c] {
				continue
			}
			w.all[c] = append(w.all[c], int32(i))
			if final && t.Status != history.Aborted {
				w.finals[c] = append(w.finals[c], int32(i))
			}
		}
	}
	return w, nil
}

// source returns the only transaction from which c can have been read (-1 for the initial state),
// and whether there is exactly one.
func (w *writers) source(c cell) (int32, bool) {
	from := w.finals[c]
	initial := w.h.Initial(c.key) == c.value
	switch {
	case len(from) > 1 || w.unsure(c):
	case initial && len(from) == 0:
		return -1, true
	case !initial && len(from) == 1:
		return from[0], true
	}
	return -1, false
}

// unsure reports whether the writer of c may be missing. That is so in a history that was cut off,
// if the only known final writer of c had itself read c before. Then other transactions need not
// have read c from it.
func (w *writers) unsure(c cell) bool {
	from := w.finals[c]
	if w.h.Closed || w.h.Initial(c.key) == c.value || len(from) > 1 {
		return false
	}
	return slices.ContainsFunc(w.all[c], func(i int32) bool {
		return w.h.Txns[i].Status != history.Aborted && (len(from) == 0 || from[0] == i) && w.readBefore(i, c)
	})
}

// never reports whether c was written, and never finally by a transaction that can have committed. A transaction that
// is missing does not have written it, because none of the known ones read it before it wrote it.
func (w *writers) never(c cell) bool {
	return len(w.finals[c]) == 0 && len(w.all[c]) > 0 &&
		!slices.ContainsFunc(w.all[c], func(i int32) bool { return w.readBefore(i, c) })
}

// counts reports whether the transaction at i is known to have committed, or must have because a
// transaction that counts read from it.
func (f *facts) counts(i int32) (bool, error) {
	// At level ru who reads from a transaction says nothing about its outcome.
	if f.h.Txns[i].Status != history.Unknown || f.lvl == level.RU {
		return f.h.Txns[i].Status == history.Committed, nil
	}
	if f.pulled == nil {
		if err := f.pull(); err != nil {
			return false, err
		}
	}
	_, ok := f.pulled[i]
	return ok, nil
}

// pull finds all transactions of unknown outcome that count, until no more are found.
func (f *facts) pull() error {
	wanted := map[cell]bool{} // the values that transactions of unknown outcome wrote
	for i := range f.h.Txns {
		if t := &f.h.Txns[i]; t.Status == history.Unknown {
			for _, op := range f.h.Ops(t) {
				if op.Kind == history.Write {
					wanted[cell{op.Key, op.Value}] = true
				}
			}
		}
	}
	u, err := f.writersOf(f.stop, wanted)
	if err != nil {
		return err
	}
	f.pulled = map[int32]pull{}
	if f.lvl.Weak() {
		return f.pullCommits(u, wanted)
	}
	var work []int32
	take := func(i int32, c cell) {
		if !wanted[c] {
			return
		}
		w, unique := u.source(c)
		if !unique || w < 0 || w == i || f.h.Txns[w].Status != history.Unknown {
			return
		}
		if _, ok := f.pulled[w]; !ok {
			f.pulled[w] = pull{i, c}
			work = append(work, w)
		}
	}
	seen := make([]int32, f.h.KeyCount()) // by key: the latest transaction that touches it, plus 1
	follow := func(i int32) error {
		ops := f.h.Ops(&f.h.Txns[i])
		if f.lvl == level.LIN && len(ops) == 1 && ops[0].Kind == history.Write {
			take(i, cell{ops[0].Key, history.Absent})
		}
		for _, op := range ops {
			if op.Kind == history.ReadNot {
				continue
			}
			if op.Kind == history.Read && seen[op.Key] != i+1 {
				take(i, cell{op.Key, op.Value})
			}
			seen[op.Key] = i + 1
		}
		return f.stop.after(1 + len(ops))
	}
	return f.follow(&work, follow)
}

// follow calls do with every committed transaction, and with all that do adds to work.
func (f *facts) follow(work *[]int32, do func(int32) error) error {
	for i := range f.h.Txns {
		if f.h.Txns[i].Status == history.Committed {
			if err := do(int32(i)); err != nil {
				return err
			}
		}
	}
	for len(*work) > 0 {
		last := len(*work) - 1
		i := (*work)[last]
		*work = (*work)[:last]
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}
