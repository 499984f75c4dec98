package choose

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/isohound/isohound/accel"
)

// Wishes direct a choice. The zero value is Auto.
type Wishes struct {
	Choice Choice // "" is Auto
	// Memory bounds the bytes of main memory of a closure; 0 means that free memory decides.
	Memory int64
	// Without are backends that must not be tried because they failed, with the reason.
	Without map[string]error
	// Few is the number of chains up to which chains are used without comparing costs, because
	// algorithms that work by chains make fewer queries.
	Few int64
	// Instead, if set, makes a graph with the same closure that takes less memory and more time.
	// It is used if the requested backend, or any backend, lacks the memory otherwise.
	Instead func() *accel.Graph
	// Warn, if set, gets a line about a wish that cannot be fulfilled.
	Warn func(line string)
	// Machine is nil for the machine that the program runs on.
	Machine *Machine
}

// Decision says which backend computes a closure, and why.
type Decision struct {
	Backend string // None if none was available
	Reason  string
	Shape   Shape
	// Considered are the backends that were considered, including the chosen one.
	Considered []Estimate
}

// Estimate is what a backend is expected to cost.
type Estimate struct {
	Backend string
	Device  string // what it runs on, if not the processor
	Bytes   int64  // upper bound
	Limit   int64  // the memory limit
	Seconds float64
	// Err says why the backend is not available: the machine has no such device, or it failed
	// before.
	Err error

	backend accel.Backend
	host    int64 // the limit for main memory
}

// fits reports whether the backend is available and has enough memory.
func (e *Estimate) fits() bool { return e.Err == nil && e.Bytes <= e.Limit }

func (e *Estimate) String() string {
	name := e.Backend
	if e.Device != "" {
		name += " (" + e.Device + ")"
	}
	switch {
	case e.Err != nil:
		return fmt.Sprintf("%s is not available: %v", name, e.Err)
	case e.Bytes > e.Limit:
		return fmt.Sprintf("%s needs up to %s, and the limit is %s", name, size(e.Bytes), size(e.Limit))
	}
	return fmt.Sprintf("%s needs up to %s and about %s", name, size(e.Bytes), seconds(e.Seconds))
}

func size(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

func seconds(s float64) string {
	if s < 0.0005 {
		return "no time"
	}
	return fmt.Sprintf("%.2g s", s)
}

// share is the part of the free memory, or of the memory limit, that a closure may take. The
// rest is for the graph, the history and the search.
const share = 0.75

// usual is what a closure may take, in bytes, if nobody set a limit, even if more memory is
// free.
const usual = 4 << 30

func (w *Wishes) auto() bool { return w.Choice == "" || w.Choice == Auto }

// limit returns the bytes of main memory that a closure may take.
func (w *Wishes) limit(m *Machine) int64 {
	if w.Memory > 0 {
		return w.Memory
	}
	return min(usual, int64(share*float64(m.Free())))
}

// Share returns what a closure may take if that many bytes are left.
func Share(left int64) int64 { return max(1, int64(share*float64(left))) }

// Decide compares the backends for a graph. If the requested backend is available, it is chosen,
// whatever its cost.
func Decide(g *accel.Graph, w Wishes) *Decision {
	m := w.Machine
	if m == nil {
		m = Here()
	}
	d := &Decision{Backend: None, Shape: ShapeOf(g)}
	limit := int64(-1)
	consider := func(b *Backend) {
		e := Estimate{Backend: b.Name}
		defer func() { d.Considered = append(d.Considered, e) }()
		if e.Err = w.Without[b.Name]; e.Err != nil {
			return
		}
		var dev Device
		if e.backend, dev, e.Err = b.Open(g, &w); e.Err != nil {
			return
		}
		e.Device, e.Bytes, e.Limit = dev.Name, e.backend.Memory(g), int64(math.MaxInt64)
		if e.Bytes > small || w.Memory > 0 {
			if limit < 0 {
				limit = w.limit(m)
			}
			e.Limit = limit
		}
		e.host = e.Limit
		if dev.Name != "" && e.Bytes <= e.Limit {
			e.Bytes, e.Limit = dev.Need, dev.Free
		}
		e.Seconds = b.Seconds(d.Shape, dev, m.Workers)
	}
	wished := func(b Backend) bool { return Choice(b.Name) == w.Choice }
	if i := slices.IndexFunc(m.Backends, wished); i >= 0 {
		consider(&m.Backends[i])
		if e := &d.Considered[0]; e.fits() {
			d.Backend, d.Reason = e.Backend, "requested: "+e.String()
			return d
		}
	}
	few := func(b Backend) bool { return b.Name == string(Chains) }
	if i := slices.IndexFunc(m.Backends, few); i >= 0 && w.auto() && d.Shape.Chains <= w.Few {
		consider(&m.Backends[i])
		if e := &d.Considered[0]; e.fits() {
			d.Backend, d.Reason = e.Backend, "few chains, "+strconv.FormatInt(d.Shape.Chains, 10)+": "+e.String()
			return d
		}
	}
	for i := range m.Backends {
		b := &m.Backends[i]
		seen := slices.ContainsFunc(d.Considered, func(e Estimate) bool { return e.Backend == b.Name })
		if !seen && !(b.OpenSeconds > 0 && d.least() <= b.OpenSeconds) {
			consider(b)
		}
	}
	d.choose()
	return d
}

// Refused returns a line about a request that cannot be fulfilled, "" if there is none. It also
// reports that no backend is available.
func (d *Decision) Refused(w Wishes) string {
	switch {
	case d.Backend == None && len(d.Considered) > 0:
		return "no backend can compute reachability, so the check does without: " + d.Reason
	case w.auto() || d.Backend == string(w.Choice) || len(d.Considered) == 0:
		return ""
	}
	return "backend " + d.Considered[0].String() + "; " + d.Backend + " is used instead"
}

// small is the size in bytes up to which a closure is computed without asking for the free
// memory: asking takes longer than computing a small one.
const small = 16 << 20

// best returns the index of the fastest available backend, or -1.
func (d *Decision) best() int {
	at := -1
	for i := range d.Considered {
		if e := &d.Considered[i]; e.fits() && (at < 0 || e.Seconds < d.Considered[at].Seconds) {
			at = i
		}
	}
	return at
}

func (d *Decision) least() float64 {
	if at := d.best(); at >= 0 {
		return d.Considered[at].Seconds
	}
	return math.Inf(1)
}

// choose takes the best backend, and states the alternatives as the reason.
func (d *Decision) choose() {
	at := d.best()
	var parts []string
	for i := range d.Considered {
		if i != at {
			parts = append(parts, d.Considered[i].String())
		}
	}
	d.Backend = None
	if at >= 0 {
		d.Backend = d.Considered[at].Backend
		parts = append([]string{d.Considered[at].String()}, parts...)
	}
	d.Reason = fmt.Sprintf("%s: %s", count(d.Shape.Chains, "chain"), strings.Join(parts, "; "))
}

func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Closure computes the closure of a graph with the backend that Decide chooses, and with the
// next one if that fails. If none is left the closure is nil. The error is one of the graph, or
// the cause of the context's end.
func Closure(ctx context.Context, g *accel.Graph, opt accel.Options, w Wishes) (accel.Closure, *Decision, error) {
	w.Without = maps.Clone(w.Without)
	if w.Without == nil {
		w.Without = map[string]error{}
	}
	for {
		d := Decide(g, w)
		if w.Instead != nil && d.Refused(w) != "" && (d.Backend == None || d.Considered[0].Err == nil) { // refused for its size
			g, opt.Order, w.Instead = w.Instead(), nil, nil
			continue
		}
		c, err := d.compute(ctx, g, opt)
		var cycle *accel.CycleError
		switch {
		case ctx.Err() != nil:
			return nil, d, context.Cause(ctx)
		case errors.As(err, &cycle):
			return nil, d, err
		case err != nil:
			w.Without[d.Backend] = err
			continue
		}
		if line := d.Refused(w); line != "" && w.Warn != nil {
			w.Warn(line)
		}
		return c, d, nil
	}
}

// compute runs the backend of a decision; without one the closure is nil.
func (d *Decision) compute(ctx context.Context, g *accel.Graph, opt accel.Options) (accel.Closure, error) {
	for i := range d.Considered {
		if e := &d.Considered[i]; e.Backend == d.Backend {
			if e.host < math.MaxInt64 {
				opt.MaxMemory = e.host
			}
			return e.backend.Closure(ctx, g, opt)
		}
	}
	return nil, nil
}
