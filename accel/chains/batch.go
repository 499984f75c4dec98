package chains

import (
	"context"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel/internal/lanes"
	"github.com/isohound/isohound/accel/parallel"
)

// wide is the number of chains from which on a union of rows costs more than the test that it is
// redundant.
const wide = 128

// batch computes the rows in topological order; each worker computes some chains of them.
func (c *Closure) batch(ctx context.Context) error {
	in, spare := c.s.From, c.k >= wide
	if spare {
		var err error
		if in, err = c.s.LatestFirst(ctx, len(c.bands)); err != nil {
			return err
		}
	}
	wrong := make([]int32, len(c.bands))
	parallel.Do(len(c.bands), func(i int) {
		w := work{Closure: c, band: c.bands[i], in: in, spare: spare}
		wrong[i] = w.run(ctx)
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, v := range wrong {
		if v >= 0 {
			return c.broken(v)
		}
	}
	return nil
}

func (c *Closure) broken(v int32) error {
	chain, place := c.cover.Chain[v], c.cover.Place[v]
	return errors.Errorf("the cover is none: on path %d vertex %d does not reach vertex %d, the next one",
		chain, c.VertexAt(chain, place-1), v)
}

// work computes the entries of a band.
type work struct {
	*Closure
	band
	in    []int32 // as in the graph, or with the latest first where that is faster
	spare bool
	time  []int32 // maximum of the rows that reach all later vertices: see accel.Adjacency.Order
	over  int32   // how many vertices, sorted by their ends, are in time
}

// run returns the first vertex that is not reached by its predecessor on its chain, or -1.
// (Before that vertex all chains are paths.)
func (w *work) run(ctx context.Context) int32 {
	s, sources := w.s, w.s.SourceCount()
	chains, places := w.cover.Chain, w.cover.Place
	if s.Intervals != nil {
		w.time = make([]int32, w.hi-w.lo)
	}
	wrong := int32(-1)
	for i, v := range s.Order {
		if i&0xff == 0 && ctx.Err() != nil {
			return -1
		}
		row := w.part(v)
		if len(row) > 0 { // reading fresh memory before it is written costs twice
			row[0], row[len(row)-1] = 0, 0
		}
		if s.Intervals != nil {
			w.advance(v)
			copy(row, w.time)
		}
		if in := w.in[s.Start[v]:s.Start[v+1]]; len(row) == w.k && !w.spare {
			lanes.MaxRows(row, w.rows, in)
		} else {
			w.unite(row, in)
		}
		if v >= sources {
			continue
		}
		if own := int(chains[v]); own >= w.lo && own < w.hi {
			if wrong < 0 && row[own-w.lo] != places[v]-1 {
				wrong = v
			}
			row[own-w.lo] = places[v]
		}
	}
	return wrong
}

// unite adds the rows of the predecessors of a vertex.
func (w *work) unite(row, in []int32) {
	for _, u := range in {
		if !w.spare || !w.has(row, u) {
			w.raise(row, u)
		}
	}
}

// advance adds to time the rows of the vertices that lie before v in time.
func (w *work) advance(v int32) {
	prior := w.s.Prior(v)
	if prior <= w.over {
		return
	}
	for _, u := range w.s.TimeInSince(v, w.over) {
		w.raise(w.time, u)
	}
	w.over = prior
}

// part returns the part of the row of v in this band.
func (w *work) part(v int32) []int32 {
	at := int(v) * w.k
	return w.rows[at+w.lo : at+w.hi]
}

// has reports whether the row contains u, and therefore the whole row of u.
func (w *work) has(row []int32, u int32) bool {
	if u >= w.s.SourceCount() {
		return false
	}
	at := int(w.cover.Chain[u])
	return at >= w.lo && at < w.hi && row[at-w.lo] >= w.cover.Place[u]
}

// raise sets each entry of row to the maximum with the entry of u.
func (w *work) raise(row []int32, u int32) {
	from := w.part(u)
	if len(row) >= 8 {
		lanes.Max(row, from)
		return
	}
	for i, p := range from[:len(row)] {
		row[i] = max(row[i], p)
	}
}
