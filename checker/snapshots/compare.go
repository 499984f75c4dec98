package snapshots

import (
	"sort"

	"github.com/isohound/isohound/history"
)

// Report says how the reads of a history agree with its snapshots.
type Report struct {
	// Snapshots counts the transactions whose snapshot is told, whatever their outcome.
	Snapshots int
	// Reads counts their reads of what others wrote that could be compared. Left counts those that could not: the value has
	// no known writer, or it is not known which of two versions is the later one.
	Reads, Left int
	// Inserted counts the insertions of rows that the snapshot has. They are no finds: PostgreSQL looks at the newest state
	// to see whether the key of a row is free, and another transaction may have deleted the row since.
	Inserted int
	// Wrong counts the reads that disagree, and Txns the transactions with such reads.
	Wrong, Txns int
	// Finds are the first ones, at most MaxFinds.
	Finds []Find
}

// MaxFinds bounds Report.Finds.
const MaxFinds = 100

// Find is a read that disagrees with the snapshot of its transaction. Transactions are indices into History.Txns.
type Find struct {
	// Txn is the reader and Op the index of the operation.
	Txn int32
	Op  int
	// Other wrote what the read returned, and is not in the snapshot; or, with Missed, it is in the snapshot and wrote a
	// later version than the one that was read.
	Other  int32
	Missed bool
}

type cell struct {
	key   history.Key
	value history.Value
}

// comparison holds what Compare needs of the whole history.
type comparison struct {
	*order
	// versions are, by key, what the transactions with a commit left it with, in their order.
	versions [][]version
	// doubtful are the keys that a transaction of unknown outcome, or one without a number, wrote.
	doubtful []bool
	// sources are the transactions that left a key with a value and may have committed. It is made when it is first
	// needed.
	sources map[cell][]int32
	// wrote is, by key, the transaction that wrote it last on the way through the operations, plus 1.
	wrote []int32
	// past is, without a common clock, by transaction the largest number of those that committed before it in its session.
	past []int64
}

type version struct {
	txn   int32
	value history.Value
}

// Compare compares all reads of a history with the snapshots of their transactions. It takes about one step for each
// operation. Reads of transactions that aborted are compared, too. What statements with conditions did not return is
// compared as far as h has it as operations (package scans).
//
// Of two versions that a snapshot has the later one is known where the one writer's snapshot has the other, or where a
// log tells the order of their commits. Elsewhere nothing is said.
func Compare(h *history.History) *Report {
	r := &Report{}
	if !h.HasVisible() {
		return r
	}
	n := h.KeyCount()
	c := &comparison{order: newOrder(h), versions: make([][]version, n), doubtful: make([]bool, n), wrote: make([]int32, n)}
	for _, i := range c.placed {
		for _, op := range h.Ops(&h.Txns[i]) {
			switch list := c.versions[op.Key]; {
			case op.Kind != history.Write:
			case len(list) > 0 && list[len(list)-1].txn == i:
				list[len(list)-1].value = op.Value
			default:
				c.versions[op.Key] = append(list, version{i, op.Value})
			}
		}
	}
	for i := range h.Txns {
		if t := &h.Txns[i]; t.Status != history.Aborted && c.commit[i] == 0 {
			for _, op := range h.Ops(t) {
				if op.Kind == history.Write {
					c.doubtful[op.Key] = true
				}
			}
		}
	}
	if h.NoCommonClock {
		c.findPast()
	}
	for i := range h.Txns {
		if v := h.Claim(i).Visible; v != nil {
			r.Snapshots++
			c.txn(r, int32(i), v)
		}
	}
	return r
}

// txn compares the reads of a transaction.
func (c *comparison) txn(r *Report, i int32, v *history.Visible) {
	wrong := false
	ops := c.h.Ops(&c.h.Txns[i])
	for n, op := range ops {
		if op.Kind == history.Write {
			c.wrote[op.Key] = i + 1
		}
		if c.wrote[op.Key] == i+1 {
			continue
		}
		find, known := c.read(i, v, op)
		if !known || find != nil && find.Missed && c.maybeAgain(find.Other, i) {
			r.Left++
			continue
		}
		if find != nil && inserts(ops[n:]) {
			r.Inserted++
			continue
		}
		if r.Reads++; find == nil {
			continue
		}
		if r.Wrong++; !wrong {
			wrong = true
			r.Txns++
		}
		if find.Op = n; len(r.Finds) < MaxFinds {
			r.Finds = append(r.Finds, *find)
		}
	}
}

// inserts reports whether the first of ops found no row and the next one on its key wrote one.
func inserts(ops []history.Op) bool {
	first := ops[0]
	if first.Kind != history.Read || first.Value != history.Absent {
		return false
	}
	for _, op := range ops[1:] {
		if op.Key == first.Key {
			return op.Kind == history.Write && op.Value != history.Absent
		}
	}
	return false
}

// read compares a read of what another transaction wrote.
func (c *comparison) read(i int32, v *history.Visible, op history.Op) (find *Find, known bool) {
	list := c.versions[op.Key]
	at := sort.Search(len(list), func(n int) bool { return c.commit[list[n].txn] > c.start[i] }) - 1
	back := func() {
		for at >= 0 && (list[at].txn == i || !v.Has(c.number(list[at].txn)) || c.again(list[at].txn, i)) {
			at--
		}
	}
	back()
	found := c.h.Initial(op.Key)
	if at >= 0 {
		found = list[at].value
	}
	if (found == op.Value) == (op.Kind == history.Read) {
		return nil, true
	}
	if op.Kind == history.Read {
		if at < 0 {
			return c.misread(i, v, op, -1)
		}
		return c.misread(i, v, op, list[at].txn)
	}
	// It did not see a value that the latest version has. That is wrong if no other version can be the latest.
	if at < 0 || c.doubtful[op.Key] {
		return nil, false
	}
	newest := list[at].txn
	at--
	if back(); at >= 0 && !c.later(list[at].txn, newest) {
		return nil, false
	}
	return &Find{Txn: i, Other: newest, Missed: true}, true
}

// misread says what is wrong about a read that did not return the newest version in the snapshot, that of a transaction
// or, if that is -1, the initial one.
func (c *comparison) misread(i int32, v *history.Visible, op history.Op, newest int32) (find *Find, known bool) {
	if c.sources == nil {
		c.index()
	}
	sources := c.sources[cell{op.Key, op.Value}]
	inside := c.h.Initial(op.Key) == op.Value
	unseen := int32(-1)
	for _, s := range sources {
		switch {
		case s == i:
		case c.number(s) == 0 || c.commit[s] == 0 && (c.h.Txns[s].Status == history.Committed || v.Has(c.number(s))):
			return nil, false // it may be in the snapshot, and be the latest
		case !v.Has(c.number(s)) || c.again(s, i):
			unseen = s
		case newest < 0 || !c.later(s, newest):
			return nil, false
		default:
			inside = true
		}
	}
	switch {
	case inside && newest >= 0: // everything is later than the initial state
		return &Find{Txn: i, Other: newest, Missed: true}, true
	case !inside && unseen >= 0:
		return &Find{Txn: i, Other: unseen}, true
	}
	return nil, false // nobody wrote it, or only somebody who aborted
}

// again reports whether it is known that writer w began after transaction i had ended. If the snapshot of i has the number of w, that
// was the number of another transaction: a server that crashed gives numbers out again that are not in its log.
func (c *comparison) again(w, i int32) bool {
	if c.past != nil {
		return c.h.Txns[w].Session == c.h.Txns[i].Session && w > i
	}
	ended, began := c.h.Txns[i].End, c.h.Txns[w].Begin
	return ended != history.NoTime && began != history.NoTime && ended < began
}

// maybeAgain reports whether that is so perhaps: the outcome of i is unknown, and with it when it ended; or there is no common clock. Then
// it is not so if w's number is below that of a commit before i in its session: after a crash the numbers go on above those in the log.
func (c *comparison) maybeAgain(w, i int32) bool {
	reader, writer := &c.h.Txns[i], &c.h.Txns[w]
	if c.past != nil {
		return (reader.Session != writer.Session || w > i) && c.number(w) > c.past[i]
	}
	return reader.Status == history.Unknown && reader.Begin != history.NoTime && writer.Begin != history.NoTime && reader.Begin < writer.Begin
}

// findPast sets past.
func (c *comparison) findPast() {
	c.past = make([]int64, len(c.h.Txns))
	session := make([]int64, c.h.SessionCount())
	for i := range c.h.Txns {
		t := &c.h.Txns[i]
		if c.past[i] = session[t.Session]; t.Status == history.Committed {
			session[t.Session] = max(session[t.Session], c.number(int32(i)))
		}
	}
}

// later reports whether it is known that b's versions come after those of a.
func (c *comparison) later(a, b int32) bool {
	x, y := c.h.Claim(int(a)), c.h.Claim(int(b))
	if x.Commit != 0 && y.Commit != 0 {
		return x.Commit < y.Commit
	}
	return y.Visible != nil && y.Visible.Has(c.number(a)) && !(x.Visible != nil && x.Visible.Has(c.number(b)))
}

// index finds the sources.
func (c *comparison) index() {
	c.sources = map[cell][]int32{}
	last := make([]int32, len(c.wrote)) // by key: the transaction whose last write of it was found, plus 1
	for i := range c.h.Txns {
		t := &c.h.Txns[i]
		if t.Status == history.Aborted {
			continue
		}
		ops := c.h.Ops(t)
		for n := len(ops) - 1; n >= 0; n-- {
			if op := ops[n]; op.Kind == history.Write && last[op.Key] != int32(i)+1 {
				last[op.Key] = int32(i) + 1
				to := cell{op.Key, op.Value}
				c.sources[to] = append(c.sources[to], int32(i))
			}
		}
	}
}
