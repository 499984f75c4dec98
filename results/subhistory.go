package results

import (
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Subhistory returns the part of h that shows an anomaly: the transactions
// involved, with their operations on the keys of its edges or, of a
// contradiction, those that it rests on; and, so that it is closed, of every
// other transaction its writes to a key if one of them is a version that these
// read, whatever became of it. Whoever uses it must judge it again: where an
// edge rests on more than the transactions beside it, the part need not be
// violated.
func Subhistory(h *history.History, a *verdict.Anomaly) (*history.History, error) {
	p := newPart(a)
	p.involve(h, a)
	p.close(h)
	return p.build(h)
}

// part is the choice of operations, by transaction and position.
type part struct {
	keys map[history.Key]bool
	ops  map[int32][]int
}

func newPart(a *verdict.Anomaly) *part {
	p := &part{map[history.Key]bool{}, map[int32][]int{}}
	for _, e := range slices.Concat(a.Cycle, a.Context, a.Support) {
		if e.Kind != verdict.SO && e.Kind != verdict.RT {
			p.keys[e.Key] = true
		}
	}
	return p
}

// involve takes the operations of the transactions involved.
func (p *part) involve(h *history.History, a *verdict.Anomaly) {
	txns := slices.Clone(a.Txns)
	for _, e := range a.Support {
		txns = append(txns, e.To)
	}
	if a.Kind == verdict.Contradiction {
		for _, r := range a.Ops {
			p.ops[r.Txn] = append(p.ops[r.Txn], r.Op)
		}
		return
	}
	for _, r := range a.Ops {
		p.keys[h.Ops(&h.Txns[r.Txn])[r.Op].Key] = true
	}
	for _, i := range txns {
		p.ops[i] = nil
		for n, op := range h.Ops(&h.Txns[i]) {
			if p.keys[op.Key] {
				p.ops[i] = append(p.ops[i], n)
			}
		}
	}
}

// close takes the writes of every version that is read.
func (p *part) close(h *history.History) {
	read := map[history.Op]bool{}
	for i, kept := range p.ops {
		for _, n := range kept {
			if op := h.Ops(&h.Txns[i])[n]; op.Kind != history.Write {
				read[history.Op{Kind: history.Write, Key: op.Key, Value: op.Value}] = true
			}
		}
	}
	for i := range h.Txns {
		ops := h.Ops(&h.Txns[i])
		for _, op := range ops {
			if read[op] {
				p.takeWrites(int32(i), ops, op.Key)
			}
		}
	}
}

// takeWrites takes all writes of a transaction to a key: which of them is the
// final one matters.
func (p *part) takeWrites(i int32, ops []history.Op, k history.Key) {
	for n, op := range ops {
		if op.Kind == history.Write && op.Key == k && !slices.Contains(p.ops[i], n) {
			p.ops[i] = append(p.ops[i], n)
		}
	}
}

// build makes a history of what was taken, with symbols of its own.
func (p *part) build(h *history.History) (*history.History, error) {
	sym := history.NewSymbols()
	sym.DefaultInitial = translate(h, sym, h.DefaultInitial)
	b := history.NewBuilder(h.Header, sym, len(p.ops))
	for i := range h.Txns {
		kept, ok := p.ops[int32(i)]
		if !ok {
			continue
		}
		slices.Sort(kept)
		rec := h.Record(i)
		all := rec.Ops
		rec.Ops, rec.Predicates = nil, nil
		for _, n := range slices.Compact(kept) {
			op := all[n]
			k := sym.Key(h.KeyName(op.Key))
			if v := h.Initial(op.Key); v != h.DefaultInitial {
				sym.SetInitial(k, translate(h, sym, v))
			}
			rec.Ops = append(rec.Ops, history.Op{Kind: op.Kind, Key: k, Value: translate(h, sym, op.Value)})
		}
		if err := b.Add(&rec); err != nil {
			return nil, errors.Wrap(err, "part of a history")
		}
	}
	return b.Done(h.Closed, nil), nil
}

// translate returns a value of h among the symbols of another history.
func translate(h *history.History, sym *history.Symbols, v history.Value) history.Value {
	if v >= history.MinInt || v == history.Absent {
		return v
	}
	return sym.Raw(h.ValueText(v))
}
