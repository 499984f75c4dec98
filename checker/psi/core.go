package psi

import (
	"context"
	"slices"
	"time"

	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/shrink"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// used is what a violation rests on.
type used struct {
	s     *search
	reads map[int32]bool
	txns  map[int32]bool
	keys  map[history.Key]bool
	done  map[int32]bool // edges
	work  []int32        // edges that are known
	paths []known
}

// known is a path that uses only edges with numbers below limit.
type known struct{ from, to, limit int32 }

func newUsed(s *search) used {
	return used{s: s, reads: map[int32]bool{}, txns: map[int32]bool{}, keys: map[history.Key]bool{}, done: map[int32]bool{}}
}

func (d *used) all(edges []int32) { d.work = append(d.work, edges...) }

func (d *used) txn(t int32) {
	if d.txns[t] {
		return
	}
	d.txns[t] = true
	if r, ok := d.s.x.pulled[t]; ok {
		d.read(r)
	}
}

func (d *used) read(r int32) {
	if d.reads[r] {
		return
	}
	d.reads[r] = true
	rd := &d.s.x.reads[r]
	d.keys[rd.key] = true
	d.txn(rd.txn)
	if rd.source != none {
		d.txn(rd.source)
	}
}

// pair records two writers of a key.
func (d *used) pair(a, b int32) {
	d.txn(a)
	d.txn(b)
	both := map[history.Key]bool{}
	write := func(t int32, f func(history.Key)) {
		for _, op := range d.s.x.h.Ops(&d.s.x.h.Txns[t]) {
			if op.Kind == history.Write {
				f(op.Key)
			}
		}
	}
	write(a, func(k history.Key) { both[k] = true })
	write(b, func(k history.Key) {
		if both[k] {
			d.keys[k] = true
		}
	})
}

func (d *used) path(from, to, limit int32) { d.paths = append(d.paths, known{from, to, limit}) }

// missed records that read r returned the initial value, although u happened before its reader.
func (d *used) missed(r, u, limit int32) {
	d.read(r)
	d.txn(u)
	d.path(u, d.s.x.reads[r].txn, limit)
}

// parts finds what the edges and paths rest on, and returns the part of the history.
func (d *used) parts() []history.Part {
	x, g := d.s.x, d.s.g
	for len(d.work) > 0 || len(d.paths) > 0 {
		if n := len(d.paths) - 1; n >= 0 {
			p := d.paths[n]
			d.paths = d.paths[:n]
			d.work = append(d.work, g.path(p.from, p.to, p.limit, func(int32) bool { return true })...)
			continue
		}
		e := d.work[len(d.work)-1]
		d.work = d.work[:len(d.work)-1]
		if d.done[e] {
			continue
		}
		d.done[e] = true
		d.txn(g.edges[e].from)
		d.txn(g.edges[e].to)
		if kind := g.edges[e].kind; kind != so {
			r := g.edges[e].read
			if d.read(r); kind == forced {
				d.path(g.edges[e].from, x.reads[r].txn, e)
			}
		}
	}
	var out []history.Part
	for t := range d.txns {
		p := history.Part{Txn: t}
		for r := x.readsFrom[t]; r < x.readsFrom[t+1]; r++ {
			if d.reads[r] {
				p.Ops = append(p.Ops, int(x.reads[r].op))
			}
		}
		last := map[history.Key]int{}
		for j, op := range x.h.Ops(&x.h.Txns[t]) {
			if op.Kind == history.Write && d.keys[op.Key] {
				last[op.Key] = j
			}
		}
		for _, j := range last {
			p.Ops = append(p.Ops, j)
		}
		slices.Sort(p.Ops)
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b history.Part) int { return int(a.Txn - b.Txn) })
	return out
}

// minimizeFor bounds the time for shrinking a counterexample.
const minimizeFor = 5 * time.Second

// violated cuts a counterexample out of the history: two transactions that overwrote one version, or a
// closed part without any execution.
func (c *check) violated(s *search) error {
	c.res.Verdict = verdict.Violated
	if c.opt.VerdictOnly {
		return nil
	}
	c.stages.Begin("explain")
	a, lost := s.x.lostUpdate()
	if !lost {
		limited, stop := context.WithTimeout(c.ctx, minimizeFor)
		defer stop()
		core := shrink.New(c.h, shrink.Rules{Level: level.PSI, Possible: true})
		for _, p := range s.used.parts() {
			core.Add(p.Txn, p.Ops...)
		}
		core.Close()
		first, err := violates(c.ctx, c.h.Sub(core.Parts()))
		if err != nil {
			return err
		}
		if err := core.Minimize(limited, violates, first); err != nil && (c.ctx.Err() != nil || limited.Err() == nil) {
			return err
		}
		a = verdict.Anomaly{Kind: verdict.Contradiction, Count: 1}
		for _, p := range core.Parts() {
			a.Txns = append(a.Txns, p.Txn)
			for _, j := range p.Ops {
				a.Ops = append(a.Ops, verdict.OpRef{Txn: p.Txn, Op: j})
			}
		}
		if err := draw(c.ctx, c.h, core.Parts(), &a); err != nil {
			return err
		}
	}
	explain.Fill(c.h, level.PSI, &a)
	c.res.Anomalies = []verdict.Anomaly{a}
	c.stages.Done("explain")
	return nil
}

// draw adds to an anomaly the cycle that saturation finds in the parts of a history, if it finds one.
func draw(ctx context.Context, h *history.History, parts []history.Part, a *verdict.Anomaly) error {
	x, err := newIndex(ctx, h.Sub(parts))
	if err != nil {
		return err
	}
	s := x.newSearch(ctx)
	if possible, err := s.saturate(); possible || err != nil {
		return err
	}
	a.Forced = map[int]verdict.OpRef{}
	value := func(r int32) history.Value { return x.h.Ops(&x.h.Txns[x.reads[r].txn])[x.reads[r].op].Value }
	add := func(kind verdict.EdgeKind, from, to int32, k history.Key, v history.Value) {
		a.Cycle = append(a.Cycle, verdict.Edge{Kind: kind, From: parts[from].Txn, To: parts[to].Txn, Key: k, Value: v})
	}
	cycle := s.cycle
	if s.missed != none {
		cycle = s.g.chain(s.writer, x.reads[s.missed].txn)
	}
	for n, i := range cycle {
		switch e := &s.g.edges[i]; e.kind {
		case so:
			add(verdict.SO, e.from, e.to, 0, 0)
		case wr:
			add(verdict.WR, e.from, e.to, x.reads[e.read].key, value(e.read))
		case forced:
			rd := &x.reads[e.read]
			a.Forced[n] = verdict.OpRef{Txn: parts[rd.txn].Txn, Op: parts[rd.txn].Ops[rd.op]}
			add(verdict.WW, e.from, e.to, rd.key, x.wrote(e.from, rd.key))
		}
	}
	if s.missed != none {
		rd := &x.reads[s.missed]
		add(verdict.RW, rd.txn, s.writer, rd.key, value(s.missed))
	}
	return nil
}

// wrote returns the final write of t to k.
func (x *index) wrote(t int32, k history.Key) history.Value {
	for _, op := range slices.Backward(x.h.Ops(&x.h.Txns[t])) {
		if op.Kind == history.Write && op.Key == k {
			return op.Value
		}
	}
	return 0
}

// violates judges a part of the history.
func violates(ctx context.Context, h *history.History) (shrink.Judgement, error) {
	x, err := newIndex(ctx, h)
	if err != nil {
		return shrink.Judgement{}, err
	}
	s, err := x.search(ctx)
	if err != nil || s.allowed {
		return shrink.Judgement{}, err
	}
	return shrink.Judgement{Violated: true, Leap: true, Enough: s.used.parts}, nil
}

// lostUpdate returns two committed transactions that overwrote one version, if there are any.
func (x *index) lostUpdate() (a verdict.Anomaly, found bool) {
	type version struct {
		key    history.Key
		source int32
	}
	first := map[version]int32{}
	count := 0
	for r := range x.reads {
		rd := &x.reads[r]
		t := &x.h.Txns[rd.txn]
		if t.Status != history.Committed || rd.source != none && x.h.Txns[rd.source].Status != history.Committed || !writes(x.h.Ops(t), rd.key) {
			continue
		}
		v := version{rd.key, rd.source}
		other, twice := first[v]
		if !twice {
			first[v] = rd.txn
			continue
		}
		if count++; count > 1 {
			continue
		}
		value := x.h.Ops(t)[rd.op].Value
		a = verdict.Anomaly{Kind: verdict.Divergence, Txns: []int32{other, rd.txn}}
		a.Cycle = []verdict.Edge{
			{Kind: verdict.RW, From: other, To: rd.txn, Key: rd.key, Value: value},
			{Kind: verdict.RW, From: rd.txn, To: other, Key: rd.key, Value: value}}
		if rd.source != none {
			a.Txns = append([]int32{rd.source}, a.Txns...)
			for _, to := range a.Txns[1:] {
				a.Context = append(a.Context, verdict.Edge{Kind: verdict.WR, From: rd.source, To: to, Key: rd.key, Value: value})
			}
		}
	}
	a.Count = count
	return a, count > 0
}

func writes(ops []history.Op, k history.Key) bool {
	return slices.ContainsFunc(ops, func(op history.Op) bool { return op.Kind == history.Write && op.Key == k })
}
