package certify

import (
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// commitCycle verifies that edges of a weak level form a cycle. They say that one transaction commits before
// another in every execution. A WW edge from t2 to t1 may be forced by a read of t1's write by a transaction
// t3 that had to see t2: the context of the anomaly shows that it had to. An RW edge from t3 to t2 says that
// t3 read the initial value of a key although it had to see t2, which wrote the key: that is impossible by
// itself.
func (f *facts) commitCycle(a *verdict.Anomaly) error {
	if len(a.Cycle) < 2 {
		return errors.Errorf("a cycle of %d edges", len(a.Cycle))
	}
	for n, e := range a.Cycle {
		if next := a.Cycle[(n+1)%len(a.Cycle)]; e.To != next.From {
			return errors.Errorf("edge %d ends at transaction %d and the next begins at %d", n+1, f.id(e.To), f.id(next.From))
		}
		var err error
		switch ref, forced := a.Forced[n]; {
		case f.lvl == level.RU:
			err = f.overwrote(e)
		case e.Kind == verdict.WW && forced:
			err = f.forced(a, e, ref)
		case e.Kind == verdict.RW:
			err = f.missedFirst(a, e)
		default:
			err = f.commitEdge(e)
		}
		if err != nil {
			return errors.Wrapf(err, "edge %d, %s from transaction %d to %d", n+1, e.Kind, f.id(e.From), f.id(e.To))
		}
	}
	return nil
}

// bothCount verifies that the ends of an edge are two transactions that count.
func (f *facts) bothCount(e verdict.Edge) error {
	if e.From == e.To {
		return errors.New("it leads to itself")
	}
	for _, i := range []int32{e.From, e.To} {
		if ok, err := f.counts(i); err != nil {
			return err
		} else if !ok {
			return errors.New("one end is not known to have committed")
		}
	}
	return nil
}

// commitEdge verifies an edge of session order or of a read.
func (f *facts) commitEdge(e verdict.Edge) error {
	if err := f.bothCount(e); err != nil {
		return err
	}
	switch e.Kind {
	case verdict.SO:
		if f.precedes(f.lvl, e) {
			return nil
		}
		return errors.New("no such order")
	case verdict.WR:
		_, err := f.readAt(e)
		return err
	case verdict.WW:
		if _, err := f.readAt(e); err == nil && f.writes(e.To, e.Key) {
			return nil
		}
		return errors.New("the second transaction did not overwrite the first one's write")
	}
	return errors.New("unknown kind of edge")
}

// readAt returns the first operation with which the second transaction of an edge read the version that the
// first one wrote.
func (f *facts) readAt(e verdict.Edge) (int, error) {
	for _, n := range f.outside(e.To, e.Key) {
		op := f.h.Ops(&f.h.Txns[e.To])[n]
		sources, err := f.sourcesAt(verdict.OpRef{Txn: e.To, Op: n})
		if err != nil {
			return 0, err
		}
		if e.Kind == verdict.WR && f.ofAppend(verdict.OpRef{Txn: e.To, Op: n}) {
			continue
		}
		if (op.Kind != history.Read || op.Value == e.Value) && f.mustBe(sources, e.To, e.From) {
			return n, nil
		}
	}
	return 0, errors.New("the second transaction did not read the first one's write")
}

// mustBe reports whether a reader can only have read from one of its possible sources. If none of them can
// come before the reader, each of them contradicts the session's order, and so does any execution.
func (f *facts) mustBe(sources []int32, reader, source int32) bool {
	possible := slices.DeleteFunc(slices.Clone(sources), func(i int32) bool { return !f.canRead(reader, i) })
	return len(possible) == 1 && possible[0] == source || len(possible) == 0 && slices.Contains(sources, source)
}

// pullCommits is pull for weak levels, where each read may have its own source. wanted are the values that
// transactions of unknown outcome wrote, and u their writers.
func (f *facts) pullCommits(u *writers, wanted map[cell]bool) error {
	keys := map[history.Key]bool{}
	for c := range wanted {
		keys[c.key] = true
	}
	var work []int32
	follow := func(i int32) error {
		wrote := map[history.Key]bool{}
		for n, op := range f.h.Ops(&f.h.Txns[i]) {
			if op.Kind == history.Write {
				wrote[op.Key] = true
			}
			if !keys[op.Key] || wrote[op.Key] || op.Kind == history.Read && !wanted[cell{op.Key, op.Value}] {
				continue
			}
			sources := u.sourcesFor(i, cell{op.Key, op.Value})
			if op.Kind == history.ReadNot {
				var err error
				if sources, err = f.allowedSources(verdict.OpRef{Txn: i, Op: n}, op.Key); err != nil {
					return err
				}
			}
			for _, w := range sources {
				if _, known := f.pulled[w]; known || w == none || f.h.Txns[w].Status != history.Unknown || !f.mustBe(sources, i, w) {
					continue
				}
				v, _ := f.finalOf(w, op.Key)
				f.pulled[w] = pull{i, cell{op.Key, v}}
				work = append(work, w)
			}
		}
		return f.stop.after(1 + f.h.Txns[i].OpCount())
	}
	return f.follow(&work, follow)
}

// canRead reports whether no session order leads from a reader to a transaction.
func (f *facts) canRead(reader, from int32) bool {
	return from == none || !f.precedes(f.lvl, verdict.Edge{Kind: verdict.SO, From: reader, To: from})
}

// outside lists the operations with which a transaction read a key from outside, in order. It keeps those of the latest
// long transaction.
func (l *lookup) outside(i int32, k history.Key) []int {
	ops, r := l.h.Ops(&l.h.Txns[i]), &l.read
	if len(ops) <= short {
		var out []int
		for n, op := range ops {
			if op.Key != k {
				continue
			}
			if op.Kind == history.Write {
				break
			}
			out = append(out, n)
		}
		return out
	}
	if r.lists == nil || r.txn != i {
		r.txn, r.lists = i, map[history.Key][]int{}
		wrote := map[history.Key]bool{}
		for n, op := range ops {
			if op.Kind == history.Write {
				wrote[op.Key] = true
			} else if !wrote[op.Key] {
				r.lists[op.Key] = append(r.lists[op.Key], n)
			}
		}
	}
	return r.lists[k]
}

// sourcesAt lists the transactions that wrote what an operation read. none is the initial state. It lists
// nothing if the writer may be missing.
func (f *facts) sourcesAt(r verdict.OpRef) ([]int32, error) {
	op := f.h.Ops(&f.h.Txns[r.Txn])[r.Op]
	if op.Kind == history.ReadNot {
		return f.allowedSources(r, op.Key)
	}
	w, err := f.writersOfCell(cell{op.Key, op.Value})
	if err != nil {
		return nil, err
	}
	return w.sourcesFor(r.Txn, cell{op.Key, op.Value}), nil
}

// sourcesFor lists the transactions from which a reader may have read a cell, but for the orders.
func (w *writers) sourcesFor(reader int32, c cell) []int32 {
	if w.unsure(c) {
		return nil
	}
	out := slices.DeleteFunc(slices.Clone(w.finals[c]), func(i int32) bool { return i == reader })
	if w.h.Initial(c.key) == c.value {
		out = append(out, none)
	}
	return out
}

// allowedSources is sourcesAt for a read from outside that only says which version it did not see. Reads of the key by
// the same transaction saw the same version, if the level forbids other ones, or if they are of the same
// statement.
func (f *facts) allowedSources(r verdict.OpRef, k history.Key) ([]int32, error) {
	if !f.h.Closed {
		return nil, nil
	}
	ops := f.h.Ops(&f.h.Txns[r.Txn])
	// What the read did not see is no row that a statement returned. So it saw the version of all reads of its statement, oneVersion.
	from := sameVersion{txn: r.Txn, key: k, to: len(ops)}
	if !atomicReads(f.lvl) {
		if p, _ := f.h.PredicateOf(int(r.Txn), r.Op); p != nil {
			from.from, from.to = p.Ops[0], p.Ops[1]
		} else {
			from.to, from.alone = 0, ops[r.Op].Value
		}
	}
	if x := &f.allowed; x.known && x.reads == from {
		return x.sources, nil
	}
	a, err := f.accessesOf(k)
	if err != nil {
		return nil, err
	}
	reads := []int{r.Op}
	if from.to > 0 {
		reads = f.outside(r.Txn, k)
		first, _ := slices.BinarySearch(reads, from.from)
		last, _ := slices.BinarySearch(reads, from.to)
		reads = reads[first:last]
	}
	returned, denied := map[history.Value]bool{}, map[history.Value]bool{} // by what must be the same version
	for _, n := range reads {
		if !oneVersion(f.h, f.lvl, r.Txn, r.Op, n) {
			continue
		}
		if ops[n].Kind == history.ReadNot {
			denied[ops[n].Value] = true
		} else {
			returned[ops[n].Value] = true
		}
	}
	fits := func(v history.Value) bool {
		return !denied[v] && (len(returned) == 0 || len(returned) == 1 && returned[v])
	}
	var out []int32
	if fits(f.h.Initial(k)) {
		out = append(out, none)
	}
	for v, list := range a.finals {
		for _, i := range list {
			if fits(v) && i != r.Txn {
				out = append(out, i)
			}
		}
	}
	f.allowed.known, f.allowed.reads, f.allowed.sources = true, from, out
	return out, f.stop.after(1 + len(reads))
}

// oneVersion reports whether two reads of a key from outside by one transaction must see one version.
func oneVersion(h *history.History, lvl level.Level, txn int32, a, b int) bool {
	return a == b || atomicReads(lvl) || oneStatement(h, txn, a, b) && !returnedTwice(h, txn, a, b)
}

// oneStatement reports whether two operations of a transaction belong to one statement with a condition. Then
// the order in which it read them is not known.
func oneStatement(h *history.History, txn int32, a, b int) bool {
	p, _ := h.PredicateOf(int(txn), a)
	q, _ := h.PredicateOf(int(txn), b)
	return p != nil && p == q
}

// forced verifies that From commits before To: the operation r read To's write, and its transaction had to
// see From, which wrote the key, too.
func (f *facts) forced(a *verdict.Anomaly, e verdict.Edge, r verdict.OpRef) error {
	if err := f.bothCount(e); err != nil {
		return err
	}
	if err := f.readsFrom(r, e.To, e.Key); err != nil {
		return err
	}
	if v, ok := f.finalOf(e.From, e.Key); !ok || v != e.Value {
		return errors.New("the first transaction did not write that value")
	}
	return f.hadToSee(a, e.From, r)
}

// finalOf returns the final write of a transaction to a key.
func (l *lookup) finalOf(i int32, k history.Key) (history.Value, bool) {
	n := l.at(i, k).write
	if n < 0 {
		return 0, false
	}
	return l.h.Ops(&l.h.Txns[i])[n].Value, true
}

// readsFrom verifies that an operation read a key from a certain transaction, or from the initial state.
func (f *facts) readsFrom(r verdict.OpRef, source int32, k history.Key) error {
	if counts, err := f.counts(r.Txn); err != nil {
		return err
	} else if !counts {
		return errors.New("the reader is not known to have committed")
	}
	if f.ofAppend(r) {
		return errors.New("the operation named may be an append to a list, which read nothing")
	}
	if _, outside := slices.BinarySearch(f.outside(r.Txn, k), r.Op); !outside {
		return errors.New("the operation named does not read the key from outside")
	}
	if sources, err := f.sourcesAt(r); err != nil {
		return err
	} else if !f.mustBe(sources, r.Txn, source) {
		return errors.New("the operation named may have read from another transaction")
	}
	return nil
}

// missedFirst verifies that From read the initial value of a key that To wrote, and had to see To.
func (f *facts) missedFirst(a *verdict.Anomaly, e verdict.Edge) error {
	if err := f.bothCount(e); err != nil {
		return err
	}
	switch {
	case !f.writes(e.To, e.Key):
		return errors.New("the second transaction does not write the key")
	case f.h.Initial(e.Key) != e.Value:
		return errors.New("the version is not the initial one")
	}
	err := errors.New("the first transaction does not read the key")
	for _, n := range f.outside(e.From, e.Key) {
		r := verdict.OpRef{Txn: e.From, Op: n}
		if err = f.readsFrom(r, none, e.Key); err == nil {
			err = f.hadToSee(a, e.To, r)
		}
		if err == nil {
			break
		}
	}
	return err
}

// overwrote verifies an edge of level ru: To overwrote what it read from From, and no transaction that did
// not commit wrote that value.
func (f *facts) overwrote(e verdict.Edge) error {
	if err := f.bothCount(e); err != nil {
		return err
	}
	c := cell{e.Key, e.Value}
	w, err := f.writersOfCell(c)
	if err != nil {
		return err
	}
	reads := slices.ContainsFunc(f.outside(e.To, e.Key), func(n int) bool {
		return f.h.Ops(&f.h.Txns[e.To])[n] == history.Op{Kind: history.Read, Key: e.Key, Value: e.Value}
	})
	switch {
	case e.Kind != verdict.WW || !reads || !f.writes(e.To, e.Key):
		return errors.New("the second transaction did not overwrite what it read")
	case f.h.Initial(c.key) == c.value || w.unsure(c) || !slices.Equal(w.finals[c], []int32{e.From}) || len(w.all[c]) > 1:
		return errors.New("the second transaction may have read from another one")
	}
	return nil
}

// writersOfCell returns the writers of a cell.
func (f *facts) writersOfCell(c cell) (*writers, error) {
	if f.wanted[c] {
		return f.named, nil
	}
	return f.writersOf(f.stop, map[cell]bool{c: true})
}

// hadToSee verifies that the transaction of an operation had to see a transaction at it: a path of edges of
// the anomaly leads from the one to the other, as the level requires.
func (f *facts) hadToSee(a *verdict.Anomaly, from int32, r verdict.OpRef) error {
	no := errors.Errorf("nothing shows that transaction %d had to see transaction %d", f.id(r.Txn), f.id(from))
	if from == r.Txn {
		return no
	}
	if f.lvl == level.RC {
		for _, e := range slices.Concat(a.Context, a.Cycle) {
			if e.Kind != verdict.WR || e.From != from || e.To != r.Txn {
				continue
			}
			if n, err := f.readAt(e); err == nil && n < r.Op && !oneStatement(f.h, r.Txn, n, r.Op) {
				return nil
			}
		}
		return no
	}
	// The edges so far, in a word that ends with the latest one. Session order is transitive.
	type place struct {
		txn  int32
		word string
	}
	work, known := []place{{from, ""}}, map[place]bool{}
	for n := 0; n < len(work); n++ {
		p := work[n]
		if p.txn == r.Txn && shows(f.lvl, p.word) {
			return nil
		}
		for _, e := range slices.Concat(a.Context, a.Cycle) {
			word := p.word
			switch {
			case e.From != p.txn || e.Kind != verdict.SO && e.Kind != verdict.WR:
				continue
			case f.lvl == level.CC:
				word = "s"
			case e.Kind == verdict.WR:
				word += "w"
			case word == "" || word[len(word)-1] != 's':
				word += "s"
			}
			next := place{e.To, word}
			if len(word) > 3 || known[next] || f.commitEdge(e) != nil {
				continue
			}
			known[next] = true
			work = append(work, next)
		}
	}
	return no
}

// shows reports whether a path of edges of session order (s) and reads (w) shows that its end had to see its
// beginning.
func shows(lvl level.Level, path string) bool {
	words := map[level.Level][]string{
		level.CC: {"s"}, level.RA: {"s", "w"}, level.RYW: {"s"}, level.MR: {"ws"}, level.MW: {"sw"},
		level.WFR: {"ww", "wsw"}, level.Session: {"s", "ws", "sw", "ww", "wsw"},
	}
	return slices.Contains(words[lvl], path)
}
