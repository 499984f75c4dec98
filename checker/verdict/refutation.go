package verdict

import "github.com/isohound/isohound/history"

// Refutation proves that no execution explains a history, in steps that can be
// replayed one by one. A step adds clauses over three kinds of statements
// (atoms): that one node comes before another, that a read has its value from
// a certain transaction, and that a transaction of unknown outcome counts as
// committed. Most steps only name what they are about, and whoever replays
// them derives the clauses from the history; only what follows from earlier
// clauses by unit propagation (RUP) is written out. The last step is the empty
// clause.
//
// A node is the start or the commit of a transaction: 2*i is the start of
// History.Txns[i], 2*i+1 its commit, as in Witness.Points. Where the level is
// no snapshot level both are the same node. All nodes are ordered, so that "a
// does not come before b" is "b comes before a".
type Refutation struct {
	// Atoms are those that the clauses of Follows steps use.
	Atoms []Atom
	Steps []Step
}

// Atom is a statement that is true or false of an execution.
type Atom struct {
	Kind AtomKind
	// A and B are the nodes of Before; the reader and its source of Source;
	// the transaction A of Counts.
	A, B int32
	// Key is the key that the reader of Source read.
	Key history.Key
}

// AtomKind is a kind of statement.
type AtomKind uint8

const (
	// Before: node A comes before node B.
	Before AtomKind = iota + 1
	// Source: what transaction A read of Key from outside, B wrote; FromInitial
	// stands for the initial state.
	Source
	// Counts: transaction A, whose outcome is unknown, counts as committed.
	Counts
)

// FromInitial is the initial state as the source of a read.
const FromInitial = int32(-1)

// Step is one step of a refutation.
type Step struct {
	Rule Rule
	// Txn, Key, Source and Other say what the rule is about.
	Txn, Source, Other int32
	Key                history.Key
	// List are the nodes of CycleOf, the indices of Forget, or the literals of
	// Follows: 2*n says that Atoms[n] is true, 2*n+1 that it is false.
	List []int32
}

// Rule says why a clause holds.
type Rule uint8

const (
	// HasSource: what Txn, if it counts, read of Key from outside, one of the
	// transactions wrote that can have, or it was there initially.
	HasSource Rule = iota + 1
	// SourceFirst: if Txn read Key from Source, then Source counts and
	// committed before Txn started.
	SourceFirst
	// NothingBetween: if Txn read Key from Source and both it and Other count,
	// then Other, which wrote another value, committed before Source started
	// or after Txn started.
	NothingBetween
	// Apart: two that both count and wrote Key, Txn and Other, did not overlap
	// (snapshot levels).
	Apart
	// Impossible: Txn, whose outcome is unknown, contradicts itself, so that it
	// does not count.
	Impossible
	// CycleOf the nodes in List: they cannot all come before the next one. A
	// hop that session order or real time gives, or that leads from a start to
	// its own commit, needs no literal.
	CycleOf
	// Follows: the clause in List, by unit propagation from the clauses before.
	Follows
	// Forget: the clauses of the Steps in List, cycles and what follows, are not
	// needed from here on.
	Forget
)

var ruleNames = [...]string{HasSource: "has source", SourceFirst: "source first", NothingBetween: "nothing between",
	Apart: "apart", Impossible: "impossible", CycleOf: "cycle", Follows: "follows", Forget: "forget"}

func (r Rule) String() string {
	if int(r) < len(ruleNames) && ruleNames[r] != "" {
		return ruleNames[r]
	}
	return "unknown rule"
}
