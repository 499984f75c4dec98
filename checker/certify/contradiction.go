package certify

import (
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// ErrTooLarge says that a counterexample is too large to be judged again and has
// no refutation.
var ErrTooLarge = errors.New("the counterexample is too large to be judged again by trying every execution")

// contradiction verifies a closed sub-history (DESIGN rule 3): everything in it
// is in the history; for every read that is kept, every transaction that can
// have written its value is kept, with that write; one of unknown outcome is
// kept whole, since it can have taken place only if all its reads hold. Then
// it is judged by trying every execution; where these are too many, its
// refutation is replayed, against the whole history.
func (f *facts) contradiction(lvl level.Level, a *verdict.Anomaly) error {
	if lvl == level.LIN {
		return errors.New("no sub-history is closed at level lin, where absence is what an insertion saw")
	}
	if err := f.drawn(lvl, a.Cycle); err != nil {
		return err
	}
	listed, kept := map[int32]bool{}, map[int32][]int{}
	for _, i := range a.Txns {
		if listed[i] {
			return errors.Errorf("it names transaction %d twice", f.id(i))
		}
		listed[i] = true
	}
	for _, r := range a.Ops {
		if !listed[r.Txn] {
			return errors.Errorf("it names an operation of transaction %d, but not the transaction", f.id(r.Txn))
		}
		kept[r.Txn] = append(kept[r.Txn], r.Op)
	}
	wanted := map[cell]bool{}
	for _, i := range a.Txns {
		t := &f.h.Txns[i]
		ops := f.h.Ops(t)
		list := kept[i]
		slices.Sort(list)
		if len(slices.Compact(slices.Clone(list))) != len(list) {
			return errors.Errorf("an operation of transaction %d is named twice", f.id(i))
		}
		switch {
		case t.Status == history.Aborted:
			return errors.Errorf("transaction %d aborted", f.id(i))
		case t.Status == history.Unknown && len(list) != len(ops):
			return errors.Errorf("transaction %d is of unknown outcome and not kept whole", f.id(i))
		}
		for _, n := range list {
			op := ops[n]
			if t.Status == history.Committed && op.Kind == history.Write && !isFinal(ops, n) {
				return errors.Errorf("transaction %d overwrote its write to %s", f.id(i), f.h.KeyName(op.Key))
			}
			switch op.Kind {
			case history.ReadNot:
				return errors.Errorf("operation %d of transaction %d says only what a key did not have", n+1, f.id(i))
			case history.Write:
				continue
			}
			if first := slices.IndexFunc(ops, func(o history.Op) bool { return o.Key == op.Key }); first != n {
				if t.Status == history.Committed {
					return errors.Errorf("transaction %d has touched %s before", f.id(i), f.h.KeyName(op.Key))
				}
				continue // a read of its own
			}
			wanted[cell{op.Key, op.Value}] = true
		}
	}
	all := &facts{h: f.h, finals: map[cell][]int32{}, all: map[cell][]int32{}}
	all.collect(wanted)
	for c, writers := range all.finals {
		for _, w := range writers {
			if !slices.ContainsFunc(kept[w], func(n int) bool {
				op := f.h.Ops(&f.h.Txns[w])[n]
				return op.Kind == history.Write && op.Key == c.key && op.Value == c.value
			}) && !f.onlyReader(a, kept, w, c) {
				return errors.Errorf("transaction %d wrote a value that is read, and is left out", f.id(w))
			}
		}
	}
	orphan := func(c cell) bool {
		return all.unsure(c) || !f.h.Closed && wanted[c] && len(all.finals[c]) == 0 && f.h.Initial(c.key) != c.value
	}
	var parts []history.Part
	for _, i := range slices.Sorted(slices.Values(a.Txns)) {
		t := &f.h.Txns[i]
		ops := f.h.Ops(t)
		if t.Status == history.Unknown && contradictsItself(ops) {
			continue // it cannot have taken place
		}
		p := history.Part{Txn: i}
		for _, n := range kept[i] {
			op := ops[n]
			if op.Kind == history.Read && orphan(cell{op.Key, op.Value}) && !slices.ContainsFunc(ops[:n], func(o history.Op) bool { return o.Kind == history.Write && o.Key == op.Key }) {
				if t.Status == history.Committed {
					return errors.New("a value's writer may be missing")
				}
				continue // may be right, for what its writer was not recorded
			}
			p.Ops = append(p.Ops, n)
		}
		parts = append(parts, p)
	}
	sub := f.h.Sub(parts)
	sub.Closed = true
	steps := contradictionBudget
	if a.Refutation != nil {
		steps = judgeBudget
	}
	switch allowed, decided := try(sub, lvl, steps, false); {
	case allowed:
		return errors.New("the operations named, taken by themselves, do not violate the level")
	case !decided && a.Refutation != nil:
		return errors.Wrap(Replay(f.h, lvl, a.Refutation), "refutation")
	case !decided:
		return ErrTooLarge
	}
	return nil
}

// contradictsItself reports whether a read differs from what the transaction
// itself saw or wrote before.
func contradictsItself(ops []history.Op) bool {
	value := map[history.Key]history.Value{}
	for _, op := range ops {
		if v, ok := value[op.Key]; ok && op.Kind == history.Read && v != op.Value {
			return true
		}
		value[op.Key] = op.Value
	}
	return false
}

// drawn verifies the cycle that pictures a contradiction, if there is one: that
// its edges are what they are called, and that the level forbids it. That they
// are forced is what the judgement of the sub-history shows.
func (f *facts) drawn(lvl level.Level, edges []verdict.Edge) error {
	for n, e := range edges {
		next := edges[(n+1)%len(edges)]
		read := func(i int32) bool { return f.readsFromOutside(i, cell{e.Key, e.Value}) }
		ok := e.From != e.To && e.To == next.From && !(lvl.Snapshot() && e.Kind == verdict.RW && next.Kind == verdict.RW)
		switch e.Kind {
		case verdict.SO, verdict.RT:
			ok = ok && f.precedes(lvl, e)
		case verdict.WR:
			ok = ok && f.writes(e.From, e.Key) && read(e.To)
		case verdict.RW:
			ok = ok && read(e.From) && f.writes(e.To, e.Key)
		case verdict.WW:
			ok = ok && f.writes(e.From, e.Key) && f.writes(e.To, e.Key)
		default:
			ok = false
		}
		if !ok {
			return errors.Errorf("edge %d of the cycle, %s from transaction %d to %d, is not what it is called", n+1, e.Kind, f.id(e.From), f.id(e.To))
		}
	}
	return nil
}

// contradictionBudget bounds the judgement, in steps; where a refutation can be
// replayed instead, judgeBudget does.
const contradictionBudget = 50_000_000

// onlyReader reports whether nobody but w itself reads c from outside, so that
// w's own write of it does not matter.
func (f *facts) onlyReader(a *verdict.Anomaly, kept map[int32][]int, w int32, c cell) bool {
	for _, i := range a.Txns {
		if i == w {
			continue
		}
		ops := f.h.Ops(&f.h.Txns[i])
		if n := slices.IndexFunc(ops, func(op history.Op) bool { return op.Key == c.key }); n >= 0 &&
			ops[n].Kind == history.Read && ops[n].Value == c.value && slices.Contains(kept[i], n) {
			return false
		}
	}
	return true
}
