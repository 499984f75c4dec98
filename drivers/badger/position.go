package badger

import (
	"bytes"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/isohound/isohound/drivers"
)

// Positions implements drivers.Positioner.
func (d *db) Positions() string { return "commit timestamps" }

// placed finds out the commit timestamp of a transaction. Badger does not return it. But it appends it to the key of
// each entry that it commits, and an entry that the caller has made can be looked at afterwards.
type placed struct {
	entry *badger.Entry // one that will be committed, or nil
	key   []byte        // its key
	wrote bool
}

// set sets a key. A nil placed does only that.
func (p *placed) set(t *badger.Txn, key, value []byte) error {
	if p == nil {
		return t.Set(key, value)
	}
	e := badger.NewEntry(key, value)
	p.entry, p.key, p.wrote = e, bytes.Clone(key), true
	return t.SetEntry(e)
}

// remove deletes a key.
func (p *placed) remove(t *badger.Txn, key []byte) error {
	if p != nil {
		if p.wrote = true; bytes.Equal(key, p.key) {
			p.entry, p.key = nil, nil
		}
	}
	return t.Delete(key)
}

// marker is a key that nobody reads, so that no transaction conflicts with it.
const marker = "\x01isohound-position"

// mark is called before the commit. If no entry is left to look at, because the last one was deleted again, it adds
// one.
func (p *placed) mark(t *badger.Txn) error {
	if p == nil || !p.wrote || p.entry != nil {
		return nil
	}
	return p.set(t, []byte(marker), nil)
}

// Position implements drivers.Positioned.
func (x tx) Position() drivers.Position {
	at := drivers.Position{Snapshot: int64(x.t.ReadTs()), Snapped: true}
	if x.placed != nil && x.entry != nil && len(x.entry.Key) == len(x.key)+8 {
		at.Commit = int64(y.ParseTs(x.entry.Key))
	}
	return at
}
