package fit

import "github.com/isohound/isohound/history"

// reads leaves out reads that the format cannot carry. Fewer reads allow more executions, so
// this raises no false alarm.
func (f *fitting) reads() {
	var not, unsure, aborted tally
	var written map[slot]int
	open := !f.c.Open && !f.h.Closed
	if open || f.c.Tells != Anything {
		written = f.written()
	}
	var lost, twice tally
	f.each(func(txn, at int, op history.Op) {
		switch s := (slot{op.Key, op.Value}); {
		case op.Kind == history.ReadNot:
			if f.c.ReadNot {
				return
			}
			not.add(txn)
		case op.Kind != history.Read:
			return
		case f.bare[txn]:
		case f.c.KnownOnly && f.status[txn] == history.Unknown:
			unsure.add(txn)
		case f.c.KnownOnly && f.status[txn] == history.Aborted:
			aborted.add(txn)
		case open && written[s] == 0 && f.h.Initial(op.Key) != op.Value:
			lost.add(txn)
		case f.ambiguous(s, written):
			twice.add(txn)
		default:
			return
		}
		f.drop[at] = true
	})
	f.lose(not.n, not.first, history.Many(not.n, "failed compare-and-set returned no value", "failed compare-and-sets returned no value"), "left out")
	f.lose(unsure.n, unsure.first, history.Many(unsure.n, "read belongs to a transaction of unknown outcome", "reads belong to transactions of unknown outcome"), "left out")
	f.lose(twice.n, twice.first, history.Many(twice.n, "read has several possible writers", "reads have several possible writers"), "left out")
	if aborted.n > 0 {
		f.notes = append(f.notes, history.Many(aborted.n, "read of an aborted transaction is left out", "reads of aborted transactions are left out"))
	}
	if open {
		f.losses = append(f.losses, Loss{What: "the recording was cut off", Done: "the written history counts as complete"})
		f.lose(lost.n, lost.first, history.Many(lost.n, "read has no known writer", "reads have no known writer"), "left out")
	}
}

// each calls g for every remaining operation.
func (f *fitting) each(g func(txn, at int, op history.Op)) {
	for i := range f.h.Txns {
		if f.gone[i] {
			continue
		}
		t := &f.h.Txns[i]
		from := f.h.FirstOp(t)
		for n, op := range f.h.Ops(t) {
			if !f.drop[from+n] {
				g(i, from+n, op)
			}
		}
	}
}

// written counts the writes of each value.
func (f *fitting) written() map[slot]int {
	all := map[slot]int{}
	for i := range f.h.Txns {
		for _, op := range f.h.Ops(&f.h.Txns[i]) {
			if op.Kind == history.Write {
				all[slot{op.Key, op.Value}]++
			}
		}
	}
	return all
}

// ambiguous reports whether a format in which a value identifies its writer cannot identify the
// writer of s. Absence always identifies itself.
func (f *fitting) ambiguous(s slot, written map[slot]int) bool {
	n := written[s]
	if f.c.Tells == Anything || n == 0 || s.value == history.Absent {
		return false
	}
	return f.h.Initial(s.key) == s.value || f.c.Tells == OneWrite && n > 1
}

// times leaves out begins and ends of transactions. Times of several clocks are left out, too, if the format cannot say
// that they are: a reader would take them for an order of real time.
func (f *fitting) times() {
	if f.c.Times && (f.c.Clocks || !f.h.NoCommonClock) {
		return
	}
	var t tally
	for i := range f.h.Txns {
		if x := &f.h.Txns[i]; !f.gone[i] && (x.Begin != history.NoTime || x.End != history.NoTime) {
			t.add(i)
		}
	}
	f.dropTimes = t.n > 0
	one, more := "transaction has times", "transactions have times"
	if f.c.Times {
		one, more = one+" of several clocks (no_common_clock)", more+" of several clocks (no_common_clock)"
	}
	f.lose(t.n, t.first, history.Many(t.n, one, more), "left out, so that levels with real time cannot be checked")
}

// keepsScans reports whether statements with conditions stay.
func (f *fitting) keepsScans() bool {
	plain := len(f.h.Schema) == 1 && f.h.Schema[0].IsPlain()
	return f.c.PlainScans && plain && !f.choices && len(f.drop) == 0 && f.keyOf == nil
}

// rest notes what else is lost.
func (f *fitting) rest() {
	var with tally
	for i := range f.h.Txns {
		if !f.keepsScans() && !f.gone[i] && len(f.h.Predicates(i)) > 0 {
			with.add(i)
		}
	}
	f.lose(with.n, with.first, history.Many(with.n, "transaction read or changed rows by predicates", "transactions read or changed rows by predicates"), "written as plain reads and writes of the rows")
	if f.h.LeftOut != "" {
		f.losses = append(f.losses, Loss{What: f.h.LeftOut, Done: "the written history counts as complete"})
	}
	if !f.c.Claims && (f.h.HasClaims() || f.h.HasVisible()) {
		f.notes = append(f.notes, "the order that the database claims is left out")
	}
	if f.c.Header {
		return
	}
	hdr := &f.h.Header
	extra := hdr.Seed != 0 || hdr.Workload+hdr.Driver+hdr.Server+hdr.Isolation != "" || len(hdr.Nodes)+len(hdr.Schema) > 0
	for i := range f.h.Txns {
		extra = extra || f.h.Txns[i].Node != 0 || f.h.DBTxn(i) != 0
	}
	if extra {
		f.notes = append(f.notes, "how the history was recorded is left out: header, ids of the database, nodes")
	}
}
