package generator_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/isohound/isohound/generator"
)

// TestFleetKilledBeforeStart: a load generator that was killed after it had joined does not count for the start, also before it is given up.
func TestFleetKilledBeforeStart(t *testing.T) {
	db := &fake{}
	w := workload{keys: []string{"x"}, f: func(ctx context.Context, tx *generator.Tx, worker, n int) error { return add(ctx, tx, "x") }}
	cfg := generator.Config{Sessions: 1, Txns: 5, Patience: time.Minute}
	r := newFleetRun(2, 1, 8*time.Second)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for r.said("waiting") == 0 {
			time.Sleep(time.Millisecond)
		}
		way := func() *lossy { return &lossy{rng: rand.New(rand.NewPCG(1, 2)), fleet: r.fleet, loss: 1 << 30} }
		join := func(l *lossy, name string) chan error {
			left := make(chan error, 1)
			go func() { left <- r.join(db, w, cfg, l, name) }()
			time.Sleep(500 * time.Millisecond) // it is ready
			return left
		}
		killed := way()
		join(killed, "killed")
		killed.cut.Store(true)
		time.Sleep(3500 * time.Millisecond)
		second := join(way(), "second")
		db.mu.Lock()
		early := db.commits
		db.mu.Unlock()
		if early > 0 && r.said("was not heard of") == 0 {
			t.Errorf("the run began with a load generator that had been killed: %d commits", early)
		}
		third := join(way(), "third")
		for _, left := range []chan error{second, third} {
			if err := <-left; err != nil {
				t.Error(err)
			}
		}
	}()
	r.drive(t, db, w, cfg)
	<-ended
	if r.err != nil || r.fleet.Joined() != 3 || r.said("was not heard of") != 1 {
		t.Errorf("%v, %q", r.err, r.notes)
	}
}
