package fit

import (
	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// numbers decides whether transactions and sessions keep their numbers.
func (f *fitting) numbers() {
	if f.c.Renumbers {
		if f.outOfOrder() {
			f.notes = append(f.notes, "transactions and sessions are numbered anew")
		}
		return
	}
	for i := range f.h.Txns {
		t := &f.h.Txns[i]
		f.newIDs = f.newIDs || f.c.Txn != nil && !f.c.Txn(t.ID)
		f.newSessions = f.newSessions || f.c.Session != nil && !f.c.Session(f.h.SessionName(t.Session))
	}
	if f.newIDs {
		f.notes = append(f.notes, "transactions are numbered anew")
	}
	if f.newSessions {
		f.notes = append(f.notes, "sessions are numbered anew")
	}
}

// outOfOrder reports whether the numbers differ from those that a reader would assign.
func (f *fitting) outOfOrder() bool {
	id := int64(0)
	for s, txns := range f.h.BySession() {
		if f.h.SessionName(int32(s)) != int64(s+1) {
			return true
		}
		for _, i := range txns {
			if id++; f.gone[int(i)] || f.h.Txns[i].ID != id {
				return true
			}
		}
	}
	return false
}

// build makes the resulting history. If nothing changed it is h itself.
func (f *fitting) build() (*history.History, error) {
	if len(f.losses) == 0 && f.keyOf == nil && !f.newIDs && !f.newSessions && (f.c.Empty || !f.hasEmpty()) && f.c.Aborted != AbortedWrites && !f.c.KnownOnly &&
		len(f.load) == 0 && !f.misread() {
		return f.h, nil
	}
	h := f.h
	sym := f.symbols()
	hdr := h.Header
	hdr.LeftOut = "" // reported as a loss
	hdr.NoCommonClock = hdr.NoCommonClock && f.c.Clocks
	b := history.NewBuilder(hdr, sym, len(h.Txns))
	maxSession := int64(h.SessionCount())
	for s := range int32(h.SessionCount()) {
		maxSession = max(maxSession, h.SessionName(s))
	}
	var mark history.Key
	if len(f.load) > 0 {
		mark = markKey(sym)
		rec := f.loadRecord(mark)
		maxSession = max(maxSession, rec.Session)
		if err := b.Add(&rec); err != nil {
			return nil, errors.Wrapf(err, "format %s", f.c.Format)
		}
	}
	empty := 0
	for i := range h.Txns {
		if f.gone[i] {
			continue
		}
		rec := h.Record(i)
		rec.Status = f.status[i]
		rec.Ops, rec.Versions = f.ops(i)
		if !f.keepsScans() {
			rec.Predicates = nil
		}
		if len(rec.Ops) == 0 && !f.c.Empty {
			empty++
			continue
		}
		if len(f.load) > 0 && rec.Status == history.Committed {
			rec.Ops, rec.Versions = f.withMark(rec.Ops, mark), nil // a format without initial values has no versions
		}
		if f.newIDs {
			rec.ID = int64(i + 1)
		}
		if f.newSessions {
			rec.Session = int64(h.Txns[i].Session) + 1
		}
		if f.apart[i] && maxSession < 1<<62 {
			maxSession++
			rec.Session = maxSession
		}
		if f.dropTimes {
			rec.Begin, rec.End = history.NoTime, history.NoTime
		}
		if err := b.Add(&rec); err != nil {
			return nil, errors.Wrapf(err, "format %s", f.c.Format)
		}
	}
	if empty > 0 {
		f.notes = append(f.notes, history.Many(empty, "transaction without an operation is left out", "transactions without an operation are left out"))
	}
	out := b.Done(h.Closed || !f.c.Open, h.Notes)
	f.infer(out)
	return out, nil
}

// hasEmpty reports whether a transaction is left without an operation.
func (f *fitting) hasEmpty() bool {
	for i := range f.h.Txns {
		if f.h.Txns[i].OpCount() == 0 {
			return true
		}
	}
	return false
}

// ops returns the operations of the transaction at index i that stay, and the versions of reads.
func (f *fitting) ops(i int) (ops []history.Op, versions []int64) {
	t := &f.h.Txns[i]
	all := f.h.Ops(t)
	if len(f.drop) == 0 && len(f.rename) == 0 && f.c.Aborted != AbortedWrites {
		return all, f.h.Record(i).Versions
	}
	from := f.h.FirstOp(t)
	rec := history.Record{Ops: make([]history.Op, 0, len(all))}
	for n, op := range all {
		if f.drop[from+n] || f.c.Aborted == AbortedWrites && f.status[i] == history.Aborted && op.Kind != history.Write {
			continue
		}
		if v, ok := f.rename[slot{op.Key, op.Value}]; ok {
			op.Value = v
		}
		rec.Ops = append(rec.Ops, op)
		rec.Tell(f.h.Version(t, n))
	}
	return rec.Ops, rec.Versions
}

// symbols returns the symbols of the result: keys under their new names, the values of h, and
// the initial values that the format has. Sessions are numbered anew.
func (f *fitting) symbols() *history.Symbols {
	sym := f.h.Symbols.Clone(func(k history.Key) string {
		if f.keyOf != nil {
			return f.keyOf[k]
		}
		return f.h.KeyName(k)
	})
	switch f.c.Initial {
	case InitialZero, InitialVersion:
		sym.DefaultInitial = sym.Int(0)
	case InitialNone, InitialAbsent, InitialRead:
		sym.DefaultInitial = history.Absent
	case InitialAny:
		sym.DefaultInitial = f.h.DefaultInitial
	}
	if f.c.Initial == InitialRead || f.c.Initial == InitialAny {
		for k := range history.Key(f.h.KeyCount()) {
			v := f.h.Initial(k)
			if f.c.Initial == InitialRead && !f.initialRead[k] {
				continue
			}
			if r, ok := f.rename[slot{k, v}]; ok {
				v = r
			}
			if v != sym.DefaultInitial {
				sym.SetInitial(k, v)
			}
		}
	}
	return sym
}
