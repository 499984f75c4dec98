package fit

import "github.com/isohound/isohound/history"

// Versions finds the initial values of keys in dbcop's JSON if null was read from a key that
// nobody had written. If the file writes a 0 to the key, 0 is a value like any other, and the
// key begins absent. If nobody writes a 0, 0 is the initial value; reads of null and of 0 then
// mean the same.
type Versions struct {
	zero history.Value
	use  []versionUse // by key
}

type versionUse struct{ readNull, readZero, writtenZero bool }

// NewVersions returns one that has seen no transaction of a file with these symbols.
func NewVersions(sym *history.Symbols) *Versions { return &Versions{zero: sym.Int(0)} }

// Add processes a transaction, whatever its outcome.
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

// Unify replaces reads of a 0 that is the initial value by reads of null, if both were read.
func (v *Versions) Unify(ops []history.Op) {
	for i, op := range ops {
		if op.Value == v.zero && v.use[op.Key].both() {
			ops[i].Value = history.Absent
		}
	}
}

func (u versionUse) both() bool { return u.readZero && u.readNull && !u.writtenZero }

// Notes reports what was assumed.
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
		notes = append(notes, history.Many(written, "key begins absent, not as 0: the file writes 0 to it", "keys begin absent, not as 0: the file writes 0 to them"))
	}
	if both > 0 {
		notes = append(notes, "0 and null were read from "+history.Many(both, "key", "keys")+" to which nobody wrote 0; both count as the initial value")
	}
	return notes
}
