package verdict

import "github.com/isohound/isohound/history"

// Refutation proves that no execution explains a history, in steps that are replayed one by one. A
// step adds clauses over three kinds of statements (atoms): a node comes before another, a read has
// its value from a certain transaction, a transaction of unknown outcome counts as committed. Most
// steps give only their subject, and the clause is derived from the history when they are replayed.
// Only clauses that follow from earlier ones by unit propagation (RUP) are written out. The last
// step is the empty clause.
//
// A node is the start or the commit of a transaction: 2*i is the start of History.Txns[i], 2*i+1
// its commit, as in Witness.Points. If the level is not a snapshot level, both are the same node.
// The nodes are totally ordered, so "a does not come before b" means "b comes before a".
type Refutation struct {
	// Atoms are the atoms that the clauses of Follows steps use.
	Atoms []Atom
	Steps []Step
}

// Atom is a statement that is true or false of an execution.
type Atom struct {
	Kind AtomKind
	// A and B are the two nodes of Before, or the reader and its source of Source. For Counts, A is
	// the transaction.
	A, B int32
	// Key is the key that the reader of Source read.
	Key history.Key
}

// AtomKind is a kind of statement.
type AtomKind uint8

const (
	// Before: node A comes before node B.
	Before AtomKind = iota + 1
	// Source: transaction B wrote what transaction A read of Key from outside. B may be
	// FromInitial, the initial state.
	Source
	// Counts: transaction A, whose outcome is unknown, counts as committed.
	Counts
)

// FromInitial is the initial state as the source of a read.
const FromInitial = int32(-1)

// Step is one step of a refutation.
type Step struct {
	Rule Rule
	// Txn, Source, Other and Key are the subject of the rule.
	Txn, Source, Other int32
	Key                history.Key
	// List are the nodes of CycleOf, the indices of Forget, or the literals of
	// Follows: 2*n says that Atoms[n] is true, 2*n+1 that it is false.
	List []int32
}

// Rule says why a clause holds.
type Rule uint8

const (
	// HasSource: if Txn counts, what it read of Key from outside was written by one of the
	// transactions that can have written it, or is the initial value.
	HasSource Rule = iota + 1
	// SourceFirst: if Txn read Key from Source, then Source counts and
	// committed before Txn started.
	SourceFirst
	// NothingBetween: if Txn read Key from Source and both it and Other count,
	// then Other, which wrote another value, committed before Source started (at
	// PC: before it committed) or after Txn started.
	NothingBetween
	// Apart: two writers of Key, Txn and Other, do not overlap if both count (snapshot levels but PC).
	Apart
	// Impossible: Txn, whose outcome is unknown, contradicts itself, so it does not count.
	Impossible
	// Assumed: if Txn and Other both count, then Txn, which wrote the earlier version of Key as the database
	// claims, committed before Other started (at PC: before it committed). It needs the assumption that
	// the claim is true.
	Assumed
	// Shown: if Txn and Other both count, then Txn committed before Other started, because the snapshot that the database
	// claims of Other has what Txn wrote. Hidden: Other started before Txn committed, because it lacks that. Both
	// need the assumption that the claim is true.
	Shown
	Hidden
	// CycleOf: the nodes in List do not each come before the next, and the last before the first.
	// Session order, real time, assumed snapshots if the first of two transactions committed, and the order from a start
	// to its own commit need no literal.
	CycleOf
	// Follows: the clause in List, derived by unit propagation from the clauses before it.
	Follows
	// Forget: the clauses of the CycleOf and Follows steps in List are deleted.
	Forget
)

var ruleNames = [...]string{HasSource: "has source", SourceFirst: "source first", NothingBetween: "nothing between",
	Apart: "apart", Impossible: "impossible", Assumed: "assumed", Shown: "shown", Hidden: "hidden", CycleOf: "cycle", Follows: "follows", Forget: "forget"}

func (r Rule) String() string {
	if int(r) < len(ruleNames) && ruleNames[r] != "" {
		return ruleNames[r]
	}
	return "unknown rule"
}
