package generator_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/rounds"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/native"
)

// windows is a run in windows.
type windows struct {
	files []*buffer
	cuts  *generator.CutStats
	err   error
}

func driveWindows(t *testing.T, db drivers.DB, w generator.Workload, cfg generator.Config, others ...drivers.DB) *windows {
	t.Helper()
	out := &windows{}
	open := func() (*native.Log, string, error) {
		b := &buffer{}
		log, err := native.NewLog(b, false)
		digest := fmt.Sprintf("digest %d", len(out.files))
		out.files = append(out.files, b)
		return log, digest, err
	}
	log, _, err := open()
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Create(context.Background(), w.Initial()); err != nil {
		t.Fatal(err)
	}
	rec, err := generator.NewRecorder(log, history.Header{Seed: cfg.Seed}, w)
	if err != nil {
		t.Fatal(err)
	}
	rec.Windows(w, open)
	cfg.FinalRead = true
	if cfg.Patience == 0 {
		cfg.Patience = 200 * time.Millisecond
	}
	r := generator.NewRunner(cfg, db, w, rec, others...)
	_, out.err = r.Run(context.Background(), context.Background())
	out.cuts = r.CutStats()
	return out
}

func (w *windows) history(t *testing.T, n int) *history.History {
	t.Helper()
	raw := w.files[n].b.String()
	src, err := native.NewReader(strings.NewReader(raw), fmt.Sprintf("window %d", n+1), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.Load(context.Background(), src)
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	return h
}

// judge returns the verdict on the run at a level.
func (w *windows) judge(t *testing.T, lvl level.Level) verdict.Verdict {
	t.Helper()
	var state rounds.Run
	out := verdict.Satisfied
	for n := range w.files {
		h := w.history(t, n)
		state.Enter(h)
		check := func(h *history.History) (verdict.Verdict, error) {
			r, err := checker.Check(context.Background(), h, lvl, checker.Options{})
			if err != nil {
				return verdict.Unknown, err
			}
			return r.Verdict, nil
		}
		v, err := check(h)
		if err != nil {
			t.Fatal(err)
		}
		if v == verdict.Violated {
			t.Logf("window %d: %s", n+1, dsl.Format(h))
			why, err := state.Doubt(h, lvl, check)
			if err != nil {
				t.Fatal(err)
			}
			if why == "" {
				return v
			}
			out = verdict.Unknown
		}
	}
	return out
}

// TestCuts: each window is a complete history that begins with the state at the cut.
func TestCuts(t *testing.T) {
	keys := []string{"x", "y", "z"}
	w := workload{keys: keys, f: func(ctx context.Context, tx *generator.Tx, worker, n int) error {
		return add(ctx, tx, keys[(worker+n)%3])
	}}
	db := &fake{delay: 20 * time.Microsecond}
	run := driveWindows(t, db, w, generator.Config{Sessions: 4, Txns: 300, Cuts: generator.Cuts{Txns: 150}})
	if run.err != nil || run.cuts.GivenUp > 0 || run.cuts.Made < 3 || len(run.files) != run.cuts.Made+1 {
		t.Fatalf("%v, %+v, %d files", run.err, run.cuts, len(run.files))
	}
	committed := 0
	for n := range run.files {
		h := run.history(t, n)
		serializable(t, h)
		committed += h.Fences()
		switch {
		case !h.Closed:
			t.Errorf("window %d is not closed", n+1)
		case n == 0 && h.Window != nil, n > 0 && (h.Window.Number != n+1 || h.Window.After != fmt.Sprintf("digest %d", n)):
			t.Errorf("window %d: %+v", n+1, h.Window)
		}
		if n == 0 {
			continue
		}
		before := run.history(t, n-1)
		last := map[string]history.Value{}
		for _, op := range before.AllOps() {
			last[before.KeyName(op.Key)] = op.Value
		}
		for _, k := range keys {
			if got := h.Initial(h.Key(k)); got != last[k] {
				t.Errorf("window %d: %s is %d at first, and was %d", n+1, k, got, last[k])
			}
		}
	}
	if sees := 4 * (len(run.files) - 1); committed < 1200 || committed > 1200+sees {
		t.Errorf("%d transactions in all windows", committed)
	}
}

// TestCutsWithFaults: with broken connections and commits without an answer, some of which take effect
// at any time later, a run in windows has no violation; with commits that get lost it has.
func TestCutsWithFaults(t *testing.T) {
	for _, loses := range []bool{false, true} {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 1))
		db := &flaky{fake: &fake{delay: 100 * time.Microsecond}, rng: rng, loses: loses}
		w := workload{keys: []string{"x", "y", "z"}, f: func(ctx context.Context, tx *generator.Tx, worker, n int) error {
			for _, k := range []string{"x", "y", "z"}[n%2 : n%2+2] {
				if err := add(ctx, tx, k); err != nil {
					return err
				}
			}
			return nil
		}}
		run := driveWindows(t, db, w, generator.Config{Sessions: 3, Txns: 400, Cuts: generator.Cuts{Txns: 60}, Patience: 300 * time.Millisecond})
		if run.err != nil || run.cuts.Made < 3 {
			t.Fatalf("%v, %+v", run.err, run.cuts)
		}
		unknown := 0
		for n := range run.files {
			h := run.history(t, n)
			unknown += h.Count().Unknown
			if !h.Fresh {
				t.Errorf("window %d has values of an earlier one", n+1)
			}
		}
		if unknown == 0 {
			t.Error("no outcome was unknown")
		}
		if got := run.judge(t, level.SER); (got == verdict.Violated) != loses {
			t.Errorf("seed %d, loses %v: %s", seed, loses, got)
		}
	}
}

// TestFresh: a window says that its values are fresh only if none of them is in an earlier window. From the first one on that has a
// value that its transaction had not drawn, none says so, since a worker may draw that value later; nor if values were there at
// first.
func TestFresh(t *testing.T) {
	for name, tc := range map[string]struct {
		first int64
		odd   func(v int64, worker, n int) int64
		fresh bool // some window after the first is
	}{
		"drawn":          {0, func(v int64, _, _ int) int64 { return v }, true},
		"negative":       {0, func(v int64, _, n int) int64 { return when(n%3 == 0, -v, v) }, true},
		"there at first": {7, func(v int64, _, _ int) int64 { return v }, false},
		"constant":       {0, func(v int64, worker, n int) int64 { return when(n < 6 && worker == 0, 3, v) }, false},
		"drawn later":    {0, func(v int64, _, n int) int64 { return when(n < 6, v+60, v) }, false},
		"of another":     {0, func(v int64, worker, n int) int64 { return when(n == 5 && worker == 1, v+1, v) }, false},
	} {
		var mu sync.Mutex
		w := begun{workload{keys: []string{"x"}, f: func(ctx context.Context, tx *generator.Tx, worker, n int) error {
			mu.Lock()
			v := tc.odd(tx.Fresh(), worker, n)
			mu.Unlock()
			_, err := tx.Update(ctx, "x", v)
			return err
		}}, tc.first}
		run := driveWindows(t, &fake{delay: 200 * time.Microsecond}, w, generator.Config{Sessions: 2, Txns: 150, Cuts: generator.Cuts{Txns: 30}})
		if run.err != nil || len(run.files) < 3 {
			t.Fatalf("%s: %v, %d windows", name, run.err, len(run.files))
		}
		seen, fresh := map[history.Value]int{history.Value(tc.first): 1}, false
		for n := range run.files {
			h := run.history(t, n)
			fresh = fresh || n > 0 && h.Fresh
			for i := range h.Txns {
				for _, op := range h.Ops(&h.Txns[i]) {
					if op.Kind != history.Write || h.IsFence(op.Key) {
						continue
					}
					if m, known := seen[op.Value]; known && m != n+1 && h.Fresh {
						t.Errorf("%s: window %d is fresh, and its value %d is of window %d", name, n+1, op.Value, m)
					}
					seen[op.Value] = n + 1
				}
			}
		}
		if fresh != tc.fresh {
			t.Errorf("%s: a later window is fresh: %v", name, fresh)
		}
	}
}

// TestCatchUpBroken: if the connection breaks while a session waits to see the cut, the new session waits, too. Each session that
// commits in a later window saw the last cut first.
func TestCatchUpBroken(t *testing.T) {
	for every := 3; every < 9; every++ {
		w := workload{keys: []string{"x", "y"}, f: func(ctx context.Context, tx *generator.Tx, worker, n int) error {
			return add(ctx, tx, []string{"x", "y"}[(worker+n)%2])
		}}
		db := &breaking{fake: &fake{delay: 50 * time.Microsecond}, every: int64(every)}
		run := driveWindows(t, db, w, generator.Config{Sessions: 4, Txns: 200, Retries: 3, Cuts: generator.Cuts{Txns: 60}, Patience: 5 * time.Second})
		if run.err != nil || len(run.files) < 3 {
			t.Fatalf("every %d: %v, %d windows", every, run.err, len(run.files))
		}
		for n := range run.files[1:] {
			h := run.history(t, n+1)
			caughtUp := map[int32]bool{}
			for i := range h.Txns {
				x := &h.Txns[i]
				if x.Status != history.Committed || caughtUp[x.Session] {
					continue
				}
				caughtUp[x.Session] = true
				for _, op := range h.Ops(x) {
					if op.Kind != history.Read || !h.IsFence(op.Key) || op.Value < h.Initial(op.Key) { // the reader of a cut sees later ones
						t.Errorf("every %d, window %d: session %d begins with transaction %d, which does not see the cut: %v", every, n+2, h.SessionName(x.Session), x.ID, h.Ops(x))
						break
					}
				}
			}
		}
	}
}

// breaking is a fake of which some commits fail and break the connection. They have no effect.
type breaking struct {
	*fake
	every, commits int64
}

func (b *breaking) Connect(ctx context.Context) (drivers.Session, error) {
	s, err := b.fake.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return breakingSession{s.(*fakeSession), b}, nil
}

type breakingSession struct {
	*fakeSession
	b *breaking
}

func (s breakingSession) Begin(ctx context.Context) (drivers.Tx, error) {
	tx, err := s.fakeSession.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return breakingTx{tx.(*fakeTx), s.b}, nil
}

type breakingTx struct {
	*fakeTx
	b *breaking
}

func (t breakingTx) Commit(ctx context.Context) error {
	if atomic.AddInt64(&t.b.commits, 1)%t.b.every != 0 {
		return t.fakeTx.Commit(ctx)
	}
	if err := t.Rollback(ctx); err != nil {
		return err
	}
	return errAway
}

// TestCutLost: the database loses the last cut while the session that made it, and had seen it, waits for the outcome of a commit.
// The run ends because the others do not see the cut, and that session shows that it is lost.
func TestCutLost(t *testing.T) {
	db := &failover{fake: &fake{delay: 50 * time.Microsecond}}
	w := workload{keys: []string{"x", "y"}, f: func(ctx context.Context, tx *generator.Tx, worker, n int) error {
		db.loseCut(worker)
		return add(ctx, tx, []string{"x", "y"}[(worker+n)%2])
	}}
	run := driveWindows(t, db, w, generator.Config{Sessions: 4, Txns: 200, Cuts: generator.Cuts{Txns: 60, Before: func(context.Context) { db.cut = true }}})
	if run.err == nil || !strings.Contains(run.err.Error(), "does not see the last cut") {
		t.Fatal(run.err)
	}
	if got := run.judge(t, level.SER); got != verdict.Violated {
		t.Error(got)
	}
}

// failover is a fake that once breaks all connections and loses all fences: when the worker that wrote the last one, in a cut, runs
// its next transaction. The outcome of that one stays open.
type failover struct {
	*fake
	cut  bool
	lost atomic.Bool
}

// loseCut is called in a transaction of the worker, which holds the lock.
func (f *failover) loseCut(worker int) {
	last, at := "", int64(0)
	for k, v := range f.state {
		if strings.HasPrefix(k, history.Fence) && v > at {
			last, at = k, v
		}
	}
	if f.lost.Load() || !f.cut || last != history.Fence+strconv.Itoa(worker+1) {
		return
	}
	f.lost.Store(true)
	for k := range f.state {
		if strings.HasPrefix(k, history.Fence) {
			delete(f.state, k)
		}
	}
}

func (f *failover) Resolve(context.Context, int64) (drivers.Outcome, error) {
	return drivers.InProgress, nil
}

func (f *failover) Connect(ctx context.Context) (drivers.Session, error) {
	lost := f.lost.Load()
	s, err := f.fake.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return failoverSession{s.(*fakeSession), f, lost}, nil
}

type failoverSession struct {
	*fakeSession
	f    *failover
	lost bool // it began after the loss
}

func (s failoverSession) Begin(ctx context.Context) (drivers.Tx, error) {
	if s.f.lost.Load() != s.lost {
		return nil, errAway
	}
	tx, err := s.fakeSession.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return failoverTx{tx.(*fakeTx), s}, nil
}

type failoverTx struct {
	*fakeTx
	s failoverSession
}

func (t failoverTx) Commit(ctx context.Context) error {
	if t.s.f.lost.Load() == t.s.lost {
		return t.fakeTx.Commit(ctx)
	}
	if err := t.Rollback(ctx); err != nil {
		return err
	}
	return &drivers.Error{Class: drivers.OutcomeUnknown, Cause: "connection lost", Broken: true}
}

func when(c bool, a, b int64) int64 {
	if c {
		return a
	}
	return b
}

// begun is a workload whose keys have another initial value.
type begun struct {
	workload
	value int64
}

func (w begun) Initial() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for k := range w.workload.Initial() {
			if !yield(k, w.value) {
				return
			}
		}
	}
}

// TestCutsWithEndpointAway: while an endpoint is away, no cut is made and nobody waits for one. After that there are
// cuts again. A run whose sessions all waited would end when patience does.
func TestCutsWithEndpointAway(t *testing.T) {
	w := workload{keys: []string{"x", "y"}, f: func(ctx context.Context, tx *generator.Tx, worker, n int) error {
		return add(ctx, tx, []string{"x", "y"}[(worker+n)%2])
	}}
	db := &fake{delay: 100 * time.Microsecond}
	other := door{db, func(commits int) bool { return commits > 100 && commits < 400 }}
	run := driveWindows(t, db, w, generator.Config{Sessions: 4, Txns: 300, Cuts: generator.Cuts{Txns: 30}, Patience: 5 * time.Second}, other)
	// It may also go away while a cut is being made.
	away := strings.HasPrefix(run.cuts.Problem, "endpoint 2 could not be reached") || strings.Contains(run.cuts.Problem, errAway.Cause) || strings.Contains(run.cuts.Problem, "cannot connect")
	if run.err != nil || run.cuts.Made < 5 || run.cuts.GivenUp == 0 || run.cuts.GivenUp > 3 || !away {
		t.Errorf("%v, %+v", run.err, run.cuts)
	}
	if got := run.judge(t, level.SSER); got != verdict.Satisfied {
		t.Error(got)
	}
	longest := 0 // the window of the outage
	for n := range run.files {
		longest = max(longest, len(run.history(t, n).Txns))
	}
	if longest < 250 {
		t.Errorf("the longest window has %d transactions", longest)
	}
}

// door is an endpoint of a fake that others reach, too. It is away after some commits.
type door struct {
	*fake
	away func(commits int) bool
}

var errAway = &drivers.Error{Class: drivers.Aborted, Cause: "connection lost", Broken: true}

func (d door) shut() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.away(d.commits)
}

func (d door) Connect(ctx context.Context) (drivers.Session, error) {
	if d.shut() {
		return nil, errAway
	}
	s, err := d.fake.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return doorSession{s.(*fakeSession), d}, nil
}

type doorSession struct {
	*fakeSession
	d door
}

func (s doorSession) Begin(ctx context.Context) (drivers.Tx, error) {
	if s.d.shut() {
		return nil, errAway
	}
	return s.fakeSession.Begin(ctx)
}

// flaky is a fake whose commits sometimes get no answer. What such a commit writes is held back and takes
// effect at a later commit, unless another transaction has written one of its keys, or never. If it
// loses, now and then a commit is confirmed and has no effect.
type flaky struct {
	*fake
	rng   *rand.Rand
	loses bool
	held  []held
}

type held struct {
	writes map[string]*int64
	before map[string]int64
}

func (f *flaky) Connect(ctx context.Context) (drivers.Session, error) {
	s, err := f.fake.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return flakySession{s.(*fakeSession), f}, nil
}

type flakySession struct {
	*fakeSession
	f *flaky
}

func (s flakySession) Begin(ctx context.Context) (drivers.Tx, error) {
	tx, err := s.fakeSession.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return flakyTx{tx.(*fakeTx), s.f}, nil
}

type flakyTx struct {
	*fakeTx
	f *flaky
}

func (t flakyTx) Commit(ctx context.Context) error {
	f := t.f
	switch n := f.rng.IntN(40); {
	case n == 0 && len(t.writes) > 0: // no answer; perhaps it takes effect later
		f.held = append(f.held, held{maps.Clone(t.writes), maps.Clone(f.state)})
		t.s.end()
		return errLost
	case n == 1:
		t.s.end()
		return &drivers.Error{Class: drivers.Aborted, Cause: "connection lost", Broken: true}
	case n == 2 && f.loses:
		t.writes = map[string]*int64{}
	}
	if err := t.fakeTx.Commit(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := 0; i < len(f.held); i++ {
		if f.rng.IntN(10) > 0 {
			continue
		}
		h := f.held[i]
		f.held = append(f.held[:i:i], f.held[i+1:]...)
		i--
		current := true // what it read and overwrites is still there
		for k := range h.writes {
			current = current && f.state[k] == h.before[k]
		}
		if current {
			for k, v := range h.writes {
				f.state[k] = *v
			}
		}
	}
	return nil
}
