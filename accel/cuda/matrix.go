package cuda

import (
	"context"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/cuda/driver"
	"github.com/isohound/isohound/accel/cuda/kernels"
	"github.com/pkg/errors"
)

// matrix is a closure on a device. Its methods must not run concurrently with insert.
type matrix struct {
	d       *device
	held    *arena // all device memory of the fields below
	bits    driver.Ptr
	pitch   int     // vectors of 16 bytes per row
	sources int32   // the vertices that may be sources of queries
	shift   int     // a strip is 1<<shift vectors wide
	columns int     // sources
	row     []int32 // by vertex and point
	column  []int32 // by source
	// rowColumn is, until the matrix is computed, the column of every row, -1 for none.
	rowColumn []int32
	rowPtr    driver.Ptr
	colPtr    driver.Ptr
	bytes     int64 // of the device's memory
}

// panelRows is the maximum number of rows per launch, so that no launch takes long: contexts can
// end between launches, and displays do not freeze.
const panelRows = 16384

// pitchOf returns the vectors of a row with that many columns: a multiple of the widest strip.
func pitchOf(columns int64) int64 { return (columns + 1023) / 1024 * 8 }

// matrixBytes returns the size of a matrix on the device, without plans.
func matrixBytes(rows, columns int64) int64 { return rows*(16*pitchOf(columns)+4) + 4*columns }

// newsBytes returns the memory of insertions without plans: a flag for each row and strip, and
// the changes by row.
func newsBytes(rows, columns int64) int64 { return rows*(pitchOf(columns)/2+12) + 16*pitchOf(columns) }

// newMatrix computes the closure of a space on the device, by rows or by squaring. order must be
// a topological order of the whole space, and is best sorted by levels.
func newMatrix(ctx context.Context, d *device, s *space, order []int32, squaring bool) (*matrix, error) {
	m, p, err := planMatrix(d, s, order, nil, squaring)
	if err != nil {
		return nil, err
	}
	return m, m.fill(ctx, s, p, squaring)
}

// planMatrix plans the computation of a matrix. column has the columns of the sources, nil for the order of their rows: then
// the matrix is triangular, and less of it is read and written.
func planMatrix(d *device, s *space, order, column []int32, squaring bool) (*matrix, *plan, error) {
	columns := s.SourceCount()
	if squaring {
		columns = s.size()
	}
	m := &matrix{d: d, sources: s.SourceCount(), columns: int(columns), pitch: int(pitchOf(int64(columns))), shift: 1}
	// Strips are widened while there are more of them than the device can process at once.
	for m.shift < 3 && m.pitch>>m.shift > 4*d.facts.Multiprocessors {
		m.shift++
	}
	rows := m.chunkRows()
	if squaring {
		rows = 1 // every edge comes from an earlier chunk
	}
	p, row, err := planAll(s, order, rows)
	if err != nil {
		return nil, nil, err
	}
	m.row = row
	m.number(s, columns, column)
	m.bytes = matrixBytes(int64(s.size()), int64(columns))
	return m, p, nil
}

// fill allocates a matrix and computes it as planned. After an error it is closed.
func (m *matrix) fill(ctx context.Context, s *space, p *plan, squaring bool) error {
	need := m.bytes + newsBytes(int64(s.size()), int64(m.columns)) + planBytes(int64(s.size()), int64(len(p.ex)+len(p.in)))
	err := m.d.do(func() error { return m.alloc(s, need) })
	switch {
	case err != nil:
	case squaring:
		err = m.square(ctx, p)
	default:
		err = m.compute(ctx, p, m.rowColumn)
	}
	m.rowColumn = nil
	if err != nil {
		m.close()
	}
	return err
}

// chunkRows is the maximum number of rows per chunk.
func (m *matrix) chunkRows() int32 { return min(m.d.rows, kernels.Vectors>>m.shift) }

// number assigns columns to the sources, those of column or, if it is nil, in the order of their
// rows.
func (m *matrix) number(s *space, columns int32, column []int32) {
	of := make([]int32, s.size()) // by row: the source
	for r := range of {
		of[r] = -1
	}
	for v := range columns {
		of[m.row[v]] = v
	}
	if m.column = column; column == nil {
		m.column = make([]int32, columns)
		next := int32(0)
		for _, v := range of {
			if v >= 0 {
				m.column[v] = next
				next++
			}
		}
	}
	for r, v := range of {
		if v >= 0 {
			of[r] = m.column[v]
		}
	}
	m.rowColumn = of
}

// alloc allocates the memory if all of need is free. It must be called within do.
func (m *matrix) alloc(s *space, need int64) error {
	free, err := m.d.lib.FreeMemory()
	if err != nil {
		return err
	}
	if need += m.d.spare(); need > free {
		return errors.WithStack(&accel.MemoryError{Backend: "cuda", Need: need, Limit: free})
	}
	size := int64(s.size()) * int64(m.pitch) * 16
	if m.held, err = m.d.arena(padded(size) + listBytes(m.row) + listBytes(m.column)); err != nil {
		return err
	}
	if m.bits, err = m.held.blank(size); err != nil {
		return err
	}
	if m.rowPtr, err = lend(m.held, m.row); err != nil {
		return err
	}
	m.colPtr, err = lend(m.held, m.column)
	return err
}

func (m *matrix) close() { m.held.free() }
