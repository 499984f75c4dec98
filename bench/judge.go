package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/bench/classic"
)

// judge runs all probes on a closure and records where its answers differ; p.answers are already
// there. It measures the insertion.
func (p *probes) judge(ctx context.Context, b *ClosureBackend, cl accel.Closure, m *ClosureMeasurement) error {
	err := p.collect(ctx, b, cl, m)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		m.Status, m.Reason = StatusFailed, err.Error()
	}
	return nil
}

func (p *probes) differ(b *ClosureBackend, m *ClosureMeasurement, format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Sprintf("%s: %s %s", &m.GraphFacts, b.Name, fmt.Sprintf(format, args...)))
}

func (p *probes) collect(ctx context.Context, b *ClosureBackend, cl accel.Closure, m *ClosureMeasurement) error {
	a := &answers{asked: slices.Clone(p.answers)}
	for i := range min(probeSingle, len(p.asked)) {
		if e := p.asked[i]; cl.Reaches(e.To, e.From) != a.asked[i] {
			p.differ(b, m, "says of the edge from %d to %d both that it closes a cycle and that it does not", e.From, e.To)
			break
		}
	}
	if err := p.truths(ctx, b, cl, m); err != nil {
		return err
	}
	if err := p.warshall(ctx, b, m); err != nil {
		return err
	}
	if err := cl.Among(ctx, &p.groups); err != nil {
		return err
	}
	a.among = slices.Clone(p.groups.Bits)
	if err := cl.TwoCycles(ctx, p.two, func(i, j int32) bool {
		a.two = append(a.two, [2]int32{i, j})
		return true
	}); err != nil {
		return err
	}
	begun := time.Now()
	if err := cl.Insert(ctx, p.insert); err != nil {
		return errors.Wrap(err, "inserting edges that keep the order")
	}
	m.InsertSeconds, m.InsertedEdges = time.Since(begun).Seconds(), len(p.insert)
	a.changed[0] = changed(cl, p.g.Len())
	if err := cl.Insert(ctx, p.more); err != nil {
		return errors.Wrap(err, "inserting a few more edges that keep the order")
	}
	a.changed[1] = changed(cl, p.g.Len())
	a.again = make([]bool, len(p.asked))
	if err := cl.Closing(ctx, p.asked, p.single, a.again); err != nil {
		return err
	}
	if p.first == nil {
		p.first, p.by = a, b.Name
		return nil
	}
	f := p.first
	for _, c := range []struct {
		what string
		same bool
	}{
		{"edges that close a cycle", slices.Equal(a.asked, f.asked)},
		{"edges that close a cycle after insertions", slices.Equal(a.again, f.again)},
		{"which members of groups reach which", slices.Equal(a.among, f.among)},
		{"cycles of two edges", slices.Equal(a.two, f.two)},
		{"the vertices that an insertion changes", f.sameChanged(a, 0)},
		{"the vertices that an insertion of a few edges changes", f.sameChanged(a, 1)},
	} {
		if !c.same {
			p.differ(b, m, "and %s disagree about %s", p.by, c.what)
		}
	}
	return nil
}

// changed returns the vertices that the latest insertion changed, nil if the closure reports all
// as changed, which it may.
func changed(cl accel.Closure, n int32) []bool {
	list, all := make([]bool, n), true
	for v := range n {
		bits := cl.Changed(v)
		list[v] = bits != 0
		all = all && bits == math.MaxUint64
	}
	if all {
		return nil
	}
	return list
}

// sameChanged reports whether other and a agree on which vertices an insertion changed. If a
// does not know, it takes the value of other.
func (a *answers) sameChanged(other *answers, insertion int) bool {
	mine, others := &a.changed[insertion], other.changed[insertion]
	if *mine == nil {
		*mine = others
	}
	return others == nil || slices.Equal(*mine, others)
}

// truths compares the closure with the results of simple searches.
func (p *probes) truths(ctx context.Context, b *ClosureBackend, cl accel.Closure, m *ClosureMeasurement) error {
	n := p.g.Len()
	edges, out := make([]accel.Edge, n), make([]bool, n)
	for _, t := range p.truth {
		for u := range n {
			edges[u] = accel.Edge{From: t.v, To: u} // closes a cycle if u reaches v
		}
		if err := cl.Closing(ctx, edges, one(int(n)), out); err != nil {
			return err
		}
		for u := range n {
			if out[u] != t.from[u] {
				p.differ(b, m, "says that %d reaches %d: %v; a plain search says %v", u, t.v, out[u], t.from[u])
				return nil
			}
		}
	}
	return nil
}

// warshall compares all pairs of the beginning of the graph.
func (p *probes) warshall(ctx context.Context, b *ClosureBackend, m *ClosureMeasurement) error {
	var err error
	if p.plain == nil {
		if p.plain, err = classic.Warshall(ctx, p.small); err != nil {
			return err
		}
	}
	cl, err := b.Backend.Closure(ctx, p.small, accel.Options{Workers: b.Workers})
	if err != nil {
		return err
	}
	defer cl.Close()
	n := p.small.Len()
	var edges []accel.Edge
	for v := range n {
		for u := range n {
			edges = append(edges, accel.Edge{From: v, To: u})
		}
	}
	out := make([]bool, len(edges))
	if err := cl.Closing(ctx, edges, one(len(edges)), out); err != nil {
		return err
	}
	for i, e := range edges {
		if out[i] != p.plain.Reaches(e.To, e.From) {
			p.differ(b, m, "says of the first %d vertices that %d reaches %d: %v; Warshall's algorithm says otherwise", n, e.To, e.From, out[i])
			return nil
		}
	}
	return nil
}
