package cobra

import (
	"strconv"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/hashed"
)

// identity distinguishes one value of a key from all others.
type identity struct {
	key                history.Key
	writer, wid, value int64
}

// values maps identities to values. The first identity of a key with some number gets that
// number itself, so that people see what was written. Later identities with the same number get
// a text: 5@17.3 is the value 5 of write 3 of transaction 17.
//
// Many keys only ever have one value. The first value of each key is stored by key; only further
// values need hashing.
type values struct {
	sym     *history.Symbols
	keys    []keyValues
	first   hashed.Table[hashed.Pair, int32] // by key and value: the index of its origin
	origins []origin
}

// keyValues holds the first value met of a key, its origin, and whether the initial value is
// known.
type keyValues struct {
	value        int64
	origin       int32
	met, initial bool
}

type origin struct{ writer, wid int64 }

// newValues reserves room for about that many keys.
func newValues(sym *history.Symbols, keys int) values {
	return values{sym: sym, keys: make([]keyValues, 0, keys),
		origins: []origin{{idInit, idInit}, {idAnything, idAnything}}}
}

// key returns the entry of a key, which may be new.
func (v *values) key(k history.Key) *keyValues {
	if n := int(k) + 1 - len(v.keys); n > 0 {
		v.keys = append(v.keys, make([]keyValues, n)...)
	}
	return &v.keys[k]
}

// firstOrigin returns the origin with which the number of id was first met at its key.
func (v *values) firstOrigin(id identity) origin {
	k := v.key(id.key)
	if k.met && k.value == id.value {
		return v.origins[k.origin]
	}
	at, known := &k.origin, false
	if k.met {
		at, known = v.first.At(hashed.Pair{A: uint64(id.key), B: uint64(id.value)})
	} else {
		k.met, k.value = true, id.value
	}
	if !known {
		*at = v.index(origin{id.writer, id.wid})
	}
	return v.origins[*at]
}

// index returns the place of o in the list of origins. The two origins of the format cobra have
// fixed places.
func (v *values) index(o origin) int32 {
	for i := range int32(2) {
		if v.origins[i] == o {
			return i
		}
	}
	v.origins = append(v.origins, o)
	return int32(len(v.origins) - 1)
}

func (v *values) of(id identity) history.Value {
	o := origin{id.writer, id.wid}
	if v.firstOrigin(id) == o {
		return v.sym.Int(id.value)
	}
	text := strconv.FormatInt(id.value, 10)
	switch {
	case o.writer == idInit:
		text += "@init"
	case o.wid == idAnything:
		text += "@write"
	default:
		text += "@" + strconv.FormatInt(o.writer, 10) + "." + strconv.FormatInt(o.wid, 10)
	}
	return v.sym.String(text)
}

// initial sets the initial value of a key. Only the first call for a key counts.
func (v *values) initial(k history.Key, value history.Value) {
	if x := v.key(k); !x.initial {
		x.initial = true
		v.sym.SetInitial(k, value)
	}
}

// writers finds transactions that were read from but are in no log.
type writers struct {
	met hashed.Table[hashed.Number, met]
}

type met struct{ started, read bool }

func (w *writers) started(id int64) {
	m, _ := w.met.At(hashed.Number(id))
	m.started = true
}

func (w *writers) read(id int64) {
	m, _ := w.met.At(hashed.Number(id))
	m.read = true
}

// unknown counts the transactions that were read from but are in no log.
func (w *writers) unknown() int {
	n := 0
	w.met.All(func(m *met) {
		if m.read && !m.started {
			n++
		}
	})
	return n
}
