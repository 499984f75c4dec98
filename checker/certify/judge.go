package certify

import (
	"maps"
	"math"
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// MaxJudged is the largest history that Judge takes, in transactions.
const MaxJudged = 64

// Judge decides whether h is allowed at lvl by trying every execution: every
// serial order, or at snapshot levels every order of starts and commits, of
// the committed transactions and any of those of unknown outcome. It gives up
// after budget steps with decided false. It is the meaning of the levels,
// written down as plainly as possible, for small histories.
//
// At level LIN a lone write is an insertion, which finds its key absent.
func Judge(h *history.History, lvl level.Level, budget int) (allowed, decided bool) {
	return try(h, lvl, budget, lvl == level.LIN)
}

func try(h *history.History, lvl level.Level, budget int, insertions bool) (allowed, decided bool) {
	if len(h.Txns) > MaxJudged {
		return false, false
	}
	j := &judge{h: h, lvl: lvl, budget: budget, insertions: insertions,
		state: make([]history.Value, h.KeyCount()), version: make([]int, h.KeyCount())}
	for k := range j.state {
		j.state[k] = h.Initial(history.Key(k))
	}
	for i := range h.Txns {
		if h.Txns[i].Status == history.Committed {
			j.must |= 1 << i
		}
		for other := range h.Txns {
			if j.precedes(other, i) {
				j.before[i] |= 1 << other
			}
		}
	}
	allowed = j.search()
	return allowed, allowed || j.budget > 0
}

type judge struct {
	h      *history.History
	lvl    level.Level
	budget int
	// insertions: a write without a read before it finds its key absent.
	insertions bool
	state      []history.Value
	version    []int // by key: commits of writes so far

	must               uint64 // the committed transactions
	before             [MaxJudged]uint64
	started, committed uint64
	snapshot           [MaxJudged][]int // versions at the start
}

// precedes reports whether a must come before b in every execution.
func (j *judge) precedes(a, b int) bool {
	if a == b || j.h.Txns[a].Status != history.Committed {
		return false
	}
	ta, tb := &j.h.Txns[a], &j.h.Txns[b]
	if j.lvl.SessionOrder() && ta.Session == tb.Session && a < b {
		return true
	}
	if !j.lvl.RealTime() || ta.End == history.NoTime || tb.Begin == history.NoTime || ta.End >= tb.Begin {
		return false
	}
	return j.lvl != level.LIN || j.sameKey(ta, tb)
}

// sameKey: linearizability is local, so only one key's order counts.
func (j *judge) sameKey(a, b *history.Txn) bool {
	x, y := j.h.Ops(a), j.h.Ops(b)
	return len(x) > 0 && len(y) > 0 && x[0].Key == y[0].Key
}

func (j *judge) search() bool {
	if j.committed&j.must == j.must {
		return true
	}
	if !j.lvl.Snapshot() {
		// What writes nothing changes nothing for others: where it can stand
		// now, it may.
		for i := range j.h.Txns {
			if j.must&^j.committed>>i&1 == 1 && !j.writesAny(i) && j.committed&j.before[i] == j.before[i] && j.readsMatch(i) {
				j.started |= 1 << i
				ok := j.commit(i)
				j.started &^= 1 << i
				return ok
			}
		}
	}
	for i := range j.h.Txns {
		bit := uint64(1) << i
		if j.h.Txns[i].Status == history.Aborted || j.committed&bit != 0 {
			continue
		}
		if j.budget--; j.budget <= 0 {
			return false
		}
		if j.started&bit == 0 {
			if j.committed&j.before[i] != j.before[i] || !j.readsMatch(i) {
				continue
			}
			j.started |= bit
			// Serial execution is a snapshot taken at the commit.
			if !j.lvl.Snapshot() || !j.writesAny(i) {
				if j.commit(i) {
					return true
				}
			} else {
				j.snapshot[i] = append(j.snapshot[i][:0], j.version...)
				if j.search() {
					return true
				}
			}
			j.started &^= bit
			continue
		}
		if j.firstCommitter(i) && j.commit(i) {
			return true
		}
	}
	return false
}

// commit applies i's writes, searches on, and takes them back.
func (j *judge) commit(i int) bool {
	ops := j.h.Ops(&j.h.Txns[i])
	var undo [8]history.Value
	saved := undo[:0]
	for _, op := range ops {
		saved = append(saved, j.state[op.Key])
		if op.Kind == history.Write {
			j.state[op.Key] = op.Value
			j.version[op.Key]++
		}
	}
	j.committed |= 1 << i
	ok := j.search()
	j.committed &^= 1 << i
	for n := len(ops) - 1; n >= 0; n-- {
		if ops[n].Kind == history.Write {
			j.state[ops[n].Key] = saved[n]
			j.version[ops[n].Key]--
		}
	}
	return ok
}

func (j *judge) firstCommitter(i int) bool {
	for _, op := range j.h.Ops(&j.h.Txns[i]) {
		if op.Kind == history.Write && j.version[op.Key] != j.snapshot[i][op.Key] {
			return false
		}
	}
	return true
}

func (j *judge) writesAny(i int) bool {
	for _, op := range j.h.Ops(&j.h.Txns[i]) {
		if op.Kind == history.Write {
			return true
		}
	}
	return false
}

func (j *judge) readsMatch(i int) bool {
	ops := j.h.Ops(&j.h.Txns[i])
	for n, op := range ops {
		current := j.state[op.Key]
		for _, own := range ops[:n] {
			if own.Kind == history.Write && own.Key == op.Key {
				current = own.Value
			}
		}
		switch {
		case op.Kind == history.Read && current != op.Value,
			op.Kind == history.ReadNot && current == op.Value,
			j.insertions && op.Kind == history.Write && n == 0 && current != history.Absent:
			return false
		}
	}
	return true
}

// judgeBudget bounds the search on a counterexample, in steps.
const judgeBudget = 2_000_000

// rejudge takes the sub-history of the anomaly's transactions, with those that
// show that the ones of unknown outcome among them committed, closed under the
// writers of what they read, and asks Judge. Only what the anomaly is about is
// kept of it: its keys, and of writers that were added their writes. Where the
// sub-history is too large the edges alone have to do, unless the judgement is
// needed.
func (f *facts) rejudge(lvl level.Level, a *verdict.Anomaly, needed bool) error {
	keys := map[history.Key]bool{}
	for _, e := range a.Cycle {
		if e.Kind != verdict.SO && e.Kind != verdict.RT {
			keys[e.Key] = true
		}
	}
	for _, r := range a.Ops {
		keys[f.h.Ops(&f.h.Txns[r.Txn])[r.Op].Key] = true
	}
	keep := map[int32]bool{} // true: with its reads
	work := slices.Clone(a.Txns)
	for n := 0; n < len(work); n++ {
		i := work[n]
		keep[i] = true
		if f.h.Txns[i].Status != history.Unknown || !f.counts(i) {
			continue
		}
		p := f.pulled[i]
		keys[p.read.key] = true
		if !keep[p.by] {
			work = append(work, p.by)
		}
	}
	// A failure that ruled out v is closed when everything that can end v is
	// kept: with unique values, the compare-and-sets that expect v.
	ruledOut := map[cell]int64{} // with when the last such failure ended
	for _, i := range work {
		t := &f.h.Txns[i]
		for _, op := range f.h.Ops(t) {
			if op.Kind == history.ReadNot {
				end := t.End
				if t.Status != history.Committed || end == history.NoTime {
					end = math.MaxInt64
				}
				c := cell{op.Key, op.Value}
				if old, ok := ruledOut[c]; ok {
					end = max(end, old)
				}
				ruledOut[c] = end
			}
		}
	}
	for _, i := range f.expecting(ruledOut) {
		if !keep[i] {
			keep[i] = true
			work = append(work, i)
		}
	}
	// Writers of what is read are kept for their writes alone. At level lin
	// what may not have happened keeps its reads too, since it can have
	// happened only if they hold, and so does an insertion.
	done := map[int32]bool{}
	for len(work) > 0 {
		wanted := map[cell]bool{}
		for _, i := range work {
			done[i] = true
			ops := f.h.Ops(&f.h.Txns[i])
			if lvl == level.LIN && len(ops) == 1 && ops[0].Kind == history.Write && keys[ops[0].Key] {
				wanted[cell{ops[0].Key, history.Absent}] = true
			}
			for _, op := range ops {
				if op.Kind == history.Read && keys[op.Key] {
					wanted[cell{op.Key, op.Value}] = true
				}
			}
		}
		work = work[:0]
		all := &facts{h: f.h, finals: map[cell][]int32{}, all: map[cell][]int32{}}
		all.collect(wanted)
		for _, writers := range all.all {
			for _, w := range writers {
				whole := lvl == level.LIN && needed && (len(f.h.Ops(&f.h.Txns[w])) == 1 || !f.counts(w))
				keep[w] = keep[w] || whole
				if whole && !done[w] {
					done[w] = true
					work = append(work, w)
				}
			}
		}
	}
	allowed, decided := try(f.subHistory(keep, keys, lvl), lvl, judgeBudget, false)
	switch {
	case allowed:
		return errors.New("the transactions named, taken by themselves, do not violate the level")
	case !decided && needed:
		return errors.New("the transactions named are too many to be judged again")
	}
	return nil
}

// expecting returns the transactions that can have committed and that
// overwrite one of the cells; a lone write overwrites absence.
func (f *facts) expecting(cells map[cell]int64) []int32 {
	var out []int32
	for i := range f.h.Txns {
		t := &f.h.Txns[i]
		if len(cells) == 0 || t.Status == history.Aborted {
			continue
		}
		ops := f.h.Ops(t)
		for n, op := range ops {
			if op.Kind != history.Write {
				continue
			}
			found := cell{op.Key, history.Absent}
			if n > 0 {
				found.value = ops[n-1].Value
			}
			if end, ok := cells[found]; ok && t.Begin <= end {
				out = append(out, int32(i))
			}
		}
	}
	return out
}

func (f *facts) subHistory(keep map[int32]bool, keys map[history.Key]bool, lvl level.Level) *history.History {
	b := history.NewBuilder(f.h.Header, f.h.Symbols, len(keep))
	for _, i := range slices.Sorted(maps.Keys(keep)) {
		withReads, all := keep[i], f.h.Ops(&f.h.Txns[i])
		p := history.Part{Txn: i}
		for n, op := range all {
			if keys[op.Key] && (withReads || op.Kind == history.Write) {
				p.Ops = append(p.Ops, n)
			}
		}
		rec := f.h.PartRecord(p)
		if lvl == level.LIN && withReads && len(all) == 1 && keys[all[0].Key] && all[0].Kind == history.Write {
			found := history.Op{Kind: history.Read, Key: all[0].Key, Value: history.Absent}
			rec.Ops = []history.Op{found, all[0]}
		}
		if err := b.Add(&rec); err != nil {
			panic(err) // the records come from a valid history
		}
	}
	return b.Done(f.h.Closed, nil)
}
