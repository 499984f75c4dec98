package generator_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/linear"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/native"
)

type buffer struct {
	mu   sync.Mutex
	b    bytes.Buffer
	full int // writing fails after this many bytes; 0 is never
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.full > 0 && b.b.Len()+len(p) > b.full {
		n, _ := b.b.Write(p[:max(0, b.full-b.b.Len())])
		return n, errors.New("disk full")
	}
	return b.b.Write(p)
}

type outcome struct {
	h      *history.History
	raw    string
	reason string
	err    error
	stats  generator.Stats
	final  *generator.FinalRead
}

// drive runs a workload on db and reads the history.
func drive(t *testing.T, db *fake, w generator.Workload, cfg generator.Config, out *buffer, stop context.Context, others ...drivers.DB) outcome {
	t.Helper()
	return driveOn(t, db, w, cfg, out, stop, others...)
}

func driveOn(t *testing.T, db drivers.DB, w generator.Workload, cfg generator.Config, out *buffer, stop context.Context, others ...drivers.DB) outcome {
	t.Helper()
	if cfg.Patience == 0 {
		cfg.Patience = 200 * time.Millisecond
	}
	log, err := native.NewLog(out, false)
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
	r := generator.NewRunner(cfg, db, w, rec, others...)
	var o outcome
	o.reason, o.err = r.Run(context.Background(), stop)
	o.stats, o.final = r.Meter().Stats(), r.FinalRead()
	o.raw = out.b.String()
	src, err := native.NewReader(strings.NewReader(o.raw), "h", int64(len(o.raw)))
	if err != nil {
		t.Fatal(err)
	}
	if o.h, err = history.Load(context.Background(), src); err != nil {
		t.Fatal(err)
	}
	return o
}

func serializable(t *testing.T, h *history.History) {
	t.Helper()
	for _, lvl := range []level.Level{level.SER, level.SSER} {
		r, err := linear.Engine{}.Judge(context.Background(), h, lvl, engine.Options{})
		if err != nil || r.Verdict != verdict.Satisfied {
			t.Errorf("%s: %v, %v\n%s", lvl, r, err, dsl.Format(h))
		}
	}
}

// TestRecords: the history contains what a serial database did.
func TestRecords(t *testing.T) {
	w := workload{keys: []string{"x"}, f: increment}
	o := drive(t, &fake{}, w, generator.Config{Sessions: 8, Txns: 50}, &buffer{}, context.Background())
	n := o.h.Count()
	if o.err != nil || o.reason != generator.Complete || !o.h.Closed || n.Committed != 400 || n.Txns != 400 || n.Sessions != 8 {
		t.Errorf("%v, %s, %+v", o.err, o.reason, n)
	}
	serializable(t, o.h)
	seen := map[history.Value]bool{}
	for _, op := range o.h.AllOps() {
		if op.Kind == history.Write {
			if seen[op.Value] {
				t.Fatalf("value %d is written twice", op.Value)
			}
			seen[op.Value] = true
		}
	}
	if o.stats.Committed != 400 || o.stats.LatencyMS.P99 < o.stats.LatencyMS.P50 {
		t.Errorf("%+v", o.stats)
	}
}

// TestIntentFirst: the line of an intent comes before the line of its outcome and has the
// transaction's writes; a read-only transaction has no intent.
func TestIntentFirst(t *testing.T) {
	w := workload{keys: []string{"x"}, f: func(ctx context.Context, tx *generator.Tx, _, n int) error {
		if n == 2 {
			_, _, err := tx.Read(ctx, "x")
			return err
		}
		return increment(ctx, tx, 0, n)
	}}
	o := drive(t, &fake{}, w, generator.Config{Sessions: 1, Txns: 2}, &buffer{}, context.Background())
	var kinds []string
	for _, line := range strings.Split(strings.TrimSpace(o.raw), "\n") {
		kinds = append(kinds, strings.SplitN(line, `"`, 3)[1])
	}
	if !slices.Equal(kinds, []string{"isohound", "initial", "intent", "txn", "txn", "closed"}) {
		t.Errorf("lines %v\n%s", kinds, o.raw)
	}
	if !strings.Contains(o.raw, `"ops":[["r","x",0],["w","x",1]]}`+"\n"+`{"txn":1,`) {
		t.Errorf("the intent lacks the operations:\n%s", o.raw)
	}
}

// TestRetries: each attempt is recorded as a separate transaction with separate values; the
// number of attempts is bounded.
func TestRetries(t *testing.T) {
	db := &fake{onCommit: func(n int) error {
		if n <= 5 {
			return &drivers.Error{Class: drivers.Aborted, Cause: "conflict"}
		}
		return nil
	}}
	w := workload{keys: []string{"x"}, f: increment}
	o := drive(t, db, w, generator.Config{Sessions: 1, Txns: 3, Retries: 3}, &buffer{}, context.Background())
	want := `s1 T1 abort 1
s1 T2 abort 2
s1 T3 abort 3
s1 T4 abort 4
s1 T5 abort 5
s1 T6 commit 6
s1 T7 commit 7
`
	var got strings.Builder
	for i := range o.h.Txns {
		tx := &o.h.Txns[i]
		word := map[history.Status]string{history.Committed: "commit", history.Aborted: "abort", history.Unknown: "unknown"}[tx.Status]
		ops := o.h.Ops(tx)
		got.WriteString("s1 T" + o.h.ValueText(history.Value(tx.ID)) + " " + word + " " + o.h.ValueText(ops[len(ops)-1].Value) + "\n")
	}
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
	if o.stats.AbortsByCause["conflict"] != 5 || o.stats.AbortRate < 0.7 || o.stats.AbortRate > 0.72 {
		t.Errorf("%+v", o.stats)
	}
	serializable(t, o.h)
}

// TestUnknownOutcome: an unanswered commit ends its session; the database is asked for the
// outcome, and the answer is recorded.
func TestUnknownOutcome(t *testing.T) {
	db := &fake{outcomes: map[int64]drivers.Outcome{2: drivers.DidCommit, 4: drivers.DidAbort, 6: drivers.Lost, 8: drivers.InProgress}}
	db.onCommit = func(n int) error {
		if n%2 == 0 && n <= 10 {
			return errLost // not classified by the driver
		}
		return nil
	}
	w := workload{keys: []string{"x"}, f: func(ctx context.Context, tx *generator.Tx, worker, n int) error {
		if n == 10 { // without an id there is nothing to ask
			_, _, err := tx.Read(ctx, "x")
			return err
		}
		return increment(ctx, tx, worker, n)
	}}
	o := drive(t, db, w, generator.Config{Sessions: 1, Txns: 11}, &buffer{}, context.Background())
	// The fake does not apply commits for which it returns an error, so transaction 2
	// "committed" without effect. The test only checks the record.
	var got []string
	for i := range o.h.Txns {
		tx := &o.h.Txns[i]
		got = append(got, tx.Status.String()[:1]+o.h.ValueText(history.Value(o.h.SessionName(tx.Session))))
	}
	want := []string{"c1", "c1", "c2", "a2", "c3", "u3", "c4", "u4", "c5", "u5", "c6"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if !slices.Contains(db.asked, 2) || !slices.Contains(db.asked, 8) {
		t.Errorf("asked after %v", db.asked)
	}
}

// TestReconnects: a broken session is replaced; the runner tries to reconnect as long as
// patience lasts.
func TestReconnects(t *testing.T) {
	db := &fake{}
	db.onUpdate = func(n int) error {
		if n == 3 {
			return &drivers.Error{Class: drivers.Aborted, Cause: "connection lost", Broken: true}
		}
		return nil
	}
	db.onConnect = func(n int) error {
		if n == 2 || n == 3 {
			return &drivers.Error{Class: drivers.Aborted, Cause: "refused", Broken: true}
		}
		return nil
	}
	w := workload{keys: []string{"x"}, f: increment}
	o := drive(t, db, w, generator.Config{Sessions: 1, Txns: 5, Retries: 1}, &buffer{}, context.Background())
	if n := o.h.Count(); o.err != nil || n.Sessions != 2 || n.Committed != 5 || n.Aborted != 1 {
		t.Errorf("%v, %+v", o.err, n)
	}
}

// TestPauseEndsWithRun: a transaction that waits between its operations goes on at once when the run is over, and commits.
func TestPauseEndsWithRun(t *testing.T) {
	w := workload{keys: []string{"x"}, f: func(ctx context.Context, tx *generator.Tx, worker, n int) error {
		if err := tx.Pause(ctx, 1000*time.Hour); err != nil {
			return err
		}
		return increment(ctx, tx, worker, n)
	}}
	o := drive(t, &fake{}, w, generator.Config{Sessions: 2, Duration: 500 * time.Millisecond, Retries: 9}, &buffer{}, context.Background())
	if n := o.h.Count(); o.err != nil || o.reason != generator.DurationReached || n.Committed == 0 || n.Committed+n.Aborted > 20 {
		t.Errorf("%v, %s, %+v", o.err, o.reason, n)
	}
}

// TestPanicked: a panic of a driver in a goroutine of the runner is told: in a session, in a fence, and when sessions end.
func TestPanicked(t *testing.T) {
	oh := func() { panic("oh") }
	at := func(commit int) func(int) error {
		return func(n int) error {
			if n == commit {
				oh()
			}
			return nil
		}
	}
	for name, db := range map[string]*fake{"session": {onCommit: at(1)}, "fence": {onCommit: at(3)}, "end": {onClose: oh}} {
		var told atomic.Int64
		w := workload{keys: []string{"x"}, f: increment}
		drive(t, db, w, generator.Config{Sessions: 2, Txns: 1, FinalRead: true, Panicked: func(p any) {
			if p == "oh" {
				told.Add(1)
			}
		}}, &buffer{}, context.Background())
		if told.Load() == 0 {
			t.Errorf("%s: nothing is told", name)
		}
	}
}

// TestServerLost: when patience ends, so does the run, with a closed history.
func TestServerLost(t *testing.T) {
	db := &fake{onConnect: func(n int) error {
		if n > 2 {
			return &drivers.Error{Class: drivers.Aborted, Cause: "refused", Broken: true}
		}
		return nil
	}, onCommit: func(n int) error {
		if n > 10 {
			return &drivers.Error{Class: drivers.OutcomeUnknown, Cause: "gone", Broken: true}
		}
		return nil
	}}
	w := workload{keys: []string{"x"}, f: increment}
	o := drive(t, db, w, generator.Config{Sessions: 2, Txns: 1000}, &buffer{}, context.Background())
	if o.err == nil || !strings.Contains(o.err.Error(), "cannot connect") || o.reason != generator.ServerLost || !o.h.Closed {
		t.Errorf("%v, %s, closed %v", o.err, o.reason, o.h.Closed)
	}
	serializable(t, o.h)
}

// TestFatal: an error that a retry cannot fix ends the run at once.
func TestFatal(t *testing.T) {
	db := &fake{onUpdate: func(n int) error {
		if n > 5 {
			return &drivers.Error{Class: drivers.Fatal, Cause: "42P01 table is gone"}
		}
		return nil
	}}
	w := workload{keys: []string{"x"}, f: increment}
	o := drive(t, db, w, generator.Config{Sessions: 2, Txns: 1000, Retries: 5}, &buffer{}, context.Background())
	if o.err == nil || !strings.Contains(o.err.Error(), "table is gone") || o.reason != generator.Refused || len(o.h.Txns) > 8 {
		t.Errorf("%v, %s, after %d transactions", o.err, o.reason, len(o.h.Txns))
	}
}

// TestDiskFull: a full disk ends a run only if it is full for longer than patience. Until then transactions are tried again.
func TestDiskFull(t *testing.T) {
	full := &drivers.Error{Class: drivers.Aborted, Cause: "disk full", NoSpace: true}
	for _, forever := range []bool{false, true} {
		f := &fake{onCommit: func(n int) error {
			if n > 1 && (n < 4 || forever) {
				return full
			}
			return nil
		}}
		if err := f.Create(context.Background(), workload{keys: []string{"x"}}.Initial()); err != nil {
			t.Fatal(err)
		}
		patience := time.Minute
		if forever {
			patience = 50 * time.Millisecond
		}
		o := drive(t, f, workload{keys: []string{"x"}, f: increment}, generator.Config{Sessions: 1, Txns: 3, Retries: 1000, Patience: patience}, &buffer{}, context.Background())
		if ended := o.err != nil && strings.Contains(o.err.Error(), "disk full"); ended != forever {
			t.Errorf("forever %v: %v", forever, o.err)
		}
		c := o.h.Count()
		if want := 3; !forever && (c.Committed != want || c.Aborted != 2) || forever && c.Committed != 1 {
			t.Errorf("forever %v: %+v", forever, c)
		}
	}
}

// TestHistoryFull: when the history cannot be written, no further commit is sent, and the
// recorded part can be used.
func TestHistoryFull(t *testing.T) {
	db := &fake{}
	w := workload{keys: []string{"x"}, f: increment}
	o := drive(t, db, w, generator.Config{Sessions: 4, Txns: 1000}, &buffer{full: 20_000}, context.Background())
	var le *generator.LogError
	if !errors.As(o.err, &le) || o.reason != generator.HistoryLost {
		t.Errorf("%v, %s", o.err, o.reason)
	}
	known := map[history.Value]bool{0: true}
	for _, op := range o.h.AllOps() {
		if op.Kind == history.Write {
			known[op.Value] = true
		}
	}
	if !known[history.Value(db.state["x"])] {
		t.Errorf("the database has %d, which no transaction of the history wrote", db.state["x"])
	}
	r, err := linear.Engine{}.Judge(context.Background(), o.h, level.SER, engine.Options{})
	if err != nil || r.Verdict != verdict.Satisfied {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestUpdateFindsNothing: an update that found no row is not a write, but shows that the row was
// absent.
func TestUpdateFindsNothing(t *testing.T) {
	w := workload{f: func(ctx context.Context, tx *generator.Tx, _, n int) error {
		if n == 1 {
			_, err := tx.Update(ctx, "y", tx.Fresh())
			return err
		}
		_, err := tx.Delete(ctx, "y")
		return err
	}}
	o := drive(t, &fake{}, w, generator.Config{Sessions: 1, Txns: 2}, &buffer{}, context.Background())
	for i := range o.h.Txns {
		if got := dsl.Op(o.h, o.h.Ops(&o.h.Txns[i])[0]); got != "r(y,nil)" {
			t.Errorf("recorded as %s", got)
		}
	}
}

// TestRollbackByWorkload: an intended rollback is recorded as aborted, with its writes, and is
// not retried.
func TestRollbackByWorkload(t *testing.T) {
	w := workload{keys: []string{"x"}, f: func(ctx context.Context, tx *generator.Tx, worker, n int) error {
		if err := increment(ctx, tx, worker, n); err != nil {
			return err
		}
		return generator.ErrRollback
	}}
	db := &fake{}
	o := drive(t, db, w, generator.Config{Sessions: 1, Txns: 3, Retries: 5}, &buffer{}, context.Background())
	if n := o.h.Count(); n.Aborted != 3 || n.Ops != 6 || db.state["x"] != 0 {
		t.Errorf("%+v, x = %d", n, db.state["x"])
	}
}

// TestOpenLoop: at a rate that the database cannot sustain, latencies are measured from the
// intended start and grow; the due times are evenly spaced.
func TestOpenLoop(t *testing.T) {
	db := &fake{delay: 5 * time.Millisecond} // at most 200 a second
	w := workload{keys: []string{"x"}, f: increment}
	o := drive(t, db, w, generator.Config{Sessions: 4, Txns: 40, Rate: 1000}, &buffer{}, context.Background())
	if o.stats.LatencyMS.Max < 400 || o.stats.LatencyMS.P50 < 200 {
		t.Errorf("latencies hide the wait: %+v", o.stats.LatencyMS)
	}
	src, err := native.NewReader(strings.NewReader(o.raw), "h", 0)
	if err != nil {
		t.Fatal(err)
	}
	var rec history.Record
	var due []int64
	for src.Next(&rec) == nil {
		due = append(due, rec.Due)
	}
	slices.Sort(due)
	for i, d := range due {
		if d != due[0]+int64(i)*1_000_000 {
			t.Fatalf("transaction %d is due at %d ns", i, d)
		}
	}
}

// TestDurationAndStop: both end a run between transactions and close the
// history.
func TestDurationAndStop(t *testing.T) {
	w := workload{keys: []string{"x"}, f: increment}
	o := drive(t, &fake{delay: time.Millisecond}, w, generator.Config{Sessions: 2, Duration: 50 * time.Millisecond}, &buffer{}, context.Background())
	if o.err != nil || o.reason != generator.DurationReached || !o.h.Closed || o.h.Count().Committed < 5 {
		t.Errorf("%v, %s, %+v", o.err, o.reason, o.h.Count())
	}
	stop, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	o = drive(t, &fake{delay: time.Millisecond}, w, generator.Config{Sessions: 2}, &buffer{}, stop)
	if o.err != nil || o.reason != generator.Interrupted || !o.h.Closed || o.h.Count().Unknown > 0 {
		t.Errorf("%v, %s, %+v", o.err, o.reason, o.h.Count())
	}
}

// TestStream: streams are the same for the same seed and worker, and differ
// otherwise.
func TestStream(t *testing.T) {
	draw := func(seed int64, worker int) [4]int64 {
		var out [4]int64
		r := generator.Stream(seed, worker)
		for i := range out {
			out[i] = r.Int63()
		}
		return out
	}
	seen := map[[4]int64]bool{}
	for seed := range int64(20) {
		for worker := range 20 {
			a := draw(seed, worker)
			if a != draw(seed, worker) {
				t.Fatal("not reproducible")
			}
			if seen[a] {
				t.Fatalf("the stream of seed %d, worker %d is another one's", seed, worker)
			}
			seen[a] = true
		}
	}
}
