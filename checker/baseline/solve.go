package baseline

import (
	"context"

	"github.com/crillab/gophersat/solver"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/checker/verdict"
)

// searching is held while a search runs, because gophersat has a buffer that all its solvers share.
var searching = make(chan struct{}, 1)

var errNoModel = errors.New("gophersat gave an assignment that breaks a clause; this is a bug in gophersat, or in how isohound uses it")

// solve returns a topological order of the nodes of a compatible graph, or nil if there is none.
func (f *formula) solve(ctx context.Context) ([]int32, error) {
	f.s = solver.New(&solver.Problem{NbVars: f.vars, Clauses: f.problem, Model: make(solver.Model, f.vars)})
	f.problem = nil // the solver has them
	for _, u := range f.units {
		f.exclude([]int{-u})
	}
	for {
		ok, err := f.search(ctx)
		if err != nil || !ok {
			return nil, err
		}
		edges, err := f.compatible()
		if err != nil {
			return nil, err
		}
		g := newGraph(f.nodes, edges)
		order := g.topological()
		if len(order) == int(f.nodes) {
			return order, nil
		}
		cycles, err := g.cycles(ctx, f.vars, order)
		if err != nil {
			return nil, err
		}
		for _, c := range cycles {
			if len(c) == 0 {
				return nil, nil // the known graph has a cycle
			}
			f.exclude(c)
			f.cycles++
		}
	}
}

// exclude adds the clause that not all of lits are true.
func (f *formula) exclude(lits []int) {
	out := make([]solver.Lit, len(lits))
	for i, l := range lits {
		out[i] = solver.IntToLit(int32(-l))
	}
	f.s.AppendClause(solver.NewClause(out))
}

// search runs the solver. If ctx ends, it returns at once and leaves the solver running.
func (f *formula) search(ctx context.Context) (bool, error) {
	select {
	case searching <- struct{}{}:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	type outcome struct {
		status solver.Status
		err    error
	}
	done := make(chan outcome, 1)
	s := f.s
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o.err = errors.Errorf("gophersat panicked: %v", p)
			}
			<-searching
			done <- o
		}()
		o.status = s.Solve()
	}()
	select {
	case o := <-done:
		if o.err != nil || o.status != solver.Sat {
			return false, o.err
		}
		model := s.Model()
		f.model = append(f.model[:0], false)
		f.model = append(f.model, model...)
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

func (f *formula) holds(lit int) bool {
	switch {
	case lit == 0:
		return true
	case lit < 0:
		return !f.model[-lit]
	}
	return f.model[lit]
}

func (f *formula) included(t int32) bool { return f.holds(f.counts[t]) }

// compatible returns the edges of the model's graph among the transactions that count.
// Anti-dependencies are derived, because their variables may be true without a reason.
func (f *formula) compatible() ([]edge, error) {
	edges := append([]edge(nil), f.known...)
	for k, writers := range f.writers {
		for i, t := range writers {
			for j := i + 1; j < len(writers); j++ {
				u := writers[j]
				if !f.included(t) || !f.included(u) {
					continue
				}
				if lit := f.wrote(k, int32(i), int32(j)); f.holds(lit) {
					edges = append(edges, edge{f.commit(t), f.start(u), lit})
				} else {
					edges = append(edges, edge{f.commit(u), f.start(t), -lit})
				}
			}
		}
	}
	for n := range f.reads {
		r := &f.reads[n]
		if !f.included(r.txn) {
			continue
		}
		writers, forced, c := f.writers[r.key], f.forced(r), f.choice[n]
		sources := 0
		for i, s := range r.sources {
			from := 0
			if !forced {
				from = c.from + i
			}
			if s == r.own || !f.holds(from) {
				continue
			}
			sources++
			if s != initial {
				if !f.included(writers[s]) {
					return nil, errNoModel
				}
				edges = append(edges, edge{f.commit(writers[s]), f.start(r.txn), from})
			}
			for w, u := range writers {
				over := 0
				if s != initial && int(s) != w {
					over = f.wrote(int(r.key), s, int32(w))
				}
				if int(s) == w || u == r.txn || !f.included(u) || !f.holds(over) {
					continue
				}
				if !forced {
					over = c.before + w
					if !f.holds(over) {
						return nil, errNoModel
					}
				}
				edges = append(edges, edge{f.start(r.txn), f.commit(u), over})
			}
		}
		if sources != 1 {
			return nil, errNoModel
		}
	}
	return edges, nil
}

// orphans reports the reads without a known writer in the transactions of unknown outcome that
// count in the model.
func (f *formula) orphans(found *single.Collector) {
	for t, orphaned := range f.orphaned {
		if orphaned && f.included(int32(t)) {
			found.Orphan(f.txns[t])
		}
	}
}

// witness returns the execution of an order of the nodes.
func (f *formula) witness(order []int32) *verdict.Witness {
	w := &verdict.Witness{}
	limit := int32(len(f.txns)) << f.split
	for _, v := range order {
		if v >= limit || !f.included(v>>f.split) {
			continue
		}
		if i := f.txns[v>>f.split]; f.split == 1 {
			w.Points = append(w.Points, i<<1|v&1)
		} else {
			w.Order = append(w.Order, i)
		}
	}
	return w
}
