package generator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/internal/randhist"
)

// lossy is the way to a run. Calls and answers get lost, and calls arrive twice. When it is cut, nothing passes.
type lossy struct {
	mu    sync.Mutex
	rng   *rand.Rand
	fleet *generator.Fleet
	loss  int // of so many calls one is lost
	cut   atomic.Bool
	calls atomic.Int64
	// after is the number of calls after which it is cut; 0 is never.
	after int64
}

var errCut = &drivers.Error{Class: drivers.Fatal, Cause: "cut", Err: errors.New("the process was killed")}

func (l *lossy) ask(_ context.Context, call []byte) ([]byte, error) {
	if n := l.calls.Add(1); l.after > 0 && n > l.after {
		l.cut.Store(true)
	}
	if l.cut.Load() {
		return nil, errCut
	}
	l.mu.Lock()
	fate := l.rng.IntN(l.loss)
	l.mu.Unlock()
	switch fate {
	case 0:
		return nil, errors.New("lost")
	case 1:
		l.fleet.Handle(call)
		return nil, errors.New("the answer is lost")
	case 2:
		l.fleet.Handle(call)
	}
	if answer := l.fleet.Handle(call); answer != nil {
		return answer, nil
	}
	return nil, errors.New("no answer")
}

// fleetRun is a run that load generators join.
type fleetRun struct {
	windows
	reason string
	fleet  *generator.Fleet
	notes  []string
	mu     sync.Mutex
	nudges []chan struct{}
}

// note and nudge are called with the fleet's lock held.
func (r *fleetRun) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, text)
}

func (r *fleetRun) said(text string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Count(strings.Join(r.notes, "\n"), text)
}

func (r *fleetRun) nudge() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.nudges {
		select {
		case n <- struct{}{}:
		default:
		}
	}
}

func newFleetRun(wait, sessions int, silence time.Duration) *fleetRun {
	r := &fleetRun{}
	r.fleet = generator.NewFleet(generator.FleetConfig{Wait: wait, Sessions: sessions, Silence: silence, Plan: json.RawMessage(`"mix"`), Nudge: r.nudge, Note: r.note})
	return r
}

// join runs a load generator until it ends.
func (r *fleetRun) join(db drivers.DB, w generator.Workload, cfg generator.Config, l *lossy, name string) error {
	nudged := make(chan struct{}, 1)
	r.mu.Lock()
	r.nudges = append(r.nudges, nudged)
	r.mu.Unlock()
	ctx := context.Background()
	link := generator.Link{Ask: l.ask, Nudged: nudged, Patience: cfg.Patience, Note: func(string) {}}
	plan, err := generator.Look(ctx, link, name)
	if err != nil {
		return err
	}
	if string(plan) != `"mix"` {
		return fmt.Errorf("the plan is %s", plan)
	}
	m, err := generator.Join(ctx, link, name, name)
	if err != nil {
		return err
	}
	cfg.Member, cfg.Cuts, cfg.FinalRead = m, generator.Cuts{}, false
	return generator.NewRunner(cfg, db, w, m.Recorder(ctx, false)).RunMember(ctx, ctx)
}

func (r *fleetRun) drive(t *testing.T, db drivers.DB, w generator.Workload, cfg generator.Config) {
	t.Helper()
	open := func() (*native.Log, string, error) {
		b := &buffer{}
		log, err := native.NewLog(b, false)
		digest := fmt.Sprintf("digest %d", len(r.files))
		r.files = append(r.files, b)
		return log, digest, err
	}
	log, _, err := open()
	if err == nil {
		err = db.Create(context.Background(), w.Initial())
	}
	if err != nil {
		t.Fatal(err)
	}
	rec, err := generator.NewRecorder(log, history.Header{Seed: cfg.Seed, NoCommonClock: true}, w)
	if err != nil {
		t.Fatal(err)
	}
	rec.Windows(w, open)
	cfg.FinalRead, cfg.Fleet = true, r.fleet
	run := generator.NewRunner(cfg, db, w, rec)
	r.reason, r.err = run.Run(context.Background(), context.Background())
	r.cuts = run.CutStats()
}

// TestFleet: load generators join a run over a way that loses calls and answers. One is killed and comes back, one
// is killed for good, one joins later. With broken connections and commits without an answer there is no violation in
// any window; with commits that get lost there is.
func TestFleet(t *testing.T) {
	for _, loses := range []bool{false, true} {
		seed := randhist.Seed(t, rand.Uint64())
		rng := rand.New(rand.NewPCG(seed, 1))
		db := &flaky{fake: &fake{delay: 50 * time.Microsecond}, rng: rng, loses: loses}
		keys := []string{"x", "y", "z"}
		w := workload{keys: keys, f: func(ctx context.Context, tx *generator.Tx, worker, n int) error {
			for _, k := range keys[n%2 : n%2+2] {
				if err := add(ctx, tx, k); err != nil {
					return err
				}
			}
			return nil
		}}
		cfg := generator.Config{Sessions: 2, Txns: 80, Cuts: generator.Cuts{Txns: 100}, Patience: 2 * time.Second}
		r := newFleetRun(2, 2, time.Second)
		var all sync.WaitGroup
		results := make([]error, 5)
		begin := func(n int, after int64, when func() bool) {
			way := &lossy{rng: rand.New(rand.NewPCG(seed, uint64(n+2))), fleet: r.fleet, loss: 150, after: after}
			all.Add(1)
			go func() {
				defer all.Done()
				for !when() {
					time.Sleep(time.Millisecond)
				}
				results[n] = r.join(db, w, cfg, way, fmt.Sprintf("m%d", n))
			}()
		}
		at := func(note string) func() bool { return func() bool { return r.said(note) > 0 } }
		begin(0, 0, at("waiting"))
		begin(1, 40, at("waiting"))
		begin(2, 40, at("m1) joins"))
		begin(3, 0, at("m1) was not heard of"))
		begin(4, 0, at("m2) joins"))
		r.drive(t, db, w, cfg)
		all.Wait()
		if r.err != nil || r.cuts.Made < 3 || r.fleet.Joined() < 3 {
			t.Fatalf("seed %d: %v, %+v, %d joined", seed, r.err, r.cuts, r.fleet.Joined())
		}
		for n, err := range results {
			if dies := n == 1 || n == 2; dies != errors.Is(err, errCut) {
				t.Errorf("seed %d: load generator %d: %v", seed, n, err)
			}
		}
		if r.said("was not heard of") != 2 {
			t.Errorf("seed %d: %q", seed, r.notes)
		}
		sessions, values, lost := map[int64]bool{}, map[history.Value]int64{}, 0
		for n := range r.files {
			h := r.history(t, n)
			if !h.NoCommonClock || !h.Closed || h.Timed() || !h.Fresh {
				t.Errorf("window %d: %+v, closed %v", n+1, h.Header, h.Closed)
			}
			for i := range h.Txns {
				x := &h.Txns[i]
				sessions[h.SessionName(x.Session)] = true
				if strings.HasPrefix(h.Record(i).Cause, "its load generator") {
					lost++
				}
				for _, op := range h.Ops(x) {
					if op.Kind != history.Write {
						continue
					}
					if by, twice := values[op.Value]; twice && by != x.ID {
						t.Errorf("seed %d: transactions %d and %d write %s", seed, by, x.ID, h.ValueText(op.Value))
					}
					values[op.Value] = x.ID
				}
			}
			for _, lvl := range []level.Level{level.SSER, level.StrongSI} {
				c, err := checker.Check(context.Background(), h, lvl, checker.Options{})
				if err != nil || c.Verdict != verdict.Unknown || !strings.Contains(c.Reason, "needs one clock") {
					t.Errorf("window %d at %s: %+v, %v", n+1, lvl, c, err)
				}
			}
		}
		if len(sessions) < 2*r.fleet.Joined()+2 {
			t.Errorf("%d sessions", len(sessions))
		}
		if got := r.judge(t, level.SER); (got == verdict.Violated) != loses {
			t.Errorf("seed %d, loses %v: %s", seed, loses, got)
		}
	}
}
