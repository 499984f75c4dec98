package cuda

import (
	"context"

	"github.com/isohound/isohound/accel/cuda/driver"
)

// sent is the addresses of a plan on the device.
type sent struct{ chunk, exStart, ex, inStart, in, levelStart, level driver.Ptr }

// bytes returns the size of a plan in an arena.
func (p *plan) bytes() int64 {
	return listBytes(p.chunk) + listBytes(p.exStart) + listBytes(p.ex) + listBytes(p.inStart) +
		listBytes(p.in) + listBytes(p.levelStart) + listBytes(p.level)
}

// lendPlan copies a plan to the device. It must be called within do.
func lendPlan(a *arena, p *plan) (s sent, err error) {
	long := func(to *driver.Ptr, list []int32) {
		if err == nil {
			*to, err = lend(a, list)
		}
	}
	short := func(to *driver.Ptr, list []uint16) {
		if err == nil {
			*to, err = lend(a, list)
		}
	}
	long(&s.chunk, p.chunk)
	long(&s.exStart, p.exStart)
	long(&s.ex, p.ex)
	long(&s.inStart, p.inStart)
	short(&s.in, p.in)
	long(&s.levelStart, p.levelStart)
	short(&s.level, p.level)
	return s, err
}

// args returns the arguments of a kernel that processes a range of chunks of a plan.
func (s sent) args(from, to, shift int) []uint64 {
	return []uint64{uint64(s.chunk), uint64(s.exStart), uint64(s.ex), uint64(s.inStart), uint64(s.in),
		uint64(s.levelStart), uint64(s.level), uint64(from), uint64(to), uint64(shift)}
}

// panels calls f for ranges of chunks with about as many rows as a panel has, and checks the
// context between them.
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
	// By vector: the first row that has a column in this vector or a later one.
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
	var a *arena
	defer func() { a.free() }()
	err := m.d.do(func() (err error) {
		if a, err = m.d.arena(p.bytes() + listBytes(rowColumn) + listBytes(first)); err != nil {
			return err
		}
		if onDevice, err = lendPlan(a, p); err != nil {
			return err
		}
		if columns, err = lend(a, rowColumn); err != nil {
			return err
		}
		firsts, err = lend(a, first)
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

// square runs seed_rows, and then square_rows until nothing changes.
func (m *matrix) square(ctx context.Context, p *plan) error {
	var grown driver.Ptr
	var a *arena
	defer func() { a.free() }()
	n := p.chunks()
	err := m.d.do(func() (err error) {
		if a, err = m.d.arena(listBytes(p.exStart) + listBytes(p.ex) + padded(4)); err != nil {
			return err
		}
		start, err := lend(a, p.exStart)
		if err != nil {
			return err
		}
		ex, err := lend(a, p.ex)
		if err != nil {
			return err
		}
		grown = a.take(4)
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

// insert updates the matrix along a plan; at has the vertices and points of its positions. It
// returns the changes by position.
func (m *matrix) insert(ctx context.Context, p *plan, at []int32) ([]uint64, error) {
	strips := m.pitch >> m.shift
	changed := make([]uint64, len(at))
	rows := make([]int32, len(at))
	for i, x := range at {
		rows[i] = m.row[x]
	}
	asked := make([]uint64, 2*m.pitch)
	for _, c := range m.column[:m.sources] {
		asked[c>>6] |= 1 << (c & 63)
	}
	var onDevice sent
	var rowList, news, mask, out driver.Ptr
	var a *arena
	defer func() { a.free() }()
	flags := int64(strips) * int64(len(at))
	err := m.d.do(func() (err error) {
		if a, err = m.d.arena(p.bytes() + listBytes(rows) + listBytes(asked) + listBytes(changed) + padded(flags)); err != nil {
			return err
		}
		if onDevice, err = lendPlan(a, p); err != nil {
			return err
		}
		if rowList, err = lend(a, rows); err != nil {
			return err
		}
		if mask, err = lend(a, asked); err != nil {
			return err
		}
		if out, err = a.blank(8 * int64(len(at))); err != nil {
			return err
		}
		news, err = a.blank(flags)
		return err
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
