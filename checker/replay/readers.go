package replay

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/isohound/isohound/history"
)

// version is a value of a key, and the first event after which the key has it.
type version struct {
	from  int32
	value history.Value
}

// timeline has all versions of a key, in order.
type timeline struct {
	all []version
	// byValue are the indices of all, by value and then in order. It is nil until it is needed.
	byValue []int32
}

// near is in how many versions next looks before it sorts them: most reads are current, or soon will be.
const near = 32

const none = -1

// next returns the index of the first version from n on that an operation can have read, or none.
func (l *timeline) next(n int, op history.Op) int {
	for m := n; m < len(l.all); m++ {
		if (l.all[m].value == op.Value) == (op.Kind == history.Read) {
			return m
		}
		if m == n+near && op.Kind == history.Read {
			return l.search(m, op.Value)
		}
	}
	return none
}

// search returns the index of the first version from n on with a value, or none.
func (l *timeline) search(n int, v history.Value) int {
	if l.byValue == nil {
		l.byValue = make([]int32, len(l.all))
		for m := range l.byValue {
			l.byValue[m] = int32(m)
		}
		slices.SortStableFunc(l.byValue, func(a, b int32) int { return cmp.Compare(l.all[a].value, l.all[b].value) })
	}
	at := sort.Search(len(l.byValue), func(m int) bool {
		i := int(l.byValue[m])
		return l.all[i].value > v || l.all[i].value == v && i >= n
	})
	if at < len(l.byValue) && l.all[l.byValue[at]].value == v {
		return int(l.byValue[at])
	}
	return none
}

// placeReaders finds the place of each start that has none, and puts it into the order: the first moment after all that
// must come before it at which all that the transaction read was current. If there is none before its commit, it takes
// the place where the search ended, and the execution tells what does not fit.
func (o *order) placeReaders() {
	if len(o.free) == 0 {
		return
	}
	versions := o.versions()
	at := o.places()
	starts := make([]int32, len(o.h.Txns))
	sessions := make([]int32, o.h.SessionCount())
	for i := range sessions {
		sessions[i] = -1
	}
	isFree := make([]bool, len(o.h.Txns))
	for _, i := range o.free {
		isFree[i] = true
	}
	ended := newEnded(o, at)
	for _, i := range o.walk() {
		t := &o.h.Txns[i]
		lower := int32(-1)
		if o.lvl.SessionOrder() {
			lower = sessions[t.Session]
		}
		if isFree[i] {
			lower = max(lower, ended.before(t.Begin))
			if at[i] == nowhere {
				starts[i] = o.current(versions, o.h.Ops(t), lower)
				at[i] = starts[i]
			} else {
				lower = max(lower, o.written(versions, o.h.Ops(t), at[i]))
				starts[i] = min(o.current(versions, o.h.Ops(t), lower), at[i]-1)
			}
		}
		if at[i] != nowhere {
			sessions[t.Session] = max(sessions[t.Session], at[i])
		}
	}
	o.insert(starts)
}

// written returns the last event before the commit of a transaction that wrote a key that it also writes, where the
// first committer wins.
func (o *order) written(versions map[history.Key]*timeline, ops []history.Op, commit int32) int32 {
	last := int32(-1)
	for _, op := range ops {
		if op.Kind == history.Write && firstCommitterWins(o.lvl) {
			list := versions[op.Key].all
			last = max(last, list[sort.Search(len(list), func(n int) bool { return list[n].from >= commit })-1].from)
		}
	}
	return last
}

const nowhere = int32(math.MinInt32)

// walk lists the transactions so that what must come before a reader comes before it in the list.
func (o *order) walk() []int32 {
	list := make([]int32, len(o.h.Txns))
	for i := range list {
		list[i] = int32(i)
	}
	if o.lvl.RealTime() {
		sort.SliceStable(list, func(a, b int) bool { return o.h.Txns[list[a]].Begin < o.h.Txns[list[b]].Begin })
	}
	return list
}

// versions are those that the keys of free transactions have, one after the other.
func (o *order) versions() map[history.Key]*timeline {
	out := map[history.Key]*timeline{}
	for _, i := range o.free {
		for _, op := range o.h.Ops(&o.h.Txns[i]) {
			if _, known := out[op.Key]; !known {
				out[op.Key] = &timeline{all: []version{{-1, o.h.Initial(op.Key)}}}
			}
		}
	}
	for n, e := range o.events {
		if e.kind() == start {
			continue
		}
		for _, op := range o.h.Ops(&o.h.Txns[e.txn()]) {
			list, read := out[op.Key]
			switch {
			case op.Kind != history.Write || !read:
			case list.all[len(list.all)-1].from == int32(n): // the transaction wrote it before
				list.all[len(list.all)-1].value = op.Value
			default:
				list.all = append(list.all, version{int32(n), op.Value})
			}
		}
	}
	return out
}

// current returns the first event not before lower after which the reads of ops are current.
func (o *order) current(versions map[history.Key]*timeline, ops []history.Op, lower int32) int32 {
	for moved := true; moved; {
		moved = false
		for m, op := range ops {
			if op.Kind == history.Write || slices.ContainsFunc(ops[:m], func(b history.Op) bool { return b.Kind == history.Write && b.Key == op.Key }) {
				continue // it reads what it wrote
			}
			list := versions[op.Key]
			n := sort.Search(len(list.all), func(n int) bool { return list.all[n].from > lower }) - 1
			switch next := list.next(n, op); next {
			case n: // it is current
			case none: // it does not fit anywhere later, unless a transaction of unknown outcome wrote it
			default:
				lower, moved = list.all[next].from, true
			}
		}
	}
	return lower
}

// places is, by transaction, the event at which it takes effect, or nowhere.
func (o *order) places() []int32 {
	at := make([]int32, len(o.h.Txns))
	for i := range at {
		at[i] = nowhere
	}
	for n, e := range o.events {
		if e.kind() != start {
			at[e.txn()] = int32(n)
		}
	}
	return at
}

// insert puts the starts after the events at which they are placed.
func (o *order) insert(at []int32) {
	readers := slices.Clone(o.free)
	slices.SortStableFunc(readers, func(a, b int32) int {
		if at[a] != at[b] {
			return int(at[a]) - int(at[b])
		}
		if x, y := o.h.Txns[a].Begin, o.h.Txns[b].Begin; x != y && o.lvl.RealTime() {
			if x < y {
				return -1
			}
			return 1
		}
		return int(a - b)
	})
	events := make([]event, 0, len(o.events)+len(readers))
	for n := int32(-1); n < int32(len(o.events)); n++ {
		if n >= 0 {
			events = append(events, o.events[n])
		}
		for len(readers) > 0 && at[readers[0]] == n {
			kind := atOnce
			if kindOf(o.h.Ops(&o.h.Txns[readers[0]])) != reads {
				kind = start
			}
			events = append(events, event(readers[0])<<2|kind)
			readers = readers[1:]
		}
	}
	o.events, o.position = events, nil
}

// ended finds the last place of the transactions that ended before a moment.
type ended struct {
	o      *order
	at     []int32
	list   []int32 // transactions with an end, by their ends
	next   int
	latest int32
}

func newEnded(o *order, at []int32) *ended {
	e := &ended{o: o, at: at, latest: -1}
	if !o.lvl.RealTime() {
		return e
	}
	for i := range o.h.Txns {
		if t := &o.h.Txns[i]; t.Status == history.Committed && t.End != history.NoTime {
			e.list = append(e.list, int32(i))
		}
	}
	slices.SortFunc(e.list, func(a, b int32) int {
		switch x, y := o.h.Txns[a].End, o.h.Txns[b].End; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return e
}

// before returns the last place of the transactions that ended before a moment. The moments must not
// decrease.
func (e *ended) before(moment int64) int32 {
	for e.next < len(e.list) && e.o.h.Txns[e.list[e.next]].End < moment {
		e.latest = max(e.latest, e.at[e.list[e.next]])
		e.next++
	}
	return e.latest
}
