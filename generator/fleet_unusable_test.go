package generator_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
)

// TestFleetUnusable: a load generator that only looks has not joined, and one whose sessions cannot connect does not count as ready.
// The run waits for neither, and begins with one that can.
func TestFleetUnusable(t *testing.T) {
	db := &fake{}
	w := workload{keys: []string{"x"}, f: func(ctx context.Context, tx *generator.Tx, worker, n int) error { return add(ctx, tx, "x") }}
	cfg := generator.Config{Sessions: 2, Txns: 30, Cuts: generator.Cuts{Txns: 50}, Patience: time.Minute}
	r := newFleetRun(1, 2, time.Minute)
	ended := make(chan struct{})
	way := func() *lossy { return &lossy{rng: rand.New(rand.NewPCG(1, 2)), fleet: r.fleet, loss: 1 << 30} }
	go func() {
		defer close(ended)
		for r.said("waiting") == 0 {
			time.Sleep(time.Millisecond)
		}
		if _, err := generator.Look(context.Background(), generator.Link{Ask: way().ask, Patience: time.Minute, Note: func(string) {}}, "looks"); err != nil || r.fleet.Joined() != 0 {
			t.Errorf("%d have joined: %v", r.fleet.Joined(), err)
		}
		refused := &drivers.Error{Class: drivers.Fatal, Cause: "refused", Err: errors.New("the password is wrong")}
		if err := r.join(&fake{onConnect: func(int) error { return refused }}, w, cfg, way(), "bad"); !errors.Is(err, refused) {
			t.Error(err)
		}
		time.Sleep(50 * time.Millisecond)
		if db.mu.Lock(); db.commits > 0 {
			t.Error("the run has begun without a load generator")
		}
		db.mu.Unlock()
		if err := r.join(db, w, cfg, way(), "good"); err != nil {
			t.Error(err)
		}
	}()
	begun := time.Now()
	r.drive(t, db, w, cfg)
	<-ended
	if r.err != nil || time.Since(begun) > 30*time.Second || r.said("bad) leaves: ") != 1 || r.said("was not heard of") != 0 || r.fleet.Joined() != 2 {
		t.Errorf("%v after %s, %q", r.err, time.Since(begun), r.notes)
	}
	if got := r.judge(t, level.SER); got != verdict.Satisfied {
		t.Error(got)
	}
}
