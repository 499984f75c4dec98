// Package verdict is what a checker says of a history and a level: satisfied,
// violated or unknown, the first two with their proofs.
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
	// Satisfied: the history is one that the level allows.
	Satisfied
	// Violated: no execution at the level explains the history.
	Violated
	// Vacuous: the run tested next to nothing. Only a run is ever called so,
	// never a history by itself.
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

// Result is the outcome of checking one history against one level.
type Result struct {
	Level   level.Level
	Verdict Verdict
	// Reason says why the verdict is unknown, or why a run was vacuous, or why a
	// violation comes without anomalies.
	Reason string
	// FollowsFrom is another level whose verdict settles this one, 0 where Level was
	// judged itself. The witness is one at Level all the same; the anomalies are
	// anomalies at FollowsFrom.
	FollowsFrom level.Level
	// Engine is the algorithm that decided.
	Engine string
	// Certified says that independent code has verified the proof.
	Certified bool
	// Witness proves a satisfied history.
	Witness *Witness
	// Anomalies prove a violated history; each of them suffices.
	Anomalies []Anomaly
	// Stages are the parts of the work in their order, Took the whole of it.
	Stages []Stage
	Took   time.Duration
	// Search has the figures of the search, where there was one.
	Search *Search
	// Accel says how reachability in the known graph was computed, where it was.
	Accel *Accel
}

// Accel says how the closure of a graph was computed (see accel), and why so.
type Accel struct {
	// Backend is chains, bitset or cuda, or none where none was to be had.
	Backend string `json:"backend"`
	Reason  string `json:"reason"`
	// Vertices and Edges are those of the graph as it was at first, Chains the
	// paths that cover it.
	Vertices int `json:"vertices"`
	Edges    int `json:"edges"`
	Chains   int `json:"chains"`
	// Bytes is the memory that the closure held in the end, Seconds what computing
	// it took, with all edges that were added.
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
	// OnDemand are the clauses that came because an order got something wrong.
	OnDemand int `json:"clauses_on_demand"`
	// OpenBefore are the reads with several candidates, OpenAfter those that
	// saturation has left.
	OpenBefore int `json:"open_reads_before"`
	OpenAfter  int `json:"open_reads_after"`
	// ConstraintsBefore are those enumerated when all are made up front, and
	// ConstraintsAfter those of them that the known graph does not settle; see
	// docs/checking.md.
	ConstraintsBefore int `json:"constraints_before,omitempty"`
	ConstraintsAfter  int `json:"constraints_after,omitempty"`
	// Pipeline is the configuration, if it is not the default one.
	Pipeline string `json:"pipeline,omitempty"`
}

// ProofLevel is the level at which the proof holds: Level, or, of a violation that
// follows from another one, the level of that.
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

// Witness shows how a history could have come about. Transactions are indices
// into History.Txns; exactly the committed ones and those of unknown outcome
// that count as committed occur.
type Witness struct {
	// Order is, for serializability, the order in which the transactions could
	// have run one after another; for linearizability, for each key such an
	// order of the transactions on it, key after key.
	Order []int32
	// Points is, for snapshot isolation, the order of the starts and commits:
	// 2*i is the start of transaction i, 2*i+1 its commit.
	Points []int32
}

// At returns the witness as one at lvl, which the level that it was made for implies.
// A serial order is an order of starts and commits in which each commit stands
// right behind its start. Without a witness it returns nil.
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
)

var edgeNames = [...]string{SO: "SO", RT: "RT", WR: "WR", WW: "WW", RW: "RW"}

func (k EdgeKind) String() string { return edgeNames[k] }

// Edge says that From must come before To, and why. From and To are indices
// into History.Txns.
type Edge struct {
	From, To int32
	Kind     EdgeKind
	// Key is the key that a WR, WW or RW edge is about.
	Key history.Key
	// Value is the version of Key concerned: the one that To read (WR), that
	// To overwrote (WW), or that From read and To overwrote (RW).
	Value history.Value
}

// Anomaly is one reason why a history is violated.
type Anomaly struct {
	Kind Kind
	// Names are all names that fit, the most telling one first: those of the
	// MTC paper's Figure 5 and those of Adya and Elle.
	Names []string
	// Txns are the transactions involved, as indices into History.Txns.
	Txns []int32
	// Cycle lists the edges of a cycle; each begins where the one before ends.
	Cycle []Edge
	// Forced has, by position in Cycle, the reads that force WW edges of which the
	// second transaction did not read what the first one wrote: it read what the
	// second one wrote, and the first one had come before the reader.
	Forced map[int]OpRef
	// Context are further edges that belong to the picture: who wrote the
	// version that two transactions overwrote.
	Context []Edge
	// Support has, for each transaction of unknown outcome that is involved,
	// the WR edge to a transaction that read from it, which shows that it
	// committed; where that one's outcome is unknown too, its own follows.
	Support []Edge
	// Shortest says that no cycle of this history at this level is shorter.
	Shortest bool
	// Ops are, for anomalies within one transaction or of one read, the
	// operations that show it.
	Ops []OpRef
	// Count is how often this kind of anomaly was met, at least 1. For cycles,
	// which cannot be counted, it is 1.
	Count int
	// Text says in words what happened and why it must not.
	Text string
	// Refutation proves a contradiction where trying every execution would take
	// too long; nil where none was asked for or made.
	Refutation *Refutation
}

// Name is the anomaly's most telling name.
func (a *Anomaly) Name() string { return a.Names[0] }

// OpRef names an operation: the transaction's index in History.Txns, and the
// operation's index among those of the transaction.
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
	// Cycle: dependencies that the level forbids to form a cycle do so.
	Cycle
	// DoubleInsert: a key was inserted twice, or although it existed.
	DoubleInsert
	// Contradiction: no order of the transactions explains what they read; Ops
	// are the operations that this rests on.
	Contradiction
	// ImpossibleFailure: a compare-and-set failed although the key held the
	// expected value for as long as it ran.
	ImpossibleFailure
)
