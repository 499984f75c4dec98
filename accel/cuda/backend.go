package cuda

import (
	"context"
	"fmt"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/cuda/driver"
	"github.com/pkg/errors"
)

// cacheBytes bounds the rows that point queries cache in the host's memory.
const cacheBytes = 256 << 20

// shape returns upper bounds of the rows, columns and edges of a closure of g.
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

// Memory returns an upper bound of the host's memory, in bytes, that a closure of g takes while
// it is computed: orders, the plan for the device, and the rows that point queries cache. The
// matrix is on the device: see DeviceMemory.
func (b *Backend) Memory(g *accel.Graph) int64 {
	rows, columns, edges := b.shape(g)
	return accel.SortedMemory(g) + planBytes(rows, edges) + 64*rows + min(cacheBytes, rows*columns/8+rowOverhead*rows)
}

// DeviceMemory returns an upper bound of the device's memory, in bytes, that a closure of g
// takes.
func (b *Backend) DeviceMemory(g *accel.Graph) int64 {
	rows, columns, edges := b.shape(g)
	return matrixBytes(rows, columns) + newsBytes(rows, columns) + planBytes(rows, edges) + b.dev.piece
}

// FreeMemory returns the bytes of the device's memory that are free.
func (b *Backend) FreeMemory() (free int64, err error) {
	err = b.dev.do(func() error {
		free, err = b.dev.lib.FreeMemory()
		free += min(b.dev.scratch.size, b.dev.piece) // alloc only counts this much as reusable
		return err
	})
	return free, err
}

// Closure implements accel.Backend. Options.MaxMemory only bounds the host's memory; the device
// has its own bound. Options.Workers is not used.
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
	c.m, err = newMatrix(ctx, b.dev, c.s, c.s.levels(opt.Order != nil), b.cfg.Squaring)
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

// ofDevice reports whether an error was caused by the device, so that a CPU may succeed.
func ofDevice(err error) bool {
	var e *driver.Error
	var m *accel.MemoryError
	return errors.As(err, &e) || errors.As(err, &m) || errors.Is(err, errGivenBack) || errors.Is(err, errWrong)
}

var (
	errGivenBack = errors.New("the GPU was given back")
	errWrong     = errors.New("the GPU gives wrong results: do not use it, and have its memory and driver checked")
)

// warn tells the user that the fallback takes over. It reports only once that the device is
// lost.
func (b *Backend) warn(err error) {
	var m *accel.MemoryError
	if !errors.As(err, &m) && b.warned.Swap(true) || b.cfg.Warn == nil {
		return
	}
	b.cfg.Warn(b.say(err) + "; using " + b.cfg.Fallback.Name() + " on the CPU instead")
}

// say formats an error as one line.
func (b *Backend) say(err error) string {
	name := b.dev.facts.Name
	var m *accel.MemoryError
	if errors.As(err, &m) {
		return fmt.Sprintf("GPU %s: the closure takes %d MiB of its memory, and %d MiB are free",
			name, m.Need>>20, m.Limit>>20)
	}
	return fmt.Sprintf("GPU %s: %v", name, err)
}
