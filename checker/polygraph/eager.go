package polygraph

import (
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/sat"
	"github.com/isohound/isohound/checker/verdict"
)

// pipeline is the state of a search for all configurations but the default.
type pipeline struct {
	cfg Config
	// beforeOn replaces search.before without Coalesce: by pair of nodes and key.
	beforeOn map[[3]int32]int32
	saved    []bool // by variable: its latest value, for phase saving (without Order)
	combine  *combining

	// told says how reachability was computed, if it was computed only for Cycles.
	told *verdict.Accel

	// queue has constraints that were not looked up in the known graph yet.
	queue []constraint

	// constraints counts those enumerated before the search. left counts those that the known graph
	// does not decide. upFront counts the clauses before the search.
	constraints, left, upFront int
}

// configure sets up the search for a configuration. With Eager it adds the clauses. That may take
// long, and stops soon after the context ends.
func (x *search) configure(cfg Config) (err error) {
	if cfg == (Config{}) {
		return nil
	}
	x.pipe = &pipeline{cfg: cfg}
	if !cfg.Has(Order) || cfg.Has(Eager) {
		x.mend.stop()
	}
	if !cfg.Has(Coalesce) {
		x.pipe.beforeOn = map[[3]int32]int32{}
	}
	if cfg.Has(Combine) && x.g.late == 0 {
		x.pipe.combine = newCombining(x.m.h.KeyCount())
	}
	if cfg.Has(Eager) {
		err = x.encode()
	}
	x.pipe.upFront = x.s.Stats.Clauses
	return err
}

// pairVar returns the variable of a pair of nodes, and whether there is one. Without Coalesce it is
// that for key k.
func (x *search) pairVar(k int32, pair [2]int32) (int32, bool) {
	if x.pipe == nil || x.pipe.beforeOn == nil {
		v, ok := x.before[pair]
		return v, ok
	}
	v, ok := x.pipe.beforeOn[[3]int32{pair[0], pair[1], k}]
	return v, ok
}

func (x *search) setPairVar(k int32, pair [2]int32, v int32) {
	if x.pipe == nil || x.pipe.beforeOn == nil {
		x.before[pair] = v
		return
	}
	x.pipe.beforeOn[[3]int32{pair[0], pair[1], k}] = v
}

// save records the value that a variable loses (phase saving).
func (p *pipeline) save(l sat.Lit) {
	for int(l.Var()) >= len(p.saved) {
		p.saved = append(p.saved, false)
	}
	p.saved[l.Var()] = l.Positive()
}

func (p *pipeline) latest(v int32) bool { return int(v) < len(p.saved) && p.saved[v] }

// encode turns every constraint that the known graph does not decide into clauses: each read
// against each writer of another value, the sources of open reads and, at snapshot isolation, each
// two writers of a key. If an assignment satisfies all of them and has an acyclic order, every read
// is right.
func (x *search) encode() error {
	for k := range int32(x.m.h.KeyCount()) {
		var err error
		if c := x.writeChainsOn(k); c != nil {
			err = x.encodeWriteChains(k, c)
		} else {
			err = x.encodePairs(k)
		}
		if err != nil {
			return err
		}
	}
	if err := x.flush(); err != nil {
		return err
	}
	if x.pipe.cfg.Has(Cycles) {
		return x.forbidCycles()
	}
	return nil
}

func (x *search) encodePairs(k int32) error {
	m := x.m
	if x.g.apart {
		for w := m.keyFrom[k]; w < m.keyFrom[k+1]; w++ {
			for v := m.keyFrom[k]; v < w; v++ {
				t, u := m.writer[v], m.writer[w]
				if m.broken[t] || m.broken[u] {
					x.pipe.constraints++
				} else if err := x.constrain(constraint{key: k, read: none, from: t, other: u}); err != nil {
					return err
				}
			}
		}
	}
	for _, r := range m.readsOn.of(k) {
		if err := x.encodeRead(r); err != nil {
			return err
		}
	}
	return nil
}

// encodeRead adds the clauses of one read, for each of its candidates.
func (x *search) encodeRead(r int32) error {
	rd := &x.m.reads[r]
	if rd.source == fromNowhere || x.m.broken[rd.txn] {
		return nil
	}
	guard := x.guard(rd.txn)
	if rd.source != fromOpen {
		return x.encodeSource(r, rd.source, guard)
	}
	if s := x.sources[r]; s == nil {
		x.makeSources(r, guard, everySource)
	} else if len(s.others) > 0 {
		x.moreSources(r, s, everySource)
	}
	for _, s := range x.sources[r].list {
		if err := x.encodeSource(r, s.write, append(slices.Clone(guard), s.lit.Not())); err != nil {
			return err
		}
	}
	return nil
}

func (x *search) encodeSource(r, from int32, guard []sat.Lit) error {
	m := x.m
	rd := &m.reads[r]
	for w := m.keyFrom[rd.key]; w < m.keyFrom[rd.key+1]; w++ {
		if m.accepts(rd.class, m.class[w]) || m.writer[w] == rd.txn || m.broken[m.writer[w]] {
			continue
		}
		if err := x.constrain(constraint{int32(rd.key), r, from, w, guard}); err != nil {
			return err
		}
	}
	return nil
}

// mostEncoded bounds the constraints that encodeHard turns into clauses, and mostHard the transactions of such a history. A
// larger one needs more conflicts, and mending decides it.
const (
	mostEncoded = 1 << 20
	mostHard    = 1000
)

// encodeHard turns the constraints of a hard search into clauses, as Eager does, if there are not
// too many. It reports whether it did so, and restarted the search. Then all variables are decided.
// With all clauses a decision propagates more, so there are several times fewer conflicts. Whether
// all clauses are there does not matter for the verdict: Final still verifies every read. Parts of
// a history are judged to find a small counterexample and its proof. These keep to clauses on
// demand: clauses about everything would make evidence and proofs larger.
func (x *search) encodeHard() bool {
	x.encoded = true
	if x.pipe != nil && x.pipe.cfg.Has(Eager) || !x.m.whole || len(x.m.h.Txns) > mostHard || x.constraintCount() > mostEncoded {
		return false
	}
	x.s.Restart()
	if x.pipe == nil { // encode counts and queues constraints there
		x.pipe = &pipeline{}
		defer func() { x.pipe = nil }()
	}
	_ = x.encode() // the solver, too, notices that the context has ended
	x.mend.stop()
	return true
}

// constraintCount is an upper bound on the constraints of the history.
func (x *search) constraintCount() int {
	m := x.m
	count := 0
	for k := range int32(m.h.KeyCount()) {
		writes := int(m.keyFrom[k+1] - m.keyFrom[k])
		if x.g.apart {
			count += writes * writes / 2
		}
		for _, r := range m.readsOn.of(k) {
			candidates := 1
			if rd := &m.reads[r]; rd.source == fromOpen {
				candidates += m.mostMembers(rd)
			}
			count += candidates * writes
		}
	}
	return count
}

// figures are the statistics of the search.
func (x *search) figures(s *saturator) *verdict.Search {
	n := &x.s.Stats
	f := &verdict.Search{Variables: n.Variables, Clauses: n.Clauses, Decisions: n.Decisions, Propagations: n.Propagations,
		Conflicts: n.Conflicts, TheoryConflicts: n.TheoryConflicts, Restarts: n.Restarts,
		OnDemand: n.Clauses - 1, OpenBefore: s.opened, OpenAfter: len(s.open)}
	if p := x.pipe; p != nil {
		f.Pipeline = p.cfg.String()
		f.ConstraintsBefore, f.ConstraintsAfter = p.constraints, p.left
		f.OnDemand = n.Clauses - p.upFront
	}
	return f
}

// again finds a counterexample with the default configuration. Clauses that were added before the
// search are about the whole history, so a refutation does not show which part of it is violated.
func (c *check) again() error {
	c.res.Verdict = verdict.Violated
	if c.decideOnly {
		return nil
	}
	c.stages.Begin("explain")
	d := &check{ctx: c.ctx, h: c.h, lvl: c.lvl, opt: options{engine.Options{Proof: c.opt.Proof}, Engine{Accel: c.opt.Accel}}, res: &verdict.Result{Level: c.lvl}, whole: c.whole}
	d.stages = verdict.NewStages(d.res, nil)
	defer d.close()
	if err := d.run(); err != nil {
		return err
	}
	if d.res.Verdict != verdict.Violated {
		return errors.Errorf("configuration %s refutes a history that the default one calls %s; this is a bug in isohound",
			c.opt.Config, d.res.Verdict)
	}
	c.res.Anomalies = d.res.Anomalies
	c.stages.Done("explain")
	return nil
}
