package polygraph

import (
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// core is a closed sub-history (DESIGN rule 3): some transactions with some of
// their reads from outside and some of their final writes. For every read that
// is kept, every transaction of the history that can have written its value is
// kept with that write; one of unknown outcome is kept whole.
type core struct {
	c    *check
	m    *model
	keep map[int32]*part // by transaction
	// cyclic says that the known graph of the sub-history has a cycle, and is to
	// keep one: that is easier to understand than the least that contradicts
	// itself.
	cyclic bool
	// latest is the latest judgement of the sub-history as it is.
	latest *check
}

// part is what is kept of a transaction: indices of operations, ascending.
type part struct{ ops []int }

// counterexample cuts out of the history what the evidence rests on, and from
// that everything that is not needed.
func (c *check) counterexample(used *evidence) error {
	c.res.Verdict, c.used = verdict.Violated, used
	if c.decideOnly {
		return nil
	}
	c.stages.Begin("explain")
	used.explain()
	k := &core{c: c, m: c.saturator.m, keep: map[int32]*part{}}
	k.collect(used)
	bad, err := k.violates()
	if err != nil {
		return err
	}
	if !bad {
		return errNoCore
	}
	if whole := k.clone(); whole.fill() && whole.cyclical() {
		whole.cyclic = true
		k = whole
	}
	if err := k.minimize(); err != nil {
		return err
	}
	a := k.anomaly()
	a.Count = 1
	if c.opt.Proof {
		if a.Refutation, err = refutation(c.ctx, k.history(), c.lvl, a.Txns, c.opt.Config.Has(Pruning)); err != nil {
			return err
		}
	}
	c.violated([]verdict.Anomaly{a})
	c.stages.Done("explain")
	return nil
}

var errNoCore = errors.New("a refutation does not show what it rests on; this is a bug in isohound")

// collect takes the reads of the evidence, the writes of its transactions to
// their keys, and what closes the sub-history.
func (k *core) collect(used *evidence) {
	m := k.m
	keys := map[int32]bool{}
	for _, r := range used.reads.list {
		keys[int32(m.reads[r].key)] = true
	}
	for _, e := range used.edges.list {
		if ed := &used.s.g.edges[e]; ed.rule == overlap {
			for _, w := range m.writesOf.of(used.s.g.txnOf(ed.to)) {
				for _, v := range m.writesOf.of(used.s.g.txnOf(ed.from)) {
					if m.key[w] == m.key[v] {
						keys[m.key[w]] = true
					}
				}
			}
		}
	}
	if used.searched {
		for _, t := range used.txns.list {
			for _, w := range m.writesOf.of(t) {
				keys[m.key[w]] = true
			}
		}
	}
	for _, t := range used.txns.list {
		k.keepWrites(t, keys)
	}
	for _, r := range used.reads.list {
		k.keepRead(r)
	}
}

func (k *core) part(t int32) *part {
	p := k.keep[t]
	if p == nil {
		p = &part{}
		k.keep[t] = p
		if k.m.txn(t).Status == history.Unknown {
			k.keepWhole(t, p)
		}
	}
	return p
}

func (p *part) add(op int) {
	if i, found := slices.BinarySearch(p.ops, op); !found {
		p.ops = slices.Insert(p.ops, i, op)
	}
}

// keepWhole keeps all of a transaction of unknown outcome: it can have taken
// place only if what it read is right.
func (k *core) keepWhole(t int32, p *part) {
	ops := k.m.h.Ops(k.m.txn(t))
	for j := range ops {
		p.add(j)
	}
	for r := k.m.readFrom[t]; r < k.m.readFrom[t+1]; r++ {
		k.close(&k.m.reads[r])
	}
}

// keepWrites keeps the final writes of t to some keys.
func (k *core) keepWrites(t int32, keys map[int32]bool) {
	p := k.part(t)
	for _, w := range k.m.writesOf.of(t) {
		if keys[k.m.key[w]] {
			p.add(k.writeOp(w))
		}
	}
}

// writeOp returns the index of the operation that is write w.
func (k *core) writeOp(w int32) int {
	ops := k.m.h.Ops(k.m.txn(k.m.writer[w]))
	for j := len(ops) - 1; ; j-- {
		if ops[j].Kind == history.Write && int32(ops[j].Key) == k.m.key[w] {
			return j
		}
	}
}

// readOp returns the index of the operation that is read r.
func (k *core) readOp(rd *read) int {
	ops := k.m.h.Ops(k.m.txn(rd.txn))
	return slices.IndexFunc(ops, func(op history.Op) bool { return op.Key == rd.key })
}

func (k *core) keepRead(r int32) {
	rd := &k.m.reads[r]
	k.part(rd.txn).add(k.readOp(rd))
	k.close(rd)
}

// fill keeps more reads of its transactions, all that need no other transaction,
// and reports whether there were any.
func (k *core) fill() bool {
	more := false
	for _, t := range k.txns() {
		for r := k.m.readFrom[t]; r < k.m.readFrom[t+1]; r++ {
			rd := &k.m.reads[r]
			if rd.class == none || slices.ContainsFunc(k.m.classFrom.of(rd.class), func(w int32) bool { return k.keep[k.m.writer[w]] == nil }) {
				continue
			}
			before := len(k.keep[t].ops)
			k.keepRead(r)
			more = more || len(k.keep[t].ops) > before
		}
	}
	return more
}

// close keeps the writers of what rd read.
func (k *core) close(rd *read) {
	if rd.class == none {
		return
	}
	for _, w := range k.m.classFrom.of(rd.class) {
		if t := k.m.writer[w]; t != rd.txn {
			k.part(t).add(k.writeOp(w))
		}
	}
}

func (k *core) history() *history.History {
	parts := make([]history.Part, 0, len(k.keep))
	for _, t := range k.txns() {
		parts = append(parts, history.Part{Txn: k.m.txns[t], Ops: k.keep[t].ops})
	}
	return k.m.h.Sub(parts)
}

func (k *core) txns() []int32 {
	var out []int32
	for t := range k.keep {
		out = append(out, t)
	}
	slices.Sort(out)
	return out
}

// places are the transactions as indices into the whole history.
func (k *core) places() []int32 {
	var out []int32
	for _, t := range k.txns() {
		out = append(out, k.m.txns[t])
	}
	return out
}

// violates judges the sub-history by itself.
func (k *core) violates() (bool, error) {
	if k.cyclic {
		return k.cyclical(), nil
	}
	sub := k.judge(k.history())
	if err := sub.run(); err != nil {
		return false, err
	}
	k.latest = sub
	return sub.res.Verdict == verdict.Violated, nil
}

func (k *core) judge(h *history.History) *check {
	c := &check{ctx: k.c.ctx, h: h, lvl: k.c.lvl, opt: options{Engine: Engine{Accel: k.c.opt.Accel.near()}}, decideOnly: true, res: &verdict.Result{Level: k.c.lvl}}
	c.stages = verdict.NewStages(c.res, nil)
	return c
}
