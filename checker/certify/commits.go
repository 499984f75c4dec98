package certify

import (
	"math/bits"
	"slices"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
)

// commits tries every execution of a small history at a weak level (Biswas and Enea, OOPSLA 2019; AWDIT,
// PLDI 2025; docs/levels.md). An execution says for each read which transaction it read from, and has an
// order of the commits. Session order (not at level ru) and reads go forward in that order. If t3 read x
// from t1, every other writer of x that t3 had to see comes before t1. Which ones it had to see depends on
// the level and not on the order of the commits. So for given sources of the reads it is enough that what
// must come before what has no cycle.
//
// A set of transactions is a bit mask of their indices in the history. A transaction of unknown outcome
// takes part only if a read has it as its source: another one adds conditions and fulfils none.
type commits struct {
	written map[history.Key][]writer // nil until it is needed
	stop    *stop
	err     error
	budget  int
	h       *history.History
	lvl     level.Level

	in      uint64 // the transactions that take part
	so      []uint64
	writers map[history.Key]uint64 // those that can have committed
	demands []demand               // of the transactions in in
	// unrecorded: at read uncommitted, a read of a table has no known source. A statement that failed may have written the
	// value, and the history does not say so.
	unrecorded bool
}

// initially is the initial state as the source of a demand.
const initially = -1

// demand is what one transaction read of a key from outside, in one version. At levels that forbid
// non-repeatable reads it has all its reads of the key, otherwise those of one statement. op is the first of ops.
type demand struct {
	txn, op int
	key     history.Key
	ops     []int
	finds   []found
	source  int
}

// atomicReads reports whether a weak level forbids that a transaction reads a key from two others.
func atomicReads(lvl level.Level) bool { return lvl == level.CC || lvl == level.RA || lvl == level.PSI }

// rereads reports whether a level allows that a transaction reads a key from two others.
func rereads(lvl level.Level) bool { return lvl.Weak() && !atomicReads(lvl) }

// tryCommits is try for a weak level.
func tryCommits(stop *stop, h *history.History, lvl level.Level, budget int) (allowed, decided bool, err error) {
	c := &commits{stop: stop, budget: budget, h: h, lvl: lvl, so: make([]uint64, len(h.Txns)), writers: map[history.Key]uint64{}}
	sessions := make([]uint64, h.SessionCount())
	possible := true
	for i := range h.Txns {
		t := &h.Txns[i]
		if t.Status == history.Aborted {
			continue
		}
		c.so[i] = sessions[t.Session]
		for _, op := range h.Ops(t) {
			if op.Kind == history.Write {
				c.writers[op.Key] |= 1 << i
			}
		}
		if t.Status == history.Committed {
			sessions[t.Session] |= 1 << i
			possible = c.include(i) && possible
		}
	}
	if !possible {
		return false, true, nil
	}
	allowed = c.search(0)
	if c.unrecorded {
		return false, !allowed && c.budget > 0 && c.err == nil, c.err
	}
	return allowed, allowed || c.budget > 0 && c.err == nil, c.err
}

// include adds a transaction with its demands. It returns false if the transaction contradicts itself.
func (c *commits) include(i int) bool {
	c.in |= 1 << i
	d, ok := demandsOf(c.h, c.lvl, i)
	c.demands = append(c.demands, d...)
	return ok
}

// demandsOf returns what a transaction read from outside. It returns false if the transaction contradicts
// its own writes.
func demandsOf(h *history.History, lvl level.Level, i int) (out []demand, ok bool) {
	if twice(h, lvl, i) {
		return nil, false
	}
	own := map[history.Key]history.Value{}
	at := map[history.Key]int{}
	one := func(d *demand, n int) bool {
		return atomicReads(lvl) || !slices.ContainsFunc(d.ops, func(m int) bool { return !oneVersion(h, lvl, int32(i), m, n) })
	}
	for n, op := range h.Ops(&h.Txns[i]) {
		v, wrote := own[op.Key]
		f := found{cell{op.Key, op.Value}, op.Kind == history.ReadNot}
		switch d, known := at[op.Key]; {
		case op.Kind == history.Write:
			own[op.Key] = op.Value
		case wrote && (v == op.Value) == f.not:
			return nil, false
		case !wrote && lvl == level.RU && denies(h, i, n):
			return nil, false
		case wrote || f.not && lvl == level.RU:
		case known && one(&out[d], n):
			out[d].ops, out[d].finds = append(out[d].ops, n), append(out[d].finds, f)
		default:
			next := demand{txn: i, op: n, key: op.Key, source: initially}
			if known && oneStatement(h, int32(i), out[d].op, n) { // the row again, of which the same follows
				p, _ := h.PredicateOf(i, n)
				for m, at := range out[d].ops {
					if at < p.Ops[0]+p.Implied {
						next.ops, next.finds = append(next.ops, at), append(next.finds, out[d].finds[m])
					}
				}
			}
			next.ops, next.finds = append(next.ops, n), append(next.finds, f)
			at[op.Key] = len(out)
			out = append(out, next)
		}
	}
	return out, true
}

// denies reports whether an operation of transaction i contradicts an earlier one of the same statement.
func denies(h *history.History, i, n int) bool {
	p, _ := h.PredicateOf(i, n)
	if p == nil {
		return false
	}
	ops := h.Ops(&h.Txns[i])
	for m := p.Ops[0]; m < n; m++ {
		if op := ops[m]; op.Key == ops[n].Key && op.Kind != history.Write && contradict(op, ops[n]) && oneStatement(h, int32(i), m, n) && !returnedTwice(h, int32(i), m, n) {
			return true
		}
	}
	return false
}

// fits reports whether a demand can have seen a value.
func (d *demand) fits(v history.Value) bool {
	for _, f := range d.finds {
		if (f.value == v) == f.not {
			return false
		}
	}
	return true
}

// search finds sources for the demands from number n on.
func (c *commits) search(n int) bool {
	if n == len(c.demands) {
		return c.ordered(n)
	}
	sources := c.sources(&c.demands[n])
	if len(sources) > 1 && !c.ordered(n) {
		return false
	}
	in, known := c.in, len(c.demands)
	for _, s := range sources {
		if c.budget <= 0 || c.err != nil {
			return false
		}
		c.demands[n].source = s
		if (s == initially || c.in&(1<<s) != 0 || c.include(s)) && c.search(n+1) {
			return true
		}
		c.in, c.demands = in, c.demands[:known]
	}
	return false
}

// sources lists from what a demand can have been read.
func (c *commits) sources(d *demand) []int {
	var out []int
	if d.fits(c.h.Initial(d.key)) {
		out = append(out, initially)
	}
	list := c.writersOf(d.key)
	for n := range list {
		w := &list[n]
		i, t := w.txn, &c.h.Txns[w.txn]
		overwritten := c.lvl == level.RU && w.overwrote(d)
		final := d.fits(w.values[len(w.values)-1])
		switch {
		case c.lvl == level.RU && (overwritten || final && (i == d.txn || t.Status != history.Committed)):
			// A read of what did not commit says nothing about the order of versions.
			return []int{initially}
		case i != d.txn && final && t.Status != history.Aborted:
			out = append(out, i)
		}
	}
	if len(out) == 0 && c.lvl == level.RU && len(c.h.Schema) > 0 {
		c.unrecorded = true
		return []int{initially}
	}
	return out
}

// writer has what a transaction wrote to a key, in program order.
type writer struct {
	txn    int
	values []history.Value
	// earlier are all values but the last one; nil until they are needed.
	earlier map[history.Value]bool
}

// overwrote reports whether an earlier write than the last one fits a demand.
func (w *writer) overwrote(d *demand) bool {
	earlier := w.values[:len(w.values)-1]
	read := slices.IndexFunc(d.finds, func(f found) bool { return !f.not })
	if read < 0 {
		return slices.ContainsFunc(earlier, d.fits)
	}
	if w.earlier == nil {
		w.earlier = make(map[history.Value]bool, len(earlier))
		for _, v := range earlier {
			w.earlier[v] = true
		}
	}
	v := d.finds[read].value
	return w.earlier[v] && d.fits(v)
}

// writersOf lists the writers of a key in the order of the history.
func (c *commits) writersOf(k history.Key) []writer {
	if c.written == nil {
		c.written = map[history.Key][]writer{}
		for i := range c.h.Txns {
			for _, op := range c.h.Ops(&c.h.Txns[i]) {
				if op.Kind != history.Write {
					continue
				}
				list := c.written[op.Key]
				if len(list) == 0 || list[len(list)-1].txn != i {
					list = append(list, writer{txn: i})
				}
				w := &list[len(list)-1]
				w.values = append(w.values, op.Value)
				c.written[op.Key] = list
			}
		}
	}
	return c.written[k]
}

// ordered reports whether the first n demands, with their sources, allow an order of the commits.
func (c *commits) ordered(n int) bool {
	c.budget -= 1 + n
	if c.err == nil {
		c.err = c.stop.after(1 + n)
	}
	var wr, before [MaxJudged]uint64
	for _, d := range c.demands[:n] {
		if d.source != initially {
			wr[d.txn] |= 1 << d.source
		}
	}
	for i := range c.so {
		if before[i] = c.so[i] | wr[i]; c.lvl == level.RU {
			before[i] = 0
		}
	}
	past := before // the causal past
	for range bits.Len(uint(len(c.so))) {
		for i := range c.so {
			for rest := past[i]; rest != 0; rest &= rest - 1 {
				past[i] |= past[bits.TrailingZeros64(rest)]
			}
		}
	}
	reads := statements{}
	for m := range c.demands[:n] {
		d := &c.demands[m]
		if c.lvl == level.RU {
			if c.writers[d.key]&(1<<d.txn) != 0 && d.source != initially {
				before[d.txn] |= 1 << d.source
			}
			continue
		}
		seen := c.sees(d, &reads, &wr, &past) & c.in & c.writers[d.key] &^ (1 << d.txn)
		if d.source == initially && seen != 0 {
			return false
		} else if d.source != initially {
			before[d.source] |= seen &^ (1 << d.source)
		}
	}
	if c.lvl == level.PSI && n == len(c.demands) {
		return c.parallel(past)
	}
	for left := c.in; left != 0; {
		ready := uint64(0)
		for rest := left; rest != 0; rest &= rest - 1 {
			if i := bits.TrailingZeros64(rest); before[i]&left == 0 {
				ready |= 1 << i
			}
		}
		if ready == 0 {
			return false
		}
		left &^= ready
	}
	return true
}

// statements has, for each transaction, what the demands read from that were looked at: before has those of earlier statements
// than the latest one, latest those of that one, which begins with the operation at first.
type statements struct {
	before, latest [MaxJudged]uint64
	first          [MaxJudged]int
}

// before returns what earlier statements of its transaction than that of d read from. The demands of a transaction are looked at in
// their order.
func (c *commits) before(d *demand, s *statements) uint64 {
	t := d.txn
	if s.latest[t] != 0 && !oneStatement(c.h, int32(t), s.first[t], d.op) {
		s.before[t] |= s.latest[t]
		s.latest[t] = 0
	}
	if d.source != initially {
		if s.latest[t] == 0 {
			s.first[t] = d.op
		}
		s.latest[t] |= 1 << d.source
	}
	return s.before[t]
}

// sees returns the transactions that the level requires the reader to see at a read.
func (c *commits) sees(d *demand, s *statements, wr, past *[MaxJudged]uint64) uint64 {
	t := d.txn
	if c.lvl == level.RC {
		return c.before(d, s)
	}
	// through unites what f has for the transactions in set.
	through := func(set uint64, f func(i int) uint64) (out uint64) {
		for ; set != 0; set &= set - 1 {
			out |= f(bits.TrailingZeros64(set))
		}
		return out
	}
	ryw := c.so[t]
	mr := through(c.so[t], func(i int) uint64 { return wr[i] })
	mw := through(wr[t], func(i int) uint64 { return c.so[i] })
	wfr := through(wr[t], func(i int) uint64 { return wr[i] | through(c.so[i], func(u int) uint64 { return wr[u] }) })
	switch c.lvl {
	case level.CC, level.PSI:
		return past[t]
	case level.RA:
		return c.so[t] | wr[t]
	case level.RYW:
		return ryw
	case level.MR:
		return mr
	case level.MW:
		return mw
	case level.WFR:
		return wfr
	}
	return ryw | mr | mw | wfr
}
