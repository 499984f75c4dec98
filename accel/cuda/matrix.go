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
	held    *arena // all of what follows on the device
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

// matrixBytes returns what a matrix takes on the device, besides plans.
func matrixBytes(rows, columns int64) int64 { return rows*(16*pitchOf(columns)+4) + 4*columns }

// newsBytes returns what insertions take besides plans: a flag for each row and
// strip, and what changed by row.
func newsBytes(rows, columns int64) int64 { return rows*(pitchOf(columns)/2+12) + 16*pitchOf(columns) }

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
	need := m.bytes + newsBytes(int64(s.size()), int64(columns)) + planBytes(int64(s.size()), int64(len(p.ex)+len(p.in)))
	err = d.do(func() error { return m.alloc(s, need) })
	if err != nil {
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
