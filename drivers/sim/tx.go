package sim

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/isohound/isohound/drivers/tablekv"
)

// tx is a transaction. What it has read and written is all that concurrency
// control needs: while it is open these are its locks, and afterwards they tell
// who depends on it.
type tx struct {
	s  *session
	id int64
	// light: a lightweight transaction.
	light bool
	snap  snapshot

	reads  map[string]bool
	ranges []string // prefixes of keys
	writes map[string][][]byte
	order  []string // keys of writes, in the order of their first ones
	// missed has keys that were found absent, and whose inserter was lost.
	missed map[string]int64
	read   bool // a read was answered

	waiting []*tx         // who it waits for
	done    chan struct{} // closed at its end
	ended   bool

	commit int64 // its number, once committed
	// firstOut is the first commit of those that overwrote what it read, 0 for
	// none, as known at its own commit.
	firstOut int64

	tablekv.Tx
}

// TxnID implements drivers.TxnIDer.
func (t *tx) TxnID() int64 { return t.id }

// call is what every call does first: it lets others in, and takes the store.
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

// dirty reports whether a read looks at what is not committed.
func (t *tx) dirty() bool { return !t.light && !t.s.keeps(committedReads) }

// keep remembers a read: for as long as the transaction is open it is a lock.
func (t *tx) keep(key string) {
	if !t.s.db.iso.locking || t.s.keeps(longReadLocks) {
		t.reads[key] = true
	}
}

// look returns what a read of key sees.
func (t *tx) look(key string, dirty bool) []byte {
	s, d := t.s, t.s.db
	again := t.read
	t.read = true
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
	v := i.at(from)
	if v == nil && !s.keeps(absentReads) && d.iso.keeps[absentReads] {
		t.miss(key, i)
	}
	return v
}

// view is the state that a statement reads.
func (t *tx) view() snapshot {
	if d := t.s.db; d.iso.locking || d.iso.statement {
		return d.newest()
	}
	return t.snap
}

// miss plants the defect of PostgreSQL before 12.4 and 11.9: of a row that the
// snapshot does not show, and that was updated since, it took the updater for
// the inserter (commit 5940ffb2, "Avoid update conflict out serialization
// anomalies").
func (t *tx) miss(key string, i *item) {
	for n, v := range i.versions {
		if !t.snap.shows(v) && n+1 < len(i.versions) {
			t.missed[key] = v.commit
			return
		}
	}
}

// uncommitted finds what the last of the other open transactions that wrote key
// has written.
func (d *db) uncommitted(t *tx, key string) ([]byte, bool) {
	for _, u := range slices.Backward(d.active) {
		if w := u.writes[key]; u != t && w != nil {
			return w[len(w)-1], true
		}
	}
	return nil, false
}

// exists looks whether there is a key, for a statement that is about to write
// it: in its own writes, or in the state that it reads.
func (t *tx) exists(key string) bool {
	if own := t.writes[key]; own != nil {
		return own[len(own)-1] != nil
	}
	i := t.s.db.items[key]
	return i != nil && i.at(t.view()) != nil
}

// set writes a key if it exists, or only if it does not. It returns whether it
// was as wanted.
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
