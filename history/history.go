// Package history is the vocabulary of isohound: transactions, operations,
// keys, values, outcomes, and the history that they form.
//
// A history is what the clients of a database saw (MTC paper, Definition 2):
// transactions grouped into sessions, each with its operations in program
// order, its outcome, and, where a clock was read, its begin and end. An
// implicit initial transaction precedes every other and gives each key its
// initial value, which may be [Absent].
//
// The layout is made for checkers: transactions and operations are in two pointer-free slices,
// keys are dense numbers, values are machine words. Of the project, the package imports only
// history/schema (tables and conditions), history/quote and history/hashed.
package history

import (
	"math"
	"slices"
)

// History is a complete recorded execution. Transactions of one session stand
// in session order; sessions may be interleaved in any way.
type History struct {
	Header
	*Symbols

	// Txns holds every recorded transaction attempt, whatever its outcome.
	Txns []Txn
	// Closed says that the recording ended in good order. If a history is not closed, a value
	// without a known writer may come from a transaction that was never recorded. Such a
	// transaction is assumed to have written no value that has a known writer.
	Closed bool
	// Notes describes what the reader repaired, such as a torn last line.
	Notes []string

	ops []Op
	// versions is parallel to ops; nil when no version of a read is told. See Version.
	versions []int64
	// dbIDs holds the database's own transaction ids, parallel to Txns; nil
	// when no transaction has one.
	dbIDs []int64
	// claims is parallel to Txns; nil when nothing is claimed of any transaction.
	claims []Claim
	// placed, snapped and visible: a position is claimed of some transaction, one of a snapshot, a snapshot as a set.
	placed, snapped, visible bool
	// assumed: see AssumeOrder.
	assumed bool
	// predicates is by index in Txns, up to the last transaction that has some.
	predicates [][]Predicate
	// statements bounds the numbers of their statements.
	statements int
	// twice has the transactions with a predicate that reads or writes an item twice; see Twice.
	twice map[int]bool
	// Scans says which predicates are judged; nil if none are.
	Scans *Scans
}

// Ops returns the operations of t in program order. The slice is shared with
// the history and must not be changed.
func (h *History) Ops(t *Txn) []Op { return h.ops[t.opFrom : t.opFrom+int64(t.opCount)] }

// FirstOp returns the position of t's first operation in AllOps.
func (h *History) FirstOp(t *Txn) int { return int(t.opFrom) }

// AllOps returns the operations of all transactions, in the order of Txns.
func (h *History) AllOps() []Op { return h.ops }

// DBTxn returns the id that the database itself gave to the transaction at
// index i, or 0 when it is not known.
func (h *History) DBTxn(i int) int64 {
	if h.dbIDs == nil {
		return 0
	}
	return h.dbIDs[i]
}

// Predicates returns the predicates of the transaction at index i.
func (h *History) Predicates(i int) []Predicate {
	if i >= len(h.predicates) {
		return nil
	}
	return h.predicates[i]
}

// setPredicates sets the predicates of the transaction at index i.
func (h *History) setPredicates(i int, list []Predicate) {
	if i >= len(h.predicates) {
		h.predicates = append(h.predicates, make([][]Predicate, i+1-len(h.predicates))...)
	}
	h.predicates[i] = list
}

// HasPredicates reports whether any transaction has predicates.
func (h *History) HasPredicates() bool { return len(h.predicates) > 0 }

// StatementCount returns a number above those of all statements of predicates.
func (h *History) StatementCount() int { return h.statements }

// BySession returns, for each session in the order of its number, the indices
// of its transactions in session order.
func (h *History) BySession() [][]int32 {
	all := make([][]int32, h.SessionCount())
	for i := range h.Txns {
		s := h.Txns[i].Session
		all[s] = append(all[s], int32(i))
	}
	return all
}

// Timed reports whether there is a real-time order: a committed transaction has an end, and one that may have committed has a
// begin. Without these, and without a clock that all transactions share, real-time order means nothing.
func (h *History) Timed() bool {
	if h.NoCommonClock {
		return false
	}
	began, ended := false, false
	for i := range h.Txns {
		t := &h.Txns[i]
		began = began || t.Status != Aborted && t.Begin != NoTime
		ended = ended || t.Status == Committed && t.End != NoTime
		if began && ended {
			return true
		}
	}
	return false
}

// Counts are the totals of a history.
type Counts struct {
	Txns, Committed, Aborted, Unknown, Ops, Sessions int
}

// Count walks the transactions once and returns their totals.
func (h *History) Count() Counts {
	c := Counts{Txns: len(h.Txns), Ops: len(h.ops), Sessions: h.SessionCount()}
	for i := range h.Txns {
		switch h.Txns[i].Status {
		case Committed:
			c.Committed++
		case Aborted:
			c.Aborted++
		default:
			c.Unknown++
		}
	}
	return c
}

// MemoryBytes returns the memory that the transactions and operations hold.
func (h *History) MemoryBytes() int64 {
	return int64(cap(h.Txns))*txnSize + int64(cap(h.ops))*opSize + int64(cap(h.versions))*8 + int64(cap(h.dbIDs))*8 + int64(cap(h.claims))*claimSize
}

// Fence begins the names of the keys that sessions read and write before the final read of a run, each
// its own. The transaction that then reads all of them comes after all sessions, and the history shows
// it. No workload uses such keys.
const Fence = "isohound-fence-"

// EpochKey is the key that the fences of a run read and write that are made every so many transactions, as Cobra's
// are. No workload uses it.
const EpochKey = "isohound-epoch"

// Fences returns the index of the first transaction that wrote a fence, or the number of transactions
// if there is none. From there on no transaction belongs to the workload.
func (h *History) Fences() int {
	for i := range h.Txns {
		if h.passes(i) {
			return i
		}
	}
	return len(h.Txns)
}

// AtEnd reports whether the transaction at index i belongs to the final read of a run: it writes
// nothing, and the last transaction of its session that wrote something wrote a fence.
func (h *History) AtEnd(i int) bool {
	writes := func(op Op) bool { return op.Kind == Write }
	if slices.ContainsFunc(h.Ops(&h.Txns[i]), writes) {
		return false
	}
	for before := i - 1; before >= 0; before-- {
		if h.Txns[before].Session == h.Txns[i].Session && slices.ContainsFunc(h.Ops(&h.Txns[before]), writes) {
			return h.passes(before)
		}
	}
	return false
}

// passes reports whether the transaction at index i wrote a fence.
func (h *History) passes(i int) bool {
	return slices.ContainsFunc(h.Ops(&h.Txns[i]), func(op Op) bool { return op.Kind == Write && h.IsFence(op.Key) })
}

// NoTime stands for a moment that was not recorded.
const NoTime int64 = math.MinInt64
