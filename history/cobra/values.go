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
	sym   *history.Symbols
	keys  []keyValues
	first hashed.Table[hashed.Pair, origin] // by key and value
}

// keyValues are the first value met of a key and where it came from, and whether
// the initial value is known.
type keyValues struct {
	met, initial bool
	value        int64
	origin       origin
}

type origin struct{ writer, wid int64 }

// newValues expects about so many versions.
func newValues(sym *history.Symbols, versions int) values {
	return values{sym: sym, keys: make([]keyValues, 0, versions)}
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
	o := origin{id.writer, id.wid}
	switch k := v.key(id.key); {
	case !k.met:
		k.met, k.value, k.origin = true, id.value, o
		return o
	case k.value == id.value:
		return k.origin
	}
	first, known := v.first.At(hashed.Pair{A: uint64(id.key), B: uint64(id.value)})
	if !known {
		*first = o
	}
	return *first
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
