package generator_test

import (
	"context"
	"errors"
	"iter"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/linear"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// lightDB is a fake with lightweight transactions. onWrite is called for each write, with its
// number, after it was applied or not.
type lightDB struct {
	*fake
	out     *buffer
	onWrite func(n int) error
	writes  int
	// early lists writes that were sent before their intent was written.
	early []int64
}

func (d *lightDB) Connect(ctx context.Context) (drivers.Session, error) {
	s, err := d.fake.Connect(ctx)
	return lightSession{s, d}, err
}

type lightSession struct {
	drivers.Session
	d *lightDB
}

func (s lightSession) Begin(context.Context) (drivers.Tx, error) {
	return nil, &drivers.Error{Class: drivers.Fatal, Cause: "no transactions"}
}

func (s lightSession) ReadOne(_ context.Context, key string) (int64, bool, error) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	v, ok := s.d.state[key]
	return v, ok, nil
}

func (s lightSession) InsertIfAbsent(_ context.Context, key string, value int64) (bool, error) {
	return s.write(key, value, func(_ int64, found bool) bool { return !found })
}

func (s lightSession) CompareAndSet(_ context.Context, key string, old, value int64) (bool, error) {
	return s.write(key, value, func(v int64, found bool) bool { return found && v == old })
}

func (s lightSession) write(key string, value int64, holds func(int64, bool) bool) (bool, error) {
	d := s.d
	d.mu.Lock()
	defer d.mu.Unlock()
	d.out.mu.Lock()
	lines := strings.Split(strings.TrimSpace(d.out.b.String()), "\n")
	d.out.mu.Unlock()
	intent := `["w","` + key + `",` + history.NewSymbols().ValueText(history.Value(value)) + `]`
	if !slices.ContainsFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, `{"intent"`) && strings.Contains(l, intent)
	}) {
		d.early = append(d.early, value)
	}
	d.writes++
	v, found := d.state[key]
	applied := holds(v, found)
	err := error(nil)
	if d.onWrite != nil {
		err = d.onWrite(d.writes)
	}
	if applied && (err == nil || drivers.AsError(err).Class == drivers.OutcomeUnknown) {
		d.state[key] = value
	}
	return applied && err == nil, err
}

// lights runs the same function for every lightweight transaction.
type lights func(ctx context.Context, l *generator.Light, worker, n int) error

func (lights) Initial() iter.Seq2[string, int64] { return func(func(string, int64) bool) {} }

func (f lights) Plan(worker int, _ *rand.Rand) generator.Plan { return &lightPlan{f, worker, 0} }

type lightPlan struct {
	f         lights
	worker, n int
}

func (p *lightPlan) Next() generator.Program {
	p.n++
	return lightProgram{p.f, p.worker, p.n}
}

type lightProgram struct {
	f         lights
	worker, n int
}

func (p lightProgram) Run(context.Context, *generator.Tx) error {
	return errors.New("a lightweight transaction is run as another")
}

func (p lightProgram) RunLightweight(ctx context.Context, l *generator.Light) error {
	return p.f(ctx, l, p.worker, p.n)
}

// driveLight runs a workload on a new database and checks that no write was sent before its
// intent.
func driveLight(t *testing.T, d *lightDB, w lights, cfg generator.Config) outcome {
	t.Helper()
	d.out = &buffer{}
	o := driveOn(t, d, w, cfg, d.out, context.Background())
	if len(d.early) > 0 {
		t.Errorf("sent before their intents: %v", d.early)
	}
	return o
}

func linearizable(t *testing.T, h *history.History) {
	t.Helper()
	r, err := linear.Engine{}.Judge(context.Background(), h, level.LIN, engine.Options{})
	if err != nil || r.Verdict != verdict.Satisfied {
		t.Errorf("%+v, %v\n%s", r, err, dsl.Format(h))
	}
}

// transactions formats a history, one transaction per line, without times.
func transactions(h *history.History) string {
	var b strings.Builder
	for i := range h.Txns {
		tx := &h.Txns[i]
		b.WriteString("s" + h.ValueText(history.Value(h.SessionName(tx.Session))) + " " + tx.Status.String())
		for _, op := range h.Ops(tx) {
			b.WriteString(" " + op.Kind.String() + "(" + h.KeyName(op.Key) + "," + h.ValueText(op.Value) + ")")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestLightweightRecords: each statement is recorded as a transaction with what it observed.
func TestLightweightRecords(t *testing.T) {
	steps := []lights{
		func(ctx context.Context, l *generator.Light, _, _ int) error {
			_, _, err := l.ReadOne(ctx, "x")
			return err
		},
		func(ctx context.Context, l *generator.Light, _, _ int) error {
			_, err := l.CompareAndSet(ctx, "x", 70, l.Fresh())
			return err
		},
		func(ctx context.Context, l *generator.Light, _, _ int) error {
			_, err := l.InsertIfAbsent(ctx, "x", l.Fresh())
			return err
		},
		func(ctx context.Context, l *generator.Light, _, _ int) error {
			_, err := l.InsertIfAbsent(ctx, "x", l.Fresh())
			return err
		},
		func(ctx context.Context, l *generator.Light, _, _ int) error {
			_, err := l.CompareAndSet(ctx, "x", 2, l.Fresh())
			return err
		},
		func(ctx context.Context, l *generator.Light, _, _ int) error {
			_, err := l.CompareAndSet(ctx, "x", 2, l.Fresh())
			return err
		},
		func(ctx context.Context, l *generator.Light, _, _ int) error {
			_, _, err := l.ReadOne(ctx, "x")
			return err
		},
	}
	w := lights(func(ctx context.Context, l *generator.Light, worker, n int) error {
		return steps[n-1](ctx, l, worker, n)
	})
	o := driveLight(t, &lightDB{fake: &fake{}}, w, generator.Config{Sessions: 1, Txns: len(steps)})
	want := `s1 committed r(x,null)
s1 committed n(x,70)
s1 committed w(x,2)
s1 committed n(x,null)
s1 committed r(x,2) w(x,4)
s1 committed n(x,2)
s1 committed r(x,4)
`
	if got := transactions(o.h); got != want || o.err != nil {
		t.Errorf("%v, got\n%swant\n%s", o.err, got, want)
	}
	linearizable(t, o.h)
}

// counter alternately reads and increments a key, or inserts it.
func counter() lights {
	type seen struct {
		value        int64
		known, found bool
	}
	state := map[int]*seen{}
	for w := range 8 {
		state[w] = &seen{}
	}
	return func(ctx context.Context, l *generator.Light, worker, _ int) (err error) {
		s := state[worker]
		if !s.known {
			s.value, s.found, err = l.ReadOne(ctx, "x")
			s.known = err == nil
			return err
		}
		s.known = false
		if !s.found {
			_, err = l.InsertIfAbsent(ctx, "x", l.Fresh())
			return err
		}
		_, err = l.CompareAndSet(ctx, "x", s.value, l.Fresh())
		return err
	}
}

// TestLightweightOutcomes: a write without an answer is unknown and ends its session. A refused
// write is aborted and retried with fresh values. In all cases the history is linearizable.
func TestLightweightOutcomes(t *testing.T) {
	d := &lightDB{fake: &fake{}, onWrite: func(n int) error {
		switch n % 10 {
		case 3:
			return errLost // not classified, and applied
		case 7:
			return &drivers.Error{Class: drivers.Aborted, Cause: "conflict"}
		}
		return nil
	}}
	o := driveLight(t, d, counter(), generator.Config{Sessions: 8, Txns: 100, Retries: 3})
	n := o.h.Count()
	if o.err != nil || n.Unknown < 30 || n.Aborted < 30 || n.Committed < 600 {
		t.Errorf("%v, %+v", o.err, n)
	}
	if o.stats.AbortsByCause["conflict"] != int64(n.Aborted) || o.stats.Unknown != int64(n.Unknown) {
		t.Errorf("%+v, %+v", o.stats, n)
	}
	for _, txns := range o.h.BySession() {
		for _, i := range txns[:len(txns)-1] {
			if o.h.Txns[i].Status == history.Unknown {
				t.Errorf("the session of transaction %d goes on", o.h.Txns[i].ID)
			}
		}
	}
	for i := range o.h.Txns {
		tx := &o.h.Txns[i]
		ops := o.h.Ops(tx)
		if tx.Status != history.Committed && (len(ops) == 0 || ops[len(ops)-1].Kind != history.Write) {
			t.Errorf("transaction %d is %s without its write", tx.ID, tx.Status)
		}
	}
	linearizable(t, o.h)
}

// TestLightweightNotWritable: no write is sent if its intent cannot be written.
func TestLightweightNotWritable(t *testing.T) {
	d := &lightDB{fake: &fake{}, out: &buffer{full: 3000}}
	o := driveOn(t, d, counter(), generator.Config{Sessions: 2, Txns: 1000}, d.out, context.Background())
	var le *generator.LogError
	if !errors.As(o.err, &le) || o.reason != generator.HistoryLost || len(d.early) > 0 || d.writes == 0 {
		t.Errorf("%v, %s, %d writes, early %v", o.err, o.reason, d.writes, d.early)
	}
	linearizable(t, o.h)
}

// TestLightweightContract: a database without lightweight transactions ends the run, and so does
// a program with two statements; what such a program sent is unknown.
func TestLightweightContract(t *testing.T) {
	o := driveOn(t, &fake{}, counter(), generator.Config{Sessions: 1, Txns: 5}, &buffer{}, context.Background())
	if o.err == nil || !strings.Contains(o.err.Error(), "no lightweight transactions") || len(o.h.Txns) != 1 {
		t.Errorf("%v, %d transactions", o.err, len(o.h.Txns))
	}
	twice := lights(func(ctx context.Context, l *generator.Light, _, _ int) error {
		if _, err := l.InsertIfAbsent(ctx, "x", l.Fresh()); err != nil {
			return err
		}
		_, err := l.InsertIfAbsent(ctx, "y", l.Fresh())
		return err
	})
	o = driveLight(t, &lightDB{fake: &fake{}}, twice, generator.Config{Sessions: 1, Txns: 5})
	if got := transactions(o.h); o.err == nil || !strings.Contains(o.err.Error(), "one statement") || got != "s1 unknown w(x,1)\n" {
		t.Errorf("%v\n%s", o.err, got)
	}
}
