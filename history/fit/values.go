package fit

import (
	"fmt"
	"strconv"

	"github.com/isohound/isohound/history"
)

// values renames values that a format cannot carry. Different values of a key stay different,
// and values are only ever compared, so an execution stays an execution. But the values in the
// file are then not those that the database held; therefore it is a loss.
func (f *fitting) values() {
	if f.c.Initial == InitialAny && f.c.Value == nil {
		return
	}
	f.rename = map[slot]history.Value{}
	var first, odd tally
	var example string
	fresh := fresh{f: f, next: 1}
	f.initialRead = map[history.Key]bool{}
	f.each(func(txn, _ int, op history.Op) {
		s := slot{op.Key, op.Value}
		if op.Kind == history.Read && op.Value == f.h.Initial(op.Key) {
			f.initialRead[op.Key] = true
		}
		if _, done := f.rename[s]; done || f.fits(s) {
			return
		}
		v, isInitial := f.standIn(s)
		if isInitial {
			first.add(txn)
		} else {
			if odd.add(txn); odd.n == 1 {
				example = f.h.ValueText(op.Value)
			}
			v = fresh.value()
		}
		f.rename[s] = v
	})
	want := "0"
	if f.c.Initial == InitialAbsent {
		want = "absence"
	}
	f.lose(first.n, first.first, history.Many(first.n, "key begins with a value other than "+want, "keys begin with a value other than "+want), "their initial value is written as "+want)
	f.lose(odd.n, odd.first, history.Many(odd.n, "value", "values")+" such as "+example+" cannot stand in the file", "numbered")
	if f.c.Initial == InitialRead {
		f.unread()
	}
}

// fits reports whether a value can stay as it is.
func (f *fitting) fits(s slot) bool {
	initial := f.h.Initial(s.key)
	switch f.c.Initial {
	case InitialZero, InitialVersion:
		if fits, decided := f.fitsZero(s); decided {
			return fits
		}
	case InitialAbsent:
		if s.value == history.Absent || initial == s.value {
			return s.value == history.Absent && initial == history.Absent
		}
	case InitialRead:
		if s.value == history.Absent {
			return true
		}
	}
	return f.c.Value == nil || f.c.Value(f.h.ValueText(s.value))
}

// standIn returns the replacement of the initial value of a key, if s is that value.
func (f *fitting) standIn(s slot) (v history.Value, isInitial bool) {
	if s.value != f.h.Initial(s.key) {
		return 0, false
	}
	switch f.c.Initial {
	case InitialZero, InitialVersion:
		return f.h.Int(0), f.keyUses[s.key].readInitial
	case InitialAbsent:
		return history.Absent, true
	}
	return 0, false
}

// fresh hands out integers that no key of the history holds.
type fresh struct {
	f    *fitting
	used map[history.Value]bool
	next int64
}

func (n *fresh) value() history.Value {
	if n.used == nil {
		n.used = map[history.Value]bool{}
		for _, op := range n.f.h.AllOps() {
			n.used[op.Value] = true
		}
	}
	for n.used[n.f.h.Int(n.next)] {
		n.next++
	}
	n.next++
	return n.f.h.Int(n.next - 1)
}

// unread looks for keys that were found absent and whose initial value was never read. The
// format then does not record the initial value, and the key looks absent from the beginning.
func (f *fitting) unread() {
	var t tally
	seen := map[history.Key]bool{}
	f.each(func(txn, _ int, op history.Op) {
		if op.Kind == history.Read && op.Value == history.Absent && f.h.Initial(op.Key) != history.Absent && !f.initialRead[op.Key] && !seen[op.Key] {
			seen[op.Key] = true
			t.add(txn)
		}
	})
	f.lose(t.n, t.first, history.Many(t.n, "key was found absent, and its initial value was never read", "keys were found absent, and their initial values were never read"),
		"they begin absent")
}

// keys replaces the names of keys by numbers if the format cannot carry them. k17 becomes 17 if
// all names have the same form.
func (f *fitting) keys() {
	if f.c.Key == nil {
		return
	}
	n := f.h.KeyCount()
	fit := true
	for k := range n {
		fit = fit && f.c.Key(f.h.KeyName(history.Key(k)))
	}
	if fit || n == 0 {
		return
	}
	f.keyOf = make([]string, n)
	prefix := trimDigits(f.h.KeyName(0))
	common := true
	for k := range n {
		name := f.h.KeyName(history.Key(k))
		common = common && trimDigits(name) == prefix && len(name) > len(prefix) && f.c.Key(name[len(prefix):])
	}
	for k := range n {
		if common {
			f.keyOf[k] = f.h.KeyName(history.Key(k))[len(prefix):]
		} else {
			f.keyOf[k] = strconv.Itoa(k + 1)
		}
	}
	last := history.Key(n - 1)
	f.notes = append(f.notes, fmt.Sprintf("keys are numbered: %q is %s, …, %q is %s", f.h.KeyName(0), f.keyOf[0], f.h.KeyName(last), f.keyOf[last]))
}

// trimDigits returns s without its final digits.
func trimDigits(s string) string {
	for len(s) > 0 && s[len(s)-1] >= '0' && s[len(s)-1] <= '9' {
		s = s[:len(s)-1]
	}
	return s
}
