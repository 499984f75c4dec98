package fences

import (
	"math"

	"github.com/isohound/isohound/history"
)

// history returns the history of the round. An edge between two transactions is a read of a key that only the first
// writes. Keys and values have no names.
func (g *graph) history() *history.History {
	sym := history.NewSymbols()
	sym.DefaultInitial = history.Absent
	keys := map[history.Key]history.Key{}
	key := func(k history.Key) history.Key {
		n, known := keys[k]
		if !known {
			n = sym.KeyNumber(uint64(len(keys)))
			keys[k] = n
			sym.SetInitial(n, value(g.r.sym.Initial(k)))
		}
		return n
	}
	// The keys of edges have other numbers than those of the history.
	first := uint64(g.r.sym.KeyCount())
	marks := make([]bool, len(g.nodes))
	for _, n := range g.nodes {
		for _, p := range n.preds {
			marks[p.number] = true
		}
	}
	b := history.NewBuilder(history.Header{}, sym, len(g.nodes))
	var rec history.Record
	for i, n := range g.nodes {
		rec = history.Record{ID: int64(i), Session: int64(n.chain), Begin: history.NoTime, End: history.NoTime, Due: history.NoTime,
			Status: history.Committed, Ops: rec.Ops[:0]}
		if n.optional {
			rec.Status = history.Unknown
		}
		for _, p := range n.preds {
			rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: sym.KeyNumber(first + uint64(p.number)), Value: 1})
		}
		add := func(ops []history.Op) {
			for _, op := range ops {
				rec.Ops = append(rec.Ops, history.Op{Kind: op.Kind, Key: key(op.Key), Value: value(op.Value)})
			}
		}
		if n.ops != nil {
			add(n.ops)
		} else {
			add(n.reads)
			add(n.writes)
		}
		if marks[i] {
			rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: sym.KeyNumber(first + uint64(i)), Value: 1})
		}
		if err := b.Add(&rec); err != nil {
			panic(err) // ids are unique, and there are no times
		}
	}
	return b.Done(true, nil)
}

// value returns a value that needs no name. Texts become numbers that no reader of a history makes: see history.MinInt.
func value(v history.Value) history.Value {
	if v == history.Absent || v >= history.MinInt {
		return v
	}
	return history.MinInt + v - math.MinInt64
}
