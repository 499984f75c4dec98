package dgraph

import (
	"context"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/servers"
)

// wire makes connections that can be disturbed.
type wire struct {
	deaf  atomic.Bool // answers do not arrive
	mute  atomic.Bool // what is sent breaks the connection instead
	mu    sync.Mutex
	conns []net.Conn
}

func (w *wire) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, c)
	return &disturbed{c, w}, nil
}

// heal ends all connections, so that new ones are undisturbed.
func (w *wire) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		c.Close()
	}
	w.conns = nil
	w.deaf.Store(false)
	w.mute.Store(false)
}

type disturbed struct {
	net.Conn
	wire *wire
}

func (d *disturbed) Read(b []byte) (int, error) {
	for {
		n, err := d.Conn.Read(b)
		if err != nil || !d.wire.deaf.Load() {
			return n, err
		}
	}
}

func (d *disturbed) Write(b []byte) (int, error) {
	if d.wire.mute.Load() {
		d.Close()
		return 0, syscall.ECONNRESET
	}
	return d.Conn.Write(b)
}

// over opens a database over a wire, and a transaction that has changed a to 9.
func over(t *testing.T, c *servers.Dgraph) (*wire, *db, drivers.Tx) {
	t.Helper()
	w := &wire{}
	d, tx := open(t, c, w.dial)
	t.Cleanup(func() {
		w.heal()
		if err := d.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return w, d, tx
}

func open(t *testing.T, c *servers.Dgraph, dial drivers.Dial) (*db, drivers.Tx) {
	t.Helper()
	d, err := driver{}.Open(ctx, drivers.Config{DSN: c.DSNs()[0], Isolation: snapshotIsolation, Dial: dial})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Create(ctx, maps.All(drivertest.Initial)); err != nil {
		t.Fatal(err)
	}
	tx := drivertest.Begin(t, d)
	if _, err := tx.Update(ctx, "a", 9); err != nil {
		t.Fatal(err)
	}
	return d.(*db), tx
}

// undisturbed returns d over a network without faults.
func undisturbed(d *db) *db {
	plain := *d.target
	plain.dial = nil
	return &db{target: &plain, name: d.name}
}

func holds(t *testing.T, d *db, key string, want int64) {
	t.Helper()
	if v, err := look(undisturbed(d), key); v != want || err != nil {
		t.Errorf("%s is %d, %v; want %d", key, v, err, want)
	}
}

func look(d *db, key string) (int64, error) {
	s, err := d.Connect(ctx)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	v, _, err := s.(drivers.LWT).ReadOne(ctx, key)
	return v, err
}

// answerLost: a commit that loses its connection after the server has executed it has an unknown
// outcome, and is not sent again.
func answerLost(t *testing.T, c *servers.Dgraph) {
	for what, send := range map[string]func(drivers.LWT, drivers.Tx) error{
		"commit": func(_ drivers.LWT, tx drivers.Tx) error { return tx.Commit(ctx) },
		"compare-and-set": func(l drivers.LWT, _ drivers.Tx) error {
			_, err := l.CompareAndSet(ctx, "a", 1, 9)
			return err
		},
	} {
		w, d, tx := over(t, c)
		l := drivertest.Light(t, d)
		w.deaf.Store(true)
		done := make(chan error)
		go func() { done <- send(l, tx) }()
		for v := int64(0); v != 9; {
			var err error
			if v, err = look(undisturbed(d), "a"); err != nil {
				t.Fatal(err)
			}
		}
		w.heal()
		drivertest.Class(t, what, <-done, drivers.OutcomeUnknown, true)
		holds(t, d, "a", 9)
	}
}

// notSent: a request that was not sent has no effect, and its outcome is not committed. Requests
// that commit nothing are aborted.
func notSent(t *testing.T, c *servers.Dgraph) {
	w, d, tx := over(t, c)
	reading, l := drivertest.Begin(t, d), drivertest.Light(t, d)
	w.mute.Store(true)
	drivertest.Class(t, "commit", tx.Commit(ctx), drivers.OutcomeUnknown, true)
	_, err := l.InsertIfAbsent(ctx, "new", 1)
	drivertest.Class(t, "insertion", err, drivers.OutcomeUnknown, true)
	_, _, err = l.ReadOne(ctx, "a")
	drivertest.Class(t, "read", err, drivers.Aborted, true)
	_, err = reading.Update(ctx, "a", 10)
	drivertest.Class(t, "update", err, drivers.Aborted, true)
	_, err = d.Connect(ctx)
	drivertest.Class(t, "connect", err, drivers.Aborted, true)
	w.heal()
	holds(t, d, "a", 1)
}

// neverAnswered: a commit that is not answered in time has an unknown outcome.
func neverAnswered(t *testing.T, c *servers.Dgraph) {
	w, _, tx := over(t, c)
	w.deaf.Store(true)
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	err := tx.Commit(short)
	drivertest.Class(t, "commit", err, drivers.OutcomeUnknown, true)
	if e := drivers.AsError(err); e.Cause != "call timed out" {
		t.Errorf("cause %q", e.Cause)
	}
}

// alphaKilled: a commit that a killed alpha does not answer has an unknown outcome. The cluster
// cannot be used afterwards.
func alphaKilled(t *testing.T, c *servers.Dgraph) {
	d, tx := open(t, c, nil)
	s, err := d.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c.KillAlpha(0)
	drivertest.Class(t, "commit", tx.Commit(ctx), drivers.OutcomeUnknown, true)
	_, _, err = s.(drivers.LWT).ReadOne(ctx, "a")
	drivertest.Class(t, "read", err, drivers.Aborted, true)
}
