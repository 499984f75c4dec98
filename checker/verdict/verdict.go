// Package verdict has the result of checking a history at a level: satisfied or violated, with
// proofs, or unknown.
package verdict

import (
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
)

// Verdict is the answer of a check. The zero value is Unknown.
type Verdict int

const (
	// Unknown: the question was not decided, and Result.Reason says why.
	Unknown Verdict = iota
	// Satisfied: the level allows the history.
	Satisfied
	// Violated: no execution at the level has the history.
	Violated
	// Vacuous: the run tested almost nothing. It is a verdict on a run, never on a history alone.
	Vacuous
)

var names = [...]string{Unknown: "unknown", Satisfied: "satisfied", Violated: "violated", Vacuous: "vacuous"}

func (v Verdict) String() string { return names[v] }

// MarshalText makes verdicts words in JSON.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (v *Verdict) UnmarshalText(text []byte) error {
	for i, n := range names {
		if n == string(text) {
			*v = Verdict(i)
			return nil
		}
	}
	return errors.Errorf("unknown verdict %q", text)
}

// Result is the outcome of checking one history at one level.
type Result struct {
	Level   level.Level
	Verdict Verdict
	// Reason says why the verdict is unknown, why a run was vacuous, or why a violation has no
	// anomalies.
	Reason string
	// FollowsFrom is another level whose verdict decides this one, or 0 if Level was judged itself.
	// The witness is a witness at Level in both cases. The anomalies are anomalies at FollowsFrom.
	FollowsFrom level.Level
	// Engine is the algorithm that decided.
	Engine string
	// Certified says that independent code verified the proof.
	Certified bool
	// Witness proves a satisfied history.
	Witness *Witness
	// Anomalies prove that the history is violated. Each of them alone is enough.
	Anomalies []Anomaly
	// Stages are the parts of the work in their order. Took is the total time.
	Stages []Stage
	Took   time.Duration
	// Search has the figures of the search, if there was one.
	Search *Search
	// Claim says whether the order that the database claims is an execution of the level. It is nil if no
	// engine has looked at it. It does not change the verdict.
	Claim *Claim
	// Assumes is set if the claimed order of versions and the claimed snapshots were assumed (history.AssumeOrder).
	Assumes *Assumption
	// Accel says how reachability in the known graph was computed, if it was.
	Accel *Accel
}

// Claim is what package replay found about the order that the database claims.
type Claim struct {
	// Snapshots says that the order follows from snapshots that are sets of transactions, not from positions.
	Snapshots bool
	// Tried is the level of which the order was tried as an execution: that of the verdict, or one that implies it.
	Tried level.Level
	// Fits says that it is one, and so a witness.
	Fits bool
	// Misfits counts the transactions that do not fit, more than once if they do not for several reasons.
	Misfits int
	// Txns are the transactions of the first misfit, as indices into History.Txns, and Text says in words why
	// it does not fit.
	Txns []int32
	Text string
}

// Anti reports whether the edge is an anti-dependency, or says like one that From started before To committed.
func (k EdgeKind) Anti() bool { return k == RW || k == NV }

// Assumption is how much of the claims was assumed.
type Assumption struct {
	// Versions counts the final writes of transactions that did not abort. Placed are those of them with a
	// claimed position.
	Versions, Placed int
	// Snapshots counts the transactions whose snapshot was assumed. It is 0 at levels that have no snapshots.
	Snapshots int
	// Reads counts the reads of which the database told the version.
	Reads int
	// Rests says that the proof of a violation uses the assumption. A violation whose proof does not
	// is one without it, too. So is a satisfied verdict. OnSnapshots says that the order of versions alone is not enough.
	Rests, OnSnapshots bool
}

// Accel says how the transitive closure of a graph was computed (see package accel), and why in
// this way.
type Accel struct {
	// Backend is chains, bitset or cuda, or none if none was available.
	Backend string `json:"backend"`
	Reason  string `json:"reason"`
	// Vertices and Edges are those of the graph at first. Chains is the number of paths that cover
	// it.
	Vertices int `json:"vertices"`
	Edges    int `json:"edges"`
	Chains   int `json:"chains"`
	// Bytes is the memory that the closure held at the end. Seconds is how long it took to compute,
	// with all insertions.
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
}

// Search counts what a search did.
type Search struct {
	Variables       int   `json:"variables"`
	Clauses         int   `json:"clauses"`
	Decisions       int64 `json:"decisions"`
	Propagations    int64 `json:"propagations"`
	Conflicts       int64 `json:"conflicts"`
	TheoryConflicts int64 `json:"theory_conflicts"`
	Restarts        int64 `json:"restarts"`
	// OnDemand are the clauses that were added because an order violated them.
	OnDemand int `json:"clauses_on_demand"`
	// OpenBefore are the reads with several candidates before saturation, OpenAfter those after it.
	OpenBefore int `json:"open_reads_before"`
	OpenAfter  int `json:"open_reads_after"`
	// ConstraintsBefore are the constraints enumerated before the search. ConstraintsAfter are
	// those of them that the known graph does not decide; see docs/checking.md.
	ConstraintsBefore int `json:"constraints_before,omitempty"`
	ConstraintsAfter  int `json:"constraints_after,omitempty"`
	// Pipeline is the configuration, if it is not the default one.
	Pipeline string `json:"pipeline,omitempty"`
}

// ProofLevel is the level at which the proof holds. It is Level, except for a violation that
// follows from another level: then it is that level.
func (r *Result) ProofLevel() level.Level {
	if r.Verdict == Violated && r.FollowsFrom != 0 {
		return r.FollowsFrom
	}
	return r.Level
}

// Stage is one part of the work and how long it took.
type Stage struct {
	Name string
	Took time.Duration
}

// Witness is an execution that explains a history. Transactions are indices into History.Txns. It
// has all committed transactions, and those of unknown outcome that count as committed.
type Witness struct {
	// Order is, for serializability, a serial order of the transactions. For linearizability it is
	// such an order of the transactions on each key, one key after the other. For weak levels it is an
	// order of the commits.
	Order []int32
	// Sources are, for an order of commits, the transactions from which reads have their values, or
	// FromInitial. A read that is not in it has its value from the latest transaction that can have
	// written it and that commits before the reader. Of several reads of a key that saw one version, it
	// may have only one.
	Sources map[OpRef]int32
	// Points is, for snapshot isolation and prefix consistency, the order of the starts and commits:
	// 2*i is the start of transaction i, 2*i+1 its commit.
	Points []int32
}

// At returns the witness as a witness at lvl, which the level of w must imply. At a snapshot level each
// commit comes right after its start. An execution of a stronger level is a witness of a weak level as
// it is. At returns nil if w is nil.
func (w *Witness) At(lvl level.Level) *Witness {
	if w == nil || !lvl.Snapshot() || w.Points != nil {
		return w
	}
	points := make([]int32, 0, 2*len(w.Order))
	for _, i := range w.Order {
		points = append(points, i<<1, i<<1|1)
	}
	return &Witness{Points: points}
}

// EdgeKind is a kind of dependency between two transactions.
type EdgeKind uint8

const (
	SO EdgeKind = iota + 1 // session order
	RT                     // real time
	WR                     // read dependency: To read what From wrote
	WW                     // write dependency: To overwrote what From wrote
	RW                     // anti-dependency: To overwrote what From read
	VO                     // claimed version order: the database says that From wrote the earlier version
	VS                     // claimed visibility: the database says that the snapshot of To has what From wrote
	NV                     // claimed invisibility: the database says that the snapshot of From lacks what To wrote
)

var edgeNames = [...]string{SO: "SO", RT: "RT", WR: "WR", WW: "WW", RW: "RW", VO: "VO", VS: "VS", NV: "NV"}

func (k EdgeKind) String() string { return edgeNames[k] }

// Edge says that From must come before To, and why. From and To are indices
// into History.Txns.
type Edge struct {
	From, To int32
	Kind     EdgeKind
	// Key is the key that a WR, WW, RW or VO edge is about. Of a VS or NV edge it is a key that the transaction wrote which
	// the snapshot has or lacks.
	Key history.Key
	// Value is the version of Key: the one that To read (WR), that To overwrote (WW), that From wrote (VO, VS), that To wrote (NV), or that From
	// read and To overwrote (RW). The reader of a WR or RW edge may say only which versions it did
	// not see. Then it saw this version or a later one (WR), or this one or an earlier one (RW).
	Value history.Value
}

// Anomaly is one reason why a history is violated.
type Anomaly struct {
	Kind Kind
	// Names are all names that fit, the most specific one first: those of the MTC paper's Figure 5
	// and those of Adya and Elle.
	Names []string
	// Txns are the transactions involved, as indices into History.Txns.
	Txns []int32
	// Cycle lists the edges of a cycle; each begins where the one before ends.
	Cycle []Edge
	// Forced has, by index in Cycle, the reads that force WW edges whose To did not read what From
	// wrote: a read of To's write by a transaction that comes after From. At causal consistency and the
	// levels below, the level demands that this transaction sees From, and Context has the edges (SO
	// and WR) of the path from From to it that the level's relation accepts. At read committed the path
	// is the WR edge of a read before the one in Forced. A read of the initial value that misses a write
	// needs no forced edge: the cycle is the path from the write's transaction to the reader, and the
	// RW edge back.
	Forced map[int]OpRef
	// Context are further edges: the paths that Forced mentions and, for the picture, others such as
	// the write-read edges from the writer of a version that two transactions overwrote.
	Context []Edge
	// Support has, for each transaction of unknown outcome that is involved, the WR edge to a
	// transaction that read from it, which shows that it committed. If that transaction's outcome
	// is unknown, too, its own edge follows.
	Support []Edge
	// Shortest says that no cycle of this history at this level is shorter.
	Shortest bool
	// Ops are, for anomalies within one transaction or of one read, the
	// operations that show it.
	Ops []OpRef
	// Count is how often this kind of anomaly was found, at least 1. A check counts anomalies of single
	// reads. A survey counts cycles, too: those that have no read in common.
	Count int
	// AtLeast says that there may be more: time ran out, or a cycle without reads was in the way.
	AtLeast bool
	// Text describes what happened and why it is wrong.
	Text string
	// Refutation proves a contradiction if trying every execution would take too long. It is nil if
	// none was asked for or written.
	Refutation *Refutation
	// Choices and Cases are those of NoChoice.
	Choices []history.ChoiceRef
	Cases   []Case
}

// Case is a reason why some alternatives of choices have no execution together.
type Case struct {
	// Assumed is what these alternatives say, or a part of that.
	Assumed []history.Assumed
	// Anomaly is one of the history with these assumptions (History.Assume). Its operations are numbered as
	// there.
	Anomaly Anomaly
	// Opposed: the assumptions contradict each other, whatever the transactions did.
	Opposed bool
}

// Name is the anomaly's most specific name.
func (a *Anomaly) Name() string { return a.Names[0] }

// OpRef names an operation by its transaction's index in History.Txns and its index in the
// transaction.
type OpRef struct {
	Txn int32
	Op  int
}

// Kind is the shape of an anomaly, which decides how it is proved.
type Kind uint8

const (
	ThinAirRead Kind = iota + 1
	AbortedRead
	FutureRead
	NotMyLastWrite
	NotMyOwnWrite
	IntermediateRead
	NonRepeatableReads
	// Divergence: two transactions read the same version of a key and both
	// overwrote it (MTC paper, Definition 10).
	Divergence
	// Cycle: dependencies form a cycle that the level forbids.
	Cycle
	// DoubleInsert: a key was inserted twice, or inserted although it existed.
	DoubleInsert
	// Contradiction: no order of the transactions explains their reads. Ops are the operations on
	// which this rests.
	Contradiction
	// NoChoice: what statements with conditions returned leaves Choices, and no way to choose has an execution:
	// each contains what one of the Cases assumes. Choices are in an order in which a search that takes one
	// alternative after the other, and turns back at a case, ends soon. Ops is empty: each of the cases has
	// its own operations.
	NoChoice
	// ImpossibleFailure: a compare-and-set failed although the key had the expected value during
	// the whole operation.
	ImpossibleFailure
	// DuplicateRow: a statement with a condition changed one row twice, or returned it twice although all that it returned is of
	// one state. Ops are the two operations on one item.
	DuplicateRow
)
