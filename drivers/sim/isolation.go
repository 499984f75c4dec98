package sim

import (
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// isolation is a method of concurrency control, and the protections that it relies on.
type isolation struct {
	drivers.Isolation
	// locking: writers lock what they write until they end, and transactions read the newest
	// version. Other isolations read versions and never wait.
	locking bool
	// statement: the snapshot is taken for each statement, not for each transaction.
	statement bool
	keeps     map[protection]bool
}

// always are the protections that every isolation relies on.
var always = []protection{undo, durability, checksums, ownWrites, lastOwnWrite, sameValueWrites, programOrder, atomicVisibility, monotonicReads}

var (
	snapshots    = []protection{committedReads, stableSnapshot, firstCommitterWins, sessionOrder, commitLatch}
	serial       = append([]protection{dangerousStructure, absentReads, predicates, rangeLocks}, snapshots...)
	unreplicated = []protection{freshReplica}
	replicated   = []protection{replicationOrder, causality}
)

// Why each isolation keeps its promise:
//
// serializable: strict two-phase locking of keys and ranges. The order of the commits is a
// serial order, and each commit lies within its transaction's interval.
//
// serializable snapshot isolation: every cycle of dependencies has two consecutive
// anti-dependencies, of which the last transaction commits first (Fekete and others, "Making
// Snapshot Isolation Serializable", TODS 2005; Cahill, Röhm and Fekete, SIGMOD 2008). About the
// other dependencies the proof only needs that the first transaction commits before the second
// takes its snapshot. With fresh snapshots this also holds for real-time edges, so cycles with
// them are prevented too.
//
// repeatable read: like serializable for keys; ranges are not locked.
//
// replicas: a snapshot is the state of a replica, a prefix of the commits that contains
// everything that the session did and saw. It need not be fresh; only real-time order requires
// that.
//
// read committed, read committed snapshot: every read returns the newest commit, so a later one returns
// nothing older of a transaction that an earlier one has seen.
var isolations = []*isolation{
	{Isolation: drivers.Isolation{Name: "serializable", Promises: "sser", Note: "strict two-phase locking of keys and ranges"},
		locking: true, keeps: set(always, []protection{committedReads, longReadLocks, predicates, rangeLocks})},
	{Isolation: drivers.Isolation{Name: "serializable snapshot isolation", Promises: "sser", Note: "snapshots, the first committer wins, no dangerous structures, ranges included"},
		keeps: set(always, serial, unreplicated)},
	{Isolation: drivers.Isolation{Name: "snapshot isolation", Promises: "strong-si", Note: "snapshots, the first committer wins"},
		keeps: set(always, snapshots, unreplicated)},
	{Isolation: drivers.Isolation{Name: "repeatable read", Promises: "sser", Scans: "rc,ryw,mr", Note: "keys are locked until the end, ranges are not: phantoms"},
		locking: true, keeps: set(always, []protection{committedReads, longReadLocks, predicates})},
	{Isolation: drivers.Isolation{Name: "read committed", Promises: "rc", Note: "reads are locked for the statement, writes until the end"},
		locking: true, keeps: set(always, []protection{committedReads})},
	{Isolation: drivers.Isolation{Name: "read committed snapshot", Promises: "rc", Note: "each statement reads the newest commit; nothing is locked or compared"},
		statement: true, keeps: set(always, []protection{committedReads})},
	{Isolation: drivers.Isolation{Name: "read uncommitted", Promises: "ru", Note: "writes are locked, reads ignore the locks"},
		locking: true, keeps: set(always)},
	{Isolation: drivers.Isolation{Name: "serializable snapshot isolation, replicas", Promises: "ser", Note: "the same on snapshots of replicas that may be behind"},
		keeps: set(always, serial, replicated)},
	{Isolation: drivers.Isolation{Name: "snapshot isolation, replicas", Promises: "si", Note: "the same on snapshots of replicas that may be behind"},
		keeps: set(always, snapshots, replicated)},
}

// Lightweight transactions lock their key or have it certified, at the newest commit, at every
// isolation.
func init() {
	for _, iso := range isolations {
		iso.Lightweight, iso.Source = "lin", "docs/sim.md"
	}
}

func set(lists ...[]protection) map[protection]bool {
	all := map[protection]bool{}
	for _, l := range lists {
		for _, p := range l {
			all[p] = true
		}
	}
	return all
}

func findIsolation(name string) (*isolation, error) {
	for _, iso := range isolations {
		if iso.Name == name {
			return iso, nil
		}
	}
	return nil, errors.Errorf("sim has no isolation %q", name)
}
