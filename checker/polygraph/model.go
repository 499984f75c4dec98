package polygraph

import (
	"slices"

	"github.com/isohound/isohound/accel/parallel"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/history"
)

const none = int32(-1)

// The source of a read: a write, or one of these.
const (
	fromInitial = int32(-1) // the initial transaction
	fromOpen    = int32(-2) // several candidates are left
	fromNowhere = int32(-3) // no known writer; constrains nothing
)

// model is a history with consecutive numbers for transactions, writes and reads. Aborted
// transactions are left out, and so are operations that no other transaction can see.
//
// Each final write has a class: its key and value. Classes 0 to KeyCount-1 are the initial values
// of the keys, whether a transaction wrote that value or not. The class of any other value is
// KeyCount plus the number of its first write, so some numbers are unused. A read has a class, too:
// that of the value it returned. If it returned no value, its class is a set of values. The numbers
// of sets come last.
type model struct {
	h   *history.History
	lvl level.Level

	txns []int32 // by transaction: its index in h.Txns
	// optional are transactions of unknown outcome that are not yet known to have committed. The
	// search may choose whether they count. broken are those that cannot have committed.
	optional, broken []bool
	before           []int32 // by transaction: the committed one before it in session order, or none

	// Writes are sorted by key, then by chain and position in the chain.
	keyFrom  []int32 // by key: its first write
	writer   []int32 // by write: its transaction
	class    []int32 // by write
	key      []int32 // by write
	writesOf csr     // by transaction: its writes

	classFrom csr // by class of one value: its writes
	sets      []set

	readFrom []int32 // by transaction: its first read from outside
	reads    []read
	// readsOn is, by key, the reads on it.
	readsOn csr

	chains chains
	// whole: h is no part of a history. A part need not have the writers of reads that contradict earlier ones.
	whole  bool
	placed *placed // nil unless the claimed order of versions is assumed
	// visible is nil unless the claimed snapshots are assumed, at snapshot levels.
	visible *visible
}

// read is a transaction's read of a key before its own first write of that key.
type read struct {
	txn, class int32
	key        history.Key
	// source is the write that it read from, or one of fromInitial, fromOpen
	// and fromNowhere.
	source int32
}

// set is the class of a read that returned no value: all values but those in except.
type set struct{ except []int32 }

// values is the number of classes of single values. The numbers from there on are sets.
func (m *model) values() int32 { return int32(len(m.classFrom.from) - 1) }

// accepts reports whether a read of a class is right with a value. value is the class of a single
// value.
func (m *model) accepts(class, value int32) bool {
	return class == value || class >= m.values() && !slices.Contains(m.sets[class-m.values()].except, value)
}

// acceptsInitial reports whether a read is right with the initial value.
func (m *model) acceptsInitial(r *read) bool { return m.accepts(r.class, int32(r.key)) }

// members returns the writes that a read is right with.
func (m *model) members(r *read) []int32 {
	switch {
	case r.class == none:
		return nil
	case r.class < m.values():
		return m.classFrom.of(r.class)
	}
	var out []int32
	for w := m.keyFrom[r.key]; w < m.keyFrom[r.key+1]; w++ {
		if m.accepts(r.class, m.class[w]) {
			out = append(out, w)
		}
	}
	return out
}

// mostMembers is an upper bound on the number of writes that a read is right with.
func (m *model) mostMembers(r *read) int {
	if r.class < m.values() {
		return len(m.classFrom.of(r.class))
	}
	return int(m.keyFrom[r.key+1] - m.keyFrom[r.key])
}

// csr is a list of lists.
type csr struct{ from, items []int32 }

func (c *csr) of(i int32) []int32 { return c.items[c.from[i]:c.from[i+1]] }

// makeCSR groups the numbers 0 to n-1 by their owner, in their order.
func makeCSR(owners, n int, owner func(int32) int32) csr {
	c := csr{make([]int32, owners+1), make([]int32, n)}
	for i := range int32(n) {
		c.from[owner(i)+1]++
	}
	for o := range owners {
		c.from[o+1] += c.from[o]
	}
	for i := range int32(n) {
		o := owner(i)
		c.items[c.from[o]] = i
		c.from[o]++
	}
	copy(c.from[1:], c.from)
	c.from[0] = 0
	return c
}

// newModel builds the model of h. Anomalies of single reads go to found. If there are any, the
// model must not be used.
func newModel(h *history.History, lvl level.Level, found *single.Collector, whole bool) *model {
	m := &model{h: h, lvl: lvl, whole: whole}
	m.participants()
	m.chains = newChains(m)
	m.externalReads(newVersions(m), found)
	if h.OrderAssumed() {
		m.placed = newPlaced(m)
	}
	if lvl.Snapshot() && h.SnapshotsAssumed() {
		m.visible = newVisible(m)
	}
	return m
}

// participants numbers the transactions that are not aborted.
func (m *model) participants() {
	last := make([]int32, m.h.SessionCount())
	for s := range last {
		last[s] = none
	}
	count := len(m.h.Txns)
	m.txns, m.before, m.optional = make([]int32, 0, count), make([]int32, 0, count), make([]bool, 0, count)
	for i := range m.h.Txns {
		t := &m.h.Txns[i]
		if t.Status == history.Aborted {
			continue
		}
		n := int32(len(m.txns))
		m.txns = append(m.txns, int32(i))
		m.optional = append(m.optional, t.Status == history.Unknown)
		if m.lvl.SessionOrder() {
			m.before = append(m.before, last[t.Session])
			if t.Status == history.Committed {
				last[t.Session] = n
			}
		} else {
			m.before = append(m.before, none)
		}
	}
	m.broken = make([]bool, len(m.txns))
}

// counted returns, by transaction, whether it is known to have committed.
func (m *model) counted() []bool {
	in := make([]bool, len(m.txns))
	for t, optional := range m.optional {
		in[t] = !optional
	}
	return in
}

// workers is how many goroutines share work on all transactions.
func (m *model) workers() int { return workersFor(len(m.txns)) }

// workersFor is how many goroutines share work on n nodes or transactions. For few of them one
// goroutine is faster.
func workersFor(n int) int {
	if n > 1<<10 {
		return min(parallel.Workers(0), 8)
	}
	return 1
}

func (m *model) txn(t int32) *history.Txn { return &m.h.Txns[m.txns[t]] }

func stamp(s []int32) {
	for i := range s {
		s[i] = none
	}
}

// externalReads finds the reads of values that other transactions wrote, and their sources. Reads
// of a transaction of unknown outcome constrain only if that transaction counts. If such a read is
// impossible, its transaction cannot have committed.
func (m *model) externalReads(versions *versions, found *single.Collector) {
	n := len(m.txns)
	parts := make([]readsOf, m.workers())
	bounds := make([]int, len(parts)+1) // by part: how many operations of the earlier parts read
	parallel.Do(len(parts), func(p int) {
		parts[p] = readsOf{m: m, versions: versions, from: int32(n * p / len(parts)), to: int32(n * (p + 1) / len(parts))}
		bounds[p+1] = parts[p].count()
	})
	for p := range parts {
		bounds[p+1] += bounds[p]
	}
	m.readFrom = make([]int32, n+1)
	m.reads = make([]read, bounds[len(parts)])
	parallel.Do(len(parts), func(p int) {
		parts[p].reads = m.reads[bounds[p]:bounds[p]:bounds[p+1]]
		parts[p].find()
	})
	count := 0
	for p := range parts { // reads of own writes and repeated reads left gaps
		count += copy(m.reads[count:], parts[p].reads)
	}
	m.reads = m.reads[:count]
	if m.h.HasTwice() {
		m.twice(found)
	}
	for t := range n {
		m.readFrom[t+1] += m.readFrom[t]
	}
	for p := range parts {
		m.addSets(&parts[p])
		for _, x := range parts[p].wrong {
			switch i := m.txns[x.txn]; {
			case m.optional[x.txn]:
				found.Doubt(i, int(x.op))
			case x.own != none:
				found.Internal(i, int(x.own), int(x.op))
			default:
				found.Unexplained(i, int(x.op))
			}
		}
	}
	m.readsOn = makeCSR(m.h.KeyCount(), len(m.reads), func(r int32) int32 { return int32(m.reads[r].key) })
}

// twice finds the transactions with a statement that returned or changed one row twice.
func (m *model) twice(found *single.Collector) {
	for t, i := range m.txns {
		if _, _, twice := m.h.Twice(int(i), true); twice {
			if m.broken[t] = true; !m.optional[t] {
				found.Twice(i)
			}
		}
	}
}

// readsOf finds the reads of the transactions from index from up to index to.
type readsOf struct {
	m        *model
	versions *versions
	from, to int32
	reads    []read
	wrong    []wrongRead
	sets     []set // of reads that returned no value: the values that they exclude
	slots    []int32
	seen     int32 // keeps the compiler from removing fetch
	// last is, by key, the operation that a later one in transaction mark[key] must agree with.
	last, mark []int32
}

// fetch makes the processor load the table entries for the next reads, from transaction t on, into
// the cache. It returns the first transaction that it did not handle.
func (p *readsOf) fetch(t int32) int32 {
	p.slots = p.slots[:0]
	for ; t < p.to && len(p.slots) < fetchedReads; t++ {
		for _, op := range p.m.h.Ops(p.m.txn(t)) {
			if op.Kind == history.Read {
				p.slots = append(p.slots, p.versions.slot(op.Key, op.Value))
			}
		}
	}
	for _, w := range p.slots {
		if w != 0 {
			p.seen += p.versions.list[w-1].writer
		}
	}
	return t
}

// fetchedReads is about how many reads one fetch covers.
const fetchedReads = 64

// wrongRead is an operation that contradicts operation own of its own transaction. If own is none,
// no transaction wrote the value.
type wrongRead struct{ txn, own, op int32 }

// count returns how many operations of the transactions read.
func (p *readsOf) count() int {
	n := 0
	for t := p.from; t < p.to; t++ {
		for _, op := range p.m.h.Ops(p.m.txn(t)) {
			if op.Kind != history.Write {
				n++
			}
		}
	}
	return n
}

// find finds the reads. reads has room for all of them.
func (p *readsOf) find() {
	m := p.m
	fetched := p.from
	for t := p.from; t < p.to; t++ {
		if t == fetched {
			fetched = p.fetch(t)
		}
		before := len(p.reads)
		ops := m.h.Ops(m.txn(t))
		without := false
		for j, op := range ops {
			if op.Kind == history.ReadNot {
				without = true
				continue
			}
			own := p.before(t, ops, j)
			if op.Kind != history.Read {
				continue
			}
			if own != none {
				if ops[own].Value != op.Value {
					m.broken[t] = true
					if !m.optional[t] || m.whole && !m.h.Closed && ops[own].Kind == history.Read { // as Internal doubts
						p.wrong = append(p.wrong, wrongRead{t, own, int32(j)})
					}
				}
				continue
			}
			r := read{txn: t, key: op.Key, source: fromOpen}
			if !p.versions.explain(&r, op.Value) {
				r.source = fromNowhere
				switch {
				case !m.optional[t]:
					p.wrong = append(p.wrong, wrongRead{t, none, int32(j)})
				case m.h.Closed:
					m.broken[t] = true
				default:
					p.wrong = append(p.wrong, wrongRead{t, none, int32(j)})
				}
			}
			p.reads = append(p.reads, r)
		}
		if without {
			p.withoutValue(t, ops)
		}
		m.readFrom[t+1] = int32(len(p.reads) - before)
	}
}

// before returns the operation of transaction t that determines what ops[j] must return: the latest
// write of the key before j, or else the first read of it. It is not the latest read, because if
// that read is wrong, later ones need not agree with it.
func (p *readsOf) before(t int32, ops []history.Op, j int) int32 {
	key := ops[j].Key
	if len(ops) <= short {
		own := none
		for i := j - 1; i >= 0; i-- {
			if ops[i].Key == key {
				if ops[i].Kind == history.ReadNot {
					continue
				}
				if own = int32(i); ops[i].Kind == history.Write {
					break
				}
			}
		}
		return own
	}
	if p.mark == nil {
		p.last, p.mark = make([]int32, p.m.h.KeyCount()), make([]int32, p.m.h.KeyCount())
		stamp(p.mark)
	}
	own := none
	if p.mark[key] == t {
		own = p.last[key]
	}
	if ops[j].Kind == history.Write || own == none {
		p.mark[key], p.last[key] = t, int32(j)
	}
	return own
}

// initially reports whether the class is that of its key's initial value.
func (m *model) initially(class int32) bool { return class < int32(m.h.KeyCount()) }

// chains cover the transactions by paths of the known graph: the sessions, in session order. If
// other transactions of the session follow a transaction of unknown outcome, that transaction is a
// chain of its own, because no session-order edge leaves it.
type chains struct {
	count   int32
	of      []int32 // by transaction
	pos     []int32 // by transaction: from 0
	members csr     // by chain: its transactions
}

func newChains(m *model) chains {
	n := int32(len(m.txns))
	c := chains{of: make([]int32, n), pos: make([]int32, n)}
	tail := make([]int32, 0, 64) // by chain: its last transaction
	for t := range n {
		b := m.before[t]
		if b != none && tail[c.of[b]] == b {
			c.of[t], c.pos[t] = c.of[b], c.pos[b]+1
			tail[c.of[t]] = t
			continue
		}
		c.of[t] = int32(len(tail))
		tail = append(tail, t)
	}
	c.count = int32(len(tail))
	c.members = makeCSR(len(tail), int(n), func(t int32) int32 { return c.of[t] })
	return c
}
