package cuda

import (
	"context"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/cuda/driver"
	"github.com/isohound/isohound/accel/cuda/kernels"
	"github.com/pkg/errors"
)

// matrix is a closure on a device. Its methods may not run beside insert.
type matrix struct {
	d       *device
	bits    driver.Ptr
	pitch   int     // vectors of 16 bytes of a row
	sources int32   // the vertices that are asked about
	shift   int     // a strip is 1<<shift vectors wide
	columns int     // sources
	row     []int32 // by vertex and point
	column  []int32 // by source
	rowPtr  driver.Ptr
	colPtr  driver.Ptr
	bytes   int64 // of the device's memory
}

// panelRows is how many rows a launch takes at most, so that none runs for long:
// contexts can end between them, and displays do not freeze.
const panelRows = 16384

// pitchOf returns the vectors of a row with so many columns: whole widest strips.
func pitchOf(columns int64) int64 { return (columns + 1023) / 1024 * 8 }

// matrixBytes returns what a matrix takes on the device, besides the plan.
func matrixBytes(rows, columns int64) int64 { return rows*(16*pitchOf(columns)+4) + 4*columns }

// newMatrix computes the closure of a space on the device, by rows or by squaring,
// with a topological order of the whole space, best one by levels.
func newMatrix(ctx context.Context, d *device, s *space, order []int32, squaring bool) (*matrix, error) {
	columns := s.SourceCount()
	if squaring {
		columns = s.size()
	}
	m := &matrix{d: d, sources: s.SourceCount(), columns: int(columns), pitch: int(pitchOf(int64(columns))), shift: 1}
	// As many strips as the device can have under way, and no narrower ones.
	for m.shift < 3 && m.pitch>>m.shift > 4*d.facts.Multiprocessors {
		m.shift++
	}
	rows := m.chunkRows()
	if squaring {
		rows = 1 // every edge comes from an earlier chunk
	}
	p, row, err := planAll(s, order, rows)
	if err != nil {
		return nil, err
	}
	m.row = row
	rowColumn := m.number(s, columns)
	m.bytes = matrixBytes(int64(s.size()), int64(columns))
	if err := d.do(func() error { return m.alloc(s, m.bytes+planBytes(int64(s.size()), int64(len(p.ex)+len(p.in)))) }); err != nil {
		m.close()
		return nil, err
	}
	if squaring {
		err = m.square(ctx, p)
	} else {
		err = m.compute(ctx, p, rowColumn)
	}
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// chunkRows is how many rows a chunk may have.
func (m *matrix) chunkRows() int32 { return min(m.d.rows, kernels.Vectors>>m.shift) }

// number gives the sources columns, in the order of their rows. It returns the
// column of every row, -1 for none.
func (m *matrix) number(s *space, columns int32) []int32 {
	of := make([]int32, s.size()) // by row: the source
	for r := range of {
		of[r] = -1
	}
	for v := range columns {
		of[m.row[v]] = v
	}
	m.column = make([]int32, columns)
	next := int32(0)
	for r, v := range of {
		if v >= 0 {
			m.column[v] = next
			of[r] = next
			next++
		}
	}
	return of
}

// alloc takes memory, if there is as much as is needed in all. Within do.
func (m *matrix) alloc(s *space, need int64) (err error) {
	free, err := m.d.lib.FreeMemory()
	if err != nil {
		return err
	}
	if need += m.d.spare(); need > free {
		return errors.WithStack(&accel.MemoryError{Backend: "cuda", Need: need, Limit: free})
	}
	size := int64(s.size()) * int64(m.pitch) * 16
	if m.bits, err = m.d.lib.Alloc(max(16, size)); err != nil {
		return err
	}
	if err = m.d.lib.Fill(m.bits, 0, size); err != nil {
		return err
	}
	if m.rowPtr, err = send(m.d, m.row); err != nil {
		return err
	}
	m.colPtr, err = send(m.d, m.column)
	return err
}

func (m *matrix) close() {
	m.d.free(m.bits, m.rowPtr, m.colPtr)
	m.bits, m.rowPtr, m.colPtr = 0, 0, 0
}

// sent is a plan on the device.
type sent struct{ chunk, exStart, ex, inStart, in, levelStart, level driver.Ptr }

// sendPlan copies a plan to the device. Within do.
func sendPlan(d *device, p *plan) (s sent, err error) {
	put := func(to *driver.Ptr, send func() (driver.Ptr, error)) {
		if err == nil {
			*to, err = send()
		}
	}
	list := func(to *driver.Ptr, l []int32) { put(to, func() (driver.Ptr, error) { return send(d, l) }) }
	short := func(to *driver.Ptr, l []uint16) { put(to, func() (driver.Ptr, error) { return send(d, l) }) }
	list(&s.chunk, p.chunk)
	list(&s.exStart, p.exStart)
	list(&s.ex, p.ex)
	list(&s.inStart, p.inStart)
	short(&s.in, p.in)
	list(&s.levelStart, p.levelStart)
	short(&s.level, p.level)
	return s, err
}

func (s sent) list() []driver.Ptr {
	return []driver.Ptr{s.chunk, s.exStart, s.ex, s.inStart, s.in, s.levelStart, s.level}
}

// args are the arguments of a kernel that goes along a plan, from a chunk to
// another.
func (s sent) args(from, to, shift int) []uint64 {
	var args []uint64
	for _, p := range s.list() {
		args = append(args, uint64(p))
	}
	return append(args, uint64(from), uint64(to), uint64(shift))
}

// panels calls f for ranges of chunks with about as many rows as a panel has,
// with the context looked at between them.
func (m *matrix) panels(ctx context.Context, p *plan, f func(from, to int) error) error {
	for from := 0; from < p.chunks(); {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		to := from + 1
		for to < p.chunks() && p.chunk[to+1]-p.chunk[from] <= m.d.panel {
			to++
		}
		if err := m.d.do(func() error { return f(from, to) }); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// compute runs closure_rows.
func (m *matrix) compute(ctx context.Context, p *plan, rowColumn []int32) error {
	// By vector the first row that has a column in it or behind it.
	first := make([]int32, m.pitch)
	next := 0
	for r, c := range rowColumn {
		for ; c >= 0 && next <= int(c)>>7; next++ {
			first[next] = int32(r)
		}
	}
	for ; next < m.pitch; next++ {
		first[next] = int32(len(rowColumn))
	}
	var onDevice sent
	var columns, firsts driver.Ptr
	defer func() { m.d.free(append(onDevice.list(), columns, firsts)...) }()
	err := m.d.do(func() (err error) {
		if onDevice, err = sendPlan(m.d, p); err != nil {
			return err
		}
		if columns, err = send(m.d, rowColumn); err != nil {
			return err
		}
		firsts, err = send(m.d, first)
		return err
	})
	if err != nil {
		return err
	}
	return m.panels(ctx, p, func(from, to int) error {
		strips := 0
		for strips < m.pitch>>m.shift && first[strips<<m.shift] < p.chunk[to] {
			strips++
		}
		args := append([]uint64{uint64(m.bits), uint64(m.pitch), uint64(columns), uint64(firsts)}, onDevice.args(from, to, m.shift)...)
		return m.d.launch("closure_rows", strips, 1, args...)
	})
}

// square runs seed_rows, and square_rows until nothing grows.
func (m *matrix) square(ctx context.Context, p *plan) error {
	var start, ex, grown driver.Ptr
	defer func() { m.d.free(start, ex, grown) }()
	n := p.chunks()
	err := m.d.do(func() (err error) {
		if start, err = send(m.d, p.exStart); err != nil {
			return err
		}
		if ex, err = send(m.d, p.ex); err != nil {
			return err
		}
		if grown, err = send(m.d, []uint32{0}); err != nil {
			return err
		}
		return m.d.launch("seed_rows", (n+m.d.threads-1)/m.d.threads, 1,
			uint64(m.bits), uint64(m.pitch), uint64(start), uint64(ex), uint64(n))
	})
	if err != nil {
		return err
	}
	const shift = 3
	groups := m.d.threads >> shift
	more := []uint32{1}
	for more[0] != 0 {
		err := m.d.do(func() error { return m.d.lib.Fill(grown, 0, 4) })
		for from := 0; from < n && err == nil; from += int(m.d.panel) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			to := min(n, from+int(m.d.panel))
			strips := (to + 1023) / 1024
			err = m.d.do(func() error {
				return m.d.launch("square_rows", strips, (to-from+groups-1)/groups,
					uint64(m.bits), uint64(m.pitch), uint64(from), uint64(to), shift, uint64(grown))
			})
		}
		if err == nil {
			err = m.d.do(func() error { return fetch(m.d, more, grown) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// insert brings the matrix up to date along a plan; at has the vertices and points
// of its positions. It returns the changes by position.
func (m *matrix) insert(ctx context.Context, p *plan, at []int32) ([]uint64, error) {
	strips := m.pitch >> m.shift
	changed := make([]uint64, len(at))
	rows := make([]int32, len(at))
	for i, x := range at {
		rows[i] = m.row[x]
	}
	var onDevice sent
	asked := make([]uint64, 2*m.pitch)
	for _, c := range m.column[:m.sources] {
		asked[c>>6] |= 1 << (c & 63)
	}
	var rowList, news, mask, out driver.Ptr
	defer func() { m.d.free(append(onDevice.list(), rowList, news, mask, out)...) }()
	flags := int64(strips) * int64(len(at))
	err := m.d.do(func() (err error) {
		if onDevice, err = sendPlan(m.d, p); err != nil {
			return err
		}
		if rowList, err = send(m.d, rows); err != nil {
			return err
		}
		if out, err = send(m.d, changed); err != nil {
			return err
		}
		if mask, err = send(m.d, asked); err != nil {
			return err
		}
		if news, err = m.d.lib.Alloc(max(1, flags)); err != nil {
			return err
		}
		return m.d.lib.Fill(news, 0, flags)
	})
	if err != nil {
		return nil, err
	}
	err = m.panels(ctx, p, func(from, to int) error {
		args := append([]uint64{uint64(m.bits), uint64(m.pitch), uint64(rowList)}, onDevice.args(from, to, m.shift)...)
		return m.d.launch("insert_rows", strips, 1, append(args, uint64(news), uint64(len(at)), uint64(mask), uint64(out))...)
	})
	if err != nil {
		return nil, err
	}
	return changed, m.d.do(func() error { return fetch(m.d, changed, out) })
}
