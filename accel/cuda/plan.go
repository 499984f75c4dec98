package cuda

import (
	"math"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/cuda/kernels"
	"github.com/pkg/errors"
)

// plan is the order in which the kernels closure_rows and insert_rows process the rows; the
// kernels' source describes it. An edge is stored as twice the position of its start, plus one
// if it is new.
type plan struct {
	chunk       []int32 // the positions where chunks begin, and the end
	exStart, ex []int32
	inStart     []int32
	in          []uint16
	levelStart  []int32
	level       []uint16
}

// planner adds positions to a plan, one after the other, in a topological order.
type planner struct {
	plan
	rows  int32   // of a chunk, at most
	seen  []int32 // by position: one plus the last position to which it has an edge
	start int32   // of the last level
	edges int64
}

func newPlanner(positions, rows int32, edges int) *planner {
	p := &planner{rows: rows, seen: make([]int32, positions)}
	p.chunk, p.levelStart = []int32{0}, []int32{0}
	p.exStart, p.inStart = make([]int32, 1, positions+1), make([]int32, 1, positions+1)
	p.ex = make([]int32, 0, edges)
	return p
}

// row adds the next position with the edges into it, and removes duplicate edges.
func (p *planner) row(from []int32) {
	at := int32(len(p.exStart)) - 1
	begin := p.chunk[len(p.chunk)-1]
	distinct, near := from[:0], 0 // those of the same chunk
	for _, e := range from {
		u := e >> 1
		if p.seen[u] == at+1 {
			continue
		}
		p.seen[u] = at + 1
		distinct = append(distinct, e)
		if u >= begin {
			near++
		}
	}
	if at-begin == p.rows || len(p.in)-int(p.inStart[begin])+near > kernels.Inner {
		p.cut(at)
		begin, near = at, 0
	}
	if at == begin {
		p.begin(at)
	}
	if near == 0 {
		p.ex = append(p.ex, distinct...)
	} else {
		p.split(distinct, begin, at)
	}
	p.edges += int64(len(distinct))
	p.exStart = append(p.exStart, int32(len(p.ex)))
	p.inStart = append(p.inStart, int32(len(p.in)))
}

// split separates edges from the same chunk from others.
func (p *planner) split(edges []int32, begin, at int32) {
	for _, e := range edges {
		u := e >> 1
		if u < begin {
			p.ex = append(p.ex, e)
			continue
		}
		if u >= p.start {
			p.begin(at)
		}
		p.in = append(p.in, uint16(e-2*begin))
	}
}

// begin opens a level.
func (p *planner) begin(at int32) {
	p.start = at
	p.level = append(p.level, uint16(at-p.chunk[len(p.chunk)-1]))
}

// cut ends a chunk.
func (p *planner) cut(at int32) {
	p.chunk = append(p.chunk, at)
	p.levelStart = append(p.levelStart, int32(len(p.level)))
}

// done ends the last chunk.
func (p *planner) done() (*plan, error) {
	if p.edges > math.MaxInt32 {
		return nil, errors.Errorf("the graph has %d edges, and a GPU gets at most %d", p.edges, math.MaxInt32)
	}
	if at := int32(len(p.exStart)) - 1; at > 0 {
		p.cut(at)
	}
	return &p.plan, nil
}

// chunks returns how many there are.
func (p *plan) chunks() int { return len(p.chunk) - 1 }

// planBytes returns an upper bound of the memory of a plan with that many positions and edges,
// on the host and on the device.
func planBytes(positions, edges int64) int64 { return 4*edges + 14*positions + 4096 }

// planAll plans all rows of a space in the given order, which is by levels if it was sorted so.
// It returns the row of each vertex and point.
func planAll(s *space, order []int32, rows int32) (*plan, []int32, error) {
	p := newPlanner(s.size(), rows, len(s.From)+len(s.Added))
	row := make([]int32, s.size())
	for r, x := range order {
		row[x] = int32(r)
	}
	var from []int32
	r := reader{space: s}
	for _, x := range order {
		from = from[:0]
		for _, u := range r.into(x) {
			from = append(from, row[u]<<1)
		}
		p.row(from)
	}
	done, err := p.done()
	return done, row, err
}

// planInsert plans the rows that the edges added last may change, given an order of the whole
// space. It returns the vertex or point of each position.
func planInsert(s *space, order []int32, edges []accel.Edge, rows int32) (*plan, []int32, error) {
	list, level := s.reached(order, edges)
	position := make([]int32, s.size()) // where a row is reached or a new edge begins
	var at []int32
	for _, e := range edges {
		if level[e.From] == 0 {
			level[e.From] = still
			at = append(at, e.From)
		}
	}
	begin := len(at)
	at = append(at, list...)
	for i, x := range at {
		position[x] = int32(i)
	}
	p := newPlanner(int32(len(at)), rows, len(edges))
	for range begin {
		p.row(nil)
	}
	var from []int32
	r := reader{space: s}
	old := int32(len(s.Added) - len(edges))
	for _, x := range list {
		from = from[:0]
		if x < s.Len() && s.AddedInto(x) {
			s.InAdded(x, func(i, u int32) {
				if i >= old {
					from = append(from, position[u]<<1|1)
				}
			})
		}
		for _, u := range r.into(x) {
			if level[u] > 0 {
				from = append(from, position[u]<<1)
			}
		}
		p.row(from)
	}
	done, err := p.done()
	return done, at, err
}

// still is the level of a row where new edges begin, and which they do not reach.
const still = -1
