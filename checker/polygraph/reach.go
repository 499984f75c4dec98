package polygraph

import (
	"context"
	"slices"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/choose"
	"github.com/isohound/isohound/checker/budget"
	"github.com/isohound/isohound/checker/verdict"
)

// Acceleration says how reachability is to be computed.
type Acceleration struct {
	Choice choose.Choice // "" is auto
	// Warn, if set, is told in a line of a backend that cannot be had. Any
	// goroutine may call it.
	Warn func(line string)
	// far: devices may be used. For a part of a history they are not.
	far bool
	// machine is nil for the one that the program runs on; tests have others.
	machine *choose.Machine
}

// near is for a part of the history, which is not worth a device.
func (a Acceleration) near() Acceleration {
	a.far, a.Warn = false, nil
	if a.Choice == choose.CUDA {
		a.Choice = choose.Auto
	}
	return a
}

// reach answers reachability in the known graph by a closure (see accel). A closure that
// keeps rows along the sessions lets it look into these; any other is asked much at
// once: see groups.
type reach struct {
	m *model
	g *graph
	// c are the chains along which entries are told: the sessions where the closure
	// has rows, else every transaction is one by itself.
	c       *chains
	closure accel.Closure // nil before the first update
	rows    accel.Rows    // nil if the closure has none
	classes []uint64      // by chain: its classes, see accel.Closure
	rank    []int32       // by node: its place in an order
	known   int32         // how many edges the closure accounts for
	// first: all of it is news.
	first bool
	// hopeless: no backend can have the closure.
	hopeless bool

	how   Acceleration
	spent map[string]error // backends that have failed, and why
	told  verdict.Accel
	added []accel.Edge
}

func newReach(m *model, g *graph, how Acceleration) *reach {
	r := &reach{m: m, g: g, how: how, spent: map[string]error{}}
	if !how.far {
		r.spent[string(choose.CUDA)] = errNear
	}
	return r
}

var errNear = errors.New("the history is part of another one")

// update has the closure account for all edges that are known, computing it if
// need be. It reports whether there is one: not if the graph has a cycle, and
// not if no backend can have it.
func (r *reach) update(ctx context.Context) (bool, error) {
	begun := time.Now()
	ok, err := r.insert(ctx)
	if !ok && err == nil && r.closure == nil {
		ok, err = r.compute(ctx)
	}
	if ok {
		r.known = int32(len(r.g.edges))
		r.told.Bytes = r.closure.Bytes()
	}
	r.told.Seconds += time.Since(begun).Seconds()
	return ok, err
}

// insert adds the new edges. Where the closure fails at that it is dropped.
func (r *reach) insert(ctx context.Context) (bool, error) {
	if r.closure == nil {
		return false, nil
	}
	r.added = slices.Grow(r.added[:0], len(r.g.edges)-int(r.known))
	for i := int(r.known); i < len(r.g.edges); i++ {
		r.added = append(r.added, accel.Edge{From: r.g.edges[i].from, To: r.g.edges[i].to})
	}
	err := r.closure.Insert(ctx, r.added)
	var cycle *accel.CycleError
	if errors.As(err, &cycle) {
		return false, nil
	}
	if err != nil {
		return false, r.drop(ctx, err)
	}
	r.first, r.rank = false, r.closure.Rank()
	return true, nil
}

// compute has the best backend compute the closure.
func (r *reach) compute(ctx context.Context) (bool, error) {
	w := choose.Wishes{Choice: r.how.Choice, Without: r.spent, Warn: r.warn, Few: fewChains, Machine: r.how.machine}
	if left, limited := budget.Left(ctx); limited {
		w.Memory = choose.Share(left)
	}
	if r.m.lvl.RealTime() {
		w.Instead = func() *accel.Graph { return r.g.timed(r.m) }
	} else if len(r.g.edges) > large {
		if d := choose.Decide(r.g.sketch(r.m), w); d.Backend == choose.None {
			r.tell(d)
			r.warn(d.Refused(w))
			r.hopeless = true
			return false, nil
		}
	}
	order := r.g.topological(nil)
	if len(order) < int(r.g.nodes) {
		return false, nil
	}
	c, d, err := choose.Closure(ctx, r.g.accelerated(r.m), accel.Options{Order: order}, w)
	r.tell(d)
	if r.hopeless = c == nil; r.hopeless {
		return false, err
	}
	r.closure, r.first, r.rows, r.rank = c, true, c.Rows(), c.Rank()
	if c.Backend() != d.Backend { // it failed at once
		r.told.Backend = c.Backend()
		r.told.Reason += "; that failed"
	}
	if r.c = &r.m.chains; r.rows == nil {
		r.c = alone(len(r.m.txns))
	}
	r.classes = make([]uint64, r.c.count)
	for t, chain := range r.c.of {
		r.classes[chain] |= c.Class(r.g.start(int32(t))) | c.Class(r.g.commit(int32(t)))
	}
	return true, nil
}

// large is how many edges a graph has that is not made in vain.
const large = 1 << 20

func (r *reach) tell(d *choose.Decision) {
	r.told = verdict.Accel{Backend: d.Backend, Reason: d.Reason, Seconds: r.told.Seconds,
		Vertices: int(d.Shape.Vertices), Edges: int(d.Shape.Edges), Chains: int(d.Shape.Chains)}
}

// drop gives a closure up that fails with err, so that the next update computes
// it by another backend. After the context's end there is none, and its cause is
// returned.
func (r *reach) drop(ctx context.Context, err error) error {
	r.close()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.spent[r.told.Backend] = err
	r.warn("backend " + r.told.Backend + " failed, and another one goes on: " + err.Error())
	return nil
}

// warn tells of a backend that cannot be had.
func (r *reach) warn(line string) {
	if r.how.Warn != nil {
		r.how.Warn(line)
	}
}

// close frees what the closure holds; nothing reaches anything then.
func (r *reach) close() {
	if r.closure != nil {
		r.closure.Close()
		r.closure, r.rows = nil, nil
	}
}

// ask calls f with the closure, computing it where there is none, and where f
// fails with another one. Without any f is not called.
func (r *reach) ask(ctx context.Context, f func(accel.Closure) error) error {
	for !r.hopeless {
		if r.closure == nil {
			if ok, err := r.update(ctx); err != nil || !ok {
				return err
			}
		}
		err := f(r.closure)
		if err == nil {
			return nil
		}
		if err := r.drop(ctx, err); err != nil {
			return err
		}
	}
	return nil
}

// position of a transaction's start and commit in its chain, from 1.
func (r *reach) startAt(t int32) int32  { return r.c.pos[t]<<r.g.split + 1 }
func (r *reach) commitAt(t int32) int32 { return r.c.pos[t]<<r.g.split + 1 + r.g.split }

// has reports whether the closure knows a node: all, but not time points where it
// has intervals instead.
func (r *reach) has(node int32) bool { return r.closure != nil && int(node) < r.told.Vertices }

// reaches reports whether one node, a start or commit, comes before another, or
// is it.
func (r *reach) reaches(from, to int32) bool {
	return from == to || r.closure != nil && r.closure.Reaches(from, to)
}

// fewChains are as many as rows along chains are always good for: only the first or last
// access of each needs a look.
const fewChains = 64

// everything is the set of all classes.
const everything = ^uint64(0)

// news are the classes of sources that came to reach a node by the latest update.
func (r *reach) news(node int32) uint64 { return r.closure.Changed(node) }
