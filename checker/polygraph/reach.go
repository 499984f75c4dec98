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
	k := &reach{m: m, g: g, how: how, spent: map[string]error{}}
	if !how.far {
		k.spent[string(choose.CUDA)] = errNear
	}
	return k
}

var errNear = errors.New("the history is part of another one")

// update has the closure account for all edges that are known, computing it if
// need be. It reports whether there is one: not if the graph has a cycle, and
// not if no backend can have it.
func (k *reach) update(ctx context.Context) (bool, error) {
	begun := time.Now()
	ok, err := k.insert(ctx)
	if !ok && err == nil && k.closure == nil {
		ok, err = k.compute(ctx)
	}
	if ok {
		k.known = int32(len(k.g.edges))
		k.told.Bytes = k.closure.Bytes()
	}
	k.told.Seconds += time.Since(begun).Seconds()
	return ok, err
}

// insert adds the new edges. Where the closure fails at that it is dropped.
func (k *reach) insert(ctx context.Context) (bool, error) {
	if k.closure == nil {
		return false, nil
	}
	k.added = slices.Grow(k.added[:0], len(k.g.edges)-int(k.known))
	for i := int(k.known); i < len(k.g.edges); i++ {
		k.added = append(k.added, accel.Edge{From: k.g.edges[i].from, To: k.g.edges[i].to})
	}
	err := k.closure.Insert(ctx, k.added)
	var cycle *accel.CycleError
	if errors.As(err, &cycle) {
		return false, nil
	}
	if err != nil {
		return false, k.drop(ctx, err)
	}
	k.first, k.rank = false, k.closure.Rank()
	return true, nil
}

// compute has the best backend compute the closure.
func (k *reach) compute(ctx context.Context) (bool, error) {
	w := choose.Wishes{Choice: k.how.Choice, Without: k.spent, Warn: k.warn, Few: fewChains, Machine: k.how.machine}
	if left, limited := budget.Left(ctx); limited {
		w.Memory = choose.Share(left)
	}
	if k.m.lvl.RealTime() {
		w.Instead = func() *accel.Graph { return k.g.timed(k.m) }
	} else if len(k.g.edges) > large {
		if d := choose.Decide(k.g.sketch(k.m), w); d.Backend == choose.None {
			k.tell(d)
			k.warn(d.Refused(w))
			k.hopeless = true
			return false, nil
		}
	}
	order := k.g.topological(nil)
	if len(order) < int(k.g.nodes) {
		return false, nil
	}
	c, d, err := choose.Closure(ctx, k.g.accelerated(k.m), accel.Options{Order: order}, w)
	k.tell(d)
	if k.hopeless = c == nil; k.hopeless {
		return false, err
	}
	k.closure, k.first, k.rows, k.rank = c, true, c.Rows(), c.Rank()
	if c.Backend() != d.Backend { // it failed at once
		k.told.Backend = c.Backend()
		k.told.Reason += "; that failed"
	}
	if k.c = &k.m.chains; k.rows == nil {
		k.c = alone(len(k.m.txns))
	}
	k.classes = make([]uint64, k.c.count)
	for t, chain := range k.c.of {
		k.classes[chain] |= c.Class(k.g.start(int32(t))) | c.Class(k.g.commit(int32(t)))
	}
	return true, nil
}

// large is how many edges a graph has that is not made in vain.
const large = 1 << 20

func (k *reach) tell(d *choose.Decision) {
	k.told = verdict.Accel{Backend: d.Backend, Reason: d.Reason, Seconds: k.told.Seconds,
		Vertices: int(d.Shape.Vertices), Edges: int(d.Shape.Edges), Chains: int(d.Shape.Chains)}
}

// drop gives a closure up that fails with err, so that the next update computes
// it by another backend. After the context's end there is none, and its cause is
// returned.
func (k *reach) drop(ctx context.Context, err error) error {
	k.close()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	k.spent[k.told.Backend] = err
	k.warn("backend " + k.told.Backend + " failed, and another one goes on: " + err.Error())
	return nil
}

// warn tells of a backend that cannot be had.
func (k *reach) warn(line string) {
	if k.how.Warn != nil {
		k.how.Warn(line)
	}
}

// close frees what the closure holds; nothing reaches anything then.
func (k *reach) close() {
	if k.closure != nil {
		k.closure.Close()
		k.closure, k.rows = nil, nil
	}
}

// ask calls f with the closure, computing it where there is none, and where f
// fails with another one. Without any f is not called.
func (k *reach) ask(ctx context.Context, f func(accel.Closure) error) error {
	for !k.hopeless {
		if k.closure == nil {
			if ok, err := k.update(ctx); err != nil || !ok {
				return err
			}
		}
		err := f(k.closure)
		if err == nil {
			return nil
		}
		if err := k.drop(ctx, err); err != nil {
			return err
		}
	}
	return nil
}

// position of a transaction's start and commit in its chain, from 1.
func (k *reach) startAt(t int32) int32  { return k.c.pos[t]<<k.g.split + 1 }
func (k *reach) commitAt(t int32) int32 { return k.c.pos[t]<<k.g.split + 1 + k.g.split }

// has reports whether the closure knows a node: all, but not time points where it
// has intervals instead.
func (k *reach) has(node int32) bool { return k.closure != nil && int(node) < k.told.Vertices }

// reaches reports whether one node, a start or commit, comes before another, or
// is it.
func (k *reach) reaches(from, to int32) bool {
	return from == to || k.closure != nil && k.closure.Reaches(from, to)
}

// fewChains are as many as rows along chains are always good for: only the first or last
// access of each needs a look.
const fewChains = 64

// everything is the set of all classes.
const everything = ^uint64(0)

// news are the classes of sources that came to reach a node by the latest update.
func (k *reach) news(node int32) uint64 { return k.closure.Changed(node) }
