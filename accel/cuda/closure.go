package cuda

import (
	"context"
	"math"
	"sync"

	"github.com/isohound/isohound/accel"
	"github.com/pkg/errors"
)

// closure is a matrix on the device, and what is needed to replace it: when the device fails,
// the fallback computes the closure of the same edges and answers from then on.
type closure struct {
	b     *Backend
	opt   accel.Options
	ctx   context.Context // of the latest call that had one: Reaches has none
	s     *space
	m     *matrix
	cache cache

	news  []uint64 // by vertex: see Changed
	fresh bool     // all rows have just been computed
	own   bool     // the graph is not the caller's: again has made it

	mu   sync.Mutex
	cpu  accel.Closure // used instead of the device, once that failed
	lost error         // why neither the device nor the fallback works
	// replaced: edges were inserted into cpu that the device does not have.
	replaced bool
}

func (c *closure) keep() {
	c.news = make([]uint64, c.s.Len())
	c.cache = newCache(c.s.size(), c.m.columns)
}

// substitute returns the closure that answers instead of the device, nil if the device works.
func (c *closure) substitute() (accel.Closure, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cpu, c.lost
}

// fail lets the fallback take over after an error of the device; it returns other errors.
func (c *closure) fail(ctx context.Context, err error) (accel.Closure, error) {
	if !ofDevice(err) {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cpu == nil && c.lost == nil {
		cpu, err := c.onCPU(ctx, err)
		if ctx.Err() != nil {
			c.lost = context.Cause(ctx)
			return nil, c.lost
		}
		c.cpu, c.lost = cpu, err
	}
	return c.cpu, c.lost
}

// onCPU computes the closure of all edges so far on the CPU.
func (c *closure) onCPU(ctx context.Context, cause error) (accel.Closure, error) {
	to := c.b.cfg.Fallback
	if to == nil {
		return nil, errors.Wrapf(cause, "GPU %s", c.b.dev.facts.Name)
	}
	c.b.warn(cause)
	opt := c.opt
	opt.Order = c.s.Order
	cpu, err := to.Closure(ctx, c.graph(), opt)
	return cpu, errors.Wrapf(err, "in place of the GPU")
}

// graph returns the graph with the edges that were added.
func (c *closure) graph() *accel.Graph {
	if len(c.s.Added) == 0 {
		return c.s.Graph
	}
	return c.s.Merged(nil)
}

// Reaches implements accel.Closure. It fetches rows from the device and keeps
// some of them until the next Insert.
func (c *closure) Reaches(from, to int32) bool {
	if row := c.cache.get(to); row != nil {
		return c.in(row, from)
	}
	cpu, err := c.substitute()
	if cpu == nil && err == nil {
		var row []uint64
		if row, err = c.m.fetchRow(c.m.row[to]); err == nil {
			c.cache.put(to, row)
			return c.in(row, from)
		}
		cpu, err = c.fail(c.ctx, err)
	}
	if err != nil {
		return c.search(from, to)
	}
	return cpu.Reaches(from, to)
}

func (c *closure) in(row []uint64, from int32) bool {
	column := c.m.column[from]
	return row[column>>6]>>(column&63)&1 != 0
}

// search answers if neither the device nor the fallback can: Reaches cannot return an error.
func (c *closure) search(from, to int32) bool {
	known := make([]bool, c.s.size())
	known[to] = true
	next := []int32{to}
	r := reader{space: c.s}
	for len(next) > 0 && !known[from] {
		x := next[len(next)-1]
		next = next[:len(next)-1]
		for _, u := range r.into(x) {
			if !known[u] {
				known[u] = true
				next = append(next, u)
			}
		}
	}
	return known[from]
}

// Insert implements accel.Closure.
func (c *closure) Insert(ctx context.Context, edges []accel.Edge) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := c.s.CheckEdges(edges); err != nil {
		return err
	}
	c.ctx = ctx
	cpu, err := c.substitute()
	if cpu == nil && err == nil {
		if err = c.onDevice(ctx, edges); err == nil {
			return nil
		}
		cpu, err = c.fail(ctx, err)
	}
	if err != nil {
		return err
	}
	c.replaced = true
	c.cache.clear()
	return cpu.Insert(ctx, edges)
}

// onDevice inserts edges. After an error the space is restored, because a fallback needs the
// closure before and after the insertion.
func (c *closure) onDevice(ctx context.Context, edges []accel.Edge) error {
	edges, err := c.unknown(ctx, edges)
	if err != nil {
		return err
	}
	if !c.b.cfg.Squaring && float64(len(edges)) > c.b.dev.many*float64(c.s.Len()) {
		return c.again(ctx, edges)
	}
	if err := c.s.Insert(edges); err != nil {
		return err
	}
	if err := c.extend(ctx, edges); err != nil {
		c.s.Drop(len(edges))
		return err
	}
	return nil
}

// many is the number of edges per vertex from which an insertion computes all rows anew. With twice as many, that takes
// the host half as long as lists of added edges: see BenchmarkHost.
const many = 1

// again computes the closure of all edges anew. Everything counts as news. Sources keep their columns,
// because these are their classes.
func (c *closure) again(ctx context.Context, edges []accel.Edge) error {
	c.cache.clear()
	sorted, err := accel.Sort(c.s.Merged(edges), nil)
	if err != nil {
		return err
	}
	s := newSpace(sorted)
	m, p, err := planMatrix(c.b.dev, s, s.levels(false), c.m.column, false)
	if err != nil {
		return err
	}
	c.m.close() // there may not be room for two
	if err := m.fill(ctx, s, p, false); err != nil {
		if !ofDevice(err) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.lost = err
		}
		return err
	}
	c.s, c.m, c.fresh, c.own = s, m, true, true
	return nil
}

// unknown returns the edges that may change the closure: those whose start is not known to reach
// their end.
func (c *closure) unknown(ctx context.Context, edges []accel.Edge) ([]accel.Edge, error) {
	var asked, list []accel.Edge
	for _, e := range edges {
		if e.From < c.s.SourceCount() && e.From != e.To {
			asked = append(asked, accel.Edge{From: e.To, To: e.From})
		} else {
			list = append(list, e)
		}
	}
	bits, err := c.m.closing(ctx, asked)
	if err != nil {
		return nil, err
	}
	for i, e := range asked {
		if bits[i>>5]>>(i&31)&1 == 0 {
			list = append(list, accel.Edge{From: e.To, To: e.From})
		}
	}
	return list, nil
}

// extend updates the matrix after edges were added to the space.
func (c *closure) extend(ctx context.Context, edges []accel.Edge) error {
	p, at, err := planInsert(c.s, c.s.fill(c.s.Order), edges, c.m.chunkRows())
	if err != nil {
		return err
	}
	changed, err := c.m.insert(ctx, p, at)
	if err != nil {
		return err
	}
	c.cache.clear()
	c.fresh = false
	clear(c.news)
	for i, x := range at {
		if x < c.s.Len() {
			c.news[x] = changed[i]
		}
	}
	return nil
}

// Backend implements accel.Closure.
func (c *closure) Backend() string {
	if cpu, _ := c.substitute(); cpu != nil {
		return cpu.Backend()
	}
	return c.b.Name()
}

// Class implements accel.Closure: columns that are equal modulo 64 share a class.
func (c *closure) Class(from int32) uint64 { return 1 << (c.m.column[from] & 63) }

// Changed implements accel.Closure. The fallback has other classes.
func (c *closure) Changed(v int32) uint64 {
	if c.fresh || c.replaced {
		return math.MaxUint64
	}
	return c.news[v]
}

// Rank implements accel.Closure.
func (c *closure) Rank() []int32 {
	if cpu, _ := c.substitute(); cpu != nil {
		return cpu.Rank()
	}
	return c.s.Rank
}

// Common implements accel.Closure. It returns no sources, because each vertex would need its own
// query.
func (c *closure) Common([]int32, int32, func(from int32)) {}

// Rows implements accel.Closure. The rows are on the device.
func (c *closure) Rows() accel.Rows { return nil }

// Bytes implements accel.Closure: the host's memory.
func (c *closure) Bytes() int64 {
	cpu, _ := c.substitute()
	bytes := c.s.Bytes() + 4*int64(cap(c.s.point)+cap(c.s.ends)+cap(c.s.since)+cap(c.m.row)+cap(c.m.column)) +
		8*int64(cap(c.news)) + c.cache.size()
	if c.own {
		bytes += 8*int64(cap(c.s.Start)) + 4*int64(cap(c.s.From))
	}
	if cpu != nil {
		bytes += cpu.Bytes()
	}
	return bytes
}

// DeviceBytes is the device's memory that the closure holds.
func (c *closure) DeviceBytes() int64 {
	return c.m.bytes
}

// Close implements accel.Closure.
func (c *closure) Close() {
	if cpu, _ := c.substitute(); cpu != nil {
		cpu.Close()
	}
	c.m.close()
}
