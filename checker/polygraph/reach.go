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

// Acceleration says how to compute reachability.
type Acceleration struct {
	Choice choose.Choice // "" is auto
	// Warn, if set, is called with a line about a backend that is not available or fails. Any
	// goroutine may call it.
	Warn func(line string)
	// far: GPUs may be used. They are not used for a part of a history.
	far bool
	// machine is nil for the machine that the program runs on; tests set others
	machine *choose.Machine
}

// near returns a for a part of the history. A GPU is not worth its start there.
func (a Acceleration) near() Acceleration {
	a.far, a.Warn = false, nil
	if a.Choice == choose.CUDA {
		a.Choice = choose.Auto
	}
	return a
}

// reach answers reachability in the known graph by a transitive closure (see accel). Some closures
// keep rows along the sessions, which can be read directly. Any other closure is asked many
// questions at once: see groups.
type reach struct {
	m *model
	g *graph
	// c are the chains that entries are about: the sessions if the closure has rows. Otherwise each
	// transaction is a chain by itself.
	c       *chains
	closure accel.Closure // nil before the first update
	rows    accel.Rows    // nil if the closure has none
	classes []uint64      // by chain: its classes, see accel.Closure
	rank    []int32       // by node: its position in a topological order
	known   int32         // how many edges the closure includes
	// first: the closure has just been computed, and everything in it is news.
	first bool
	// hopeless: no backend is able to compute the closure.
	hopeless bool

	how   Acceleration
	spent map[string]error // the backends that failed, and why
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

var errNear = errors.New("it is not used for a part of a history")

// update makes the closure include all known edges, and computes the closure if necessary. It
// reports whether there is a closure. There is none if the graph has a cycle or if no backend is
// able to compute it.
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

// insert adds the new edges to the closure. If the backend fails, the closure is dropped.
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

// compute makes the best backend compute the closure.
func (r *reach) compute(ctx context.Context) (bool, error) {
	w := choose.Wishes{Choice: r.how.Choice, Without: r.spent, Warn: r.warn, Few: fewChains, Machine: r.how.machine}
	if left, limited := budget.Left(ctx); limited {
		w.Memory = choose.Share(left)
	}
	if r.m.lvl.RealTime() && r.m.visible == nil { // intervals stand for time points, and not for other ones
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
	if c.Backend() != d.Backend { // the chosen backend failed, and another one was used
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

// large is the number of edges from which the memory is checked before the graph for accel is built.
const large = 1 << 20

func (r *reach) tell(d *choose.Decision) {
	r.told = verdict.Accel{Backend: d.Backend, Reason: d.Reason, Seconds: r.told.Seconds,
		Vertices: int(d.Shape.Vertices), Edges: int(d.Shape.Edges), Chains: int(d.Shape.Chains)}
}

// drop gives up a closure whose backend failed with err. The next update computes it with another
// backend. If the context has ended, drop returns its cause.
func (r *reach) drop(ctx context.Context, err error) error {
	r.close()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.spent[r.told.Backend] = err
	r.warn("backend " + r.told.Backend + " failed, another one is used: " + err.Error())
	return nil
}

// warn reports a backend that is not available or failed.
func (r *reach) warn(line string) {
	if r.how.Warn != nil {
		r.how.Warn(line)
	}
}

// close frees the closure. Afterwards no node reaches another.
func (r *reach) close() {
	if r.closure != nil {
		r.closure.Close()
		r.closure, r.rows = nil, nil
	}
}

// ask calls f with the closure, and computes it if there is none. If f fails, ask tries again with
// another backend. If there is no closure, f is not called.
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

// startAt, turnAt and commitAt return the position of a transaction's start, turn and commit in its
// chain, from 1.
func (r *reach) startAt(t int32) int32  { return r.c.pos[t]<<r.g.split + 1 }
func (r *reach) turnAt(t int32) int32   { return r.c.pos[t]<<r.g.split + 1 + r.g.late }
func (r *reach) commitAt(t int32) int32 { return r.c.pos[t]<<r.g.split + 1 + r.g.split }

// has reports whether the closure knows a node. It knows all nodes, except time points if it uses
// intervals instead.
func (r *reach) has(node int32) bool { return r.closure != nil && int(node) < r.told.Vertices }

// reaches reports whether from is to or reaches it. Both must be starts or commits.
func (r *reach) reaches(from, to int32) bool {
	return from == to || r.closure != nil && r.closure.Reaches(from, to)
}

// fewChains is up to how many chains rows along chains are always good: only the first or last
// access of each chain needs a look.
const fewChains = 64

// everything is the set of all classes.
const everything = ^uint64(0)

// news returns the classes of the nodes that newly reach node since the latest update.
func (r *reach) news(node int32) uint64 { return r.closure.Changed(node) }
