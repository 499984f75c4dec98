package history

import "slices"

// Scans says which predicates of a history are judged. Package checker/scans sets it.
type Scans struct {
	// Scans is the number of predicates of transactions that did not abort.
	Scans int `json:"scans"`
	// Judged is how many of them are judged.
	Judged int `json:"judged"`
	// ClassReads is the number of rows that a judged predicate did not return, although some
	// version of the row fulfils its conditions, and of rows that it changed without reading.
	ClassReads int `json:"class_reads"`
	// Instantiated is the number of operations that stand for these rows.
	Instantiated int `json:"instantiated"`
	// Reason says why some predicates are not judged, or is "".
	Reason string `json:"reason,omitempty"`
	// Unjudged are the predicates, of transactions that did not abort, that are not judged.
	Unjudged map[ScanRef]bool `json:"-"`
}

// ScanRef is a predicate: the index of its transaction in the history, and its number there.
type ScanRef struct{ Txn, Number int }

// Extend returns h with further operations: more[i][n] stand before the operations of predicate n
// of the transaction at index i, and are implied by it. The predicates of these transactions must be
// in the order of their operations, without overlaps. The result shares everything else with h.
func (h *History) Extend(more map[int][][]Op, scans *Scans) *History {
	out := *h
	out.Scans = scans
	if len(more) == 0 {
		return &out
	}
	total := len(h.ops)
	for _, list := range more {
		for _, ops := range list {
			total += len(ops)
		}
	}
	out.Txns, out.ops = make([]Txn, len(h.Txns)), make([]Op, 0, total)
	if h.versions != nil {
		out.versions = make([]int64, 0, total)
	}
	// add appends operations of h from a place on, to another one.
	add := func(from, to int64) {
		out.ops = append(out.ops, h.ops[from:to]...)
		if h.versions != nil {
			out.versions = append(out.versions, h.versions[from:to]...)
		}
	}
	out.predicates = slices.Clone(h.predicates)
	for i, t := range h.Txns {
		from, done := len(out.ops), t.opFrom
		if list, changed := more[i]; changed {
			predicates := make([]Predicate, len(list))
			for n, p := range h.Predicates(i) {
				add(done, t.opFrom+int64(p.Ops[0]))
				begin := len(out.ops) - from
				out.ops = append(out.ops, list[n]...)
				if h.versions != nil {
					out.versions = append(out.versions, make([]int64, len(list[n]))...)
				}
				done = t.opFrom + int64(p.Ops[1])
				add(t.opFrom+int64(p.Ops[0]), done)
				p.Ops, p.Implied = [2]int{begin, len(out.ops) - from}, p.Implied+len(list[n])
				p.Added += len(list[n])
				predicates[n] = p
			}
			out.predicates[i] = predicates
		}
		add(done, t.opFrom+int64(t.opCount))
		t.opFrom, t.opCount = int64(from), uint32(len(out.ops)-from)
		out.Txns[i] = t
	}
	return &out
}

// PredicateOf returns the predicate of the transaction at index i to which its operation op
// belongs, and whether the operation only follows from the conditions. It returns nil if there is
// none.
func (h *History) PredicateOf(i int, op int) (p *Predicate, implied bool) {
	list := h.Predicates(i)
	for n := range list {
		if p := &list[n]; p.Ops[0] <= op && op < p.Ops[1] {
			return p, op < p.Ops[0]+p.Implied
		}
	}
	return nil, false
}
