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
	// entries are what is known of keys that the transaction read or wrote.
	entries map[string]known
}

// known is the commit timestamp of what the latest read of a key returned, 0 for what the transaction had written itself.
// own: it has written the key.
type known struct {
	version uint64
	own     bool
}

// saw notes what was read. Badger gives entries of the transaction itself its read timestamp.
func (p *placed) saw(item *badger.Item) {
	if p == nil {
		return
	}
	k := p.entries[string(item.Key())]
	if k.version = item.Version(); k.own {
		k.version = 0
	}
	p.note(item.Key(), k)
}

// writes notes a write.
func (p *placed) writes(key []byte) {
	k := p.entries[string(key)]
	k.own = true
	p.wrote = true
	p.note(key, k)
}

func (p *placed) note(key []byte, k known) {
	if p.entries == nil {
		p.entries = map[string]known{}
	}
	p.entries[string(key)] = k
}

// Version implements tablekv.Versioner.
func (p *placed) Version(key []byte) (commit int64, told bool) {
	if p == nil {
		return 0, false
	}
	k := p.entries[string(key)]
	return int64(k.version), k.version != 0
}

// Version implements drivers.Versioned.
func (x tx) Version(key string) (commit int64, told bool) { return x.placed.Version([]byte(key)) }

// set sets a key. A nil placed does only that.
func (p *placed) set(t *badger.Txn, key, value []byte) error {
	if p == nil {
		return t.Set(key, value)
	}
	p.writes(key)
	e := badger.NewEntry(key, value)
	p.entry, p.key = e, bytes.Clone(key)
	return t.SetEntry(e)
}

// remove deletes a key.
func (p *placed) remove(t *badger.Txn, key []byte) error {
	if p != nil {
		if p.writes(key); bytes.Equal(key, p.key) {
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
