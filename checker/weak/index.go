package weak

import (
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/checker/values"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

const none = int32(-1)

// index has the versions of a history, and who wrote and read them. A version is a key's initial value, or
// the final write of a transaction to a key; at level RU every write is one. Versions 0 to KeyCount-1 are the initial ones. The others are
// numbered in the order of their transactions.
type index struct {
	c *check
	h *history.History
	*single.Collector
	versions *values.Table
	places   places

	writer []int32       // by version: the transaction, or none for the initial ones
	key    []history.Key // by version
	// also is, by version, the next version with the same key and value, or none. It is nil if values are
	// unique.
	also []int32
	// The versions of transaction t are versionsFrom[t] to versionsFrom[t+1].
	versionsFrom []int32

	// The reads of transaction t from other transactions are reads[readsFrom[t]:readsFrom[t+1]], in
	// program order.
	readsFrom []int32
	reads     []read
	// statement is, at RC, by read: the first read of the same statement. The reads of one statement have no
	// order. It is nil if there are no statements with several reads.
	statement []int32
	// overwrites are, by transaction as for reads, the versions that its appends to lists followed.
	overwritesFrom []int32
	overwrites     []read
	byKey          [][]int32 // versions by key; nil until needed
	// open are the reads that more than one version explains and that have no chosen one. They have no place
	// in reads. Some may be of transactions that do not count.
	open []openRead
	// chosen has versions for the other such reads. They have a place in reads.
	chosen choices
	// given are edges that the order of the commits must have besides; see WithLast.
	given []forcedEdge

	// counted are the transactions that committed, and those of unknown outcome that a counted
	// transaction read from. pulled has, for the latter, that write-read edge.
	counted []bool
	pulled  map[int32]verdict.Edge
	// before is, by transaction, the latest committed transaction before it in its session, or none. A
	// transaction of unknown outcome may have ended at any later time, so no session order leaves it.
	before []int32
}

// read is a read from another transaction.
type read struct {
	version int32
	op      int32 // index in the transaction
	// writer and key are those of version. They are here, too, because most passes need them.
	writer int32
	key    history.Key
}

// openRead is a read that several versions explain. Its version is one of those with the key and value of
// version or, for a class read, any version of the key with none of the denied values.
type openRead struct {
	txn, op, version int32
	denied           []history.Value // nil for a read of a value
}

// newIndex builds the index. chosen has versions for some open reads.
func newIndex(c *check, chosen choices) (*index, error) {
	x := &index{c: c, h: c.h, chosen: chosen, Collector: single.For(c.h, c.lvl),
		places: places{h: c.h, strict: c.lvl.Repeatable()}}
	if err := x.writes(); err != nil {
		return nil, err
	}
	if err := x.findReads(); err != nil {
		return nil, err
	}
	x.include()
	if chosen.from == nil {
		x.versions = nil // all reads were looked up; the memory is for what follows
	}
	return x, nil
}

// writes numbers the versions.
func (x *index) writes() error {
	h := x.h
	x.versions = values.New(h)
	x.writer = make([]int32, h.KeyCount(), h.KeyCount()+x.versions.Writes())
	x.key = make([]history.Key, h.KeyCount(), cap(x.writer))
	for k := range x.writer {
		x.writer[k], x.key[k] = none, history.Key(k)
	}
	x.versionsFrom = make([]int32, len(h.Txns)+1)
	for i := range h.Txns {
		if i%pollEvery == 0 {
			if err := x.c.stopped(); err != nil {
				return err
			}
		}
		t := &h.Txns[i]
		x.versionsFrom[i] = int32(len(x.writer))
		switch {
		case x.c.ru:
			for _, op := range h.Ops(t) {
				if op.Kind == history.Write {
					x.wrote(int32(i), op)
				}
			}
		case t.Status != history.Aborted:
			x.places.finals(h.Ops(t), func(op history.Op) { x.wrote(int32(i), op) })
		}
	}
	x.versionsFrom[len(h.Txns)] = int32(len(x.writer))
	if x.also != nil {
		x.link(int32(len(x.writer)))
	}
	return nil
}

// wrote numbers what t wrote.
func (x *index) wrote(t int32, op history.Op) {
	v := int32(len(x.writer))
	x.writer, x.key = append(x.writer, t), append(x.key, op.Key)
	if old := x.versions.Insert(op.Key, op.Value, v); old != none {
		x.again(old, v)
	}
}

// again records that version v has the key and value of version old.
func (x *index) again(old, v int32) {
	x.link(v + 1)
	x.also[v], x.also[old] = x.also[old], v
}

// link makes also as long as n versions.
func (x *index) link(n int32) {
	for int32(len(x.also)) < n {
		x.also = append(x.also, none)
	}
}

// findReads finds the versions that the reads of all transactions but the aborted ones returned.
func (x *index) findReads() error {
	h := x.h
	x.readsFrom, x.overwritesFrom = make([]int32, len(h.Txns)+1), make([]int32, len(h.Txns)+1)
	x.reads = make([]read, 0, max(len(h.AllOps())-x.versions.Writes(), 0))
	x.before = make([]int32, len(h.Txns))
	last := make([]int32, h.SessionCount())
	fill(last, none)
	for i := range h.Txns {
		if i%pollEvery == 0 {
			if err := x.c.stopped(); err != nil {
				return err
			}
		}
		t := &h.Txns[i]
		x.before[i] = last[t.Session]
		x.readsFrom[i], x.overwritesFrom[i] = int32(len(x.reads)), int32(len(x.overwrites))
		switch t.Status {
		case history.Aborted:
			continue
		case history.Committed:
			last[t.Session] = int32(i)
		}
		if t.Status == history.Committed || !x.c.ru { // RU leaves out what may have aborted
			x.readsOf(int32(i), t.Status == history.Committed, &x.chosen)
		}
	}
	x.readsFrom[len(h.Txns)], x.overwritesFrom[len(h.Txns)] = int32(len(x.reads)), int32(len(x.overwrites))
	if x.c.lvl == level.RC && h.HasPredicates() {
		x.findStatements()
	}
	return nil
}

// findStatements finds which reads belong to one statement.
func (x *index) findStatements() {
	x.statement = make([]int32, len(x.reads))
	for t := range x.h.Txns {
		var last *history.Predicate
		statements := x.statementsOf(int32(t))
		for at := x.readsFrom[t]; at < x.readsFrom[t+1]; at++ {
			p := statements.of(int(x.reads[at].op))
			if x.statement[at] = at; p != nil && p == last {
				x.statement[at] = x.statement[at-1]
			}
			last = p
		}
	}
}

// begin returns the first read of the statement of a read. end returns the first one after it, at most hi.
func (x *index) begin(at int32) int32 {
	if x.statement == nil {
		return at
	}
	return x.statement[at]
}

func (x *index) end(at, hi int32) int32 {
	next := at + 1
	for x.statement != nil && next < hi && x.statement[next] == x.statement[at] {
		next++
	}
	return next
}

// readsOf finds the versions that transaction i read. The anomalies of its reads alone are found if it
// counts.
func (x *index) readsOf(i int32, counts bool, chosen *choices) {
	ops := x.h.Ops(&x.h.Txns[i])
	denies := false
	if counts && x.h.HasTwice() {
		x.Twice(i)
	}
	x.places.begin(ops)
	for j := range ops {
		op := &ops[j]
		own := x.places.before(ops, j)
		appends := x.c.lenient && ofAppend(x.h, ops, j)
		again := appends && own >= 0 && ops[own].Kind == history.Read
		if appends { // what the transaction read before is no matter
			own = single.LastWrite(ops[:j], op.Key)
		}
		switch {
		case op.Kind == history.Write:
		case op.Kind == history.ReadNot && own < 0:
			denies = true
		case own >= 0:
			switch differs := (ops[own].Value == op.Value) == (op.Kind == history.ReadNot); {
			case differs && counts:
				x.Internal(i, own, j)
			case differs && op.Kind == history.Read && ops[own].Kind == history.Read:
				x.Doubt(i, j) // as Internal does
			}
		default:
			v := x.versions.Find(op.Key, op.Value)
			if v != none && x.also != nil && x.also[v] != none {
				var ok bool
				if v, ok = x.choose(i, j, v, chosen); !ok {
					continue
				}
			}
			switch {
			case v != none && x.writer[v] == i && x.c.ru && x.h.Closed: // written later, which RU allows
			case (v == none || x.writer[v] == i) && again: // the reads of the key need not agree
			case v == none || x.writer[v] == i:
				if counts {
					x.Unexplained(i, j)
				} else if !x.h.Closed {
					x.Doubt(i, j)
				}
			case appends:
				x.overwrites = append(x.overwrites, x.readOf(v, j))
			default:
				x.reads = append(x.reads, x.readOf(v, j))
			}
		}
	}
	if denies && counts && !x.places.strict {
		x.unlike(i, ops)
	}
	if denies && x.c.lvl != level.RU {
		x.denied(i, ops, counts, chosen)
	}
}

// fill sets all of s to v.
func fill(s []int32, v int32) {
	for i := range s {
		s[i] = v
	}
}

// readOf is a read of v by operation j.
func (x *index) readOf(v int32, j int) read { return read{v, int32(j), x.writer[v], x.key[v]} }

func (x *index) overwrittenBy(t int32) []read {
	return x.overwrites[x.overwritesFrom[t]:x.overwritesFrom[t+1]]
}

func (x *index) readsBy(t int32) []read { return x.reads[x.readsFrom[t]:x.readsFrom[t+1]] }

// writesKey reports whether t finally wrote key k.
func (x *index) writesKey(t int32, k history.Key) bool {
	for v := x.versionsFrom[t]; v < x.versionsFrom[t+1]; v++ {
		if x.key[v] == k {
			return true
		}
	}
	return false
}

// include finds the transactions that count, and the anomalies of the reads alone of those of unknown outcome.
func (x *index) include() {
	for _, i := range x.count() {
		x.faults(i)
	}
}

// count finds the transactions that count. It returns those of unknown outcome.
func (x *index) count() (optional []int32) {
	h := x.h
	if x.counted == nil {
		x.counted = make([]bool, len(h.Txns))
	}
	clear(x.counted)
	var pulled []int32
	for i := range h.Txns {
		if h.Txns[i].Status == history.Committed {
			x.counted[i] = true
		}
	}
	x.pulled = map[int32]verdict.Edge{}
	if x.c.lvl == level.RU {
		return nil // a read of a transaction of unknown outcome may be an aborted read
	}
	for i := range h.Txns {
		if h.Txns[i].Status == history.Committed {
			pulled = x.pull(int32(i), pulled)
		}
	}
	for len(pulled) > 0 {
		i := pulled[len(pulled)-1]
		pulled = x.pull(i, pulled[:len(pulled)-1])
		optional = append(optional, i)
	}
	return optional
}

// undecided returns an open read of a transaction that counts, if there is one.
func (x *index) undecided() (r *openRead, found bool) {
	for n := range x.open {
		if x.counted[x.open[n].txn] {
			return &x.open[n], true
		}
	}
	return nil, false
}

// faults finds the anomalies of the reads alone of a transaction that counts after all.
func (x *index) faults(i int32) {
	reads, overwrites, open := len(x.reads), len(x.overwrites), len(x.open)
	from := x.readsFrom[i]
	x.readsFrom[i] = int32(reads)
	x.readsOf(i, true, &choices{})
	x.readsFrom[i], x.reads, x.overwrites, x.open = from, x.reads[:reads], x.overwrites[:overwrites], x.open[:open]
}

// pull makes the transactions count that t read from, or to whose lists it appended.
func (x *index) pull(t int32, pulled []int32) []int32 {
	for _, list := range [2][]read{x.readsBy(t), x.overwrittenBy(t)} {
		for _, r := range list {
			w := r.writer
			if w == none || x.counted[w] {
				continue
			}
			x.counted[w] = true
			op := x.h.Ops(&x.h.Txns[t])[r.op]
			x.pulled[w] = verdict.Edge{Kind: verdict.WR, From: w, To: t, Key: op.Key, Value: x.value(r.version)}
			pulled = append(pulled, w)
		}
	}
	return pulled
}

// value returns the value of a version.
func (x *index) value(v int32) history.Value {
	if x.writer[v] == none {
		return x.h.Initial(x.key[v])
	}
	ops := x.h.Ops(&x.h.Txns[x.writer[v]])
	for j := len(ops) - 1; ; j-- {
		if ops[j].Kind == history.Write && ops[j].Key == x.key[v] {
			return ops[j].Value
		}
	}
}
