package mongotest

import (
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
)

type version struct {
	at  uint32
	doc bson.Raw // nil: deleted
}

// store keeps all versions of all documents, ordered by commit time. The
// owner of a key is the open transaction that wrote it.
type store struct {
	mu       sync.Mutex
	freed    *sync.Cond // signalled when an owner has ended
	clock    uint32     // the time of the latest commit
	versions map[string][]version
	owner    map[string]*txn
	// detect switches the detection of conflicts. lag is how many commits a snapshot may be
	// behind the clock. Every snapshot contains the writes outside transactions, up to floor.
	detect bool
	lag    uint32
	floor  uint32
}

func newStore() *store {
	s := &store{clock: 1, versions: map[string][]version{}, owner: map[string]*txn{}, detect: true}
	s.freed = sync.NewCond(&s.mu)
	return s
}

// snapshot returns the time at which a transaction reads. A transaction need not see the latest
// commits, but it must see what its client has seen, up to afterClusterTime.
func (s *store) snapshot(after uint32) uint32 {
	return max(s.stale(), after, s.floor)
}

// stale returns the time at which a read outside transactions reads, unless it has read concern
// linearizable.
func (s *store) stale() uint32 { return s.clock - min(s.lag, s.clock-1) }

// read returns the newest version of key that is not later than at.
func (s *store) read(key string, at uint32) bson.Raw {
	all := s.versions[key]
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].at <= at {
			return all[i].doc
		}
	}
	return nil
}

func (s *store) latest(key string) bson.Raw { return s.read(key, s.clock) }

// put adds versions, all with one commit time.
func (s *store) put(writes map[string]bson.Raw) {
	if len(writes) == 0 {
		return
	}
	s.clock++
	for key, doc := range writes {
		s.versions[key] = append(s.versions[key], version{s.clock, doc})
	}
}

// claim makes t the owner of key, or returns a write conflict: the first updater wins, whether
// it is still open or has committed since t's snapshot.
func (s *store) claim(key string, t *txn) *commandError {
	if !s.detect {
		return nil
	}
	if o := s.owner[key]; o != nil && o != t {
		return fail(WriteConflict, writeConflictMessage)
	}
	if all := s.versions[key]; len(all) > 0 && all[len(all)-1].at > t.snapshot {
		return fail(WriteConflict, writeConflictMessage)
	}
	s.owner[key] = t
	return nil
}

// release releases the keys that t owns.
func (s *store) release(t *txn) {
	for key := range t.writes {
		if s.owner[key] == t {
			delete(s.owner, key)
		}
	}
	t.writes = nil
	s.freed.Broadcast()
}

// await waits until key has no owner, as a write outside transactions does ("In-progress
// Transactions and Write Conflicts" in the manual).
func (s *store) await(key string) {
	for s.owner[key] != nil {
		s.freed.Wait()
	}
}
