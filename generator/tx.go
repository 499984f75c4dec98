package generator

import (
	"context"
	"time"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history"
)

// Tx is the transaction that a Program runs on: every operation is limited in time and recorded.
// Fresh draws unique values.
type Tx struct {
	tx      drivers.Tx
	a       *attempt
	values  *values
	timeout time.Duration
	running context.Context // ends when no further transaction may start
}

// values draws unique values without coordination: worker w of n workers uses w+n, w+2n, w+3n,
// ...
type values struct {
	next, step int64
}

func newValues(worker, workers int) *values {
	return &values{next: int64(worker), step: int64(workers)}
}

func (v *values) fresh() int64 {
	v.next += v.step
	return v.next
}

// Fresh returns a positive value that no other transaction of the run, and no other attempt of
// this one, writes.
func (t *Tx) Fresh() int64 { return t.values.fresh() }

func (t *Tx) call(ctx context.Context) (context.Context, context.CancelFunc) {
	return limited(ctx, t.timeout)
}

// limited returns ctx with a timeout; 0 means none.
func limited(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, d)
}

// Read returns the value of key, and false if it does not exist.
func (t *Tx) Read(ctx context.Context, key string) (int64, bool, error) {
	ctx, cancel := t.call(ctx)
	defer cancel()
	v, found, err := t.tx.Read(ctx, key)
	if err == nil {
		t.a.ops = append(t.a.ops, op{kind: history.Read, key: key, value: v, none: !found})
		t.a.noteVersion(t.tx)
	}
	return v, found, err
}

// readMany reads keys, with one statement if the database has one for that. It is recorded as a read of each.
func (t *Tx) readMany(ctx context.Context, keys []string) ([]drivers.Found, error) {
	many, ok := t.tx.(drivers.ManyReader)
	if !ok {
		out := make([]drivers.Found, len(keys))
		for i, key := range keys {
			var err error
			if out[i].Value, out[i].OK, err = t.Read(ctx, key); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	ctx, cancel := t.call(ctx)
	defer cancel()
	out, err := many.ReadMany(ctx, keys)
	if err != nil {
		return nil, err
	}
	for i, f := range out {
		t.a.ops = append(t.a.ops, op{kind: history.Read, key: keys[i], value: f.Value, none: !f.OK})
		t.a.noteVersion(t.tx)
	}
	return out, nil
}

// A write is recorded before it is sent. If it fails but its effect is visible anyway, the
// record shows who wrote it.

// Insert adds key.
func (t *Tx) Insert(ctx context.Context, key string, value int64) error {
	ctx, cancel := t.call(ctx)
	defer cancel()
	t.a.ops = append(t.a.ops, op{kind: history.Write, key: key, value: value})
	err := t.tx.Insert(ctx, key, value)
	t.a.noteID(t.tx)
	return err
}

// Update changes key. If the database finds no such key, nothing was written, and the
// observation is that the key does not exist.
func (t *Tx) Update(ctx context.Context, key string, value int64) (found bool, err error) {
	ctx, cancel := t.call(ctx)
	defer cancel()
	t.a.ops = append(t.a.ops, op{kind: history.Write, key: key, value: value})
	found, err = t.tx.Update(ctx, key, value)
	t.a.noteID(t.tx)
	if err == nil && !found {
		t.a.ops[len(t.a.ops)-1] = op{kind: history.Read, key: key, none: true}
	}
	return found, err
}

// Delete removes key. If the database finds no such key, the observation is that it does not
// exist.
func (t *Tx) Delete(ctx context.Context, key string) (found bool, err error) {
	ctx, cancel := t.call(ctx)
	defer cancel()
	t.a.ops = append(t.a.ops, op{kind: history.Write, key: key, none: true})
	found, err = t.tx.Delete(ctx, key)
	t.a.noteID(t.tx)
	if err == nil && !found {
		t.a.ops[len(t.a.ops)-1].kind = history.Read
	}
	return found, err
}

// Pause waits within the transaction, no longer than transactions may start. It fails when the run must end at once.
func (t *Tx) Pause(ctx context.Context, d time.Duration) error {
	pauseUntil(ctx, d, t.running.Done())
	if ctx.Err() != nil {
		return &drivers.Error{Class: drivers.Aborted, Cause: "interrupted", Err: context.Cause(ctx)}
	}
	return nil
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) { pauseUntil(ctx, d, nil) }

// pauseUntil waits, unless ctx or over ends first.
func pauseUntil(ctx context.Context, d time.Duration, over <-chan struct{}) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-over:
	}
}
