package generator

import (
	"context"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history"
)

// LightweightProgram is a Program that is one lightweight transaction (MTC paper, section IV-E):
// a single statement, without begin and commit. It is run by RunLightweight, never by Run. The
// session must be a drivers.LWT.
type LightweightProgram interface {
	Program
	// RunLightweight sends one statement of l, which records it, and returns its
	// error.
	RunLightweight(ctx context.Context, l *Light) error
}

// Light runs one lightweight transaction for a LightweightProgram: it sends one statement,
// limits its time and records it.
//
// It records what was observed. An applied compare-and-set read the old value and wrote the new
// one. An applied insertion is a write. A statement that was not applied wrote nothing: it only
// observed that the key did not hold the expected value (absence, for an insertion).
type Light struct {
	s       drivers.LWT
	a       *attempt
	values  *values
	timeout time.Duration
	sent    bool
}

var errTwoStatements = errors.New("a lightweight transaction is one statement")

// Fresh returns a positive value that no other transaction of the run, and no other attempt of
// this one, writes.
func (l *Light) Fresh() int64 { return l.values.fresh() }

// ReadOne returns the value of key, and false if it does not exist.
func (l *Light) ReadOne(ctx context.Context, key string) (value int64, found bool, err error) {
	err = l.send(ctx, func(ctx context.Context) error {
		value, found, err = l.s.ReadOne(ctx, key)
		return err
	})
	if err == nil {
		l.a.ops = append(l.a.ops, op{kind: history.Read, key: key, value: value, none: !found})
	}
	return value, found, err
}

// InsertIfAbsent adds key unless it exists, and reports whether it did.
func (l *Light) InsertIfAbsent(ctx context.Context, key string, value int64) (applied bool, err error) {
	err = l.send(ctx, func(ctx context.Context) error {
		applied, err = l.s.InsertIfAbsent(ctx, key, value)
		return err
	}, op{kind: history.Write, key: key, value: value})
	if err == nil && !applied {
		l.a.ops = append(l.a.ops[:0], op{kind: history.ReadNot, key: key, none: true})
	}
	return applied, err
}

// CompareAndSet changes key from old to value if it holds old, and reports
// whether it did.
func (l *Light) CompareAndSet(ctx context.Context, key string, old, value int64) (applied bool, err error) {
	err = l.send(ctx, func(ctx context.Context) error {
		applied, err = l.s.CompareAndSet(ctx, key, old, value)
		return err
	}, op{kind: history.Read, key: key, value: old}, op{kind: history.Write, key: key, value: value})
	if err == nil && !applied {
		l.a.ops = append(l.a.ops[:0], op{kind: history.ReadNot, key: key, value: old})
	}
	return applied, err
}

// send writes the intent of the statement's operations to the kernel, and then sends the
// statement, which commits by itself. The transaction begins after the intent is written; the
// intent has an earlier begin.
func (l *Light) send(ctx context.Context, statement func(context.Context) error, ops ...op) error {
	if l.sent {
		return &drivers.Error{Class: drivers.Fatal, Cause: "two statements in a lightweight transaction", Err: errTwoStatements}
	}
	l.sent = true
	l.a.ops = append(l.a.ops, ops...)
	if err := l.a.intend(); err != nil {
		l.a.intentErr = err
		return notWritable(err)
	}
	ctx, cancel := limited(ctx, l.timeout)
	defer cancel()
	l.a.rec.Begin = l.a.r.Now()
	return statement(ctx)
}

func notWritable(err error) *drivers.Error {
	return &drivers.Error{Class: drivers.Aborted, Cause: "history not writable", Err: err}
}

// executeLight runs a lightweight transaction and returns its outcome. A statement that writes
// nothing never has an unknown outcome. A program that breaks its contract ends the run; what it
// sent may have been applied.
func (w *worker) executeLight(ctx context.Context, program LightweightProgram) (history.Status, string, *drivers.Error) {
	s, ok := w.session.(drivers.LWT)
	if !ok {
		e := &drivers.Error{Class: drivers.Fatal, Cause: "no lightweight transactions", Err: errors.New("the database has no lightweight transactions")}
		return history.Aborted, e.Cause, e
	}
	l := &Light{s: s, a: &w.a, values: w.values, timeout: w.r.cfg.CallTimeout}
	err := program.RunLightweight(ctx, l)
	switch {
	case err == nil:
		return history.Committed, "", nil
	case !l.sent && errors.Is(err, ErrRollback):
		return history.Aborted, "rolled back by the workload", nil
	}
	e := drivers.AsError(err)
	if w.a.writes() && (e.Class == drivers.OutcomeUnknown || errors.Is(err, errTwoStatements)) {
		return history.Unknown, e.Cause, e
	}
	return history.Aborted, e.Cause, e
}
