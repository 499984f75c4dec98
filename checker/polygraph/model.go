package polygraph

import (
	"slices"

	"github.com/isohound/isohound/accel/parallel"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/history"
)

const none = int32(-1)

// Where a read may have got its value from, beside a write.
const (
	fromInitial = int32(-1) // the initial transaction
	fromOpen    = int32(-2) // several candidates are left
	fromNowhere = int32(-3) // its writer may not have been recorded; asserts nothing
)

// model is a history in dense numbers. Transactions that cannot have
// committed are left out, and so is what no other transaction sees.
//
// Each final write belongs to the class of its key and value; classes 0 to
// KeyCount-1 are those of the keys' initial values, whether written or not. Others
// have the number of their first write behind these; some numbers have none. A read
// has a class, too: that of the value it returned, or, where it returned less, a set
// of such classes, whose numbers come last.
type model struct {
	h   *history.History
	lvl level.Level

	txns []int32 // by transaction: its index in h.Txns
	// optional are transactions of unknown outcome that nothing forces to have
	// committed so far; they are a choice. broken ones among them cannot have.
	optional, broken []bool
	before           []int32 // by transaction: the one before it in session order, or none

	// Writes stand by key, and within a key by chain and position.
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
}

// read is what a transaction saw of a key before it wrote it.
type read struct {
	txn, class int32
	key        history.Key
	// source is the write that it read from, or one of fromInitial, fromOpen
	// and fromNowhere.
	source int32
}

// set is the class of a read that returned no value: that of all values but some.
type set struct{ except []int32 }

// values is how many classes of one value there are; behind them come the sets.
func (m *model) values() int32 { return int32(len(m.classFrom.from) - 1) }

// accepts reports whether a read of some class is right with the value of another
// class, which is of one value.
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

// mostMembers is at least how many writes a read is right with.
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

// newModel reads h. Anomalies of single reads go to found; with any of them
// the model is of no use.
func newModel(h *history.History, lvl level.Level, found *single.Collector) *model {
	m := &model{h: h, lvl: lvl}
	m.participants()
	m.chains = newChains(m)
	m.externalReads(newVersions(m), found)
	return m
}

// participants numbers the transactions that committed or may have.
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

// workersFor is how many goroutines share work on so many nodes or transactions: it
// is not worth a second goroutine for few.
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

// externalReads finds what transactions read before they wrote it, and where
// that may have come from. Reads of transactions of unknown outcome bind only
// where these count, so that an impossible one only rules its transaction out.
func (m *model) externalReads(versions *versions, found *single.Collector) {
	n := len(m.txns)
	parts := make([]readsOf, m.workers())
	bounds := make([]int, len(parts)+1) // of their operations that read
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
	for p := range parts { // some saw what their own transaction did
		count += copy(m.reads[count:], parts[p].reads)
	}
	m.reads = m.reads[:count]
	for t := range n {
		m.readFrom[t+1] += m.readFrom[t]
	}
	for p := range parts {
		m.addSets(&parts[p])
		for _, x := range parts[p].wrong {
			switch i := m.txns[x.txn]; {
			case x.own != none:
				found.Internal(i, int(x.own), int(x.op))
			case m.optional[x.txn]:
				found.Doubt(i, int(x.op))
			default:
				found.Unexplained(i, int(x.op))
			}
		}
	}
	m.readsOn = makeCSR(m.h.KeyCount(), len(m.reads), func(r int32) int32 { return int32(m.reads[r].key) })
}

// readsOf finds the reads of some transactions.
type readsOf struct {
	m        *model
	versions *versions
	from, to int32
	reads    []read
	wrong    []wrongRead
	sets     []set // of reads that returned no value, which have their complements as classes
	slots    []int32
	seen     int32 // so that the compiler keeps fetch
	// last is the latest operation on a key, in transaction mark.
	last, mark []int32
}

// fetch has the processor fetch what is needed of some reads, from transaction t
// on, and returns the first of which it has not.
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

// fetchedReads are fetched at once.
const fetchedReads = 64

// wrongRead is an operation that differs from what its own transaction saw
// before, in operation own, or that nobody explains.
type wrongRead struct{ txn, own, op int32 }

// count returns how many of their operations read.
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

// find finds the reads; there is room for all.
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
					if m.broken[t] = true; !m.optional[t] {
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

// before returns the operation that says what ops[j] must find in its own
// transaction t: the latest write of the key, or else the first read, for what
// a wrong read returned is not what later ones must return.
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

// chains cover the transactions by paths of the known graph: those of a
// session, in session order. A transaction of unknown outcome that others of
// its session follow is a chain of its own, for nothing follows from it.
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
