package replay

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// run executes the claimed order.
type run struct {
	*order
	state  []history.Value // by key
	writer []int32         // by key: who wrote the state, or FromInitial
	// startedAt and writtenAt are numbers of steps: the start of a transaction, and the last commit of a write
	// to a key. They are for first committer wins.
	startedAt []int32
	writtenAt []int32
	step      int32
	undo      []undo
	placed    []int32 // by session: how many committed transactions were placed
	rank      []int32 // by transaction: how many committed ones come before it in its session
	newest    int32   // the transaction that began last among those that started, or FromInitial

	// candidates are the optional transactions by the final values that they wrote. included are those that
	// take part.
	candidates map[history.Op]int32
	included   map[int32]bool
	// late are optional transactions from which something read when their own reads were no longer current. waiting are
	// those of the runs before, by the keys that they read: they take part before one of these is overwritten.
	late    map[int32]bool
	waiting map[history.Key][]int32

	prove   bool
	witness *verdict.Witness

	// first is the lowest position of a transaction, 0 if the versions of reads are not compared. otherVersion: one of them is
	// not that of the transaction that wrote the state.
	first        int64
	otherVersion bool

	misfits int
	txns    []int32 // of the first misfit
	text    string
}

// undo is what a write replaced.
type undo struct {
	key    history.Key
	writer int32
	value  history.Value
}

func newRun(h *history.History, lvl level.Level, o *order, prove bool) *run {
	r := &run{order: o, prove: prove, newest: verdict.FromInitial,
		state: make([]history.Value, h.KeyCount()), writer: make([]int32, h.KeyCount()),
		placed: make([]int32, h.SessionCount()), rank: make([]int32, len(h.Txns))}
	for k := range r.state {
		r.state[k], r.writer[k] = h.Initial(history.Key(k)), verdict.FromInitial
	}
	count := make([]int32, h.SessionCount())
	for i := range h.Txns {
		t := &h.Txns[i]
		if r.rank[i] = count[t.Session]; t.Status == history.Committed {
			count[t.Session]++
		}
	}
	if h.HasVersions() {
		r.first = math.MaxInt64
		for i := range h.Txns {
			if at := h.Claim(i).Commit; at != 0 && h.Txns[i].Status != history.Aborted {
				r.first = min(r.first, at)
			}
		}
	}
	if o.byPoints {
		r.startedAt, r.writtenAt = make([]int32, len(h.Txns)), make([]int32, h.KeyCount())
	}
	if len(o.optional) > 0 {
		r.candidates, r.included, r.late = map[history.Op]int32{}, map[int32]bool{}, map[int32]bool{}
		for _, i := range o.optional {
			for _, op := range h.Ops(&h.Txns[i]) {
				if op.Kind == history.Write {
					r.candidates[op] = i
				}
			}
		}
	}
	if prove {
		r.witness = &verdict.Witness{}
	}
	return r
}

// execute executes an order, again if optional transactions must take part earlier.
func execute(ctx context.Context, o *order, prove bool) (*run, error) {
	o.placeReaders()
	r := newRun(o.h, o.lvl, o, prove)
	err := r.all(ctx)
	late := map[int32]bool{}
	for n := 1; err == nil && n < mostRuns && len(r.late) > len(late); n++ {
		maps.Copy(late, r.late)
		r = newRun(o.h, o.lvl, o, prove)
		r.await(late)
		err = r.all(ctx)
		maps.Copy(r.late, late)
	}
	return r, err
}

// mostRuns bounds how often an order is executed.
const mostRuns = 8

// await lets optional transactions take part before what they read is overwritten.
func (r *run) await(list map[int32]bool) {
	r.waiting = map[history.Key][]int32{}
	for _, i := range slices.Sorted(maps.Keys(list)) {
		for _, op := range r.h.Ops(&r.h.Txns[i]) {
			if op.Kind != history.Write && !slices.Contains(r.waiting[op.Key], i) {
				r.waiting[op.Key] = append(r.waiting[op.Key], i)
			}
		}
	}
}

// overwrites is called before a transaction writes.
func (r *run) overwrites(i int32, t *history.Txn) {
	if r.waiting == nil {
		return
	}
	for _, op := range r.h.Ops(t) {
		if op.Kind != history.Write {
			continue
		}
		for _, w := range r.waiting[op.Key] {
			if w != i && !r.included[w] {
				r.takePart(w)
			}
		}
	}
}

// all executes all events, also after one that does not fit.
func (r *run) all(ctx context.Context) error {
	for n, e := range r.events {
		if n&0xfff == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		i, t := e.txn(), &r.h.Txns[e.txn()]
		if !r.byPoints {
			r.overwrites(i, t)
		}
		if e.kind() != commit {
			r.begin(i, t)
		}
		if e.kind() != start {
			if r.byPoints {
				r.overwrites(i, t)
			}
			r.end(i, t)
		}
	}
	return nil
}

// begin executes the start of a transaction: all that it reads and, at serial levels, its writes.
func (r *run) begin(i int32, t *history.Txn) {
	for {
		bad := r.read(i, t, false)
		if bad < 0 {
			break
		}
		if op := r.h.Ops(t)[bad]; op.Kind == history.Read && r.include(op) {
			continue
		}
		r.misread(i, bad)
		r.read(i, t, true)
		break
	}
	if !r.startsInOrder(i, t) {
		r.tooEarly(i, t)
	}
	r.started(i, t)
}

func (r *run) startsInOrder(i int32, t *history.Txn) bool {
	return !r.lvl.SessionOrder() || r.placed[t.Session] >= r.rank[i]
}

func (r *run) endsInOrder(t *history.Txn) bool {
	return !r.lvl.RealTime() || t.Status != history.Committed || t.End == history.NoTime || r.newest < 0 || t.End >= r.h.Txns[r.newest].Begin
}

// started notes that a transaction has started.
func (r *run) started(i int32, t *history.Txn) {
	if t.Begin != history.NoTime && r.lvl.RealTime() && (r.newest < 0 || t.Begin > r.h.Txns[r.newest].Begin) {
		r.newest = i
	}
	r.step++
	if r.byPoints {
		r.startedAt[i] = r.step
		if r.prove {
			r.witness.Points = append(r.witness.Points, i<<1)
		}
	}
}

// end executes the commit of a transaction.
func (r *run) end(i int32, t *history.Txn) {
	if !r.endsInOrder(t) {
		r.tooLate(i)
	}
	r.step++
	if r.byPoints {
		for _, op := range r.h.Ops(t) {
			if op.Kind != history.Write {
				continue
			}
			if firstCommitterWins(r.lvl) && r.writtenAt[op.Key] > r.startedAt[i] && r.writer[op.Key] != i {
				r.notFirst(i, op.Key)
			}
			r.state[op.Key], r.writer[op.Key], r.writtenAt[op.Key] = op.Value, i, r.step
		}
		if r.prove {
			r.witness.Points = append(r.witness.Points, i<<1|1)
		}
	} else if r.prove {
		r.witness.Order = append(r.witness.Order, i)
	}
	if t.Status == history.Committed {
		r.placed[t.Session]++
	}
}

func firstCommitterWins(lvl level.Level) bool { return lvl.FirstCommitterWins() || lvl == level.PSI }

// read executes the operations of a transaction on the state, and returns the first read that does not fit, or
// -1. Then, and if the writes come later, the state is as before. all says that no read has to fit.
func (r *run) read(i int32, t *history.Txn, all bool) int {
	r.undo = r.undo[:0]
	bad := -1
	for n, op := range r.h.Ops(t) {
		if op.Kind == history.Write {
			r.undo = append(r.undo, undo{op.Key, r.writer[op.Key], r.state[op.Key]})
			r.state[op.Key], r.writer[op.Key] = op.Value, i
		} else if !all && (op.Kind == history.Read) != (r.state[op.Key] == op.Value) {
			bad = n
			break
		} else if r.first != 0 && r.writer[op.Key] != i {
			r.compare(r.writer[op.Key], r.h.Version(t, n))
		}
	}
	if bad < 0 && !r.byPoints {
		return bad
	}
	r.takeBack()
	return bad
}

// compare notes whether a read can have the version that the database told, if it reads what a transaction wrote.
func (r *run) compare(writer int32, version int64) {
	if version == 0 || writer < 0 && version < r.first || writer >= 0 && r.h.Claim(int(writer)).Commit == version {
		return
	}
	r.otherVersion = true
}

// include makes the transaction of unknown outcome that wrote what a read returned take part now. It reports
// whether there is one that can.
func (r *run) include(op history.Op) bool {
	op.Kind = history.Write
	i, found := r.candidates[op]
	if !found || r.included[i] {
		return false
	}
	if !r.takePart(i) {
		r.late[i] = true
		return false
	}
	return true
}

// takePart makes an optional transaction take part now, if it can.
func (r *run) takePart(i int32) bool {
	r.included[i] = true
	t := &r.h.Txns[i]
	for {
		bad := r.read(i, t, false)
		if bad < 0 {
			break
		}
		if op := r.h.Ops(t)[bad]; op.Kind != history.Read || !r.include(op) {
			r.included[i] = false
			return false
		}
	}
	if !r.startsInOrder(i, t) {
		if !r.byPoints {
			r.takeBack()
		}
		r.included[i] = false
		return false
	}
	r.started(i, t)
	r.end(i, t)
	return true
}

// takeBack undoes the writes of the latest read.
func (r *run) takeBack() {
	for n := len(r.undo) - 1; n >= 0; n-- {
		u := &r.undo[n]
		r.state[u.key], r.writer[u.key] = u.value, u.writer
	}
}
