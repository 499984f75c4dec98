package generator_test

import (
	"context"
	"errors"
	"iter"
	"math/rand"
	"sync"
	"time"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
)

// fake is a database in memory that runs one transaction at a time and can be made to fail.
type fake struct {
	mu    sync.Mutex
	state map[string]int64
	// onCommit, onConnect and onUpdate decide about each call, by its number.
	onCommit  func(n int) error
	onConnect func(n int) error
	onUpdate  func(n int) error
	onClose   func()
	delay     time.Duration
	outcomes  map[int64]drivers.Outcome // for Resolve
	asked     []int64

	commits, connects, updates int
	nextID                     int64
}

func (f *fake) Server() string { return "fake 1.0" }

func (f *fake) Create(_ context.Context, initial iter.Seq2[string, int64]) error {
	f.state = map[string]int64{}
	for k, v := range initial {
		f.state[k] = v
	}
	return nil
}

func (f *fake) Close(context.Context) error { return nil }

func (f *fake) Connect(context.Context) (drivers.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.connects++
	if f.onConnect != nil {
		if err := f.onConnect(f.connects); err != nil {
			return nil, err
		}
	}
	return &fakeSession{f: f}, nil
}

func (f *fake) Resolve(_ context.Context, id int64) (drivers.Outcome, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, id)
	return f.outcomes[id], nil
}

type fakeSession struct {
	f    *fake
	open bool // a transaction holds the lock
}

func (s *fakeSession) Begin(context.Context) (drivers.Tx, error) {
	s.f.mu.Lock() // until the end of the transaction
	s.f.nextID++
	s.open = true
	return &fakeTx{f: s.f, s: s, id: s.f.nextID, writes: map[string]*int64{}}, nil
}

func (s *fakeSession) end() {
	s.open = false
	s.f.mu.Unlock()
}

func (s *fakeSession) Close() {
	if s.open {
		s.end()
	}
	if s.f.onClose != nil {
		s.f.onClose()
	}
}

type fakeTx struct {
	f      *fake
	s      *fakeSession
	id     int64
	writes map[string]*int64 // nil deletes
}

func (t *fakeTx) TxnID() int64 { return t.id }

func (t *fakeTx) get(key string) (int64, bool) {
	if w, ok := t.writes[key]; ok {
		if w == nil {
			return 0, false
		}
		return *w, true
	}
	v, ok := t.f.state[key]
	return v, ok
}

func (t *fakeTx) Read(_ context.Context, key string) (int64, bool, error) {
	v, ok := t.get(key)
	return v, ok, nil
}

func (t *fakeTx) Insert(_ context.Context, key string, value int64) error {
	if _, ok := t.get(key); ok {
		return &drivers.Error{Class: drivers.Aborted, Cause: "duplicate"}
	}
	t.writes[key] = &value
	return nil
}

func (t *fakeTx) Update(_ context.Context, key string, value int64) (bool, error) {
	t.f.updates++
	if t.f.onUpdate != nil {
		if err := t.f.onUpdate(t.f.updates); err != nil {
			return false, err
		}
	}
	if _, ok := t.get(key); !ok {
		return false, nil
	}
	t.writes[key] = &value
	return true, nil
}

func (t *fakeTx) Delete(_ context.Context, key string) (bool, error) {
	_, ok := t.get(key)
	if ok {
		t.writes[key] = nil
	}
	return ok, nil
}

func (t *fakeTx) Commit(context.Context) error {
	defer t.s.end()
	time.Sleep(t.f.delay)
	t.f.commits++
	if t.f.onCommit != nil {
		if err := t.f.onCommit(t.f.commits); err != nil {
			return err
		}
	}
	for k, v := range t.writes {
		if v == nil {
			delete(t.f.state, k)
		} else {
			t.f.state[k] = *v
		}
	}
	return nil
}

func (t *fakeTx) Rollback(context.Context) error {
	t.s.end()
	return nil
}

// workload runs the same function for every transaction.
type workload struct {
	keys []string
	f    func(ctx context.Context, tx *generator.Tx, worker, n int) error
}

func (w workload) Initial() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for _, k := range w.keys {
			if !yield(k, 0) {
				return
			}
		}
	}
}

func (w workload) Plan(worker int, _ *rand.Rand) generator.Plan { return &plan{w, worker, 0} }

type plan struct {
	w         workload
	worker, n int
}

func (p *plan) Next() generator.Program {
	p.n++
	return program{p.w, p.worker, p.n}
}

type program struct {
	w         workload
	worker, n int
}

func (p program) Run(ctx context.Context, tx *generator.Tx) error {
	return p.w.f(ctx, tx, p.worker, p.n)
}

// increment reads and updates key x.
func increment(ctx context.Context, tx *generator.Tx, _, _ int) error {
	if _, _, err := tx.Read(ctx, "x"); err != nil {
		return err
	}
	_, err := tx.Update(ctx, "x", tx.Fresh())
	return err
}

var errLost = errors.New("lost")
