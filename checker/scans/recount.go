package scans

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/isohound/isohound/history"
)

// shift is a way out of a dead end, and how many more rows a statement would count then. events are those that move behind the
// statement, if nothing else moves.
type shift struct {
	way
	by     int
	events []int
}

const (
	// mostCut bounds how many writes of a row move behind the statement, mostOvertaken how many move before another one.
	mostCut, mostOvertaken = 3, 3
	// mostPairs bounds the pairs of shifts, mostJoined the shifts that may move together.
	mostPairs, mostJoined = 8, 64
)

// recounts returns ways out of a dead end where a statement counts wrongly: first those with which the count is right, single events
// before several that move together, then those with which it comes nearer.
func (s *schedule) recounts(e *entry, r *rand.Rand) (out []way) {
	c := s.newRecount(e)
	if c.missing == 0 { // what it waits for has happened
		return nil
	}
	singles, rows := c.singles(), c.overtaken()
	c.exact(singles)
	c.exact(rows)
	toward := slices.DeleteFunc(slices.Clone(singles), func(x shift) bool { return x.by*c.missing < 0 })
	c.greedy(toward, r)
	c.suffixes(singles)
	c.pairs(append(slices.Clone(singles), rows...))
	for i := range toward {
		if toward[i].by != c.missing {
			c.add(&toward[i].way)
		}
	}
	for _, at := range c.events {
		if c.by(at)*c.missing > 0 {
			if w, ok := s.swap(e, at); ok {
				c.add(&w)
			}
		}
	}
	return c.out
}

// recount looks for ways out of a dead end where the statement of an entry counts wrongly.
type recount struct {
	*schedule
	e       *entry
	q       *query
	missing int
	rows    map[history.Key]*overwrites // a row that several groups have is taken for several rows
	keys    []history.Key               // of rows, the one that was written last first
	events  []int                       // that wrote a row, the latest first
	wrote   map[int][]history.Key       // by event
	out     []way
}

// overwrites are the latest writes of a row that a statement may count.
type overwrites struct {
	row  int32
	list []overwrite   // the latest first
	base history.Value // before these writes
}

type overwrite struct {
	at      int // event
	value   history.Value
	matches int // 1 if the row fulfils the conditions with this value
}

// newRecount collects what was written lately of the rows that a statement may count.
func (s *schedule) newRecount(e *entry) *recount {
	p, q := &s.past, &e.queries[e.query]
	c := &recount{schedule: s, e: e, q: q, missing: s.missing(e, q), rows: map[history.Key]*overwrites{}, wrote: map[int][]history.Key{}}
	for at := len(s.order) - 1; at >= s.back() && p.from[at] >= p.first; at-- {
		end := len(p.log)
		if at+1 < len(p.from) {
			end = p.from[at+1] - p.first
		}
		for k := end - 1; k >= p.from[at]-p.first; k-- {
			w := &p.log[k]
			x := &s.places[w.key]
			s.looks--
			if x.t != q.t.table || !holds(q.groups, s.groups[x.t.first+int(x.group)]) {
				continue
			}
			row := c.rows[w.key]
			if row == nil {
				row = &overwrites{row: x.row, base: s.values[w.key]}
				c.rows[w.key], c.keys = row, append(c.keys, w.key)
			}
			if n := len(row.list); n == 0 || row.list[n-1].at != at { // of several of a transaction the last one counts
				row.list = append(row.list, overwrite{at, row.base, c.matches(w.key, row.row, row.base)})
				if n := len(c.events); n == 0 || c.events[n-1] != at {
					c.events = append(c.events, at)
				}
				c.wrote[at] = append(c.wrote[at], w.key)
			}
			row.base = w.old
		}
	}
	return c
}

// matches returns 1 if a row fulfils the conditions with a value, else 0.
func (c *recount) matches(k history.Key, row int32, v history.Value) (n int) {
	c.looks--
	now := c.values[k]
	c.write(k, v)
	if c.q.matches(row, -1) {
		n = 1
	}
	c.write(k, now)
	return n
}

// by returns how many more rows the statement counts if events move behind it.
func (c *recount) by(events ...int) (n int) {
	var seen []history.Key
	for _, at := range events {
		c.looks -= len(c.wrote[at]) * len(events)
		for _, k := range c.wrote[at] {
			if len(events) > 1 && slices.Contains(seen, k) {
				continue
			}
			seen = append(seen, k)
			row := c.rows[k]
			i := 0
			for i < len(row.list) && slices.Contains(events, row.list[i].at) {
				i++
			}
			switch {
			case i == len(row.list):
				n += c.matches(k, row.row, row.base) - row.list[0].matches
			case i > 0:
				n += row.list[i].matches - row.list[0].matches
			}
		}
	}
	return n
}

// add adds a way, unless it is there already.
func (c *recount) add(w *way) {
	if !slices.ContainsFunc(c.out, func(x way) bool { return x.at == w.at && slices.Equal(x.moves, w.moves) }) {
		c.out = append(c.out, *w)
	}
}

// exact adds the shifts with which the count is right.
func (c *recount) exact(list []shift) {
	for i := range list {
		if list[i].by == c.missing {
			c.add(&list[i].way)
		}
	}
}

// singles returns the shifts of one event, the latest first.
func (c *recount) singles() (out []shift) {
	for _, at := range c.events {
		if by := c.by(at); by != 0 {
			if m, from, ok := c.behind(c.e, at); ok {
				out = append(out, shift{way{from, []move{m}}, by, []int{at}})
			}
		}
	}
	return out
}

// joined returns two shifts as one.
func (c *recount) joined(a, b *shift) shift {
	if len(a.moves) == 0 {
		return *b
	}
	if len(b.moves) == 0 {
		return *a
	}
	x := shift{way{min(a.at, b.at), append(slices.Clone(a.moves), b.moves...)}, a.by + b.by, nil}
	if len(a.events) > 0 && len(b.events) > 0 {
		x.events = append(slices.Clone(a.events), b.events...)
		x.by = c.by(x.events...)
	}
	return x
}

// greedy adds shifts that make the count right together, if some are found by taking one after the other: the latest first, or after
// a restart at random, and those whose transactions ended last first.
func (c *recount) greedy(list []shift, r *rand.Rand) {
	list = slices.Clone(list[:min(len(list), mostJoined)])
	take := func() {
		var all shift
		for i := range list {
			if x := c.joined(&all, &list[i]); (c.missing-x.by)*c.missing >= 0 {
				all = x
			}
		}
		if all.by == c.missing && len(all.moves) > 1 {
			c.add(&all.way)
		}
	}
	if r != nil {
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	take()
	c.sortByEnd(list)
	take()
}

func (c *recount) sortByEnd(list []shift) {
	slices.SortStableFunc(list, func(a, b shift) int { return cmp.Compare(c.ends[b.moves[0].x], c.ends[a.moves[0].x]) })
}

// suffixes adds shifts with which the transaction reads before all events from one on that can move, in the order of the events, or in
// that of the ends.
func (c *recount) suffixes(list []shift) {
	list = slices.Clone(list[:min(len(list), mostJoined)])
	take := func() {
		var all shift
		for i := range list {
			if all = c.joined(&all, &list[i]); all.by == c.missing && i > 0 {
				c.add(&all.way)
			}
		}
	}
	take()
	c.sortByEnd(list)
	take()
}

// pairs adds pairs of shifts that make the count right together.
func (c *recount) pairs(list []shift) {
	left := mostPairs
	for i := range list {
		c.looks -= i
		for j := range list[:i] {
			a, b := &list[j], &list[i]
			if a.by+b.by != c.missing || a.by == 0 || b.by == 0 || a.contradicts(b) {
				continue
			}
			x := c.joined(a, b)
			if x.by != c.missing {
				continue
			}
			c.add(&x.way)
			if left--; left == 0 {
				return
			}
		}
	}
}

// contradicts reports whether a transaction that waits in one way is in the other one, too.
func (w *way) contradicts(other *shift) bool {
	return slices.ContainsFunc(w.moves, func(a move) bool {
		return slices.ContainsFunc(other.moves, func(b move) bool { return a.x == b.x || a.x == b.other || a.other == b.x })
	})
}

// overtaken returns shifts that make another write of a row the last one before the statement: of those after it, some move behind the
// statement, and it moves behind the others.
func (c *recount) overtaken() (out []shift) {
	for _, k := range c.keys {
		row := c.rows[k]
		list := row.list
		if len(list) < 2 {
			continue
		}
		var cut shift
		for j := 0; j <= min(len(list), mostCut); j++ {
			if j > 0 { // the one before moves behind the statement
				m, from, ok := c.behind(c.e, list[j-1].at)
				if !ok {
					break
				}
				cut = c.joined(&cut, &shift{way{from, []move{m}}, c.by(list[j-1].at), []int{list[j-1].at}})
				if j > 1 && cut.by != 0 {
					out = append(out, cut)
				}
			}
			for i := j + 1; i < len(list) && i-j <= mostOvertaken; i++ {
				w, ok := c.overtake(list[j : i+1])
				if !ok {
					break
				}
				x := shift{way: w, by: list[i].matches - list[j].matches}
				if x = c.joined(&x, &cut); x.by != 0 {
					out = append(out, x)
				}
			}
		}
	}
	return out
}

// overtake makes the writer of the last one of a list come after those of the others. It returns false if it cannot.
func (c *recount) overtake(list []overwrite) (w way, ok bool) {
	p, last := &c.past, list[len(list)-1]
	x := c.txn(c.order[last.at])
	w.at = c.start(last.at)
	if p.from[w.at] < p.first {
		return w, false
	}
	for _, other := range list[:len(list)-1] {
		y := c.txn(c.order[other.at])
		if c.precedes(x, y) {
			return w, false
		}
		w.moves = append(w.moves, move{x, y, false})
	}
	return w, true
}
