package shrink

import (
	"slices"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
)

// Part is what is kept of a history.
type Part struct {
	n     *needs
	rules Rules
	in    []bool  // by transaction; also true if none of its operations is kept
	kept  []bool  // by operation
	count []int32 // by transaction: how many of its operations are kept
	was   []int32 // the transactions that were ever kept, some of them more than once
	txns  int
	ops   int
	open  []int32 // kept operations whose needs have not been added yet.
	// chosen are the kept choices. They count as operations. fresh are those whose needs have not been added
	// yet.
	chosen []bool
	fresh  []int
}

// Rules say what a part must keep.
type Rules struct {
	Level level.Level
	// Possible: a read needs only the writes that it can have read: the last writes to the key of
	// transactions that did not abort. A read that repeats another one needs none, unless the level allows that
	// it returns another version. A transaction of unknown outcome is then kept completely or
	// not at all. So it contradicts itself in the part if it does in the whole history.
	Possible bool
}

// New returns a part of h with nothing in it.
func New(h *history.History, rules Rules) *Part { return newNeeds(h, rules).part(rules) }

// part returns an empty part.
func (n *needs) part(rules Rules) *Part {
	return &Part{n: n, rules: rules, chosen: make([]bool, len(n.choices)),
		in: make([]bool, len(n.h.Txns)), kept: make([]bool, len(n.h.AllOps())), count: make([]int32, len(n.h.Txns))}
}

// Clone returns an independent copy.
func (p *Part) Clone() *Part {
	c := *p
	c.in, c.kept, c.count, c.was, c.open = slices.Clone(p.in), slices.Clone(p.kept), slices.Clone(p.count), slices.Clone(p.was), slices.Clone(p.open)
	c.chosen, c.fresh = slices.Clone(p.chosen), slices.Clone(p.fresh)
	return &c
}

// whole reports whether a transaction is kept completely or not at all. At level lin every
// transaction is.
func (p *Part) whole(t int32) bool {
	return p.rules.Level == level.LIN || p.rules.Possible && p.n.h.Txns[t].Status == history.Unknown
}

// Add keeps a transaction and, of it, some operations.
func (p *Part) Add(t int32, ops ...int) {
	if !p.in[t] {
		p.in[t] = true
		p.was = append(p.was, t)
		p.txns++
		if p.whole(t) {
			p.AddAll(t)
		}
	}
	first := p.n.h.FirstOp(&p.n.h.Txns[t])
	for _, j := range ops {
		p.add(int32(first + j))
	}
}

// AddAll keeps a transaction with all its operations.
func (p *Part) AddAll(t int32) {
	for j := range p.n.h.Ops(&p.n.h.Txns[t]) {
		p.Add(t, j)
	}
}

// add keeps an operation of a transaction that is kept.
func (p *Part) add(at int32) {
	if p.kept[at] {
		return
	}
	p.kept[at] = true
	p.count[p.n.txnOf[at]]++
	p.ops++
	p.open = append(p.open, at)
}

// Close adds everything that the kept operations need.
func (p *Part) Close() {
	p.closeChoices()
	through := denials{}
	for len(p.open) > 0 {
		at := p.open[len(p.open)-1]
		p.open = p.open[:len(p.open)-1]
		t, needy := p.n.need(at)
		if !needy {
			if base, ok := p.n.base(at); ok {
				p.add(base)
			}
			continue
		}
		if t.kind == denied && !through.news(t.key, t.value) {
			continue
		}
		p.n.eachProvider(t, func(w int32) {
			p.Add(p.n.txnOf[w])
			p.add(w)
			p.add(p.n.lastWrite(w)) // what was overwritten must stay overwritten
		})
	}
}

// Widen adds all operations of the kept transactions, and closes the part. It reports whether
// anything was added.
func (p *Part) Widen() bool {
	before := p.ops
	for _, t := range p.Txns() {
		p.AddAll(t)
	}
	p.Close()
	return p.ops > before
}

// Fill adds reads of other transactions' writes to the kept transactions: all that need no further
// transaction. It reports whether there were any.
func (p *Part) Fill() bool {
	before := p.ops
	for _, t := range p.Txns() {
		seen := map[history.Key]bool{}
		for j, op := range p.n.h.Ops(&p.n.h.Txns[t]) {
			if op.Kind == history.Read && !seen[op.Key] && p.fills(t, j) {
				p.Add(t, j)
			}
			seen[op.Key] = true
		}
	}
	p.Close()
	return p.ops > before
}

// fills reports whether an operation needs only kept transactions. What nobody is known to have written proves nothing in a
// history that was cut off.
func (p *Part) fills(t int32, j int) bool {
	if op := p.n.h.Ops(&p.n.h.Txns[t])[j]; !p.n.h.Closed && op.Value != p.n.h.Initial(op.Key) && p.n.unwritten(op) {
		return false
	}
	need, _ := p.n.need(int32(p.n.h.FirstOp(&p.n.h.Txns[t]) + j))
	found, kept := false, true
	p.n.eachProvider(need, func(w int32) { found, kept = true, kept && p.in[p.n.txnOf[w]] })
	return kept && (found || p.n.initially(need))
}

// Drop removes an operation of a transaction and everything that needs it.
func (p *Part) Drop(t int32, j int) { p.drop(int32(p.n.h.FirstOp(&p.n.h.Txns[t]) + j)) }

// drop removes operations and everything that needs them.
func (p *Part) drop(work ...int32) {
	through, whole := denials{}, map[int32]bool{}
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		if !p.kept[at] {
			continue
		}
		t := p.n.txnOf[at]
		p.kept[at] = false
		p.count[t]--
		p.ops--
		switch {
		case p.count[t] == 0:
			p.in[t] = false
			p.txns--
		case p.whole(t) && !whole[t]:
			whole[t] = true
			first := p.n.first(at)
			for j := range p.n.h.Ops(&p.n.h.Txns[t]) {
				work = append(work, int32(first+j))
			}
		}
		p.dropNeeding(at)
		p.n.eachNeeder(at, through, func(r int32) {
			if p.kept[r] {
				work = append(work, r)
			}
		})
		p.n.eachWithout(at, func(r int32) { work = append(work, r) })
	}
}

// dropTxn removes a transaction and everything that needs its operations.
func (p *Part) dropTxn(t int32) {
	if p.in[t] && p.count[t] == 0 {
		p.in[t] = false
		p.txns--
	}
	p.dropChoicesOf(t)
	if !p.in[t] {
		return
	}
	// All go at once: those of the transaction that need one another are not looked for.
	first := p.n.h.FirstOp(&p.n.h.Txns[t])
	var gone []int32
	for j := range p.n.h.Ops(&p.n.h.Txns[t]) {
		if at := int32(first + j); p.kept[at] {
			p.kept[at] = false
			gone = append(gone, at)
		}
	}
	p.ops -= int(p.count[t])
	p.count[t], p.in[t] = 0, false
	p.txns--
	var work []int32
	through := denials{}
	for _, at := range gone {
		p.dropNeeding(at)
		p.n.eachNeeder(at, through, func(r int32) {
			if p.kept[r] {
				work = append(work, r)
			}
		})
	}
	p.drop(work...)
}

// Has reports whether operation j of a transaction is kept. HasTxn reports whether a transaction is
// kept.
func (p *Part) Has(t int32, j int) bool {
	return p.kept[p.n.h.FirstOp(&p.n.h.Txns[t])+j]
}

func (p *Part) HasTxn(t int32) bool { return p.in[t] }

// Txns lists the kept transactions in the order of the history.
func (p *Part) Txns() []int32 {
	out := make([]int32, 0, p.txns)
	if len(p.was) < len(p.in)/32 { // sorting them is faster than looking at all
		for _, t := range p.was {
			if p.in[t] {
				out = append(out, t)
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	for t, in := range p.in {
		if in {
			out = append(out, int32(t))
		}
	}
	return out
}

// Clear removes everything. The time that it takes grows with what was kept, not with the history.
func (p *Part) Clear() {
	for _, t := range p.was {
		from := p.n.h.FirstOp(&p.n.h.Txns[t])
		clear(p.kept[from : from+p.n.h.Txns[t].OpCount()])
		p.in[t], p.count[t] = false, 0
	}
	clear(p.chosen)
	p.txns, p.ops, p.was, p.open, p.fresh = 0, 0, p.was[:0], p.open[:0], nil
}

// Parts lists the kept transactions with their kept operations.
func (p *Part) Parts() []history.Part {
	out := make([]history.Part, 0, p.txns)
	room := make([]int, 0, p.ops)
	for _, t := range p.Txns() {
		from := len(room)
		first := p.n.h.FirstOp(&p.n.h.Txns[t])
		for j := range p.n.h.Ops(&p.n.h.Txns[t]) {
			if p.kept[first+j] {
				room = append(room, j)
			}
		}
		out = append(out, history.Part{Txn: t, Ops: room[from:len(room):len(room)], Choices: p.keptChoices(t)})
	}
	return out
}
