package generator

import (
	"slices"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
)

// prune forgets sessions that have ended. It is called when all outcomes of a load generator are known.
func (m *loader) prune(present []int64) {
	if len(m.open) > 0 || len(present) == 0 {
		return
	}
	for number, s := range m.sessions {
		if !s.committed && !slices.Contains(present, number) {
			delete(m.sessions, number)
		}
	}
}

// absorb writes lines of a load generator to the history. They are on disk when it returns.
func (f *Fleet) absorb(m *loader, lines []*line) error {
	return f.r.rec.log.Group(func(g *native.Group) {
		for _, l := range lines {
			f.absorbLine(m, l, g)
		}
	})
}

func (f *Fleet) absorbLine(m *loader, l *line, g *native.Group) {
	rec := f.r.rec
	s := m.sessions[l.Session]
	if s == nil {
		s = &remoteSession{number: f.r.sessions.Add(1)}
		m.sessions[l.Session] = s
	}
	a := m.open[l.ID]
	if a == nil {
		a = &attempt{r: rec, worker: l.Worker}
		a.rec.ID = rec.nextID.Add(1)
		// The clocks differ. A session's transactions do not overlap, and what was told is over.
		a.rec.Begin = min(max(l.Begin, s.end), rec.Now())
	}
	a.rec.Session, a.rec.DBTxn, a.rec.Due, a.rec.End = s.number, l.DBTxn, history.NoTime, history.NoTime
	if l.Due != nil {
		a.rec.Due = *l.Due
	}
	if !l.Same {
		a.ops, a.rec.Predicates, a.told = l.operations(placer{rec.hdr.Schema}), l.Preds, l.Fresh
	}
	if l.Intent {
		a.intentIn, a.intent, a.intended = rec.log, a.rec, slices.Clone(a.ops)
		m.open[l.ID] = a
		g.Intent(&a.rec, a.spell())
		return
	}
	delete(m.open, l.ID)
	a.rec.Status, a.rec.Cause, a.rec.Claim.Commit = history.Status(l.Status), l.Cause, l.Commit
	if l.Snapshot != nil {
		a.rec.Claim.Snapshot, a.rec.Claim.Snapped = *l.Snapshot, true
	}
	if len(l.Visible) >= 2 {
		a.rec.Claim.Visible = history.NewVisible(l.Visible)
	}
	a.rec.End = min(max(l.End, a.rec.Begin), rec.Now())
	s.end = a.rec.End
	a.into(g)
	f.learn(m, s, a)
}

// into is write, into a group.
func (a *attempt) into(g *native.Group) {
	a.note()
	switch {
	case a.intentIn == nil:
		g.Txn(&a.rec, a.spell(), nil, false)
	case a.asIntended():
		g.Txn(&a.rec, nil, &a.intent, true)
	default:
		g.Txn(&a.rec, a.spell(), &a.intent, false)
	}
}

// learn notes what a finished transaction of a load generator means for cuts, as a worker does of its own.
func (f *Fleet) learn(m *loader, s *remoteSession, a *attempt) {
	committed := a.rec.Status == history.Committed
	fence := isFence(a.ops)
	switch {
	case !fence:
		s.committed = s.committed || committed
		f.r.stat.add(&a.rec, a.rec.Due, a.rec.Cause)
	case committed && !a.writes():
		saw := *a
		m.caughtUp[a.worker] = &saw
	case committed:
		for i := range a.ops {
			if n, ok := workerOf(a.ops[i].key); ok && a.ops[i].kind == history.Write && n >= m.workers[0].n && n <= m.workers[len(m.workers)-1].n {
				m.workers[n-m.workers[0].n].fence = a.ops[i].value
			}
		}
	}
	if a.rec.Status != history.Aborted {
		m.lost += m.written.note(a.ops)
	}
	if a.rec.Status == history.Unknown && f.r.cfg.Cuts.Any() {
		f.r.doubt(a)
	}
}

// giveUp lets the run go on without a load generator. Its transactions without an outcome may still take effect.
// Each is a session by itself, after a copy of how its session saw the last cut.
func (f *Fleet) giveUp(m *loader, why string) {
	delete(f.loaders, m.name)
	f.cfg.Note(m.title + " " + why)
	rec := f.r.rec
	err := rec.log.Group(func(g *native.Group) {
		for _, id := range sortedKeys(m.open) {
			a := m.open[id]
			own := &remoteSession{number: f.r.sessions.Add(1)}
			if saw := m.caughtUp[a.worker]; saw != nil {
				again := *saw
				again.rec.ID, again.rec.Session, again.intentIn = rec.nextID.Add(1), own.number, nil
				again.into(g)
			}
			a.rec.Session, a.rec.Status, a.rec.End = own.number, history.Unknown, max(rec.Now(), a.rec.Begin)
			a.rec.Cause = "its load generator was lost"
			a.into(g)
			f.learn(m, own, a)
		}
	})
	if err != nil {
		f.r.fail(&LogError{err})
	}
	for _, id := range sortedKeys(m.sessions) {
		if s := m.sessions[id]; s.committed {
			f.orphans = append(f.orphans, s.number)
		}
	}
	for name, p := range m.written {
		f.written[name] = p
	}
	f.left += m.lost
	f.signal()
}

func sortedKeys[V any](m map[int64]V) []int64 {
	keys := make([]int64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
