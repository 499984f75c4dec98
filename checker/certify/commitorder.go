package certify

import (
	"cmp"
	"slices"
	"sort"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// commitOrder verifies a witness of a weak level: an order of the commits of all committed transactions
// and some of those of unknown outcome. Session order and reads go forward in it. If a transaction read a
// key from another one, every other writer of the key that it had to see comes before that one. This is
// the definition that type commits has; here it is verified in one pass for each rule.
type commitOrder struct {
	*replay
	order []int32
	// sources are those that the witness names.
	sources map[verdict.OpRef]int32
	at      []int32 // by transaction: its position in the order, or none
	// reads are what the transactions read from outside, in program order, writes are the keys that
	// they write, and readers are the transactions that read from them.
	reads   lists[sourced]
	writes  lists[history.Key]
	readers lists[int32]
	// versions are the transactions that write a key, by commit.
	versions lists[written]
	own      *byKey[history.Value] // scratch
	// denied has, for reads that only say which version they did not see, the version that they saw.
	denied map[verdict.OpRef]history.Value
}

// sourced is a read of a key from a transaction, or from the initial state: none. op is its operation.
type sourced struct {
	key    history.Key
	source int32
	op     int32
}

// written is a version of a key.
type written struct {
	value  history.Value
	writer int32
}

// lists are slices with numbers, in one memory.
type lists[T any] struct {
	from []int // by number
	all  []T
}

func (l *lists[T]) of(i int32) []T { return l.all[l.from[i]:l.from[i+1]] }

// collect sorts items by their numbers, below n. Items of one number keep their order. each calls its
// argument with all items, and is called twice.
func collect[T any](n int, each func(func(number int32, item T))) lists[T] {
	l := lists[T]{from: make([]int, n+1)}
	each(func(i int32, _ T) { l.from[i+1]++ })
	for i := range n {
		l.from[i+1] += l.from[i]
	}
	l.all = make([]T, l.from[n])
	next := slices.Clone(l.from)
	each(func(i int32, item T) {
		l.all[next[i]] = item
		next[i]++
	})
	return l
}

// commits replays an order of commits. If there are judged scans, it may be a serial execution, too: what the
// conditions of a scan leave open is decided there.
func (r *replay) commits(w *verdict.Witness) error {
	if r.scans != nil && len(w.Sources) == 0 {
		serial, err := newExecution(r.stop, r.h, r.lvl)
		if err != nil {
			return err
		}
		if serial.execution(w.Order) == nil {
			return nil
		}
	}
	c := &commitOrder{replay: r, order: w.Order, sources: w.Sources, at: make([]int32, len(r.h.Txns)), own: newByKey[history.Value](r.h.KeyCount()), denied: map[verdict.OpRef]history.Value{}}
	if err := c.place(); err != nil {
		return err
	}
	if err := c.findSources(); err != nil {
		return err
	}
	if err := c.rules(); err != nil {
		return err
	}
	if r.scans != nil {
		if err := c.statements(); err != nil {
			return err
		}
	}
	if c.h.Lists {
		if err := c.lists(); err != nil {
			return err
		}
	}
	return c.complete()
}

// rules verifies what the level demands of the reads.
func (c *commitOrder) rules() error {
	switch c.lvl {
	case level.RU:
		return c.uncommitted()
	case level.CC, level.PSI:
		return c.causal()
	case level.RA, level.RC:
		if err := c.direct(); err != nil || c.lvl == level.RC {
			return err
		}
	}
	return c.guarantees()
}

// place verifies that the order has each transaction once, and keeps session order.
func (c *commitOrder) place() error {
	for i := range c.at {
		c.at[i] = none
	}
	for n, i := range c.order {
		t, err := c.admit(i)
		if err != nil {
			return err
		}
		if c.seen[i]++; c.seen[i] > 1 {
			return errors.Errorf("the witness contains transaction %d twice", t.ID)
		}
		if err := c.sessionOrder(i, t); err != nil {
			return err
		}
		if c.at[i] = int32(n); t.Status == history.Committed {
			c.placed[t.Session]++
		}
	}
	return nil
}

// position is the place of a source in the order. The initial state comes before all.
func (c *commitOrder) position(source int32) int32 {
	if source == none {
		return none
	}
	return c.at[source]
}

// findSources verifies the reads of each transaction by themselves, and finds what they read from.
func (c *commitOrder) findSources() error {
	last := make([]int32, c.h.KeyCount()) // by key: the latest transaction that accesses it, plus 1
	versions := func(f func(k int32, v written)) {
		clear(last)
		for _, i := range c.order {
			for _, op := range slices.Backward(c.h.Ops(&c.h.Txns[i])) {
				if op.Kind == history.Write && last[op.Key] != i+1 {
					last[op.Key] = i + 1
					f(int32(op.Key), written{op.Value, i})
				}
			}
		}
	}
	c.versions = collect(c.h.KeyCount(), versions)
	c.writes = collect(len(c.h.Txns), func(f func(i int32, k history.Key)) {
		for k := range int32(c.h.KeyCount()) {
			for _, v := range c.versions.of(k) {
				f(v.writer, history.Key(k))
			}
		}
	})
	if err := c.stop.after(len(c.versions.all)); err != nil {
		return err
	}
	if c.lvl == level.RU {
		return nil
	}
	byValue := c.sortedVersions()
	c.reads.from = make([]int, len(c.h.Txns)+1)
	for i := range c.h.Txns {
		if err := c.findSourcesOf(int32(i), byValue); err != nil {
			return err
		}
		c.reads.from[i+1] = len(c.reads.all)
	}
	c.readers = collect(len(c.h.Txns), func(f func(i, reader int32)) {
		for i := range int32(len(c.h.Txns)) {
			for _, r := range c.reads.of(i) {
				if r.source != none {
					f(r.source, i)
				}
			}
		}
	})
	return nil
}

// findSourcesOf finds what the transaction at i read from.
func (c *commitOrder) findSourcesOf(i int32, byValue lists[valued]) error {
	if c.at[i] == none {
		return nil
	}
	unmatched := func(n int, k history.Key) error {
		return errors.Errorf("transaction %d: operation %d on key %s read no version that was committed before", c.h.Txns[i].ID, n+1, c.h.KeyName(k))
	}
	classes := false
	err := c.eachOutside(i, func(n int, op history.Op) error {
		if op.Kind != history.Read || len(c.sources) > 0 {
			classes = true
			return nil
		}
		source, ok := c.source(byValue, i, op)
		if !ok {
			return unmatched(n, op.Key)
		}
		c.reads.all = append(c.reads.all, sourced{op.Key, source, int32(n)})
		return nil
	})
	if err != nil || !classes {
		return err
	}
	c.reads.all = c.reads.all[:c.reads.from[i]]
	demands, _ := demandsOf(c.h, c.lvl, int(i)) // eachOutside compared its own writes with its reads
	for n := range demands {
		d := &demands[n]
		source, v, ok := c.fitting(i, d)
		if !ok {
			return unmatched(d.op, d.key)
		}
		for _, n := range d.ops {
			if c.scans != nil {
				c.denied[verdict.OpRef{Txn: i, Op: n}] = v
			}
		}
		c.reads.all = append(c.reads.all, sourced{d.key, source, int32(d.op)})
	}
	return nil
}

// fitting finds the source of a demand, and its value: the one that the witness names, or the latest.
func (c *commitOrder) fitting(i int32, d *demand) (source int32, v history.Value, ok bool) {
	named, given := int32(none), false
	for _, n := range d.ops {
		if s, ok := c.sources[verdict.OpRef{Txn: i, Op: n}]; ok {
			named, given = s, true
		}
	}
	for _, v := range slices.Backward(c.versions.of(int32(d.key))) {
		if c.at[v.writer] < c.at[i] && d.fits(v.value) && (!given || v.writer == named) {
			return v.writer, v.value, true
		}
	}
	return none, c.h.Initial(d.key), d.fits(c.h.Initial(d.key)) && (!given || named == verdict.FromInitial)
}

// valued is a version of a key with its number.
type valued struct {
	value history.Value
	nth   int32
}

// sortedVersions returns the versions of each key by value, and by commit if they are equal.
func (c *commitOrder) sortedVersions() lists[valued] {
	l := lists[valued]{c.versions.from, make([]valued, len(c.versions.all))}
	for k := range int32(c.h.KeyCount()) {
		list := l.of(k)
		for n, v := range c.versions.of(k) {
			list[n] = valued{v.value, int32(n)}
		}
		slices.SortFunc(list, func(a, b valued) int { return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.nth, b.nth)) })
	}
	return l
}

// eachOutside calls f with the reads of the transaction at i that return no write of its own. The others
// must return its latest write.
func (c *commitOrder) eachOutside(i int32, f func(n int, op history.Op) error) error {
	c.own.reset()
	for n, op := range c.h.Ops(&c.h.Txns[i]) {
		own, wrote := c.own.of(op.Key)
		var err error
		switch {
		case op.Kind == history.Write:
			c.own.set(op.Key, op.Value)
		case !wrote:
			err = f(n, op)
		case (own == op.Value) == (op.Kind == history.ReadNot):
			err = errors.Errorf("transaction %d: operation %d on key %s does not match its own write", c.h.Txns[i].ID, n+1, c.h.KeyName(op.Key))
		}
		if err != nil {
			return err
		}
	}
	return c.stop.after(1 + c.h.Txns[i].OpCount())
}

// source finds the latest version that a read of the transaction at i can have returned: one that
// another transaction committed before it, or the initial one.
func (c *commitOrder) source(byValue lists[valued], i int32, op history.Op) (source int32, ok bool) {
	list := byValue.of(int32(op.Key))
	versions := c.versions.of(int32(op.Key))
	n := sort.Search(len(list), func(n int) bool { return list[n].value > op.Value })
	for n--; n >= 0 && list[n].value == op.Value; n-- {
		if w := versions[list[n].nth].writer; c.at[w] < c.at[i] {
			return w, true
		}
	}
	return none, c.h.Initial(op.Key) == op.Value
}

// late is the error for a read that missed a write.
func (c *commitOrder) late(reader int32, k history.Key, missed int32) error {
	return errors.Errorf("transaction %d read key %s from another transaction than %d, which it had to see and which the witness places later",
		c.h.Txns[reader].ID, c.h.KeyName(k), c.h.Txns[missed].ID)
}

func (c *commitOrder) twoSources(reader int32, k history.Key) error {
	return errors.Errorf("transaction %d read key %s from two transactions", c.h.Txns[reader].ID, c.h.KeyName(k))
}

// writesKey reports whether the transaction at i writes k. The keys are in order.
func (c *commitOrder) writesKey(i int32, k history.Key) bool {
	_, ok := slices.BinarySearch(c.writes.of(i), k)
	return ok
}

// byKey has something for some keys. The entries are removed in one step.
type byKey[T any] struct {
	entry []T
	since []int32 // when the entry was made
	now   int32
}

func newByKey[T any](keys int) *byKey[T] { return &byKey[T]{make([]T, keys), make([]int32, keys), 1} }

func (b *byKey[T]) reset() { b.now++ }

func (b *byKey[T]) of(k history.Key) (entry T, ok bool) { return b.entry[k], b.since[k] == b.now }

func (b *byKey[T]) set(k history.Key, entry T) { b.entry[k], b.since[k] = entry, b.now }

// after verifies that no read of the transaction at i is of a version before that of a writer in missed.
func (c *commitOrder) after(missed *byKey[int32], i int32) error {
	for _, r := range c.reads.of(i) {
		if w, ok := missed.of(r.key); ok && c.position(w) > c.position(r.source) {
			return c.late(i, r.key, w)
		}
	}
	return c.stop.after(1 + len(c.reads.of(i)))
}
