package certify

import (
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// ErrTooLarge says that a counterexample is too large for trying every execution and has no
// refutation.
var ErrTooLarge = errors.New("the counterexample is too large to be judged again by trying every execution")

// contradictionBudget bounds the trial of every execution, in steps. If there is a refutation to
// replay, judgeBudget is enough.
const contradictionBudget = 50_000_000

// contradiction verifies a closed sub-history: for every kept read, each write that it can have
// read is kept, too. It tries every execution. If there are too many, it replays the refutation
// against the whole history.
//
// Why this is sound: take an execution of the whole history, and remove everything that is not
// kept. Every kept read then still returns its value. If it read its own transaction's latest
// write, that write is kept, and no write was added after it. Otherwise it read the final write of
// the latest writer before its snapshot. That write is kept, and no write was added after it. So
// the rest is an execution of the sub-history.
func (f *facts) contradiction(a *verdict.Anomaly) error {
	if f.lvl == level.LIN || f.lvl == level.RU {
		return errors.Errorf("level %s has no anomaly of this kind", f.lvl)
	}
	if err := f.drawn(a.Cycle); err != nil {
		return err
	}
	parts, err := f.partsOf(a)
	if err != nil {
		return err
	}
	reads, err := f.outsideReads(parts)
	if err != nil {
		return err
	}
	if err := f.closedUnder(parts, reads); err != nil {
		return err
	}
	sub := f.h.Sub(parts)
	sub.Closed = true
	steps := contradictionBudget
	if a.Refutation != nil {
		steps = judgeBudget
	}
	switch allowed, decided, err := try(f.stop, sub, f.lvl, steps, false); {
	case err != nil:
		return err
	case allowed:
		return errNoViolation
	case !decided && a.Refutation != nil:
		return errors.Wrap(refuted(f.stop, f.h, f.lvl, a.Refutation), "refutation")
	case !decided:
		return ErrTooLarge
	}
	return nil
}

// partsOf lists the transactions and operations that the anomaly names, in the order of the history.
func (f *facts) partsOf(a *verdict.Anomaly) ([]history.Part, error) {
	var parts []history.Part
	at := map[int32]int{}
	for n, i := range slices.Sorted(slices.Values(a.Txns)) {
		if _, twice := at[i]; twice {
			return nil, errors.Errorf("it names transaction %d twice", f.id(i))
		}
		at[i] = n
		parts = append(parts, history.Part{Txn: i})
	}
	for _, r := range a.Ops {
		n, listed := at[r.Txn]
		if !listed {
			return nil, errors.Errorf("it names an operation of transaction %d, but not the transaction", f.id(r.Txn))
		}
		parts[n].Ops = append(parts[n].Ops, r.Op)
	}
	for n := range parts {
		ops := parts[n].Ops
		slices.Sort(ops)
		for i := 1; i < len(ops); i++ {
			if ops[i] == ops[i-1] {
				return nil, errors.Errorf("it names an operation of transaction %d twice", f.id(parts[n].Txn))
			}
		}
	}
	return parts, nil
}

// outsideRead is a transaction's first kept read of a key, if the transaction did not write the key
// before.
type outsideRead struct {
	verdict.OpRef
	cell
	not bool // the read returned any value but that of the cell
}

// outsideReads returns the outside reads of parts. A read after an own write of its key reads that
// write, which must be kept. A read after another kept read must repeat it, except at some weak levels.
func (f *facts) outsideReads(parts []history.Part) ([]outsideRead, error) {
	var out []outsideRead
	for _, p := range parts {
		own := map[history.Key]int{} // the latest write
		read := map[history.Key]bool{}
		ops := f.h.Ops(&f.h.Txns[p.Txn])
		from := 0
		for _, n := range p.Ops {
			for ; from < n; from++ {
				if ops[from].Kind == history.Write {
					own[ops[from].Key] = from
				}
			}
			op := ops[n]
			switch w, wrote := own[op.Key]; {
			case op.Kind == history.ReadNot:
				if wrote {
					if _, kept := slices.BinarySearch(p.Ops, w); !kept {
						return nil, errors.Errorf("transaction %d read its own write of %s, which is left out", f.id(p.Txn), f.h.KeyName(op.Key))
					}
				} else {
					out = append(out, outsideRead{verdict.OpRef{Txn: p.Txn, Op: n}, cell{op.Key, op.Value}, true})
				}
			case op.Kind == history.Write || read[op.Key] && !wrote && !rereads(f.lvl):
			case !wrote:
				read[op.Key] = true
				out = append(out, outsideRead{verdict.OpRef{Txn: p.Txn, Op: n}, cell{op.Key, op.Value}, false})
			default:
				if _, kept := slices.BinarySearch(p.Ops, w); !kept {
					return nil, errors.Errorf("transaction %d read its own write of %s, which is left out", f.id(p.Txn), f.h.KeyName(op.Key))
				}
			}
		}
	}
	return out, nil
}

// closedUnder verifies that all final writes of every value that is read are kept, except the
// reader's own. In a history that was cut off, a value's writer may be missing. Reads of such
// values prove nothing: they are removed from transactions of unknown outcome, and refused in
// committed ones. A value that was only written by transactions that aborted, or overwrote it themselves, is
// none of these: no read of a transaction that committed returned it.
func (f *facts) closedUnder(parts []history.Part, reads []outsideRead) error {
	type readers struct {
		one     int32
		several bool
	}
	by, wanted := map[cell]readers{}, map[cell]bool{}
	if err := f.closedUnderNot(parts, reads); err != nil {
		return err
	}
	reads = slices.DeleteFunc(reads, func(r outsideRead) bool { return r.not })
	for _, r := range reads {
		old, known := by[r.cell]
		by[r.cell] = readers{r.Txn, known && (old.several || old.one != r.Txn)}
		wanted[r.cell] = true
	}
	w, err := f.writersOf(f.stop, wanted)
	if err != nil {
		return err
	}
	for c, list := range w.finals {
		for _, i := range list {
			if r := by[c]; !f.keepsFinal(parts, i, c.key) && (r.several || r.one != i) {
				return errors.Errorf("transaction %d wrote a value that is read, and is left out", f.id(i))
			}
		}
	}
	if f.h.Closed {
		return nil
	}
	doubtful := map[int32]map[cell]bool{} // by transaction
	for _, r := range reads {
		if !w.unsure(r.cell) && (len(w.finals[r.cell]) > 0 || f.h.Initial(r.key) == r.value || w.never(r.cell)) {
			continue
		}
		if f.h.Txns[r.Txn].Status == history.Committed {
			return errors.New("a value's writer may be missing")
		}
		if doubtful[r.Txn] == nil {
			doubtful[r.Txn] = map[cell]bool{}
		}
		doubtful[r.Txn][r.cell] = true
	}
	for n := range parts {
		for c := range doubtful[parts[n].Txn] {
			f.leaveOut(&parts[n], c)
		}
	}
	return nil
}

// keepsFinal reports whether the parts keep the final write of transaction i to k.
func (f *facts) keepsFinal(parts []history.Part, i int32, k history.Key) bool {
	n, kept := slices.BinarySearchFunc(parts, i, func(p history.Part, i int32) int { return int(p.Txn - i) })
	if kept {
		_, kept = slices.BinarySearch(parts[n].Ops, f.at(i, k).write)
	}
	return kept
}

// closedUnderNot does the same for reads that only say which value they did not find: the final
// writes of all other values must be kept.
func (f *facts) closedUnderNot(parts []history.Part, reads []outsideRead) error {
	byKey := map[history.Key][]outsideRead{}
	for _, r := range reads {
		if r.not {
			byKey[r.key] = append(byKey[r.key], r)
		}
	}
	if len(byKey) == 0 {
		return nil
	}
	if !f.h.Closed { // a missing transaction may have written any other value
		for _, list := range byKey {
			for _, r := range list {
				if f.h.Txns[r.Txn].Status == history.Committed {
					return errors.New("a value's writer may be missing")
				}
				n := slices.IndexFunc(parts, func(p history.Part) bool { return p.Txn == r.Txn })
				parts[n].Ops = slices.DeleteFunc(parts[n].Ops, func(op int) bool { return op == r.Op })
			}
		}
		return nil
	}
	for i := range f.h.Txns {
		t := &f.h.Txns[i]
		if t.Status == history.Aborted {
			continue
		}
		if err := f.stop.after(1 + t.OpCount()); err != nil {
			return err
		}
		for n, op := range f.h.Ops(t) {
			if op.Kind != history.Write || len(byKey[op.Key]) == 0 || f.at(int32(i), op.Key).write != n {
				continue
			}
			for _, r := range byKey[op.Key] {
				if r.value != op.Value && r.Txn != int32(i) && !f.keepsFinal(parts, int32(i), op.Key) {
					return errors.Errorf("transaction %d wrote a value that may have been read, and is left out", f.id(int32(i)))
				}
			}
		}
	}
	return nil
}

// leaveOut removes the outside reads of c. It keeps them if the transaction also read another value
// of the key from outside: then the transaction contradicts itself, whichever writer is missing.
func (f *facts) leaveOut(p *history.Part, c cell) {
	ops := f.h.Ops(&f.h.Txns[p.Txn])
	written := slices.IndexFunc(ops, func(op history.Op) bool { return op.Kind == history.Write && op.Key == c.key })
	outside := func(n int) bool {
		return ops[n].Kind == history.Read && ops[n].Key == c.key && (written < 0 || n < written)
	}
	if rereads(f.lvl) || !slices.ContainsFunc(p.Ops, func(n int) bool { return outside(n) && ops[n].Value != c.value }) {
		p.Ops = slices.DeleteFunc(p.Ops, outside)
	}
}

// drawn verifies the cycle that illustrates a contradiction, if there is one: its edges must be of
// their kinds, and the level must forbid the cycle. It need not verify that the edges are forced,
// because the judgement of the sub-history proves the violation.
func (f *facts) drawn(edges []verdict.Edge) error {
	if !forbids(f.lvl, edges) {
		return errors.New("the level allows the cycle that is drawn")
	}
	for n, e := range edges {
		next := edges[(n+1)%len(edges)]
		read := func(i int32) bool { return f.reads(i, cell{e.Key, e.Value}) }
		ok := e.From != e.To && e.To == next.From
		switch e.Kind {
		case verdict.SO, verdict.RT:
			ok = ok && f.precedes(f.lvl, e)
		case verdict.WR:
			ok = ok && f.writes(e.From, e.Key) && read(e.To)
		case verdict.RW:
			ok = ok && read(e.From) && f.writes(e.To, e.Key)
		case verdict.WW:
			ok = ok && f.writes(e.From, e.Key) && f.writes(e.To, e.Key)
		case verdict.VO:
			if err := f.versionEdge(e); err != nil {
				return err
			}
		case verdict.VS, verdict.NV:
			if err := f.shownEdge(f.lvl.Snapshot(), e); err != nil {
				return err
			}
		default:
			ok = false
		}
		if !ok {
			return errors.Errorf("edge %d of the cycle, %s from transaction %d to %d, has the wrong kind", n+1, e.Kind, f.id(e.From), f.id(e.To))
		}
	}
	return nil
}
