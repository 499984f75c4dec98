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

// judgeBudget bounds the search on a counterexample, in steps.
const judgeBudget = 2_000_000

var errNoViolation = errors.New("the transactions named, taken by themselves, do not violate the level")

// rejudge tries every execution of a sub-history. It has the anomaly's transactions, the
// transactions that show that those of unknown outcome among them committed, and all writers of
// what these read. Only operations on the anomaly's keys are kept. Of writers that were added, only
// their writes are kept. If the sub-history is too large, rejudge reports nothing, unless it is
// needed: then it fails.
func (f *facts) rejudge(a *verdict.Anomaly, needed bool) error {
	p, err := f.closed(a, needed)
	if err != nil {
		return err
	}
	tooMany := errors.New("the transactions named are too many to be judged again")
	if p == nil {
		if needed {
			return tooMany
		}
		return nil
	}
	switch allowed, decided, err := try(f.stop, f.subHistory(p), f.lvl, judgeBudget, false); {
	case err != nil:
		return err
	case allowed:
		return errNoViolation
	case !decided && needed:
		return tooMany
	}
	return nil
}

// closure is a part of a history with all writers of what it reads.
type closure struct {
	keys map[history.Key]bool
	keep map[int32]bool // the transactions; true if their reads are kept
}

// closed returns the closure of the anomaly's transactions, or nil if it has more transactions than
// can be judged.
func (f *facts) closed(a *verdict.Anomaly, whole bool) (*closure, error) {
	p := &closure{map[history.Key]bool{}, map[int32]bool{}}
	edges, refs, work := a.Cycle, a.Ops, slices.Clone(a.Txns)
	if f.lvl.Weak() { // the context shows why edges are forced
		edges, refs = slices.Concat(edges, a.Context, a.Support), append(slices.Collect(maps.Values(a.Forced)), refs...)
		for _, e := range edges {
			work = append(work, e.From, e.To)
		}
		slices.Sort(work)
		work = slices.Compact(work)
	}
	for _, e := range edges {
		if e.Kind != verdict.SO && e.Kind != verdict.RT {
			p.keys[e.Key] = true
		}
	}
	for _, r := range refs {
		p.keys[f.h.Ops(&f.h.Txns[r.Txn])[r.Op].Key] = true
	}
	changing, err := f.changing(edges)
	if err != nil || len(changing) > MaxJudged {
		return nil, err
	}
	for _, i := range changing {
		if !slices.Contains(work, i) {
			work = append(work, i)
		}
	}
	for n := 0; n < len(work); n++ {
		i := work[n]
		p.keep[i] = true
		counts, err := f.counts(i)
		if err != nil {
			return nil, err
		}
		if f.h.Txns[i].Status != history.Unknown || !counts {
			continue
		}
		by := f.pulled[i]
		p.keys[by.read.key] = true
		if !p.keep[by.by] {
			work = append(work, by.by)
		}
	}
	more, err := f.overwriting(f.ruledOut(work))
	if err != nil {
		return nil, err
	}
	for _, i := range more {
		if !p.keep[i] {
			p.keep[i] = true
			work = append(work, i)
		}
	}
	// Of writers of what is read only the writes are kept. At level lin a transaction that may not
	// have committed keeps its reads, too, because it can have committed only if they are right. So
	// does an insertion.
	done := map[int32]bool{}
	for len(work) > 0 && len(p.keep) <= MaxJudged {
		wanted := map[cell]bool{}
		for _, i := range work {
			done[i] = true
			ops := f.h.Ops(&f.h.Txns[i])
			if f.lvl == level.LIN && len(ops) == 1 && ops[0].Kind == history.Write && p.keys[ops[0].Key] {
				wanted[cell{ops[0].Key, history.Absent}] = true
			}
			for _, op := range ops {
				if op.Kind == history.Read && p.keys[op.Key] {
					wanted[cell{op.Key, op.Value}] = true
				}
			}
		}
		work = work[:0]
		found, err := f.writersOf(f.stop, wanted)
		if err != nil {
			return nil, err
		}
		for _, list := range found.all {
			for _, w := range list {
				whole := f.lvl == level.LIN && whole
				if whole && f.h.Txns[w].OpCount() != 1 {
					counts, err := f.counts(w)
					if err != nil {
						return nil, err
					}
					whole = !counts
				}
				p.keep[w] = p.keep[w] || whole
				if whole && !done[w] {
					done[w] = true
					work = append(work, w)
				}
			}
		}
	}
	if len(p.keep) > MaxJudged {
		return nil, nil
	}
	return p, nil
}

// ruledOut returns the values that failed compare-and-sets did not find, each with the end of the
// last such failure.
func (f *facts) ruledOut(txns []int32) map[cell]int64 {
	out := map[cell]int64{}
	for _, i := range txns {
		t := &f.h.Txns[i]
		for _, op := range f.h.Ops(t) {
			if op.Kind != history.ReadNot {
				continue
			}
			end := t.End
			if t.Status != history.Committed || end == history.NoTime {
				end = math.MaxInt64
			}
			c := cell{op.Key, op.Value}
			if old, ok := out[c]; ok {
				end = max(end, old)
			}
			out[c] = end
		}
	}
	return out
}

// overwriting returns the transactions that can have committed and that overwrite one of the cells
// before its time. A lone write overwrites absence. They are added for a failure that ruled out a
// value: with unique values they are the compare-and-sets that expect that value.
func (f *facts) overwriting(cells map[cell]int64) ([]int32, error) {
	if len(cells) == 0 {
		return nil, nil
	}
	var out []int32
	for i := range f.h.Txns {
		t := &f.h.Txns[i]
		if err := f.stop.after(1 + t.OpCount()); err != nil {
			return nil, err
		}
		if t.Status == history.Aborted {
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
	return out, nil
}

func (f *facts) subHistory(c *closure) *history.History {
	b := history.NewBuilder(f.h.Header, f.h.Symbols, len(c.keep))
	for _, i := range slices.Sorted(maps.Keys(c.keep)) {
		withReads, all := c.keep[i], f.h.Ops(&f.h.Txns[i])
		p := history.Part{Txn: i}
		for n, op := range all {
			if c.keys[op.Key] && (withReads || op.Kind == history.Write) {
				p.Ops = append(p.Ops, n)
			}
		}
		rec := f.h.PartRecord(p)
		rec.Versions = nil // what follows from them is in the values of f.h
		if f.lvl == level.LIN && withReads && len(all) == 1 && c.keys[all[0].Key] && all[0].Kind == history.Write {
			found := history.Op{Kind: history.Read, Key: all[0].Key, Value: history.Absent}
			rec.Ops = []history.Op{found, all[0]}
		}
		if err := b.Add(&rec); err != nil {
			panic(err) // the records come from a valid history
		}
	}
	sub := b.Done(f.h.Closed, nil)
	if f.h.OrderAssumed() || f.h.SnapshotsAssumed() {
		sub = sub.AssumeOrder()
	}
	return sub
}
