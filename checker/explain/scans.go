package explain

import (
	"fmt"
	"slices"

	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// implied returns the predicate from which an operation follows, and whether its row is one that
// the statement did not find, or did not count. It returns nil if the statement returned the operation itself.
func implied(h *history.History, txn int32, op int) (p *history.Predicate, missed bool) {
	p, follows := h.PredicateOf(int(txn), op)
	if p == nil || !follows {
		return nil, false
	}
	ops := h.Ops(&h.Txns[txn])
	if p.Kind == history.ScanCount {
		return p, !scans.Counted(h, p, ops[op])
	}
	row := rowOf(h, ops[op].Key)
	for _, other := range ops[p.Ops[0]+p.Implied : p.Ops[1]] {
		if rowOf(h, other.Key) == row {
			return p, false
		}
	}
	for _, name := range p.Omitted {
		if h.Schema.RowOf(name) == row {
			return p, false
		}
	}
	return p, true
}

// rowOf is the name of an item without its group of columns.
func rowOf(h *history.History, k history.Key) string { return h.Schema.RowOf(h.KeyName(k)) }

// reading returns the operation with which i read a version, or -1. It prefers one that a
// statement returned, and that its client made.
func reading(h *history.History, i int32, k history.Key, v history.Value) int {
	found := -1
	for n, op := range h.Ops(&h.Txns[i]) {
		if op.Kind != history.Read || op.Key != k || op.Value != v {
			continue
		}
		_, _, inferred := h.InferredRead(&h.Txns[i], n)
		if p, _ := implied(h, i, n); p == nil && !inferred {
			return n
		}
		if found < 0 {
			found = n
		}
	}
	return found
}

// denying returns the operation with which i said that it did not see what to finally wrote of k, or
// else the first one about another version of k, or -1. It is -1 if i read the key.
func denying(h *history.History, i int32, k history.Key, to int32) int {
	found := -1
	for n, op := range h.Ops(&h.Txns[i]) {
		switch {
		case op.Key != k:
		case op.Kind == history.Write: // what follows is of its own version
			return found
		case op.Kind == history.Read:
			return -1
		case found < 0 || finalValue(h, &h.Txns[to], k, op.Value):
			found = n
		}
	}
	return found
}

// reader returns the transaction that reads an edge's version, and the other one.
func reader(e verdict.Edge) (reader, writer int32) {
	if e.Kind == verdict.WR {
		return e.To, e.From
	}
	return e.From, e.To
}

// scan says what a statement with conditions showed of the row of an operation that follows from
// it. ok is false for other operations.
func (w words) scan(txn int32, op int) (text string, ok bool) {
	p, missed := implied(w.h, txn, op)
	if p == nil {
		return "", false
	}
	row := Printable(rowOf(w.h, w.h.Ops(&w.h.Txns[txn])[op].Key))
	asked := Printable(p.Asked())
	verb := map[string]string{history.ScanRead: "looked for", history.ScanUpdate: "changed", history.ScanDelete: "deleted", history.ScanCount: "counted"}[p.Kind]
	switch {
	case !missed && p.Kind == history.ScanRead:
		return fmt.Sprintf("%s %s and found %s", verb, asked, row), true
	case !missed:
		return fmt.Sprintf("%s %s, %s among them", verb, asked, row), true
	case p.Kind == history.ScanCount:
		return fmt.Sprintf("%s %s, without %s", verb, asked, row), true
	default:
		return fmt.Sprintf("%s %s and did not find %s", verb, asked, row), true
	}
}

// state says that an item has a value, or does not exist.
func (w words) state(v history.Value) string {
	if v == history.Absent {
		return "did not exist"
	}
	return "was " + w.value(v)
}

// read says how a transaction read a version: "read x = 5", or by which scan.
func (w words) read(i int32, k history.Key, v history.Value) string {
	if n := reading(w.h, i, k, v); n >= 0 {
		if text, ok := w.scan(i, n); ok {
			return text + ", which " + w.state(v)
		}
		return w.got(verdict.OpRef{Txn: i, Op: n})
	}
	return "read " + w.pair(k, v)
}

// saw returns the operation with which an edge's reader saw its version, or said that it did not see
// others, or -1.
func saw(h *history.History, e verdict.Edge) int {
	reader, writer := reader(e)
	if n := reading(h, reader, e.Key, e.Value); n >= 0 {
		return n
	}
	return denying(h, reader, e.Key, writer)
}

// scanOf returns the statement from whose conditions the read of an edge follows, and whether the
// edge's row is one that it did not find. It returns nil for other edges.
func scanOf(h *history.History, e verdict.Edge) (p *history.Predicate, missed bool) {
	if e.Kind != verdict.WR && e.Kind != verdict.RW {
		return nil, false
	}
	n := saw(h, e)
	if n < 0 {
		return nil, false
	}
	reader, _ := reader(e)
	return implied(h, reader, n)
}

// Named returns the operations that an anomaly names: its own, and those of its edges. Of several writes of a key, these are
// the last one and those of the edge's value.
func Named(h *history.History, a *verdict.Anomaly) map[verdict.OpRef]bool {
	named := map[verdict.OpRef]bool{}
	for _, r := range a.Ops {
		named[r] = true
	}
	for _, e := range slices.Concat(a.Cycle, a.Support) {
		reader, writers := int32(-1), []int32{e.From, e.To}
		switch e.Kind {
		case verdict.SO, verdict.RT:
			continue
		case verdict.WR:
			reader, writers = e.To, writers[:1]
		case verdict.RW:
			reader, writers = e.From, writers[1:]
		case verdict.VS:
			writers = writers[:1]
		case verdict.NV:
			writers = writers[1:]
		}
		if reader >= 0 {
			named[verdict.OpRef{Txn: reader, Op: saw(h, e)}] = true
		}
		for _, i := range writers {
			last := -1
			for n, op := range h.Ops(&h.Txns[i]) {
				if op.Kind == history.Write && op.Key == e.Key {
					if last = n; op.Value == e.Value {
						named[verdict.OpRef{Txn: i, Op: n}] = true
					}
				}
			}
			if last >= 0 {
				named[verdict.OpRef{Txn: i, Op: last}] = true
			}
		}
	}
	return named
}
