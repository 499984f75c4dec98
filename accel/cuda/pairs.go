package cuda

import (
	"context"
	"slices"

	"github.com/isohound/isohound/accel"
	"github.com/pkg/errors"
)

// twoCycles calls f for the pairs of edges that close a cycle together. It takes a batch of
// edges at a time as the first of a pair, together with all later edges. If there are more pairs
// than there is room for, it repeats with a smaller batch.
func (m *matrix) twoCycles(ctx context.Context, edges []accel.Edge, f func(i, j int32) bool) error {
	tails, heads := make([]int32, len(edges)), make([]int32, len(edges))
	for i, e := range edges {
		tails[i], heads[i] = m.row[e.From], m.column[e.To]
	}
	room := max(1, m.d.piece/4/8)
	step := len(edges)
	for i := 0; i < len(edges); {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		// The two matrices of bits take about 2*rows*rest/8 bytes.
		rest := len(edges) - i
		rows := min(step, int(m.d.piece/2*4/int64(rest))) &^ 31
		rows = min(max(rows, 32), rest)
		pairs, found, err := m.pairs(tails, heads, i, rows, room)
		switch {
		case err != nil:
			return err
		case found > room && rows > 32:
			step = rows / 2
			continue
		case found > room:
			room = found
			continue
		}
		slices.Sort(pairs)
		for _, p := range pairs {
			if !f(int32(p>>32), int32(uint32(p))) {
				return nil
			}
		}
		i += rows
		if found < room/4 {
			step = min(2*step, len(edges))
		}
	}
	return nil
}

// pairs returns the pairs of edges i to i+rows-1 with later ones, as 1<<32 times the first plus
// the second. If there is no room for all, it returns how many there are.
func (m *matrix) pairs(tails, heads []int32, i, rows int, room int64) (list []uint64, found int64, err error) {
	d, rest := m.d, len(tails)-i
	across, down := int64(rest+31)/32, int64(rows+31)/32
	err = d.do(func() error {
		need := 2*padded(4*int64(rest)) + padded(4*int64(rows)*across) + padded(4*int64(rest)*down) + padded(8) + padded(8*room)
		a, err := d.room(need)
		if err != nil {
			return err
		}
		tail, err := lend(a, tails[i:])
		if err != nil {
			return err
		}
		head, err := lend(a, heads[i:])
		if err != nil {
			return err
		}
		there, back := a.take(4*int64(rows)*across), a.take(4*int64(rest)*down)
		gather := func(lines, columns int, words int64, out uint64) error {
			return d.launch("gather_bits", (columns+d.threads-1)/d.threads, min(lines, 65535), uint64(m.bits), uint64(m.pitch),
				uint64(tail), uint64(head), uint64(lines), uint64(columns), uint64(words), out)
		}
		if err := gather(rows, rest, across, uint64(there)); err != nil {
			return err
		}
		if err := gather(rest, rows, down, uint64(back)); err != nil {
			return err
		}
		count, err := a.blank(8)
		if err != nil {
			return err
		}
		out := a.take(8 * room)
		tiles := d.threads / 32
		if err := d.launch("join_pairs", (int(across)+tiles-1)/tiles, int(down), uint64(there), uint64(back),
			uint64(i), uint64(rows), uint64(rest), uint64(count), uint64(room), uint64(out)); err != nil {
			return err
		}
		total := make([]int64, 1)
		if err := fetch(d, total, count); err != nil {
			return err
		}
		if found = total[0]; found < 0 || found > int64(rows)*int64(rest) {
			return errors.Wrap(errWrong, "join_pairs")
		}
		if found > room {
			return nil
		}
		list = make([]uint64, found)
		return fetch(d, list, out)
	})
	return list, found, err
}
