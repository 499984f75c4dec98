package replay

import (
	"fmt"
	"slices"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/radix"
	"github.com/isohound/isohound/checker/snapshots"
	"github.com/isohound/isohound/history"
)

// event is a transaction, shifted left by two bits, and what it does: at serial levels all at once, at others
// its start, its commit, or one right after the other.
type event int32

const (
	atOnce event = iota
	start
	commit
)

func (e event) txn() int32  { return int32(e >> 2) }
func (e event) kind() event { return e & 3 }

// order is the claimed order.
type order struct {
	h   *history.History
	lvl level.Level
	// guessed are positions that follow from the snapshots of h (package snapshots). It is nil where the claimed positions
	// are used.
	guessed []history.Claim
	// byPoints: a transaction reads at one moment and writes at another.
	byPoints bool
	events   []event
	position []int64 // of each event
	// free are the readers of which nothing is claimed and, if early is set, the transactions without a snapshot
	// that wrote. Their starts have no place yet.
	free  []int32
	early bool
	// snapless is the number of transactions without a snapshot that wrote, at snapshot levels.
	snapless int
	// optional are the transactions of unknown outcome without a position.
	optional []int32
}

// class orders what happens at one position: first what was written there, then what saw it.
type class uint8

const (
	writes  class = iota // wrote a value
	deletes              // only deleted; where the keys did not exist, a database may give it an older position
	reads                // wrote nothing, or the start of one that writes
	classes
)

// newOrder sorts the events of the transactions. It refuses a history in which a committed transaction that
// wrote has no position.
// At snapshot levels a transaction that wrote and has no snapshot reads right before its commit or, if early is set,
// at any moment before.
func newOrder(h *history.History, lvl level.Level, early bool) (*order, error) {
	o := &order{h: h, lvl: lvl, byPoints: !lvl.Serial(), early: early}
	if guesses(h, lvl) {
		o.guessed = snapshots.Guess(h)
	}
	var by [classes][]event
	var at [classes][]int64
	add := func(c class, e event, position int64) { by[c], at[c] = append(by[c], e), append(at[c], position) }
	missing, first := 0, int64(0)
	for i := range h.Txns {
		t := &h.Txns[i]
		if t.Status == history.Aborted {
			continue
		}
		claim, c, e := o.claim(i), kindOf(h.Ops(t)), event(i)<<2
		switch {
		case c == reads && t.Status == history.Unknown: // nobody can read from it
		case c == reads && claim.Snapped:
			add(reads, e|atOnce, claim.Snapshot)
		case c == reads && claim.Commit != 0:
			add(reads, e|atOnce, claim.Commit)
		case c == reads:
			o.free = append(o.free, int32(i))
		case claim.Commit == 0 && t.Status == history.Unknown:
			o.optional = append(o.optional, int32(i))
		case claim.Commit == 0:
			if missing++; missing == 1 {
				first = t.ID
			}
		case o.byPoints && claim.Snapped && claim.Snapshot < claim.Commit:
			add(reads, e|start, claim.Snapshot)
			add(c, e|commit, claim.Commit)
		case o.byPoints && early:
			o.free = append(o.free, int32(i))
			add(c, e|commit, claim.Commit)
		default:
			o.snapless++
			add(c, e|atOnce, claim.Commit)
		}
	}
	if missing > 0 {
		return nil, &engine.Refusal{Engine: Name, Reason: fmt.Sprintf("the database does not say where it placed %d of the committed transactions that wrote, transaction %d for one", missing, first)}
	}
	o.sort(slices.Concat(by[:]...), slices.Concat(at[:]...))
	return o, nil
}

// guesses reports whether the snapshots of h, as sets of transactions, give the order: at snapshot levels, where none is
// told as a position. Where the claimed order of versions is assumed, the positions decide.
func guesses(h *history.History, lvl level.Level) bool {
	if lvl.Serial() || !h.HasVisible() || h.OrderAssumed() {
		return false
	}
	for i := range h.Txns {
		if h.Claim(i).Snapped {
			return false
		}
	}
	return true
}

// claim is the place of a transaction.
func (o *order) claim(i int) history.Claim {
	if o.guessed != nil {
		return o.guessed[i]
	}
	return o.h.Claim(i)
}

func kindOf(ops []history.Op) class {
	c := reads
	for _, op := range ops {
		if op.Kind == history.Write {
			if c = deletes; op.Value != history.Absent {
				return writes
			}
		}
	}
	return c
}

// sort sorts events, which come class by class, by position. Of equal ones of a class the one whose
// transaction began first comes first, so that real time is kept among them.
func (o *order) sort(events []event, position []int64) {
	if len(events) == 0 {
		return
	}
	ids := make([]int32, len(events))
	for i := range ids {
		ids[i] = int32(i)
	}
	ids = radix.SortBy(ids, func(n int32) int64 { return position[n] })
	o.events, o.position = make([]event, len(ids)), make([]int64, len(ids))
	for to, from := range ids {
		o.events[to], o.position[to] = events[from], position[from]
	}
	began := func(a, b event) int {
		x, y := o.h.Txns[a.txn()].Begin, o.h.Txns[b.txn()].Begin
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return int(a.txn() - b.txn())
	}
	for from := 0; from < len(ids); {
		to := from + 1
		for to < len(ids) && o.position[to] == o.position[from] && o.class(o.events[to]) == o.class(o.events[from]) {
			to++
		}
		if to-from > 1 {
			slices.SortFunc(o.events[from:to], began)
		}
		from = to
	}
}

// class is that of an event.
func (o *order) class(e event) class {
	if e.kind() == start {
		return reads
	}
	return kindOf(o.h.Ops(&o.h.Txns[e.txn()]))
}
