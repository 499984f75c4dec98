package history

import (
	"slices"

	"github.com/isohound/isohound/history/hashed"
)

// Before is the version of what was there before the first commit. Files have 0 for it.
const Before = -1

// Version returns the position of the commit that wrote what operation n of t read, as the database told it, or Before. It
// is 0 if the database did not tell it.
func (h *History) Version(t *Txn, n int) int64 {
	if h.versions == nil {
		return 0
	}
	return h.versions[t.opFrom+int64(n)]
}

// HasVersions reports whether the database told the version of any read.
func (h *History) HasVersions() bool { return h.versions != nil }

// versionsOf returns the versions of the operations of t, nil if none is told.
func (h *History) versionsOf(t *Txn) []int64 {
	if h.versions == nil {
		return nil
	}
	list := h.versions[t.opFrom : t.opFrom+int64(t.opCount)]
	if !slices.ContainsFunc(list, func(v int64) bool { return v != 0 }) {
		return nil
	}
	return list
}

// Tell notes that the latest operation of a record read what the commit at a position wrote, Before, or 0 for nothing.
func (rec *Record) Tell(commit int64) {
	if commit == 0 {
		return
	}
	rec.Versions = append(rec.Versions, make([]int64, len(rec.Ops)-len(rec.Versions))...)
	rec.Versions[len(rec.Ops)-1] = commit
}

// SpellVersion returns a version as files have it, and ParseVersion is its inverse.
func SpellVersion(v int64) int64 { return max(v, 0) }

// ParseVersion: see SpellVersion.
func ParseVersion(n int64) int64 {
	if n == 0 {
		return Before
	}
	return n
}

// addVersions appends the versions of the latest transaction.
func (b *Builder) addVersions(versions []int64) {
	if b.h.versions == nil && len(versions) == 0 {
		return
	}
	last := &b.h.Txns[len(b.h.Txns)-1]
	if b.h.versions == nil {
		b.h.versions = make([]int64, last.opFrom, cap(b.h.ops))
	}
	b.h.versions = append(b.h.versions, versions...)
	for range len(b.h.ops) - len(b.h.versions) {
		b.h.versions = append(b.h.versions, 0)
	}
}

// ByVersion returns h with the versions of reads as a part of what is judged: a read of which the database says that it
// returned what the commit at position p wrote has that from a transaction with this position, although others wrote the
// same value. For this, equal values of a key become different ones, whose texts are still equal. Only values of which it
// matters are changed: those that have several writers, the initial state included, and those that a read cannot have
// from the commit that the database names.
//
// From a position that no transaction has follows that the writer is another transaction without a position, or the initial
// state, if one of these gave the key that value; else nothing. Absence has no version. Where some transaction read a value without a version,
// or only saw that a key has another one (ReadNot), all reads of this value of the key keep all its writers.
func (h *History) ByVersion() *History {
	if h.versions == nil || !h.placed || h.Distinct() {
		return h
	}
	d := distinction{holders: newHolders(h), ownAt: make([]int32, h.KeyCount()), shared: make([]bool, h.KeyCount())}
	d.writers()
	d.readers()
	return d.apply()
}

// Distinct reports whether ByVersion told values apart.
func (s *Symbols) Distinct() bool { return len(s.versions) > 0 }

// plain is the inverse of ByVersion.
func (h *History) plain() *History {
	if !h.Distinct() {
		return h
	}
	out := *h
	out.ops = slices.Clone(h.ops)
	for n := range out.ops {
		out.ops[n].Value = h.SameText(out.ops[n].Value)
	}
	out.Symbols = &Symbols{names: h.names}
	return &out
}

// SameText returns the value that stands for every version with the text of v.
func (s *Symbols) SameText(v Value) Value {
	if v >= versionBase && v < MinInt {
		return s.versions[v-versionBase].value
	}
	return v
}

// Commit returns the position of the commit that wrote what v stands for, or 0 if v stands for every version with its text.
func (s *Symbols) Commit(v Value) int64 {
	if v >= versionBase && v < MinInt {
		return s.versions[v-versionBase].commit
	}
	return 0
}

// version returns the value that stands for what the commit at a position wrote.
func (s *Symbols) version(v Value, commit int64) Value {
	at := valueVersion{v, commit}
	out, known := s.versionOf[at]
	if !known {
		if s.versionOf == nil {
			s.versionOf = map[valueVersion]Value{}
		}
		out = versionBase + Value(len(s.versions))
		s.versions = append(s.versions, at)
		s.versionOf[at] = out
	}
	return out
}

// Carry returns the value of s that v is in from.
func (s *Symbols) Carry(v Value, from *Symbols) Value {
	switch {
	case v == Absent || v >= MinInt:
		return v
	case v >= versionBase:
		at := from.versions[v-versionBase]
		return s.version(s.Carry(at.value, from), at.commit)
	}
	return s.RawBytes(from.AppendValue(nil, v))
}

// distinction finds the values of which ByVersion tells the versions apart.
type distinction struct {
	holders
	// cells are the values that were written, by key and value. shared are the keys that have one of several writers.
	cells  hashed.Table[hashed.Pair, cell]
	shared []bool
	// wrong are the reads, by their places in all operations, that cannot be of the version that the database names.
	wrong map[int]bool
	// ownAt is, by key, the latest transaction so far that wrote it, counted from 1, and own is what it wrote last.
	ownAt []int32
	own   []Value
}

// cell is what is known of a value of a key that was written.
type cell struct {
	// writer is the first transaction that wrote it, or -1 for the initial state. several says that there are others.
	writer  int32
	several bool
	// unplaced is the only transaction without a position, counted from 1, that can have committed and given the key the value.
	// It is 0 if there is none, and many if there are others, or if the key had the value at first.
	unplaced int32
	// open: of some read of it the version is not known.
	open bool
}

// many: see cell.unplaced.
const many = -1

func (d *distinction) cell(op Op) *cell {
	return d.cells.Find(hashed.Pair{A: uint64(op.Key), B: uint64(op.Value)})
}

// distinct reports whether the versions of a value of a key are told apart.
func (d *distinction) distinct(op Op) bool {
	if !d.shared[op.Key] {
		return false
	}
	c := d.cell(op)
	return c != nil && c.several && !c.open
}

func (d *distinction) writers() {
	writes := 0
	for _, op := range d.h.ops {
		if op.Kind == Write {
			writes++
		}
	}
	d.cells.Expect(writes)
	for i := range d.h.Txns {
		t, place := &d.h.Txns[i], d.place(i)
		for _, op := range d.h.Ops(t) {
			if op.Kind != Write || op.Value == Absent {
				continue
			}
			c, known := d.cells.At(hashed.Pair{A: uint64(op.Key), B: uint64(op.Value)})
			if !known {
				c.writer = int32(i)
				if d.h.Initial(op.Key) == op.Value {
					c.writer, c.unplaced = -1, many
				}
			}
			if c.writer != int32(i) {
				c.several, d.shared[op.Key] = true, true
			}
			switch {
			case place != 0 || t.Status == Aborted || c.unplaced == int32(i)+1:
			case c.unplaced == 0:
				c.unplaced = int32(i) + 1
			default:
				c.unplaced = many
			}
		}
	}
}

// readers finds the cells that are open, and what is wrong.
func (d *distinction) readers() {
	for i := range d.h.Txns {
		t := &d.h.Txns[i]
		if t.Status == Aborted {
			continue
		}
		for n, op := range d.h.Ops(t) {
			switch {
			case op.Kind == Write:
				d.ownAt[op.Key] = int32(i) + 1
			case op.Kind == ReadNot:
				if c := d.cell(op); c != nil {
					c.open = true
				}
			case d.ownAt[op.Key] == int32(i)+1 || op.Value == Absent:
			default:
				d.reader(i, op, d.h.Version(t, n), int(t.opFrom)+n)
			}
		}
	}
}

// reader looks at one read of transaction i from outside, at a place in all operations.
func (d *distinction) reader(i int, op Op, version int64, at int) {
	if !d.held(version) {
		if c := d.cell(op); c != nil && (version == 0 || c.unplaced == 0 || c.unplaced == int32(i)+1) {
			c.open = true
		}
		return
	}
	if d.left(op, version) {
		return
	}
	if c := d.cell(op); c != nil && !c.several && c.writer >= 0 && d.place(int(c.writer)) == version {
		return // an intermediate write
	}
	if d.wrong == nil {
		d.wrong = map[int]bool{}
	}
	d.wrong[at] = true
}

func (d *distinction) apply() *History {
	if d.wrong == nil && !slices.Contains(d.shared, true) {
		return d.h
	}
	out := *d.h
	out.Symbols = &Symbols{names: d.h.names}
	changed := false
	clear(d.ownAt)
	d.own = make([]Value, len(d.ownAt))
	for i := range d.h.Txns {
		t, place := &d.h.Txns[i], d.place(i)
		for n, op := range d.h.Ops(t) {
			at, now := int(t.opFrom)+n, op.Value
			switch {
			case op.Kind == ReadNot || op.Value == Absent && op.Kind == Read:
			case op.Kind == Write:
				if place != 0 && d.distinct(op) {
					now = out.version(op.Value, place)
				}
				d.ownAt[op.Key], d.own[op.Key] = int32(i)+1, now
			case d.ownAt[op.Key] == int32(i)+1:
				if out.SameText(d.own[op.Key]) == op.Value {
					now = d.own[op.Key]
				}
			case d.wrong[at] || d.distinct(op) && d.held(d.h.Version(t, n)):
				now = out.version(op.Value, d.h.Version(t, n))
			}
			if now == op.Value {
				continue
			}
			if !changed {
				out.ops, changed = slices.Clone(d.h.ops), true
			}
			out.ops[at].Value = now
		}
	}
	if !changed {
		return d.h
	}
	return &out
}

// holders finds the transactions that have a position.
type holders struct {
	h *History
	// at is the first transaction with a position, counted from 1, by position from low on, or by hash if the positions are far apart.
	low    int64
	at     []int32
	byHash hashed.Table[hashed.Number, int32]
	// more are further ones with the same position.
	more map[int64][]int32
	// long is, by transaction with many operations, what it left in its keys.
	long map[int32]map[Key]Value
}

// apart is how many positions there may be for each transaction with one, so that a list has all of them.
const apart = 8

func newHolders(h *History) holders {
	s := holders{h: h}
	low, high, count := int64(0), int64(0), 0
	for i := range h.Txns {
		if p := s.place(i); p != 0 {
			if count++; count == 1 {
				low, high = p, p
			}
			low, high = min(low, p), max(high, p)
		}
	}
	s.low = low
	if span := uint64(high-low) + 1; count > 0 && span <= uint64(apart*count) {
		s.at = make([]int32, span)
	} else {
		s.byHash.Expect(count)
	}
	for i := range h.Txns {
		p := s.place(i)
		if p == 0 {
			continue
		}
		first := s.first(p)
		if first == nil {
			first, _ = s.byHash.At(hashed.Number(p))
		}
		if *first == 0 {
			*first = int32(i) + 1
			continue
		}
		if s.more == nil {
			s.more = map[int64][]int32{}
		}
		s.more[p] = append(s.more[p], int32(i))
	}
	return s
}

// place is the position of a transaction that can have committed.
func (s *holders) place(i int) int64 {
	if s.h.Txns[i].Status == Aborted {
		return 0
	}
	return s.h.claims[i].Commit
}

// first is where the first transaction with a position is noted, or nil.
func (s *holders) first(p int64) *int32 {
	if s.at == nil {
		return s.byHash.Find(hashed.Number(p))
	}
	if p < s.low || p-s.low >= int64(len(s.at)) {
		return nil
	}
	return &s.at[p-s.low]
}

// held reports whether a transaction has a position.
func (s *holders) held(p int64) bool {
	if p <= 0 {
		return false
	}
	first := s.first(p)
	return first != nil && *first != 0
}

// left reports whether a transaction with a position that is held left what a read returned.
func (s *holders) left(read Op, p int64) bool {
	if v, ok := s.leftBy(*s.first(p)-1, read.Key); ok && v == read.Value {
		return true
	}
	return slices.ContainsFunc(s.more[p], func(i int32) bool {
		v, ok := s.leftBy(i, read.Key)
		return ok && v == read.Value
	})
}

// short is up to how many operations a transaction is scanned each time.
const short = 64

// leftBy returns what a transaction left in a key.
func (s *holders) leftBy(i int32, k Key) (Value, bool) {
	ops := s.h.Ops(&s.h.Txns[i])
	if len(ops) <= short {
		for n := len(ops) - 1; n >= 0; n-- {
			if ops[n].Key == k && ops[n].Kind == Write {
				return ops[n].Value, true
			}
		}
		return 0, false
	}
	wrote, known := s.long[i]
	if !known {
		if s.long == nil {
			s.long = map[int32]map[Key]Value{}
		}
		wrote = map[Key]Value{}
		for _, op := range ops {
			if op.Kind == Write {
				wrote[op.Key] = op.Value
			}
		}
		s.long[i] = wrote
	}
	v, ok := wrote[k]
	return v, ok
}
