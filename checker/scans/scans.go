package scans

import (
	"context"
	"fmt"
	"slices"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
)

// EagerOps bounds the operations that Expand adds for rows that scans did not find. A scan may miss
// every row that is ever inserted. So in a large history these operations are added on demand.
const EagerOps = 1 << 12

// WeakOps is EagerOps if only weak levels are judged. Their executions are orders of commits, which do not say
// what a scan saw. So operations cannot be added on demand, and more are added at once.
const WeakOps = 1 << 20

// Eager returns the bound for a history that is judged at these levels.
func Eager(levels ...level.Level) int {
	if slices.ContainsFunc(levels, func(l level.Level) bool { return !l.Weak() }) {
		return EagerOps
	}
	return WeakOps
}

// MostVersions bounds the versions of a row for which operations are added at once, if more than one
// version could explain what a scan did not find. What a refutation rests on is searched for each of
// them. For a row with more versions they are added one by one, on demand.
const MostVersions = 64

// Expand returns h with operations that say what its predicates did not find, and with History.Scans
// set. It returns h itself if h has no predicates. A predicate that cannot be judged adds no
// operations: the rows that it returned still count as reads of items. rest has the predicates for
// which operations are still to be added, or is nil; Rest.Settle adds them. Proofs can be certified only
// after Rest.Done. eager is what Eager returns. If ctx ends, the error is its cause.
func Expand(ctx context.Context, h *history.History, eager int) (x *history.History, rest *Rest, err error) {
	if !h.HasPredicates() {
		return h, nil, nil
	}
	e := &expansion{h: h, more: map[int][][]history.Op{}, limit: eager}
	e.done.Unjudged = map[history.ScanRef]bool{}
	if e.reason = unjudged(h); e.reason == "" {
		e.index = newIndex(h)
	}
	for i := range h.Txns {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if list := h.Predicates(i); len(list) > 0 && h.Txns[i].Status != history.Aborted {
			e.transaction(i, list)
		}
	}
	x = h.Extend(e.more, &e.done)
	e.more = nil
	e.tell()
	if len(e.later) > 0 || len(e.given) > 0 {
		rest = &Rest{expansion: e, decided: map[level.Level]*Decision{}}
	}
	return x, rest, nil
}

// unjudged says why no predicate of a history can be judged, or is "".
func unjudged(h *history.History) string {
	switch {
	case len(h.Schema) == 0:
		return "the header has no schema"
	case !h.Closed:
		return "the recording was cut off, so transactions that are not in the history may have changed rows"
	case h.LeftOut != "":
		return "operations were left out, and they may have changed rows"
	}
	return ""
}

// tell sets the reason why predicates are not judged.
func (e *expansion) tell() {
	e.done.Reason = ""
	if e.done.Judged < e.done.Scans {
		e.done.Reason = fmt.Sprintf("%d of %d scans are not judged: %s", e.done.Scans-e.done.Judged, e.done.Scans, e.reason)
	}
}

type expansion struct {
	h     *history.History
	index *index // nil: nothing can be judged
	more  map[int][][]history.Op
	done  history.Scans
	limit int // of operations for rows that were not found
	// later are the scans for which such operations are added on demand, because the limit was
	// reached. They count as judged when they have been settled.
	later []*scan
	given []*scan // those that have choices already
	// reason says why the first predicate that is not judged is not.
	reason string
}

// transaction adds the operations for the predicates of the transaction at index i.
func (e *expansion) transaction(i int, list []history.Predicate) {
	e.done.Scans += len(list)
	if e.index == nil {
		e.skip(i, 0, len(list))
		return
	}
	ops := e.h.Ops(&e.h.Txns[i])
	own := map[history.Key]history.Value{} // the transaction's latest writes before a predicate
	done := 0
	more := make([][]history.Op, len(list))
	added := false
	for n := range list {
		p := &list[n]
		if p.Ops[0] < done {
			e.refuse("the predicates of a transaction overlap")
			e.skip(i, n, len(list))
			break
		}
		for _, op := range ops[done:p.Ops[0]] {
			if op.Kind == history.Write {
				own[op.Key] = op.Value
			}
		}
		s := &scan{expansion: e, txn: i, number: n, p: p, implied: ops[p.Ops[0] : p.Ops[0]+p.Implied], ops: ops[p.Ops[0]+p.Implied : p.Ops[1]], own: own}
		if err := s.expand(); err != nil {
			e.refuse(err.Error())
			e.skip(i, n, n+1)
		} else {
			if s.later() {
				s.keepOwn()
				e.later = append(e.later, s)
			} else {
				e.done.Judged++
			}
			if len(p.Choices) > 0 {
				e.given = append(e.given, s)
			}
			more[n] = s.take()
			added = added || len(more[n]) > 0
		}
		for _, op := range s.ops {
			if op.Kind == history.Write {
				own[op.Key] = op.Value
			}
		}
		done = p.Ops[1]
	}
	if added {
		e.more[i] = more
	}
}

// skip notes predicates of a transaction that are not judged, up to, not including, number to.
func (e *expansion) skip(txn, from, to int) {
	for n := from; n < to; n++ {
		e.done.Unjudged[history.ScanRef{Txn: txn, Number: n}] = true
	}
}

// refuse notes why a predicate is not judged. The first reason is told.
func (e *expansion) refuse(reason string) {
	if e.reason == "" {
		e.reason = reason
	}
}
