package polygraph

import (
	"context"
	"slices"
	"time"

	"github.com/isohound/isohound/history"
)

// minimizeFor bounds the time for making a counterexample small. What is left
// then is one all the same.
const minimizeFor = 5 * time.Second

// minimize drops transactions, then single operations, as long as the rest
// violates the level by itself. What cannot be dropped once never can: dropping
// more makes no violation of what is none.
func (k *core) minimize() error {
	whole := k.c.ctx
	limited, cancel := context.WithTimeout(whole, minimizeFor)
	defer cancel()
	k.c.ctx = limited
	defer func() { k.c.ctx = whole }()
	try := func(change func(next *core)) error {
		if limited.Err() != nil {
			return nil
		}
		next := k.clone()
		change(next)
		bad, err := next.violates()
		if bad && err == nil && limited.Err() == nil {
			k.keep, k.latest = next.keep, next.latest
			err = k.refine()
		}
		if limited.Err() != nil {
			return nil // what was dropped by then stays out
		}
		return err
	}
	if err := k.refine(); err != nil && limited.Err() == nil {
		return err
	}
	// Large cores first lose transactions by halves.
	for size := len(k.keep) / 2; size > 1; size /= 2 {
		list := k.txns()
		for from := 0; from < len(list); from += size {
			if err := try(func(n *core) {
				for _, t := range list[from:min(from+size, len(list))] {
					n.drop(t)
				}
			}); err != nil {
				return err
			}
		}
	}
	for _, t := range k.txns() {
		if k.keep[t] == nil {
			continue
		}
		if err := try(func(n *core) { n.drop(t) }); err != nil {
			return err
		}
	}
	for _, t := range k.txns() {
		if k.m.txn(t).Status == history.Unknown {
			continue
		}
		if k.keep[t] == nil {
			continue
		}
		for _, op := range slices.Clone(k.keep[t].ops) {
			if err := try(func(n *core) { n.dropOp(t, op) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// refine keeps what the latest judgement of the core rests on, as long as that is
// clearly less: another search takes another way, and meets only what is left.
func (k *core) refine() error {
	for !k.cyclic && k.latest != nil && k.latest.used != nil {
		sub := k.latest
		sub.used.explain()
		part := &core{c: sub, m: sub.saturator.m, keep: map[int32]*part{}}
		part.collect(sub.used)
		if len(part.keep) > len(k.keep)*19/20 {
			return nil
		}
		next := k.within(part)
		if bad, err := next.violates(); err != nil || !bad {
			return err
		}
		k.keep, k.latest = next.keep, next.latest
	}
	return nil
}

// within returns what a core of the core's own history keeps of it.
func (k *core) within(sub *core) *core {
	next := &core{c: k.c, m: k.m, keep: map[int32]*part{}}
	at := k.txns()
	for t, p := range sub.keep {
		whole := at[sub.m.txns[t]]
		kept := &part{}
		for _, j := range p.ops {
			kept.add(k.keep[whole].ops[j])
		}
		next.keep[whole] = kept
	}
	return next
}

func (k *core) clone() *core {
	n := &core{c: k.c, m: k.m, cyclic: k.cyclic, keep: make(map[int32]*part, len(k.keep))}
	for t, p := range k.keep {
		n.keep[t] = &part{slices.Clone(p.ops)}
	}
	return n
}

// drop leaves t out, and with it the reads of what it wrote.
func (k *core) drop(t int32) {
	p := k.keep[t]
	if p == nil {
		return
	}
	delete(k.keep, t)
	for _, j := range p.ops {
		if op := k.m.h.Ops(k.m.txn(t))[j]; op.Kind == history.Write {
			k.dropReads(op)
		}
	}
}

// dropOp leaves an operation out, and with a write the reads of it.
func (k *core) dropOp(t int32, j int) {
	p := k.keep[t]
	if p == nil { // went with something else
		return
	}
	i, found := slices.BinarySearch(p.ops, j)
	if !found {
		return
	}
	p.ops = slices.Delete(p.ops, i, i+1)
	if op := k.m.h.Ops(k.m.txn(t))[j]; op.Kind == history.Write {
		k.dropReads(op)
	}
}

// dropReads leaves out the reads of a value that has lost a writer; what may
// not have taken place goes with its reads.
func (k *core) dropReads(written history.Op) {
	for _, r := range k.m.readsOn.of(int32(written.Key)) {
		rd := &k.m.reads[r]
		p := k.keep[rd.txn]
		if p == nil {
			continue
		}
		j := k.readOp(rd)
		if k.m.h.Ops(k.m.txn(rd.txn))[j].Value != written.Value {
			continue
		}
		i, found := slices.BinarySearch(p.ops, j)
		switch {
		case !found:
		case k.m.txn(rd.txn).Status == history.Unknown:
			k.drop(rd.txn)
		default:
			p.ops = slices.Delete(p.ops, i, i+1)
		}
	}
}
