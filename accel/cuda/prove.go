package cuda

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/isohound/isohound/accel"
	"github.com/pkg/errors"
)

// prove compares every kernel with a simple computation on the CPU, for a random graph that is
// large enough for several chunks and strips.
func (b *Backend) prove() error {
	r := rand.New(rand.NewPCG(7, uint64(b.dev.index)))
	for _, squaring := range []bool{false, true} {
		if err := b.proveOn(r, squaring); err != nil {
			return errors.WithMessage(err, "self-test")
		}
	}
	return nil
}

// trial is a graph to test on. Its vertices are in topological order.
type trial struct {
	g     *accel.Graph
	later []accel.Edge
}

func randomTrial(r *rand.Rand) trial {
	const n, most = 1300, 1100 // vertices, sources
	var edges, later []accel.Edge
	for v := int32(1); v < n; v++ {
		for range r.IntN(3) {
			// Some edges come from nearby, some from far away.
			u := max(0, v-1-r.Int32N(40))
			if r.IntN(4) == 0 {
				u = r.Int32N(v)
			}
			edges = append(edges, accel.Edge{From: u, To: v})
		}
		if r.IntN(10) == 0 {
			later = append(later, accel.Edge{From: r.Int32N(v), To: v})
		}
	}
	g := accel.NewGraph(n, edges)
	g.Sources = most
	return trial{g, later}
}

// plain computes the closure of a trial: bit u of row v says that u reaches v.
func (t trial) plain(added []accel.Edge) [][]uint64 {
	n := t.g.Len()
	rows := make([][]uint64, n)
	into := make([][]int32, n)
	for _, e := range added {
		into[e.To] = append(into[e.To], e.From)
	}
	for v := range n {
		rows[v] = make([]uint64, (n+63)/64)
		rows[v][v>>6] |= 1 << (v & 63)
		for _, u := range append(into[v], t.g.Into(v)...) {
			for w, bits := range rows[u] {
				rows[v][w] |= bits
			}
		}
	}
	return rows
}

func reaches(rows [][]uint64, from, to int32) bool { return rows[to][from>>6]>>(from&63)&1 != 0 }

func (b *Backend) proveOn(r *rand.Rand, squaring bool) error {
	ctx := context.Background()
	t := randomTrial(r)
	sorted, err := accel.Sort(t.g, nil)
	if err != nil {
		return err
	}
	c := &closure{b: b, ctx: context.Background(), s: newSpace(sorted)}
	if c.m, err = newMatrix(ctx, b.dev, c.s, sorted.Order, squaring); err != nil {
		return err
	}
	defer c.m.close()
	c.keep()
	before, after := t.plain(nil), t.plain(t.later)
	if err := c.proveRows(before); err != nil {
		return err
	}
	if err := c.s.Insert(t.later); err != nil {
		return err
	}
	if err := c.extend(ctx, t.later); err != nil {
		return err
	}
	if err := c.proveRows(after); err != nil {
		return err
	}
	for v := range t.g.Len() {
		var want uint64
		for u := range t.g.SourceCount() {
			if reaches(after, u, v) && !reaches(before, u, v) {
				want |= 1 << (c.m.column[u] & 63)
			}
		}
		if c.news[v] != want {
			return errors.Wrapf(errWrong, "insert_rows, vertex %d", v)
		}
	}
	return c.proveQuestions(ctx, r, after)
}

// proveRows compares the whole matrix, which is fetched at once: row by row takes a tenth of a second.
func (c *closure) proveRows(want [][]uint64) error {
	words := 2 * c.m.pitch
	all := make([]uint64, words*int(c.s.size()))
	if err := c.m.d.do(func() error { return fetch(c.m.d, all, c.m.bits) }); err != nil {
		return err
	}
	for v := range c.s.Len() {
		row := all[words*int(c.m.row[v]):][:words]
		for u := range c.s.SourceCount() {
			if c.in(row, u) != reaches(want, u, v) {
				return errors.Wrapf(errWrong, "row of vertex %d, source %d", v, u)
			}
		}
	}
	return nil
}

func (c *closure) proveQuestions(ctx context.Context, r *rand.Rand, rows [][]uint64) error {
	n := c.s.SourceCount()
	edges := make([]accel.Edge, 700)
	for i := range edges {
		edges[i] = accel.Edge{From: r.Int32N(c.s.Len()), To: r.Int32N(n)}
	}
	edges[0] = accel.Edge{From: n - 1, To: 0} // closes a cycle with most others
	bits, err := c.m.closing(ctx, edges)
	if err != nil {
		return err
	}
	var want, got [][2]int32
	for i, e := range edges {
		if bits[i>>5]>>(i&31)&1 != 0 != reachesBack(rows, e, e) {
			return errors.Wrap(errWrong, "closing_edges")
		}
		edges[i].From %= n
	}
	for i, e := range edges {
		for j, o := range edges[i+1:] {
			if reachesBack(rows, e, o) && reachesBack(rows, o, e) {
				want = append(want, [2]int32{int32(i), int32(i + 1 + j)})
			}
		}
	}
	err = c.m.twoCycles(ctx, edges, func(i, j int32) bool {
		got = append(got, [2]int32{i, j})
		return true
	})
	if err != nil {
		return err
	}
	if !slices.Equal(got, want) {
		return errors.Wrap(errWrong, "gather_bits and join_pairs")
	}
	return c.proveAmong(ctx, r, rows)
}

// reachesBack reports whether the end of an edge reaches the beginning of another.
func reachesBack(rows [][]uint64, e, o accel.Edge) bool { return reaches(rows, e.To, o.From) }

func (c *closure) proveAmong(ctx context.Context, r *rand.Rand, rows [][]uint64) error {
	g := &accel.Groups{Start: []int32{0}}
	for _, size := range []int{3, 0, 200, 64, 65, 1, 0} {
		for range size {
			g.Members = append(g.Members, r.Int32N(c.s.SourceCount()))
		}
		g.Start = append(g.Start, int32(len(g.Members)))
	}
	g.Layout()
	if err := c.m.among(ctx, g); err != nil {
		return err
	}
	for i := range len(g.Start) - 1 {
		list := g.Members[g.Start[i]:g.Start[i+1]]
		for a, u := range list {
			for b, v := range list {
				if g.Reaches(i, int32(a), int32(b)) != reaches(rows, u, v) {
					return errors.Wrap(errWrong, "among_groups")
				}
			}
		}
	}
	return nil
}
