package script

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/isohound/isohound/history"
)

// What a statement that only reads sees. One that writes sees what is committed, on all databases here.
type sight int

const (
	snapshot  sight = iota // what was committed when the transaction took its snapshot
	committed              // what is committed
	written                // what is written
)

// sights says it in words.
var sights = [...]string{snapshot: "transactions read from snapshots", committed: "statements read what is committed", written: "statements read what is written, committed or not"}

// When a transaction takes its snapshot.
type moment int

const (
	atStatement moment = iota // its first statement
	atRead                    // its first statement that only reads
	atBegin
)

// model is how a database executes statements.
type model struct {
	sight sight
	// refuses: nothing is overwritten that was committed after the snapshot.
	refuses bool
	// locks: who has written an item keeps others from it until the end.
	locks bool
}

// models are the models of a database, the likeliest first. The recording may come from a database that does not do what
// it says, and so the others follow. An order without locks has statements that wait when it is executed.
func models(s sight) []model {
	reading := []model{{committed, false, true}, {committed, false, false}, {written, false, true}}
	switch s {
	case snapshot:
		return append([]model{{snapshot, true, true}, {snapshot, false, true}, {snapshot, false, false}}, reading...)
	case written:
		return append(reading[2:], reading[:2]...)
	}
	return reading
}

// maxTries bounds the search for an order by each model: how often a step is tried.
const maxTries = 50_000

// search looks for an order of the steps of transactions in which each read returns what was recorded. A state of it is
// how far each transaction is, and what is committed.
type search struct {
	model
	h    *history.History
	txns [][]step // of each transaction; the first is its begin, the last its end
	// foreign are, of each step of each transaction, the reads of what others wrote.
	foreign [][][]history.Op
	// snap is the step in which each transaction takes its snapshot.
	snap []int
	// after are the transactions that must have ended when one begins.
	after [][]int

	next   []int
	values []history.Value // what is committed, by key
	order  []step
	seen   map[string]bool
	tried  int
}

// arrange returns the steps of all transactions in an order in which each read returns what was recorded, and the
// model by which they do, or nil if none was found. Where there is a choice, the earlier step comes first.
func arrange(h *history.History, txns [][]step, s sight, m moment) ([]step, *model) {
	x := &search{h: h, txns: txns, foreign: make([][][]history.Op, len(txns)), snap: make([]int, len(txns)), after: make([][]int, len(txns))}
	for i, steps := range txns {
		switch m {
		case atStatement:
			x.snap[i] = 1
		case atRead:
			if x.snap[i] = slices.IndexFunc(steps, step.reads); x.snap[i] < 0 {
				x.snap[i] = len(steps) // it takes none
			}
		}
		t := &h.Txns[i]
		for j := range h.Txns {
			o := &h.Txns[j]
			known := o.Status != history.Unknown && o.End != history.NoTime && t.Begin != history.NoTime
			if j < i && o.Session == t.Session || known && o.End < t.Begin && !h.NoCommonClock {
				x.after[i] = append(x.after[i], j)
			}
		}
		own := map[history.Key]history.Value{}
		for _, s := range steps {
			var reads []history.Op
			for _, op := range s.ops {
				if v, wrote := own[op.Key]; op.Kind == history.Write {
					own[op.Key] = op.Value
				} else if !wrote {
					reads = append(reads, op)
				} else if !fits(op, v) {
					return nil, nil // no order makes a transaction miss its own write
				}
			}
			x.foreign[i] = append(x.foreign[i], reads)
		}
	}
	for _, x.model = range models(s) {
		x.next, x.values, x.order, x.seen, x.tried = make([]int, len(txns)), nil, nil, map[string]bool{}, 0
		for k := range history.Key(h.KeyCount()) {
			x.values = append(x.values, h.Initial(k))
		}
		if x.hopeful() && x.find() {
			return x.order, &x.model
		}
	}
	return nil, nil
}

// fits reports whether a read may have found the value v.
func fits(op history.Op, v history.Value) bool { return (op.Value == v) == (op.Kind == history.Read) }

// find appends the steps that are left to the order, and reports whether it could.
func (x *search) find() bool {
	var open []int
	for i, n := range x.next {
		if n < len(x.txns[i]) {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return true
	}
	var state []byte
	for _, n := range x.next {
		state = binary.AppendUvarint(state, uint64(n))
	}
	for _, v := range x.values {
		state = binary.AppendVarint(state, int64(v))
	}
	if x.seen[string(state)] {
		return false
	}
	x.seen[string(state)] = true
	slices.SortStableFunc(open, func(a, b int) int { return cmp.Compare(x.txns[a][x.next[a]].at, x.txns[b][x.next[b]].at) })
	for _, i := range open {
		if x.tried++; x.tried > maxTries {
			return false
		}
		if !x.possible(i) {
			continue
		}
		before := x.values
		x.order = append(x.order, x.txns[i][x.next[i]])
		x.next[i]++
		ends := x.next[i] == len(x.txns[i])
		if ends && x.h.Txns[i].Status != history.Aborted {
			x.values = slices.Clone(before)
			for op := range x.writes(i, 0, x.next[i]) {
				x.values[op.Key] = op.Value
			}
		}
		if (!ends || x.hopeful()) && x.find() {
			return true
		}
		x.values = before
		x.next[i]--
		x.order = x.order[:len(x.order)-1]
	}
	return false
}

// writes are those of a transaction in its steps from one up to another.
func (x *search) writes(i, from, to int) iter.Seq[history.Op] {
	return func(yield func(history.Op) bool) {
		for _, s := range x.txns[i][from:to] {
			for _, op := range s.ops {
				if op.Kind == history.Write && !yield(op) {
					return
				}
			}
		}
	}
}

// open reports whether a transaction has not ended.
func (x *search) open(i int) bool { return x.next[i] < len(x.txns[i]) }

// possible reports whether the next step of a transaction can be executed now and returns what was recorded.
func (x *search) possible(i int) bool {
	n := x.next[i]
	s := x.txns[i][n]
	switch {
	case n == 0 && slices.ContainsFunc(x.after[i], x.open):
		return false
	case x.refuses && n == len(x.txns[i])-1 && x.h.Txns[i].Status != history.Aborted && x.outdates(i):
		return false
	}
	latest := x.values
	if s.writes() && x.locks || s.reads() && x.sight == written {
		latest = slices.Clone(latest)
		locked := map[history.Key]bool{}
		for j := range x.txns {
			if j != i && x.open(j) {
				for op := range x.writes(j, 0, x.next[j]) {
					latest[op.Key], locked[op.Key] = op.Value, true
				}
			}
		}
		if x.locks && slices.ContainsFunc(s.ops, func(op history.Op) bool { return op.Kind == history.Write && locked[op.Key] }) {
			return false
		}
	}
	if !s.reads() {
		latest = x.values
	}
	found := func(op history.Op) bool { return fits(op, latest[op.Key]) }
	if x.sight == snapshot && s.reads() && n > x.snap[i] {
		return true
	}
	if x.sight == snapshot && n == x.snap[i] {
		for m := n; m < len(x.txns[i]); m++ {
			if x.txns[i][m].reads() && !all(x.foreign[i][m], found) {
				return false
			}
		}
	}
	return all(x.foreign[i][n], found)
}

func all(ops []history.Op, f func(history.Op) bool) bool {
	return !slices.ContainsFunc(ops, func(op history.Op) bool { return !f(op) })
}

// outdates reports whether the commit of a transaction has another one refused that has its snapshot.
func (x *search) outdates(i int) bool {
	mine := map[history.Key]bool{}
	for op := range x.writes(i, 0, x.next[i]) {
		mine[op.Key] = true
	}
	for j := range x.txns {
		if j == i || !x.open(j) || x.next[j] <= x.snap[j] {
			continue
		}
		for op := range x.writes(j, x.next[j], len(x.txns[j])) {
			if mine[op.Key] {
				return true
			}
		}
	}
	return false
}

// hopeful reports whether each read that is left may still find its value.
func (x *search) hopeful() bool {
	type version struct {
		k history.Key
		v history.Value
	}
	coming := map[version]bool{}
	for k, v := range x.values {
		coming[version{history.Key(k), v}] = true
	}
	for i, steps := range x.txns {
		if x.open(i) && (x.h.Txns[i].Status != history.Aborted || x.sight == written) {
			for op := range x.writes(i, 0, len(steps)) {
				coming[version{op.Key, op.Value}] = true
			}
		}
	}
	for i, steps := range x.txns {
		seen := x.sight == snapshot && x.next[i] > x.snap[i]
		for n := x.next[i]; n < len(steps); n++ {
			if seen && steps[n].reads() {
				continue
			}
			if !all(x.foreign[i][n], func(op history.Op) bool { return op.Kind != history.Read || coming[version{op.Key, op.Value}] }) {
				return false
			}
		}
	}
	return true
}
