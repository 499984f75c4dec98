package cuda

import (
	"context"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/cuda/driver"
	"github.com/pkg/errors"
)

// blocks returns how many blocks of threads a kernel gets for n work items: at most as many as
// keep the device busy.
func (d *device) blocks(n int) int {
	return min((n+d.threads-1)/d.threads, 64*max(1, d.facts.Multiprocessors))
}

// valid returns an error for the first edge that does not lead from a vertex to a source.
func (m *matrix) valid(n int32, edges []accel.Edge) error {
	for _, e := range edges {
		if uint32(e.From) >= uint32(n) || uint32(e.To) >= uint32(len(m.column)) || e.To >= n {
			return errors.Errorf("a question about the edge from %d to %d: it must lead from one of %d vertices to one of %d sources",
				e.From, e.To, n, min(len(m.column), int(n)))
		}
	}
	return nil
}

// closing computes for every edge whether it closes a cycle, as bits.
func (m *matrix) closing(ctx context.Context, edges []accel.Edge) ([]uint32, error) {
	d := m.d
	out := make([]uint32, (len(edges)+31)/32)
	size := max(32, int(d.piece/2/8)&^31)
	for from := 0; from < len(edges); from += size {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		part := edges[from:min(len(edges), from+size)]
		words := out[from/32 : (from+len(part)+31)/32]
		err := d.do(func() error {
			a, err := d.room(listBytes(part) + listBytes(words))
			if err != nil {
				return err
			}
			asked, err := lend(a, part)
			if err != nil {
				return err
			}
			answers, err := a.blank(4 * int64(len(words)))
			if err != nil {
				return err
			}
			if err := d.launch("closing_edges", d.blocks(len(part)), 1, uint64(m.bits), uint64(m.pitch),
				uint64(m.rowPtr), uint64(m.colPtr), uint64(asked), uint64(len(part)), uint64(answers)); err != nil {
				return err
			}
			return fetch(d, words, answers)
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// among computes the matrices of groups that are laid out, in batches of groups.
func (m *matrix) among(ctx context.Context, g *accel.Groups) error {
	count := len(g.Start) - 1
	for i := 0; i < count; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		last := i + 1
		for last < count && 4*int64(g.Start[last+1]-g.Start[i])+12*int64(last+1-i) <= m.d.piece/2 {
			last++
		}
		if err := m.some(ctx, g, i, last); err != nil {
			return err
		}
		i = last
	}
	return nil
}

// some computes the matrices of groups i to last-1, in batches of words.
func (m *matrix) some(ctx context.Context, g *accel.Groups, i, last int) error {
	d := m.d
	start := make([]int32, last-i+1)
	at := make([]int64, last-i+1)
	for k := range start {
		start[k] = g.Start[i+k] - g.Start[i]
		at[k] = g.At[i+k] - g.At[i]
	}
	members := g.Members[g.Start[i]:g.Start[last]]
	bits := g.Bits[g.At[i]:g.At[last]]
	size := int(max(64, min(d.piece/4, 1<<30)/8))
	for from := 0; from < len(bits); from += size {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		words := bits[from:min(len(bits), from+size)]
		err := d.do(func() error {
			a, err := d.room(listBytes(start) + listBytes(at) + listBytes(members) + listBytes(words))
			if err != nil {
				return err
			}
			starts, err := lend(a, start)
			if err != nil {
				return err
			}
			ats, err := lend(a, at)
			if err != nil {
				return err
			}
			list, err := lend(a, members)
			if err != nil {
				return err
			}
			out := a.take(8 * int64(len(words)))
			if err := d.launch("among_groups", d.blocks(len(words)), 1, uint64(m.bits), uint64(m.pitch),
				uint64(m.rowPtr), uint64(m.colPtr), uint64(starts), uint64(list), uint64(ats),
				uint64(last-i), uint64(from), uint64(len(words)), uint64(out)); err != nil {
				return err
			}
			return fetch(d, words, out)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fetchRow copies a row, as words of 64 columns.
func (m *matrix) fetchRow(r int32) ([]uint64, error) {
	words := make([]uint64, (m.columns+63)/64)
	return words, m.d.do(func() error {
		return fetch(m.d, words, m.bits+driver.Ptr(int64(r)*int64(m.pitch)*16))
	})
}
