package fit

import "github.com/isohound/isohound/history"

// Versions finds the initial values of keys in dbcop's JSON, where null was read
// from a key that nobody had written. A 0 that the file writes is a value like any
// other, so that the key begins absent. A 0 that nobody writes is the initial value,
// and where both were read they mean the same.
type Versions struct {
	zero history.Value
	use  []versionUse // by key
}

type versionUse struct{ readNull, readZero, writtenZero bool }

// NewVersions returns one that has seen no transaction of a file with these symbols.
func NewVersions(sym *history.Symbols) *Versions { return &Versions{zero: sym.Int(0)} }

// Add takes in a transaction, whatever its outcome.
func (v *Versions) Add(sym *history.Symbols, ops []history.Op) {
	if n := sym.KeyCount(); n > len(v.use) {
		v.use = append(v.use, make([]versionUse, n-len(v.use))...)
	}
	for _, op := range ops {
		u := &v.use[op.Key]
		switch {
		case op.Kind == history.Write:
			u.writtenZero = u.writtenZero || op.Value == v.zero
		case op.Value == history.Absent:
			u.readNull = true
		case op.Value == v.zero:
			u.readZero = true
		}
	}
}

// SetInitial sets the initial values, once all transactions are known.
func (v *Versions) SetInitial(sym *history.Symbols) {
	sym.DefaultInitial = v.zero
	for k, u := range v.use {
		if u.writtenZero || u.readNull {
			sym.SetInitial(history.Key(k), history.Absent)
		}
	}
}

// Unify makes reads of a 0 that is the initial value ones of null where both were
// read.
func (v *Versions) Unify(ops []history.Op) {
	for i, op := range ops {
		if op.Value == v.zero && v.use[op.Key].both() {
			ops[i].Value = history.Absent
		}
	}
}

func (u versionUse) both() bool { return u.readZero && u.readNull && !u.writtenZero }

// Notes tells what was assumed.
func (v *Versions) Notes() []string {
	written, both := 0, 0
	for _, u := range v.use {
		if u.writtenZero {
			written++
		}
		if u.both() {
			both++
		}
	}
	var notes []string
	if written > 0 {
		notes = append(notes, many(written, "key begins absent, not as 0: the file writes 0 to it", "keys begin absent, not as 0: the file writes 0 to them"))
	}
	if both > 0 {
		notes = append(notes, "0 and null were read from "+many(both, "key", "keys")+" to which nobody wrote 0; both count as the initial value")
	}
	return notes
}
