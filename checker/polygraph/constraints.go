package polygraph

import (
	"context"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/checker/sat"
)

// constraint is a constraint that is enumerated before the search: write other does not come
// between a read and its source. If read is none, it says that transactions from and other, which
// write a key, do not overlap.
type constraint struct {
	key, read   int32
	from, other int32
	guard       []sat.Lit
}

// mostQueued is how many constraints are looked up in the closure at once.
const mostQueued = 1 << 16

// constrain turns a constraint into clauses, unless the known graph decides it.
func (x *search) constrain(c constraint) error {
	x.pipe.constraints++
	x.pipe.queue = append(x.pipe.queue, c)
	if len(x.pipe.queue) < mostQueued {
		return nil
	}
	return x.flush()
}

// flush turns the queued constraints into clauses, except those that the known graph decides. It
// decides a constraint if it has one of the two orders that the constraint allows, because the
// reverse of that order would close a cycle.
func (x *search) flush() error {
	p := x.pipe
	list := p.queue
	p.queue = p.queue[:0]
	if x.ctx.Err() != nil {
		return context.Cause(x.ctx)
	}
	settled := make([]bool, len(list))
	if x.reach != nil && len(list) > 0 {
		edges, groups := x.opposites(list)
		if err := x.reach.ask(x.ctx, func(c accel.Closure) error { return c.Closing(x.ctx, edges, groups, settled) }); err != nil {
			return err
		}
	}
	for i, c := range list {
		if i&0xff == 0xff && x.ctx.Err() != nil {
			return context.Cause(x.ctx)
		}
		if settled[i] {
			continue
		}
		p.left++
		if c.read == none {
			x.apart(c.key, c.from, c.other)
		} else {
			x.notBetween(c.read, c.from, c.other, c.guard)
		}
	}
	return nil
}

// opposites returns, for each constraint, the reverse edges of the orders that it allows.
func (x *search) opposites(list []constraint) (edges []accel.Edge, groups []int32) {
	m, g := x.m, x.g
	groups = append(make([]int32, 0, len(list)+1), 0)
	for _, c := range list {
		if c.read == none {
			edges = append(edges, accel.Edge{From: g.start(c.other), To: g.commit(c.from)}, accel.Edge{From: g.start(c.from), To: g.commit(c.other)})
		} else {
			u := m.writer[c.other]
			edges = append(edges, accel.Edge{From: g.commit(u), To: g.start(m.reads[c.read].txn)})
			if c.from != fromInitial {
				edges = append(edges, accel.Edge{From: g.turn(m.writer[c.from]), To: g.commit(u)})
			}
		}
		groups = append(groups, int32(len(edges)))
	}
	return edges, groups
}
