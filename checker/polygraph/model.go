package polygraph

import (
	"sync"

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
// A class is the set of final writes of one value to one key; classes 0 to
// KeyCount-1 are those of the keys' initial values, whether written or not.
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

	classFrom csr // by class: its writes

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
	classes := m.versions()
	m.externalReads(classes, found)
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

func (m *model) txn(t int32) *history.Txn { return &m.h.Txns[m.txns[t]] }

// short is how many operations a transaction may have to be looked through
// again for each: that costs less than tables of all keys.
const short = 12

// final calls f for each final write of t. seen is a table by key for those with many.
func (m *model) final(t int32, seen []int32, f func(history.Op)) {
	ops := m.h.Ops(m.txn(t))
	if len(ops) > short {
		for j := len(ops) - 1; j >= 0; j-- {
			if op := ops[j]; op.Kind == history.Write && seen[op.Key] != t {
				seen[op.Key] = t
				f(op)
			}
		}
		return
	}
next:
	for j, op := range ops {
		if op.Kind != history.Write {
			continue
		}
		for _, later := range ops[j+1:] {
			if later.Key == op.Key && later.Kind == history.Write {
				continue next
			}
		}
		f(op)
	}
}

// versions numbers the final writes, by key and within a key along chains, and
// sorts them into classes.
func (m *model) versions() *classTable {
	keys, n := m.h.KeyCount(), int32(len(m.txns))
	seen := make([]int32, keys)
	m.keyFrom = make([]int32, keys+1)
	stamp(seen)
	for t := range n {
		m.final(t, seen, func(op history.Op) { m.keyFrom[op.Key+1]++ })
	}
	for k := range keys {
		m.keyFrom[k+1] += m.keyFrom[k]
	}
	total := int(m.keyFrom[keys])
	m.writer, m.class, m.key = make([]int32, total), make([]int32, total), make([]int32, total)
	classes := newClassTable(m.h, total)
	next := append([]int32(nil), m.keyFrom[:keys]...)
	stamp(seen)
	for _, t := range m.chains.members.items {
		m.final(t, seen, func(op history.Op) {
			w := next[op.Key]
			next[op.Key]++
			m.writer[w], m.key[w] = t, int32(op.Key)
			classes.insert(op.Key, op.Value, w, m.class)
		})
	}
	var wg sync.WaitGroup
	wg.Go(func() { m.writesOf = makeCSR(int(n), total, func(w int32) int32 { return m.writer[w] }) })
	m.classFrom = makeCSR(classes.count, total, func(w int32) int32 { return m.class[w] })
	wg.Wait()
	return classes
}

func stamp(s []int32) {
	for i := range s {
		s[i] = none
	}
}

// externalReads finds what transactions read before they wrote it, and where
// that may have come from. Reads of transactions of unknown outcome bind only
// where these count, so that an impossible one only rules its transaction out.
func (m *model) externalReads(classes *classTable, found *single.Collector) {
	n := len(m.txns)
	parts := make([]readsOf, 1)
	if n > 1<<12 { // worth a goroutine
		parts = make([]readsOf, workers())
	}
	m.readFrom = make([]int32, n+1)
	var wg sync.WaitGroup
	for p := range parts {
		parts[p] = readsOf{m: m, classes: classes}
		wg.Add(1)
		go func() {
			defer wg.Done()
			parts[p].find(int32(n*p/len(parts)), int32(n*(p+1)/len(parts)))
		}()
	}
	wg.Wait()
	m.reads = parts[0].reads
	for _, p := range parts[1:] {
		m.reads = append(m.reads, p.reads...)
	}
	for t := range n {
		m.readFrom[t+1] += m.readFrom[t]
	}
	for p := range parts {
		for _, x := range parts[p].wrong {
			if i := m.txns[x.txn]; x.own != none {
				found.Internal(i, int(x.own), int(x.op))
			} else {
				found.Unexplained(i, int(x.op))
			}
		}
	}
	m.readsOn = makeCSR(m.h.KeyCount(), len(m.reads), func(r int32) int32 { return int32(m.reads[r].key) })
}

// readsOf finds the reads of some transactions.
type readsOf struct {
	m       *model
	classes *classTable
	reads   []read
	wrong   []wrongRead
	// last is the latest operation on a key, in transaction mark.
	last, mark []int32
}

// wrongRead is an operation that differs from what its own transaction saw
// before, in operation own, or that nobody explains.
type wrongRead struct{ txn, own, op int32 }

func (p *readsOf) find(from, to int32) {
	m := p.m
	count := 0
	for t := from; t < to; t++ {
		for _, op := range m.h.Ops(m.txn(t)) {
			if op.Kind == history.Read {
				count++
			}
		}
	}
	p.reads = make([]read, 0, count)
	for t := from; t < to; t++ {
		before := len(p.reads)
		ops := m.h.Ops(m.txn(t))
		for j, op := range ops {
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
			if !p.explain(&r, op.Value) {
				r.source = fromNowhere
				switch {
				case !m.optional[t]:
					p.wrong = append(p.wrong, wrongRead{t, none, int32(j)})
				case m.h.Closed:
					m.broken[t] = true
				}
			}
			p.reads = append(p.reads, r)
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

// explain finds the class of what r returned, and its source where only one
// is possible for certain. It reports whether anybody but r's own transaction
// can have written the value.
func (p *readsOf) explain(r *read, v history.Value) bool {
	m := p.m
	if v == p.classes.initial[r.key] {
		r.class = int32(r.key)
		return true
	}
	first, several := p.classes.find(r.key, v)
	if first == none {
		r.class = none
		return false
	}
	r.class = m.class[first]
	if several {
		for _, w := range m.classFrom.of(r.class) {
			if m.writer[w] != r.txn {
				return true
			}
		}
		return false
	}
	u := m.writer[first]
	if !m.optional[u] && !m.optional[r.txn] {
		r.source = first
	}
	return u != r.txn
}

// initially reports whether the class is that of its key's initial value.
func (m *model) initially(class int32) bool { return class < int32(m.h.KeyCount()) }

// classTable finds the writes of a value by hashing.
type classTable struct {
	initial []history.Value
	slots   []slot
	mask    uint64
	count   int // of classes
}

type slot struct {
	value history.Value
	key   history.Key
	// first is the first write of the value plus 1, so that 0 is free, and less
	// than 0 where there are more.
	first int32
}

func newClassTable(h *history.History, writes int) *classTable {
	size := uint64(8)
	for size/4*3 < uint64(writes) {
		size *= 2
	}
	c := &classTable{slots: make([]slot, size), mask: size - 1, count: h.KeyCount(), initial: make([]history.Value, h.KeyCount())}
	for k := range c.initial {
		c.initial[k] = h.Initial(history.Key(k))
	}
	return c
}

func (c *classTable) at(k history.Key, v history.Value) *slot {
	x := uint64(v)*0x9e3779b97f4a7c15 ^ uint64(uint32(k))*0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0x9e3779b97f4a7c15
	for i := x >> 20; ; i++ {
		s := &c.slots[i&c.mask]
		if s.first == 0 || s.key == k && s.value == v {
			return s
		}
	}
}

// insert takes note of write w of v to k, and sets its class in classes, by write.
func (c *classTable) insert(k history.Key, v history.Value, w int32, classes []int32) {
	if v == c.initial[k] {
		classes[w] = int32(k)
		return
	}
	switch s := c.at(k, v); {
	case s.first == 0:
		*s = slot{v, k, w + 1}
		classes[w] = int32(c.count)
		c.count++
	case s.first > 0:
		classes[w] = classes[s.first-1]
		s.first = -s.first
	default:
		classes[w] = classes[-s.first-1]
	}
}

// find returns the first write of v to k, or none, and whether there are more.
func (c *classTable) find(k history.Key, v history.Value) (first int32, several bool) {
	s := c.at(k, v)
	if s.first < 0 {
		return -s.first - 1, true
	}
	return s.first - 1, false
}

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
