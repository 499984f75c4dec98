package polygraph

import (
	"context"
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/sat"
	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Name is the engine's name in results.
const Name = "polygraph"

// Engine is the polygraph engine. The zero value is its default configuration.
type Engine struct {
	// Config chooses the parts of the engine, for comparison.
	Config Config
	// Accel says how reachability is computed.
	Accel Acceleration
}

// AssumesOrder implements engine.Assumer; see assumed.go.
func (Engine) AssumesOrder() {}

// Name is the engine's name.
func (Engine) Name() string { return Name }

// Levels are serializability and snapshot isolation with their variants, and prefix consistency.
func (Engine) Levels() []level.Level {
	return slices.DeleteFunc(level.All(), func(l level.Level) bool { return !l.Search() && l != level.PC })
}

// Judge judges h at lvl; see engine.Engine.
func (e Engine) Judge(ctx context.Context, h *history.History, lvl level.Level, opt engine.Options) (*verdict.Result, error) {
	if err := engine.Suits(e, h, lvl); err != nil {
		return nil, err
	}
	if !h.Closed {
		if err := engine.ReadsValues(e, h, "the history was cut off: a write that is missing may have been read"); err != nil {
			return nil, err
		}
	}
	c := &check{ctx: ctx, h: h, lvl: lvl, opt: options{opt, e}, res: &verdict.Result{Level: lvl, Engine: Name}, decideOnly: opt.VerdictOnly, whole: true}
	c.stages = verdict.NewStages(c.res, opt.Progress)
	c.opt.Accel.far = true
	defer c.close()
	if err := c.ordered(); err != nil {
		return nil, err
	}
	if c.res.Verdict == verdict.Satisfied {
		return c.res, nil
	}
	if err := c.run(); err != nil {
		return nil, c.unfinished(err)
	}
	if opt.VerdictOnly {
		c.res.Anomalies = nil
	}
	return c.res, nil
}

// options are the caller's options and the configuration.
type options struct {
	engine.Options
	Engine
}

// ordered handles a level without session order. It first tries the same level with session order.
// Databases keep session order, and it leaves far fewer choices. A history that satisfies that
// level also satisfies this one. Otherwise the last order of that try is the hint for this level.
func (c *check) ordered() error {
	lvl, ok := c.lvl.WithSessionOrder()
	if !ok || slices.Contains(c.opt.Violated, lvl) {
		return nil
	}
	first := &check{ctx: c.ctx, h: c.h, lvl: lvl, opt: c.opt, res: c.res, stages: c.stages, decideOnly: true, whole: true}
	defer first.close()
	if err := first.run(); err != nil {
		return first.unfinished(err)
	}
	if c.res.Verdict != verdict.Satisfied {
		c.res.Verdict, c.res.Reason, c.res.Anomalies = verdict.Unknown, "", nil
		c.hint = first.hint
	}
	return nil
}

type check struct {
	ctx    context.Context
	h      *history.History
	lvl    level.Level
	opt    options
	res    *verdict.Result
	stages *verdict.Stages
	// decideOnly: no counterexample is wanted.
	decideOnly bool
	// whole: h is no part of a history that is judged.
	whole bool
	// hasty: a search that turns out to be hard is stopped with sat.ErrPaused.
	hasty bool
	// hint is, by transaction, its position in an order that is probably nearly right. It is nil if
	// there is none.
	hint []int64

	saturator *saturator
	search    *search
	used      *evidence // what a violation rests on
	found     *single.Collector
}

func (c *check) run() error {
	c.stages.Begin("index")
	var s *saturator
	s, c.found = prepare(c.h, c.lvl, c.opt.Config.Has(Pruning), c.whole)
	c.stages.Done("index")
	if c.res.Reason = c.found.Doubtful(); c.res.Reason != "" {
		return nil
	}
	if len(c.found.Anomalies) > 0 {
		c.violated(c.found.Anomalies)
		return nil
	}
	m, g := s.m, s.g
	if c.res.Reason = m.placed.tooManyTies(); c.res.Reason != "" {
		return nil
	}
	s.accelerate(c.opt.Accel)
	c.saturator = s
	if s.complete() {
		if done, err := c.decideCycle(s); done || err != nil {
			return err
		}
	}
	if c.opt.Config.Has(First) && c.opt.Config.Has(Schedule) {
		if done, err := c.guessFirst(s); done || err != nil {
			return err
		}
	}
	c.stages.Begin("saturate")
	err := s.run(c.ctx)
	if s.reach != nil && s.reach.told.Backend != "" {
		c.res.Accel = &s.reach.told
	}
	if err != nil {
		return err
	}
	c.stages.Done("saturate")
	used := newEvidence(s)
	if s.refuted != nil {
		used.open(s.refuted)
		return c.counterexample(used)
	}
	c.stages.Begin("schedule")
	var nodes, belongs []int32
	if c.opt.Config.Has(Schedule) {
		if nodes, belongs, err = guess(c.ctx, m, g, c.hint); err != nil {
			return err
		}
	} else {
		nodes = g.topological(nil)
	}
	c.stages.Done("schedule")
	if len(nodes) < int(g.nodes) {
		s.cycle(nodes, used)
		return c.counterexample(used)
	}
	x := newSearch(c.ctx, s, nodes, used)
	x.belongs = belongs
	c.search = x
	defer func() { c.res.Search = x.figures(s) }()
	if c.opt.Config.Has(Eager) {
		c.stages.Begin("encode")
	}
	if err := x.configure(c.opt.Config); err != nil {
		return err
	}
	if c.opt.Config.Has(Eager) {
		c.stages.Done("encode")
	}
	if c.res.Accel == nil && x.pipe != nil {
		c.res.Accel = x.pipe.told
	}
	c.stages.Begin("search")
	if err := x.begin(); err != nil {
		return err
	}
	ok, err := c.solve(x)
	if err != nil || c.res.Verdict == verdict.Satisfied {
		return err
	}
	c.stages.Done("search")
	if !ok && c.opt.Config.unfounded() {
		return c.again()
	}
	if !ok {
		c.hint = make([]int64, len(m.txns))
		for t := range c.hint {
			c.hint[t] = int64(x.o.pos[g.commit(int32(t))])
		}
		used.searched = true
		return c.counterexample(used)
	}
	c.satisfied(x.execution())
	return nil
}

// satisfied sets the verdict to satisfied, with e as the witness. The verdict stays unknown if a
// transaction of unknown outcome counts in e and has a read whose writer may be missing.
func (c *check) satisfied(e *execution) {
	e.eachOrphan(c.found.Orphan)
	if c.res.Reason = c.found.Orphaned(); c.res.Reason != "" {
		return
	}
	c.res.Verdict = verdict.Satisfied
	if c.opt.Proof {
		c.res.Witness = e.witness().At(c.lvl) // e may be serial, at a snapshot level
	}
}

// guessFirst guesses executions before saturation. It reports whether one of them is right.
func (c *check) guessFirst(s *saturator) (bool, error) {
	c.stages.Begin("schedule")
	defer c.stages.Done("schedule")
	if s.m.h.Timed() {
		return c.guessStrictly(s, c.hint)
	}
	if e := s.asRecorded(); e != nil {
		c.satisfied(e)
		return true, nil
	}
	if c.hint == nil && s.recordedInOrder() {
		c.hint = make([]int64, len(s.m.txns))
		for t := range c.hint {
			c.hint[t] = int64(t)
		}
	}
	if !s.worthGuessing() {
		return false, nil
	}
	if s.g.split == 1 { // a serial execution is also an execution at snapshot levels
		serial := *s.m
		serial.lvl = level.SER
		s = newSaturator(&serial, newGraph(&serial), false)
	}
	// The edges of the guess do not stay: saturation would find less that is new, and
	// end before it has found enough.
	edges, added := len(s.g.edges), s.added
	s.alongSessions()
	done, err := c.guessStrictly(s, c.hint)
	if !done {
		s.g.truncate(edges)
		s.added = added
	}
	return done, err
}

// guessStrictly runs a schedule that ends as soon as no node fits. It reports whether that schedule
// is an execution.
func (c *check) guessStrictly(s *saturator, hint []int64) (bool, error) {
	m, g := s.m, s.g
	sched := newSchedule(m, g, hint)
	sched.strict, sched.retries = true, 4*int(g.nodes)
	if !m.h.Timed() {
		sched.want = make([]int32, m.values())
	}
	order, err := sched.run(c.ctx)
	if err != nil || len(order) < int(g.nodes) {
		return false, err
	}
	e := &execution{m, g, order, m.counted()}
	if !e.readsRight() {
		return false, nil
	}
	c.satisfied(e)
	return true, nil
}

// close frees the memory that the check holds outside Go's heap.
func (c *check) close() {
	if c.saturator != nil && c.saturator.reach != nil {
		c.saturator.reach.close()
	}
}

func (c *check) violated(anomalies []verdict.Anomaly) {
	c.res.Verdict, c.res.Anomalies = verdict.Violated, anomalies
	if c.decideOnly {
		return
	}
	for n := range anomalies {
		explain.Fill(c.h, c.lvl, &anomalies[n])
	}
}

// cycle adds to the evidence the edges of a cycle. order has the nodes outside of all cycles: those
// that topological could order.
func (s *saturator) cycle(order []int32, used *evidence) {
	for _, e := range s.walk(order) {
		used.edge(e)
	}
}

// walk returns the edges of a cycle among the nodes that are not in order. The last edge comes
// first: each edge begins where the next one in the list ends.
func (s *saturator) walk(order []int32) []int32 {
	g := s.g
	placed := make([]bool, g.nodes)
	for _, v := range order {
		placed[v] = true
	}
	// Following edges backwards from a node without a position leads into a cycle.
	at := make(map[int32]int)
	var v int32
	for v = range g.nodes {
		if !placed[v] {
			break
		}
	}
	var walk []int32
	for {
		if first, seen := at[v]; seen {
			return walk[first:]
		}
		at[v] = len(walk)
		for e := g.in[v]; e != none; e = g.edges[e].nextIn {
			if !placed[g.edges[e].from] {
				walk = append(walk, e)
				v = g.edges[e].from
				break
			}
		}
	}
}

var errStuck = errors.New("the search found something wrong that no clause excludes; this is a bug in isohound")

var _ sat.Theory = (*search)(nil)
