package weak

import (
	"slices"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/history"
)

// Lists with append were read as registers whose writers read what they overwrite (history.Header.Lists). Such a
// read says what the append followed, which every execution agrees with: so the transaction that wrote it comes
// before. It does not say that the client saw it. A read of the client may look the same if an append to the
// same list follows it. So a history is judged twice:
//
//   - None of the reads that an append may have made was made by a client, and they only order the transactions.
//     What is violated then, is.
//   - The client made all of them. An order of the commits that is allowed then, and in which all lists are what
//     was read, is an execution.
//
// If neither decides it, the engine refuses. It also refuses if the lists contradict each other, unless something is
// violated without all reads that an append may have made. An append may have made several then.

// ofAppend reports whether an append may have made the read ops[j] of a history: the next operation on its key is a write.
// Where lists contradict each other, other reads of the key may be in between.
func ofAppend(h *history.History, ops []history.Op, j int) bool {
	if ops[j].Kind != history.Read {
		return false
	}
	for n := j + 1; n < len(ops); n++ {
		if ops[n].Key == ops[j].Key && (ops[n].Kind == history.Write || !h.ListsDiffer) {
			return ops[n].Kind == history.Write
		}
	}
	return false
}

// lists judges a history with appends to lists.
func (c *check) lists() error {
	c.stages.Begin("lists")
	c.lenient = true
	x, err := newIndex(c, choices{})
	if err != nil {
		return err
	}
	f, err := x.judge()
	if err != nil {
		return err
	}
	if f.violated() || len(x.Anomalies) > 0 || x.Doubtful() != "" || x.Orphaned() != "" {
		c.stages.Done("lists")
		return c.conclude(x, f)
	}
	if c.h.ListsDiffer {
		return &engine.Refusal{Engine: Name, Reason: "the history has appends to lists, and lists that were read contradict each other"}
	}
	c.lenient = false
	if x, err = newIndex(c, choices{}); err != nil {
		return err
	}
	if f, err = x.judge(); err != nil {
		return err
	}
	c.stages.Done("lists")
	_, open := x.undecided()
	switch {
	case open || f.violated() || len(x.Anomalies) > 0:
		return &engine.Refusal{Engine: Name, Reason: "the history has appends to lists: if they read what they overwrote, it is not allowed, and if they did not, no violation was found"}
	case !x.shows(f.order):
		return &engine.Refusal{Engine: Name, Reason: "the history has appends to lists, and no order of them was found that explains all lists"}
	}
	return c.conclude(x, f)
}

// listOrder is what is known of the order of the transactions from lists alone.
func (x *index) listOrder() []forcedEdge {
	if !engine.InventsReads(x.h, x.c.lvl) {
		return nil
	}
	var out []forcedEdge
	for t, in := range x.counted {
		if !in {
			continue
		}
		for _, r := range x.overwrittenBy(int32(t)) {
			if x.overwrote(int32(t), r.version) {
				out = append(out, forcedEdge{r.writer, int32(t)})
			}
		}
	}
	if !x.c.lenient {
		out = x.unseenLast(out)
	}
	return out
}

// unseenLast adds that what was appended to a list and is in no list comes after what is.
func (x *index) unseenLast(out []forcedEdge) []forcedEdge {
	const (
		unseen = iota
		last   // it is in a list, and no append that is in a list followed it
		inside
	)
	place := make([]uint8, len(x.writer))
	each := func(f func(t int32, r *read)) {
		for t, in := range x.counted {
			for at := x.readsFrom[t]; in && at < x.readsFrom[t+1]; at++ {
				f(int32(t), &x.reads[at])
			}
		}
	}
	each(func(_ int32, r *read) { place[r.version] = last })
	each(func(t int32, r *read) {
		for v := x.versionsFrom[t]; v < x.versionsFrom[t+1]; v++ {
			if x.key[v] == r.key && place[v] != unseen {
				place[r.version] = inside
			}
		}
	})
	for k := range x.h.KeyCount() {
		var ends, rest []int32
		for _, v := range x.versionsOf(history.Key(k)) {
			switch w := x.writer[v]; {
			case w == none || !x.counted[w] || !x.final(v):
			case place[v] == unseen:
				rest = append(rest, w)
			case place[v] == last:
				ends = append(ends, w)
			}
		}
		for _, e := range ends {
			for _, w := range rest {
				if w != e {
					out = append(out, forcedEdge{e, w})
				}
			}
		}
	}
	return out
}

// followed returns a version that from wrote and that an append of to followed, or none.
func (x *index) followed(from, to int32) int32 {
	for _, r := range x.overwrittenBy(to) {
		if r.writer == from {
			return r.version
		}
	}
	return none
}

// shows reports whether all lists are what was read, if the transactions commit in order o: each append that is in a
// list follows what is before it there.
func (x *index) shows(o *order) bool {
	type element struct {
		key   history.Key
		value history.Value
	}
	inList, before := map[element]bool{}, map[history.Key]bool{}
	for i := range x.h.Txns {
		for _, op := range x.h.Ops(&x.h.Txns[i]) {
			if x.counted[i] && op.Kind == history.Read {
				inList[element{op.Key, op.Value}] = true
			}
		}
	}
	for i := range x.h.Txns {
		if !x.counted[i] {
			continue
		}
		clear(before)
		for _, op := range slices.Backward(x.h.Ops(&x.h.Txns[i])) {
			e := element{op.Key, op.Value}
			if before[op.Key] { // an element before one of a list is in the list
				inList[e] = true
			}
			before[op.Key] = op.Kind == history.Write && inList[e]
		}
	}
	now := make([]history.Value, x.h.KeyCount())
	for k := range now {
		now[k] = x.h.Initial(history.Key(k))
	}
	behind := map[history.Key]history.Value{}
	for _, t := range o.txns {
		clear(behind)
		for _, op := range x.h.Ops(&x.h.Txns[t]) {
			if op.Kind == history.Write {
				if v, known := behind[op.Key]; inList[element{op.Key, op.Value}] && (!known || v != now[op.Key]) {
					return false
				}
				now[op.Key] = op.Value
			}
			behind[op.Key] = op.Value
		}
	}
	return true
}
