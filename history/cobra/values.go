package cobra

import (
	"strconv"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/hashed"
)

// identity is what makes a value of a key this value and no other.
type identity struct {
	key                history.Key
	writer, wid, value int64
}

// values gives identities their values. The first identity of a key that has
// some value gets that number itself, so that people see what was written;
// others with the same get a text, 5@17.3 for the write 3 of transaction 17.
//
// Many keys have one value all the time; the first of each stands by key, and
// only others need hashing.
type values struct {
	sym     *history.Symbols
	keys    []keyValues
	first   hashed.Table[hashed.Pair, int32] // by key and value: the index of its origin
	origins []origin
}

// keyValues are the first value met of a key and where it came from, and whether
// the initial value is known.
type keyValues struct {
	value        int64
	origin       int32
	met, initial bool
}

type origin struct{ writer, wid int64 }

// newValues expects about so many keys.
func newValues(sym *history.Symbols, keys int) values {
	return values{sym: sym, keys: make([]keyValues, 0, keys),
		origins: []origin{{idInit, idInit}, {idAnything, idAnything}}}
}

// of a key, which may be new.
func (v *values) key(k history.Key) *keyValues {
	if n := int(k) + 1 - len(v.keys); n > 0 {
		v.keys = append(v.keys, make([]keyValues, n)...)
	}
	return &v.keys[k]
}

// firstOrigin returns where the number of id came from when it was first met at
// its key.
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

// index returns a place of o in the list of origins. The two of the format cobra
// have theirs.
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

// initial notes that v was there before the first transaction. A second value
// of which a log says the same cannot have been.
func (v *values) initial(k history.Key, value history.Value) {
	if x := v.key(k); !x.initial {
		x.initial = true
		v.sym.SetInitial(k, value)
	}
}

// writers finds transactions that were read from and are in no log.
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

// unknown counts them.
func (w *writers) unknown() int {
	n := 0
	w.met.All(func(m *met) {
		if m.read && !m.started {
			n++
		}
	})
	return n
}
