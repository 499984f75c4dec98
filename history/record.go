package history

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/isohound/isohound/history/schema"
)

// Header says how a history was recorded. In a history from another tool every field may be
// empty.
type Header struct {
	// Created is the wall-clock time at zero of the clock, in RFC 3339.
	Created string `json:"created,omitempty"`
	// Clock describes how begin and end were read, "monotonic ns" for ours.
	Clock string `json:"clock,omitempty"`
	// Seed is the seed from which every random choice was drawn.
	Seed int64 `json:"seed,omitempty"`
	// Workload and Params are the generator of the transactions and its parameters.
	Workload string            `json:"workload,omitempty"`
	Params   map[string]string `json:"params,omitempty"`
	// Driver, Server and Isolation are the database, its version, and the requested isolation
	// level under the database's own name.
	Driver    string `json:"driver,omitempty"`
	Server    string `json:"server,omitempty"`
	Isolation string `json:"isolation,omitempty"`
	// Nodes are the endpoints, where sessions are spread over several.
	Nodes []string `json:"nodes,omitempty"`
	// Positions describes the positions in the claims of the database, such as "commit timestamps". It is
	// empty if the driver told none.
	Positions string `json:"positions,omitempty"`
	// Schema is the tables on which the workload ran.
	Schema schema.Schema `json:"schema,omitempty"`
	// Source names the file that this history was converted from.
	Source string `json:"source,omitempty"`
	// LeftOut describes the operations of the source that were not understood and are left out.
	// What they read and wrote is unknown.
	LeftOut string `json:"left_out,omitempty"`
	// Lists says that appends to lists were read as registers whose writers read what they overwrite. From
	// snapshot isolation upwards that is exact. Below it these reads need not have happened, and only say what an
	// append followed.
	Lists bool `json:"lists,omitempty"`
	// ListsDiffer says that the lists that were read contradict each other: no order of the appends explains all.
	ListsDiffer bool `json:"lists_differ,omitempty"`
	// ListReads says which reads show what an append followed, or is nil where that is not known, as in a native file.
	ListReads ListReads `json:"-"`
	// Window is the place of this history in a run that was cut into windows. It is nil for the first
	// window and for other runs.
	Window *Window `json:"window,omitempty"`
	// Incomplete says that this window, or one before it, may lack transactions that ran before a process of the run was cut
	// off. The history is then not Closed, whether it has a closing line or not.
	Incomplete bool `json:"incomplete,omitempty"`
	// NoCommonClock says that processes on several machines recorded the transactions, each with its own clock.
	// Begin and end then order only transactions of one session; the history is not Timed.
	NoCommonClock bool `json:"no_common_clock,omitempty"`
	// Ended is, for a native file that has been read, the reason in its closing line, and Fresh what that says of values:
	// what the transactions of this window wrote, other than absence, is written by no transaction of an earlier window,
	// and is no initial value of the first one. Transactions of unknown
	// outcome of earlier windows, which the file has once more, are not meant.
	Ended string `json:"-"`
	Fresh bool   `json:"-"`
}

// Window is the place of a history in a run that was cut into windows.
type Window struct {
	// Number counts from 1.
	Number int `json:"number"`
	// After is the SHA-256 digest, in hexadecimal, of the file of the window before.
	After string `json:"after"`
	// Settled are ids of transactions that are of unknown outcome in the file, and count as aborted in this window: true if they took effect
	// in an earlier one, false if that is possible (checker/rounds).
	Settled map[int64]bool `json:"-"`
}

// CutReason is the reason in the closing line of a window that ended with a cut.
const CutReason = "cut"

// IncompleteNote is the note on a history whose header says Incomplete.
const IncompleteNote = "transactions that an earlier process of the run made may be missing: what was recorded of them may be lost. So a read is no violation because nothing here wrote what it returned, and scans are not judged"

// Record is one transaction that is read from or written to a file. Keys and values are numbers
// of the Symbols of the source of the record.
type Record struct {
	ID         int64
	Session    int64 // as recorded, not dense
	Begin, End int64 // nanoseconds, or NoTime
	// Due is when an open-loop run meant to start the transaction, or NoTime.
	Due    int64
	DBTxn  int64 // the database's own id, or 0
	Node   int16
	Status Status
	// Claim is where the database says it placed the transaction.
	Claim Claim
	// Cause says why the transaction did not commit, in a few words.
	Cause string
	Ops   []Op
	// Versions are, by operation, the positions of the commits that wrote what was read, as the database told them,
	// or Before; 0 for those that are not known. The list may be shorter than Ops.
	Versions []int64
	// Predicates are what its statements on many rows asked for.
	Predicates []Predicate
}

// Source yields the transactions of a file one by one.
type Source interface {
	// Header is complete once the source exists.
	Header() *Header
	// Symbols grows as records are read.
	Symbols() *Symbols
	// Next fills rec, reusing its Ops, Versions and Predicates, and returns io.EOF after the last one.
	Next(rec *Record) error
	// SizeHint estimates the total number of transactions from those read so far; 0 means
	// unknown.
	SizeHint() int
	// Closed and Notes have their meaning after io.EOF (see History).
	Closed() bool
	Notes() []string
	// At returns err as a FormatError at the place of the latest record.
	At(err error) error
}

// Builder collects records into a History.
type Builder struct {
	h   History
	ids idSet
	// lastEnd is, per session, the end of its latest transaction with times.
	lastEnd []int64
	lastID  []int64
	// statements are those that were checked, by number; some are nil. numbers has the number of each.
	statements []*Statement
	numbers    map[*Statement]int32
	// predicates is memory for those of many transactions.
	predicates []Predicate
	marks      marks
}

// NewBuilder returns a builder whose records use the numbers of sym. It
// reserves room for about txns transactions.
func NewBuilder(hdr Header, sym *Symbols, txns int) *Builder {
	b := &Builder{h: History{Header: hdr, Symbols: sym}}
	if txns > 0 {
		b.h.Txns = make([]Txn, 0, txns)
		b.h.ops = make([]Op, 0, txns*3)
	}
	return b
}

// Add appends one transaction. It refuses what no history can contain: a
// transaction id seen before, an end before its begin, and transactions of one
// session that overlap in time.
func (b *Builder) Add(rec *Record) error {
	if !b.ids.add(rec.ID) {
		return fmt.Errorf("transaction id %d occurs twice", rec.ID)
	}
	if rec.Begin != NoTime && rec.End != NoTime && rec.End < rec.Begin {
		return fmt.Errorf("transaction %d ends at %d, before it begins at %d", rec.ID, rec.End, rec.Begin)
	}
	s := b.h.Session(rec.Session)
	for int(s) >= len(b.lastEnd) {
		b.lastEnd = append(b.lastEnd, NoTime)
		b.lastID = append(b.lastID, 0)
	}
	if rec.Begin != NoTime && b.lastEnd[s] != NoTime && rec.Begin < b.lastEnd[s] {
		return fmt.Errorf("transaction %d of session %d begins at %d, before transaction %d of the same session ends at %d",
			rec.ID, rec.Session, rec.Begin, b.lastID[s], b.lastEnd[s])
	}
	// The outcome of an unknown transaction may become known long after its session's next
	// transaction began, so only transactions with a known outcome bound the next begin.
	if rec.Status != Unknown && rec.End != NoTime {
		b.lastEnd[s], b.lastID[s] = rec.End, rec.ID
	}
	if rec.Claim.Commit < 0 || rec.Claim.Snapshot < 0 {
		return fmt.Errorf("transaction %d has a claimed position below 0", rec.ID)
	}
	if slices.ContainsFunc(rec.Versions, func(v int64) bool { return v < Before }) || len(rec.Versions) > len(rec.Ops) {
		return fmt.Errorf("transaction %d has a version below 0, or versions of more operations than it has", rec.ID)
	}
	if s := rec.Claim.Visible; s != nil {
		if err := s.check(); err != nil {
			return fmt.Errorf("the snapshot of transaction %d: %w", rec.ID, err)
		}
	}
	predicates := b.keep(rec.Predicates)
	for i := range predicates {
		if err := b.checkPredicate(&predicates[i], rec.Ops); err != nil {
			return fmt.Errorf("transaction %d: %w", rec.ID, err)
		}
	}
	if uint64(len(rec.Ops)) > 1<<31 {
		return fmt.Errorf("transaction %d has %d operations, more than this build can hold", rec.ID, len(rec.Ops))
	}
	b.h.Txns = append(b.h.Txns, Txn{
		ID: rec.ID, Begin: rec.Begin, End: rec.End,
		opFrom: int64(len(b.h.ops)), opCount: uint32(len(rec.Ops)),
		Session: s, Node: rec.Node, Status: rec.Status,
	})
	b.h.ops = append(b.h.ops, rec.Ops...)
	b.addVersions(rec.Versions)
	if len(predicates) > 0 {
		b.h.setPredicates(len(b.h.Txns)-1, predicates)
		b.h.noteTwice(len(b.h.Txns)-1, b.marks.namesTwice(predicates, rec.Ops, b.h.KeyCount()))
	}
	if rec.DBTxn != 0 && b.h.dbIDs == nil {
		b.h.dbIDs = make([]int64, len(b.h.Txns)-1, cap(b.h.Txns))
	}
	if b.h.dbIDs != nil {
		b.h.dbIDs = append(b.h.dbIDs, rec.DBTxn)
	}
	if !rec.Claim.Empty() && b.h.claims == nil {
		b.h.claims = make([]Claim, len(b.h.Txns)-1, cap(b.h.Txns))
	}
	if b.h.claims != nil {
		b.h.claims = append(b.h.claims, rec.Claim)
		b.h.note(rec.Claim)
	}
	return nil
}

func (b *Builder) checkPredicate(p *Predicate, ops []Op) error {
	if n := p.Number; n < 0 || int(n) >= len(b.statements) || b.statements[n] != p.Statement {
		if err := b.number(p); err != nil {
			return err
		}
	}
	return p.check(ops)
}

// aheadStatements bounds how far the numbers of a source may be ahead of those of the builder. They are while a
// source has read intents whose transactions come later.
const aheadStatements = 1 << 12

// number sets the number of a predicate's statement, and checks the statement if it is new.
func (b *Builder) number(p *Predicate) error {
	n, known := b.numbers[p.Statement]
	if !known {
		if err := p.Statement.check(b.h.Schema); err != nil {
			return err
		}
		if n = p.Number; n < 0 || int(n) >= len(b.statements)+aheadStatements || int(n) < len(b.statements) && b.statements[n] != nil {
			n = int32(len(b.statements))
		}
		if b.numbers == nil {
			b.numbers = map[*Statement]int32{}
		}
		for int(n) >= len(b.statements) {
			b.statements = append(b.statements, nil)
		}
		b.statements[n], b.numbers[p.Statement] = p.Statement, n
	}
	p.Number = n
	return nil
}

// keep copies predicates into memory that many transactions share.
func (b *Builder) keep(list []Predicate) []Predicate {
	if len(list) == 0 {
		return nil
	}
	const chunk = 1 << 10
	if from := len(b.predicates); from+len(list) <= cap(b.predicates) {
		b.predicates = append(b.predicates, list...)
	} else {
		b.predicates = append(make([]Predicate, 0, max(len(list), min(chunk, 8*len(b.h.Txns)))), list...)
	}
	to := len(b.predicates)
	return b.predicates[to-len(list) : to : to]
}

// Done returns the history. The builder must not be used afterwards.
func (b *Builder) Done(closed bool, notes []string) *History {
	b.h.Closed, b.h.Notes, b.h.statements = closed, notes, len(b.statements)
	return &b.h
}

// After this many transactions Load asks for the size hint, so that its slices need not grow by
// copying: once early, for a small file, and again when the hint is better, because files introduce their keys
// at first.
const hintSoon, hintAgain, hintLast = 1 << 8, 1 << 12, 1 << 15

// reserve makes room for about txns transactions in all. It does nothing before the first one.
func (b *Builder) reserve(txns int) {
	have := len(b.h.Txns)
	if have == 0 || txns <= have {
		return
	}
	// The number of operations is estimated from the half with fewer per transaction, because
	// one huge transaction says nothing about the others.
	mid := have / 2
	half := int(b.h.Txns[mid].opFrom)
	each := float64(len(b.h.ops)-half) / float64(have-mid)
	if mid > 0 {
		each = min(each, float64(half)/float64(mid))
	}
	ops := int(each * float64(txns))
	b.h.Txns, b.h.ops = roomFor(b.h.Txns, txns), roomFor(b.h.ops, ops)
	if b.h.versions != nil {
		b.h.versions = roomFor(b.h.versions, ops)
	}
}

// roomFor returns list with room for n elements and a little more. slices.Grow would write zeros to all of the
// memory at once, during which garbage collection waits and keeps a processor busy.
func roomFor[T any](list []T, n int) []T {
	if n <= cap(list) {
		return list
	}
	return append(make([]T, 0, n+n/16), list...)
}

// Load reads src to its end.
func Load(ctx context.Context, src Source) (*History, error) {
	b := NewBuilder(*src.Header(), src.Symbols(), 0)
	var rec Record
	for n := 0; ; n++ {
		switch n {
		case hintSoon:
			b.reserve(min(src.SizeHint(), hintAgain))
		case hintAgain, hintLast:
			b.reserve(src.SizeHint())
		}
		if n&0xfff == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		switch err := src.Next(&rec); {
		case err == io.EOF:
			h := b.Done(src.Closed(), src.Notes())
			h.Header = *src.Header()
			return h, nil
		case err != nil:
			return nil, err
		}
		if err := b.Add(&rec); err != nil {
			return nil, src.At(err)
		}
	}
}

// idSet finds duplicate transaction ids. Recorders number densely, starting anywhere, so a bit
// set holds nearly all ids; ids far outside go to a map.
type idSet struct {
	base  int64 // the id of the first bit
	bits  []uint64
	rest  map[int64]struct{}
	count int64
}

// below is how far below the first id the bits begin.
const below = 1 << 19

func (s *idSet) add(id int64) bool {
	if s.count == 0 && id > below {
		s.base = id - below
	}
	s.count++
	if n := id - s.base; id >= s.base && n < 64*s.count+1<<20 {
		w, m := n>>6, uint64(1)<<(n&63)
		if int64(len(s.bits)) <= w {
			s.bits = slices.Grow(s.bits, int(w)+1-len(s.bits))[:w+1]
		}
		// An id that was outside the bits when it came stays in the map.
		if _, dup := s.rest[id]; dup || s.bits[w]&m != 0 {
			return false
		}
		s.bits[w] |= m
		return true
	}
	if _, dup := s.rest[id]; dup {
		return false
	}
	if s.rest == nil {
		s.rest = map[int64]struct{}{}
	}
	s.rest[id] = struct{}{}
	return true
}

// FormatError says that a history cannot be read: what is wrong and where.
type FormatError struct {
	Path string // as the user named it
	Line int    // from 1; 0 in formats without lines
	Byte int64  // offset of the error in the file, -1 if not known
	Err  error
}

func (e *FormatError) Error() string {
	where := e.Path
	if where == "" {
		where = "history"
	}
	if e.Line > 0 {
		where += ":" + strconv.Itoa(e.Line)
	} else if e.Byte >= 0 {
		where += " at byte " + strconv.FormatInt(e.Byte, 10)
	}
	return where + ": " + e.Err.Error()
}

func (e *FormatError) Unwrap() error { return e.Err }
