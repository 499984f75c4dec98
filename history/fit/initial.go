package fit

import (
	"slices"
	"strconv"

	"github.com/isohound/isohound/history"
)

// This file is about formats without initial values, and formats in which the initial value of a
// key depends on what the file does with the key (see Openings and Versions).

// keyUse is what the remaining transactions do with a key.
type keyUse struct {
	readInitial, wroteInitial bool
	wroteZero, wroteAbsent    bool
	// counts: a committed transaction read the initial value.
	counts bool
	// opened: the first committed transaction that touches the key writes it blindly,
	// and leaves openedWith.
	touched, opened bool
	openedWith      history.Value
}

// surveyKeys fills keyUses if the format needs it.
func (f *fitting) surveyKeys() {
	switch f.c.Initial {
	case InitialZero, InitialVersion, InitialNone:
	default:
		return
	}
	f.keyUses = make([]keyUse, f.h.KeyCount())
	zero := f.h.Int(0)
	f.each(func(txn, _ int, op history.Op) {
		u := &f.keyUses[op.Key]
		if op.Kind != history.Write {
			initial := op.Value == f.h.Initial(op.Key)
			u.readInitial = u.readInitial || initial
			u.counts = u.counts || initial && f.status[txn] == history.Committed
			return
		}
		u.wroteInitial = u.wroteInitial || op.Value == f.h.Initial(op.Key)
		u.wroteZero = u.wroteZero || op.Value == zero
		u.wroteAbsent = u.wroteAbsent || op.Value == history.Absent
	})
	for _, i := range f.fileOrder() {
		if f.status[i] != history.Committed {
			continue
		}
		opening := map[history.Key]bool{}
		ops, _ := f.ops(i)
		for _, op := range ops {
			u := &f.keyUses[op.Key]
			if !u.touched {
				u.touched, u.opened = true, op.Kind == history.Write
				opening[op.Key] = u.opened
			}
			if opening[op.Key] && op.Kind == history.Write {
				u.openedWith = op.Value
			}
		}
	}
}

// fileOrder lists the remaining transactions in the order of the file.
func (f *fitting) fileOrder() []int {
	var sessions [][]int
	place := map[int32]int{}
	for i := range f.h.Txns {
		if ops, _ := f.ops(i); f.gone[i] || len(ops) == 0 && !f.c.Empty {
			continue
		}
		s := f.h.Txns[i].Session
		if !f.c.Renumbers {
			s = 0 // keep the order of the history
		}
		n, known := place[s]
		if !known || f.c.Renumbers && f.apart[i] {
			n = len(sessions)
			sessions = append(sessions, nil)
		}
		if !f.apart[i] {
			place[s] = n
		}
		sessions[n] = append(sessions[n], i)
	}
	return slices.Concat(sessions...)
}

// target returns the value that replaces the initial value of a key that is read, in a format
// with initial values.
func (f *fitting) target(k history.Key) history.Value {
	if f.c.Initial == InitialVersion && f.h.Initial(k) == history.Absent && !f.keyUses[k].wroteAbsent {
		return history.Absent
	}
	return f.h.Int(0)
}

// fitsZero decides whether 0, absence and the initial value of a key can stay as they are.
// Whether they can depends on the uses of the key, not only on the spelling of the value.
func (f *fitting) fitsZero(s slot) (fits, decided bool) {
	u, initial, zero := &f.keyUses[s.key], f.h.Initial(s.key), f.h.Int(0)
	switch {
	case u.readInitial && s.value == initial:
		return initial == f.target(s.key), true
	case s.value == zero && u.readInitial && f.target(s.key) == zero:
		return false, true // it would count as the initial value
	case s.value == zero && f.c.Initial == InitialVersion:
		return u.wroteZero, true
	case s.value == zero:
		return initial == zero || u.opened && u.openedWith == zero, true
	}
	return false, s.value == history.Absent
}

// loading decides which initial values an extra transaction has to write: the format has no
// initial values, or a reader would take a later 0 for the initial value.
func (f *fitting) loading() {
	for k := range f.keyUses {
		u, k := &f.keyUses[k], history.Key(k)
		must := false
		switch f.c.Initial {
		case InitialNone:
			must = true
		case InitialZero:
			must = u.opened && u.openedWith == f.h.Initial(k)
		case InitialVersion:
			must = u.wroteInitial && f.target(k) != history.Absent
		}
		if must && u.counts {
			f.load = append(f.load, k)
		}
	}
	if n := len(f.load); n > 0 {
		f.notes = append(f.notes, "an extra transaction writes "+history.Many(n, "initial value", "initial values")+
			" and a mark; transactions that write these keys read the mark, so that they come after it")
	}
}

// loadRecord returns the transaction that writes initial values. It is the first transaction, in
// its own session.
func (f *fitting) loadRecord(mark history.Key) history.Record {
	ids, sessions := map[int64]bool{}, map[int64]bool{}
	for i := range f.h.Txns {
		ids[f.h.Txns[i].ID] = true
	}
	for s := range int32(f.h.SessionCount()) {
		sessions[f.h.SessionName(s)] = true
	}
	return history.Record{
		ID: unused(ids, len(f.h.Txns)), Session: unused(sessions, f.h.SessionCount()), Status: history.Committed,
		Begin: history.NoTime, End: history.NoTime, Due: history.NoTime, Ops: f.loaded(mark),
	}
}

// unused returns the first number above n that is not taken.
func unused(taken map[int64]bool, n int) int64 {
	for m := int64(n + 1); ; m++ {
		if !taken[m] {
			return m
		}
	}
}

// loaded returns the operations of the transaction that writes initial values.
func (f *fitting) loaded(mark history.Key) []history.Op {
	ops := []history.Op{{Kind: history.Write, Key: mark, Value: f.h.Int(marked)}}
	for _, k := range f.load {
		v := f.h.Initial(k)
		if r, ok := f.rename[slot{k, v}]; ok {
			v = r
		}
		ops = append(ops, history.Op{Kind: history.Write, Key: k, Value: v})
	}
	return ops
}

// marked is the value that the mark key gets.
const marked = 1

// markKey adds a key that no transaction uses.
func markKey(sym *history.Symbols) history.Key {
	for n := sym.KeyCount(); ; n++ {
		before := sym.KeyCount()
		if k := sym.Key(strconv.Itoa(n)); int(k) == before {
			return k
		}
	}
}

// withMark prepends a read of the mark to the operations of a transaction that writes a key
// whose initial value was loaded.
func (f *fitting) withMark(ops []history.Op, mark history.Key) []history.Op {
	for _, op := range ops {
		if _, found := slices.BinarySearch(f.load, op.Key); found && op.Kind == history.Write {
			return append([]history.Op{{Kind: history.Read, Key: mark, Value: f.h.Int(marked)}}, ops...)
		}
	}
	return ops
}

// infer sets the initial values that a reader of the file will infer.
func (f *fitting) infer(h *history.History) {
	switch f.c.Initial {
	case InitialZero:
		o := NewOpenings(h.Symbols)
		f.inOrder(h, func(t *history.Txn) {
			if t.Status == history.Committed {
				o.Add(h.Symbols, h.Ops(t))
			}
		})
	case InitialVersion:
		v := NewVersions(h.Symbols)
		f.inOrder(h, func(t *history.Txn) { v.Add(h.Symbols, h.Ops(t)) })
		v.SetInitial(h.Symbols)
	}
}

// inOrder calls g for each transaction in the order of the file.
func (f *fitting) inOrder(h *history.History, g func(*history.Txn)) {
	if !f.c.Renumbers {
		for i := range h.Txns {
			g(&h.Txns[i])
		}
		return
	}
	for _, txns := range h.BySession() {
		for _, i := range txns {
			g(&h.Txns[i])
		}
	}
}

// misread reports whether a reader of the unchanged history would infer a wrong initial value
// for a key to which some transaction writes its real initial value.
func (f *fitting) misread() bool {
	zero := f.h.Int(0)
	for k := range f.keyUses {
		u, initial := &f.keyUses[k], f.h.Initial(history.Key(k))
		found := zero
		if f.c.Initial == InitialNone || f.c.Initial == InitialZero && u.opened && u.openedWith == zero ||
			f.c.Initial == InitialVersion && (u.wroteZero || u.readInitial && initial == history.Absent) {
			found = history.Absent
		}
		if found != initial && u.wroteInitial {
			return true
		}
	}
	return false
}
