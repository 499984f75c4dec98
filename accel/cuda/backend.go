package cuda

import (
	"context"
	"fmt"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/cuda/driver"
	"github.com/pkg/errors"
)

// cacheBytes bounds the rows that point queries keep in the host's memory.
const cacheBytes = 256 << 20

// shape returns how many rows, columns and edges a closure of g has at most.
func (b *Backend) shape(g *accel.Graph) (rows, columns, edges int64) {
	rows, columns, edges = int64(g.Len()), int64(g.SourceCount()), int64(len(g.From))
	if g.Intervals != nil {
		edges += 3 * rows
		rows *= 2
	}
	if b.cfg.Squaring {
		columns = rows
	}
	return rows, columns, edges
}

// Memory returns the bytes of the host's memory that a closure of g takes at
// most, while it is computed: orders, the plan for the device, and the rows that
// point queries keep. The matrix is on the device: see DeviceMemory.
func (b *Backend) Memory(g *accel.Graph) int64 {
	rows, columns, edges := b.shape(g)
	return accel.SortedMemory(g) + planBytes(rows, edges) + 64*rows + min(cacheBytes, rows*columns/8+rowOverhead*rows)
}

// DeviceMemory returns the bytes of the device's memory that a closure of g takes
// at most.
func (b *Backend) DeviceMemory(g *accel.Graph) int64 {
	rows, columns, edges := b.shape(g)
	return matrixBytes(rows, columns) + newsBytes(rows, columns) + planBytes(rows, edges) + b.dev.piece
}

// FreeMemory returns the bytes of the device's memory that nobody has.
func (b *Backend) FreeMemory() (free int64, err error) {
	err = b.dev.do(func() error {
		free, err = b.dev.lib.FreeMemory()
		free += min(b.dev.scratch.size, b.dev.piece) // alloc counts no more of it
		return err
	})
	return free, err
}

// Closure implements accel.Backend. Options.MaxMemory bounds the host's memory
// only; that of the device bounds itself. Options.Workers is of no use here.
func (b *Backend) Closure(ctx context.Context, g *accel.Graph, opt accel.Options) (accel.Closure, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if need := b.Memory(g); opt.MaxMemory > 0 && need > opt.MaxMemory {
		return nil, &accel.MemoryError{Backend: b.Name(), Need: need, Limit: opt.MaxMemory}
	}
	s, err := accel.Sort(g, opt.Order)
	if err != nil {
		return nil, err
	}
	c := &closure{b: b, opt: opt, ctx: ctx, s: newSpace(s), fresh: true}
	order := c.s.fill(s.Order)
	if opt.Order != nil || g.Intervals != nil {
		order = c.s.byLevel(order, nil) // as an order is that Sort computes without these
	}
	c.m, err = newMatrix(ctx, b.dev, c.s, order, b.cfg.Squaring)
	if err == nil {
		c.keep()
		return c, nil
	}
	if !ofDevice(err) {
		return nil, err
	}
	c.cpu, err = c.onCPU(ctx, err)
	if err != nil {
		return nil, err
	}
	return c.cpu, nil
}

// ofDevice reports whether the device is to blame for an error, so that a CPU may
// do better.
func ofDevice(err error) bool {
	var e *driver.Error
	var m *accel.MemoryError
	return errors.As(err, &e) || errors.As(err, &m) || errors.Is(err, errGivenBack) || errors.Is(err, errWrong)
}

var (
	errGivenBack = errors.New("the GPU was given back")
	errWrong     = errors.New("the GPU gives wrong results: do not use it, and have its memory and driver checked")
)

// warn tells the user that the fallback takes over. That the device is lost it
// tells once.
func (b *Backend) warn(err error) {
	var m *accel.MemoryError
	if !errors.As(err, &m) && b.warned.Swap(true) || b.cfg.Warn == nil {
		return
	}
	b.cfg.Warn(b.say(err) + "; going on with " + b.cfg.Fallback.Name() + " on the CPU")
}

// say makes a line of what went wrong.
func (b *Backend) say(err error) string {
	name := b.dev.facts.Name
	var m *accel.MemoryError
	if errors.As(err, &m) {
		return fmt.Sprintf("GPU %s: the closure takes %d MiB of its memory, and %d MiB are free",
			name, m.Need>>20, m.Limit>>20)
	}
	return fmt.Sprintf("GPU %s: %v", name, err)
}
