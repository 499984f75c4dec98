package sim

import "slices"

// protection is a mechanism of an engine that prevents an anomaly.
type protection int

const (
	firstCommitterWins protection = iota
	dangerousStructure
	absentReads
	predicates
	rangeLocks
	longReadLocks
	committedReads
	stableSnapshot
	monotonicReads
	atomicVisibility
	ownWrites
	lastOwnWrite
	sameValueWrites
	programOrder
	undo
	durability
	checksums
	freshReplica
	sessionOrder
	replicationOrder
	causality
	commitLatch
)

type description struct {
	id protection
	// name is the name in the option off.
	name string
	// without says what the engine does when it is off.
	without string
}

// protections describes each protection. docs/sim.md says which real systems lacked it.
var protections = []description{
	{firstCommitterWins, "first-committer-wins", "a transaction commits although another one has written the same keys since its snapshot (lost update)"},
	{dangerousStructure, "dangerous-structure", "the commit does not look for two consecutive anti-dependencies (write skew)"},
	{absentReads, "absent-reads", "a read that finds a key absent forgets who has inserted it meanwhile if the key was updated since (write skew)"},
	{predicates, "predicates", "a scan locks or remembers neither its rows nor its range (phantom, predicate write skew)"},
	{rangeLocks, "range-locks", "a scan locks or remembers its rows, but not its range (phantom)"},
	{longReadLocks, "long-read-locks", "read locks are released at once, not at the transaction's end (lost update, fuzzy read)"},
	{committedReads, "committed-reads", "a read returns another transaction's uncommitted write (intermediate read, aborted read)"},
	{stableSnapshot, "stable-snapshot", "a read takes a snapshot of its own (non-repeatable reads)"},
	{monotonicReads, "monotonic-reads", "a read after the transaction's first read returns an older state (non-monotonic read)"},
	{atomicVisibility, "atomic-visibility", "a commit shows its first key at once and the others some commits later (fractured read)"},
	{ownWrites, "own-writes", "a read does not look at what its own transaction wrote (not my own write)"},
	{lastOwnWrite, "last-own-write", "a read returns the first of its own transaction's writes of a key (not my last write)"},
	{sameValueWrites, "same-value-writes", "a write of the already committed value is ignored, so later reads of its transaction do not see it (not my own write, where values occur twice)"},
	{programOrder, "program-order", "a read of a key returns the value that its session will write next, guessed from the two before (future read)"},
	{undo, "undo", "the writes of a transaction that is aborted stay (aborted read)"},
	{durability, "durability", "a commit is confirmed and its writes are dropped (lost update)"},
	{checksums, "checksums", "a read returns a value with one flipped bit (thin-air read)"},
	{freshReplica, "fresh-replica", "a transaction reads from a replica that is behind, though not behind what its session did and saw (stale read)"},
	{sessionOrder, "session-order", "a transaction reads from another replica than its session's, which may lack what the session did (session guarantee violation)"},
	{replicationOrder, "replication-order", "replicas apply commits that do not depend on each other in any order (long fork)"},
	{causality, "causality", "replicas apply commits in any order, also before those that they depend on (causality violation)"},
	{commitLatch, "commit-latch", "a session that is paused between the check of its commit and its writes lets others commit meanwhile (lost update)"},
}

func find(name string) *description {
	i := slices.IndexFunc(protections, func(p description) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return &protections[i]
}

// known lists the protections, those of an isolation if one is given.
func known(iso *isolation) []string {
	var out []string
	for _, p := range protections {
		if iso == nil || iso.keeps[p.id] {
			out = append(out, p.name)
		}
	}
	return out
}
