package sim

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/tablekv"
)

// tx is a transaction. Concurrency control only needs what it has read and written: while it is
// open these are its locks, and afterwards they show who depends on it.
type tx struct {
	s  *session
	id int64
	// light: a lightweight transaction.
	light bool
	snap  snapshot
	// asSet is the snapshot as a set of transactions, nil if none is told.
	asSet *drivers.Snapshot

	reads  map[string]bool
	ranges []string // prefixes of keys
	writes map[string][][]byte
	order  []string // keys of writes, in the order of their first ones
	// missed has keys that were found absent and whose inserting commit was misjudged: see miss.
	missed map[string]int64
	read   bool // a read has returned
	// versions are, by key, the commits that wrote what the latest read returned, if that is told.
	versions map[string]int64

	waiting []*tx         // the transactions that it waits for
	done    chan struct{} // closed at its end
	ended   bool

	commit int64 // its number, once committed
	// firstOut is the first commit among those that overwrote what it read, 0 for none, as known
	// at its own commit.
	firstOut int64

	tablekv.Tx
}

// TxnID implements drivers.TxnIDer.
func (t *tx) TxnID() int64 { return t.id }

// call begins every call: it lets other sessions run, and locks the store.
func (t *tx) call() (unlock func(), err error) {
	t.s.pause()
	t.s.db.mu.Lock()
	if t.ended {
		t.s.db.mu.Unlock()
		return nil, errEnded
	}
	return t.s.db.mu.Unlock, nil
}

// get reads a key.
func (t *tx) get(ctx context.Context, key string) ([]byte, error) {
	unlock, err := t.call()
	if err != nil {
		return nil, err
	}
	defer unlock()
	dirty := t.dirty()
	if !dirty {
		if err := t.lockRead(ctx, key); err != nil {
			return nil, err
		}
	}
	t.keep(key)
	return t.look(key, dirty), nil
}

// dirty reports whether a read may see uncommitted writes.
func (t *tx) dirty() bool { return !t.light && !t.s.keeps(committedReads) }

// keep records a read. While the transaction is open, the record is a lock.
func (t *tx) keep(key string) {
	if !t.s.db.iso.locking || t.s.keeps(longReadLocks) {
		t.reads[key] = true
	}
}

// look returns what a read of key returns.
func (t *tx) look(key string, dirty bool) []byte {
	s, d := t.s, t.s.db
	again := t.read
	t.read = true
	delete(t.versions, key)
	if own := t.writes[key]; own != nil && s.keeps(ownWrites) {
		if !s.keeps(lastOwnWrite) {
			return own[0]
		}
		return own[len(own)-1]
	}
	if dirty {
		if v, ok := d.uncommitted(t, key); ok {
			return v
		}
	}
	from := t.view()
	if !s.keeps(stableSnapshot) && d.iso.keeps[stableSnapshot] {
		from = d.newest()
	}
	if again && !s.keeps(monotonicReads) {
		from.upto = max(0, from.upto-1-s.rng.Int64N(d.opt.lag))
	}
	i := d.items[key]
	if i == nil {
		return nil
	}
	v := i.versionAt(from)
	t.saw(key, v)
	if v.value == nil && !s.keeps(absentReads) && d.iso.keeps[absentReads] {
		t.miss(key, i)
	}
	return v.value
}

// view is the state that a statement reads.
func (t *tx) view() snapshot {
	if d := t.s.db; d.iso.locking || d.iso.statement {
		return d.newest()
	}
	return t.snap
}

// miss reproduces the defect of PostgreSQL before 12.4 and 11.9: if a row is not in the snapshot
// and has been updated since, it took the updater for the inserter (commit 5940ffb2, "Avoid
// update conflict out serialization anomalies").
func (t *tx) miss(key string, i *item) {
	for n, v := range i.versions {
		if !t.snap.shows(v) && n+1 < len(i.versions) {
			t.missed[key] = v.commit
			return
		}
	}
}

// uncommitted finds the last value written to key by the latest other open transaction that
// wrote it.
func (d *db) uncommitted(t *tx, key string) ([]byte, bool) {
	for _, u := range slices.Backward(d.active) {
		if w := u.writes[key]; u != t && w != nil {
			return w[len(w)-1], true
		}
	}
	return nil, false
}

// exists reports whether a key exists, for a statement that is about to write it: in its own
// writes, or in the state that it reads.
func (t *tx) exists(key string) bool {
	if own := t.writes[key]; own != nil {
		return own[len(own)-1] != nil
	}
	i := t.s.db.items[key]
	return i != nil && i.at(t.view()) != nil
}

// set writes a key if it exists (wanted true), or only if it does not (wanted false). It returns
// whether it wrote.
func (t *tx) set(ctx context.Context, key string, value []byte, wanted bool) (bool, error) {
	unlock, err := t.call()
	if err != nil {
		return false, err
	}
	defer unlock()
	if err := t.lockWrite(ctx, key); err != nil {
		return false, err
	}
	if t.exists(key) != wanted {
		t.keep(key)
		return false, nil
	}
	t.write(key, value)
	return true, nil
}

// put writes a key, whether it exists or not.
func (t *tx) put(ctx context.Context, key string, value []byte) error {
	unlock, err := t.call()
	if err != nil {
		return err
	}
	defer unlock()
	if err := t.lockWrite(ctx, key); err != nil {
		return err
	}
	t.write(key, value)
	return nil
}

func (t *tx) write(key string, value []byte) {
	d := t.s.db
	i := d.item(key)
	if now, ok := i.newest(); ok && value != nil && bytes.Equal(now.value, value) && !t.s.keeps(sameValueWrites) {
		return
	}
	if t.writes[key] == nil {
		t.order = append(t.order, key)
	}
	t.writes[key] = append(t.writes[key], value)
}

type pair struct {
	key   string
	value []byte
}

// scan reads all keys that begin with prefix.
func (t *tx) scan(ctx context.Context, prefix string) ([]pair, error) {
	unlock, err := t.call()
	if err != nil {
		return nil, err
	}
	defer unlock()
	dirty := t.dirty()
	ignored := t.s.db.iso.keeps[predicates] && !t.s.keeps(predicates)
	if !ignored && t.s.keeps(rangeLocks) {
		if err := t.lockRange(ctx, prefix); err != nil {
			return nil, err
		}
		t.ranges = append(t.ranges, prefix)
	}
	var out []pair
	for _, key := range t.s.db.below(prefix) {
		if !dirty && !ignored {
			if err := t.lockRead(ctx, key); err != nil {
				return nil, err
			}
		}
		v := t.look(key, dirty)
		if v == nil {
			continue
		}
		if !ignored {
			t.keep(key)
		}
		out = append(out, pair{key, v})
	}
	return out, nil
}

func (t *tx) covers(key string) bool {
	return t.reads[key] || slices.ContainsFunc(t.ranges, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// overwrote reports whether t wrote something that u read.
func (t *tx) overwrote(u *tx) bool {
	return slices.ContainsFunc(t.order, u.covers)
}
