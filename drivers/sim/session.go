package sim

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/tablekv"
)

// session is a connection to one of the nodes.
type session struct {
	db   *db
	rng  *rand.Rand
	home int
	open *tx
	// seen is the last commit in the fresh snapshots of the session.
	seen int64
	// wrote are the last two numbers that it wrote, the newer one last.
	wrote [2]int64
	halt  atomic.Pointer[halt]
}

func (d *db) connect() *session {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sessions++
	s := &session{db: d, rng: rand.New(rand.NewPCG(d.opt.seed, uint64(d.sessions))), home: d.sessions % d.opt.nodes}
	d.halting.add(s)
	return s
}

// keeps reports whether a protection is active this time. One that is off is inactive at the
// given rate; one that the isolation does not have is never active.
func (s *session) keeps(p protection) bool {
	return s.db.iso.keeps[p] && (!s.db.opt.off[p] || s.rng.Float64() >= s.db.opt.rate)
}

// pause lets other sessions run. A store in memory is so fast that most transactions would end
// before another one is scheduled. It is also where a session halts.
func (s *session) pause() {
	if s.rng.Float64() < s.db.opt.yield {
		runtime.Gosched()
	}
	s.stop()
}

// Begin implements drivers.Session.
func (s *session) Begin(context.Context) (drivers.Tx, error) { return s.begin(false), nil }

func (s *session) begin(light bool) *tx {
	s.pause()
	d := s.db
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ids++
	t := &tx{
		s: s, id: d.ids, light: light, done: make(chan struct{}),
		reads: map[string]bool{}, writes: map[string][][]byte{}, missed: map[string]int64{},
	}
	t.snap = t.begins()
	t.asSet = t.told()
	t.Tx = tablekv.Tx{Store: pairs{t}}
	d.active = append(d.active, t)
	s.open = t
	return t
}

// begins returns the snapshot with which t begins.
func (t *tx) begins() snapshot {
	s, d := t.s, t.s.db
	switch {
	case len(d.nodes) == 0 || t.light:
	case !s.keeps(sessionOrder):
		other := (s.home + 1 + s.rng.IntN(len(d.nodes)-1)) % len(d.nodes)
		return d.nodes[other].snapshot(d.commits, 0)
	case !s.keeps(freshReplica):
		return d.nodes[s.home].snapshot(d.commits, s.seen)
	}
	s.seen = d.commits
	return d.newest()
}

// Close implements drivers.Session.
func (s *session) Close() {
	s.db.halting.remove(s)
	if s.open != nil {
		s.open.Rollback(context.Background())
	}
}

// ReadOne implements drivers.LWT.
func (s *session) ReadOne(ctx context.Context, key string) (int64, bool, error) {
	t := s.begin(true)
	v, found, err := t.Read(ctx, key)
	return v, found, s.finish(ctx, t, err)
}

// InsertIfAbsent implements drivers.LWT.
func (s *session) InsertIfAbsent(ctx context.Context, key string, value int64) (bool, error) {
	t := s.begin(true)
	applied, err := t.set(ctx, key, encode(value), false)
	err = s.finish(ctx, t, err)
	return applied && err == nil, err
}

// CompareAndSet implements drivers.LWT.
func (s *session) CompareAndSet(ctx context.Context, key string, old, value int64) (bool, error) {
	t := s.begin(true)
	applied, err := t.swap(ctx, key, encode(old), encode(value))
	err = s.finish(ctx, t, err)
	return applied && err == nil, err
}

// finish ends a lightweight transaction.
func (s *session) finish(ctx context.Context, t *tx, err error) error {
	if err == nil {
		return t.Commit(ctx)
	}
	if rerr := t.Rollback(ctx); rerr != nil {
		return rerr
	}
	return err
}
