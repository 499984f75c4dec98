package redis

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/servers"
)

// TestOutcome: what the answers to MULTI, two writes and EXEC mean.
func TestOutcome(t *testing.T) {
	cmds := []command{{"MULTI", nil}, {"SET", nil}, {"DEL", nil}, {"EXEC", nil}}
	const ok, queued = "OK", "QUEUED"
	bad := func(s string) any { return redis.Error(s) }
	for _, tc := range []struct {
		replies []any
		class   drivers.Class
		cause   string // "": it committed
		broken  bool
	}{
		{[]any{ok, queued, queued, []any{ok, int64(1)}}, 0, "", false},
		{[]any{ok, queued, queued, nil}, drivers.Aborted, "conflict", false},
		{[]any{ok, bad("OOM command not allowed"), queued, bad("EXECABORT Transaction discarded because of previous errors.")}, drivers.Fatal, "OOM", true},
		{[]any{ok, bad("READONLY You can't write against a read only replica."), queued, bad("EXECABORT Transaction discarded because of previous errors.")}, drivers.Aborted, "READONLY", true},
		{[]any{ok, queued, queued, bad("EXECABORT Transaction discarded because of: -NOREPLICAS Not enough good replicas to write.")}, drivers.Aborted, "NOREPLICAS", false},
		{[]any{ok, queued, queued, bad("EXECABORT Transaction discarded because of: MISCONF Redis is configured")}, drivers.Aborted, "MISCONF", true},
		{[]any{ok, queued, queued, bad("EXECABORT Transaction discarded because of: NEWWORD is unknown")}, drivers.OutcomeUnknown, "error NEWWORD", true},
		{[]any{ok, queued, queued, bad("LOADING Redis is loading the dataset in memory")}, drivers.Aborted, "LOADING", true},
		{[]any{ok, queued, queued, bad("NEWWORD nobody knows it")}, drivers.OutcomeUnknown, "error NEWWORD", true},
		{[]any{ok, queued, queued, []any{ok, bad("NOPERM no permission")}}, drivers.OutcomeUnknown, "a command failed within EXEC", false},
		{[]any{ok, queued, queued, []any{ok}}, drivers.OutcomeUnknown, "unexpected answer to EXEC", true},
		{[]any{ok, queued, queued, int64(1)}, drivers.OutcomeUnknown, "unexpected answer to EXEC", true},
		{[]any{bad("NOPERM MULTI"), ok, int64(1), bad("ERR EXEC without MULTI")}, drivers.OutcomeUnknown, "MULTI refused", true},
	} {
		err := outcome(cmds, tc.replies)
		if tc.cause == "" {
			must(t, err)
			continue
		}
		e := drivers.AsError(err)
		if e.Class != tc.class || e.Cause != tc.cause || e.Broken != tc.broken {
			t.Errorf("%q: class %d, %s, broken %v", tc.replies, e.Class, e.Cause, e.Broken)
		}
	}
	// Nothing was written by a transaction that only read.
	e := drivers.AsError(outcome([]command{cmds[0], cmds[3]}, []any{bad("BUSY"), bad("BUSY")}))
	if e.Class != drivers.Aborted {
		t.Errorf("%+v", e)
	}
}

// private starts a server of the test's own, whose settings change.
func private(t *testing.T, opts ...servers.Option) *servers.Redis {
	t.Helper()
	s, err := servers.StartRedis(opts...)
	must(t, err)
	t.Cleanup(s.Stop)
	return s
}

func do(t *testing.T, s *servers.Redis, command string, args ...any) {
	t.Helper()
	if _, err := s.Do(command, args...); err != nil {
		t.Fatal(err)
	}
}

// TestServerErrors: errors that a real server makes, in answer to a commit that writes and to single statements. No
// write takes effect.
func TestServerErrors(t *testing.T) {
	s := private(t)
	database := drivertest.Open(t, driver{}, s.DSN(), "")
	for _, tc := range []struct {
		on, off []any
		class   drivers.Class
		cause   string
		broken  bool
	}{
		{[]any{"CONFIG", "SET", "min-replicas-to-write", 1}, []any{"CONFIG", "SET", "min-replicas-to-write", 0}, drivers.Aborted, "NOREPLICAS", false},
		{[]any{"CONFIG", "SET", "maxmemory", 1}, []any{"CONFIG", "SET", "maxmemory", 0}, drivers.Fatal, "OOM", true},
		{[]any{"REPLICAOF", "127.0.0.1", 1}, []any{"REPLICAOF", "NO", "ONE"}, drivers.Aborted, "READONLY", true},
		{[]any{"ACL", "SETUSER", "default", "-set"}, []any{"ACL", "SETUSER", "default", "+set"}, drivers.Fatal, "NOPERM", true},
	} {
		t.Run(tc.cause, func(t *testing.T) {
			tx := begin(t, database)
			_, _, err := tx.Read(ctx, "a")
			must(t, err)
			must(t, tx.Insert(ctx, "written", 2))
			light := drivertest.Light(t, database)
			do(t, s, tc.on[0].(string), tc.on[1:]...)
			commit := tx.Commit(ctx)
			_, insert := light.InsertIfAbsent(ctx, "written", 2)
			var set error
			if drivers.AsError(insert).Broken {
				light = nil
			} else {
				_, set = light.CompareAndSet(ctx, "a", 1, 100)
			}
			do(t, s, tc.off[0].(string), tc.off[1:]...)
			for what, err := range map[string]error{"commit": commit, "insert": insert, "compare and set": set} {
				if what == "compare and set" && light == nil {
					continue
				}
				if e := drivers.AsError(err); err == nil || e.Class != tc.class || e.Cause != tc.cause || e.Broken != tc.broken {
					t.Errorf("%s: %+v", what, e)
				}
			}
			after := begin(t, database)
			if _, found, err := after.Read(ctx, "written"); err != nil || found {
				t.Errorf("the write is there: %v, %v", found, err)
			}
			if v, _, err := after.Read(ctx, "a"); err != nil || v != 1 {
				t.Errorf("a is %d, %v", v, err)
			}
		})
	}
	t.Run("BUSY", func(t *testing.T) {
		do(t, s, "CONFIG", "SET", "busy-reply-threshold", 1)
		tx := begin(t, database)
		must(t, tx.Insert(ctx, "written", 2))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = s.Do("EVAL", "while true do end", 0)
		}()
		commit := tx.Commit(ctx)
		for commit == nil { // the script had not begun
			time.Sleep(time.Millisecond)
			commit = tx.Commit(ctx)
		}
		do(t, s, "SCRIPT", "KILL")
		<-ended
		drivertest.Class(t, "commit", commit, drivers.Aborted, false)
	})
	t.Run("clients", func(t *testing.T) {
		// The connection that changes the limit is there before.
		must(t, database.(*db).admin(ctx, func(ctx context.Context, c *conn) error {
			if _, err := c.one(ctx, "CONFIG", "SET", "maxclients", 1); err != nil {
				return err
			}
			_, err := database.Connect(ctx)
			if e := drivers.AsError(err); err == nil || !e.Full || e.Class != drivers.Aborted || !e.Broken {
				t.Errorf("%+v", err)
			}
			_, err = c.one(ctx, "CONFIG", "SET", "maxclients", 1000)
			return err
		}))
	})
}

// breaking is a connection whose writes or reads can be made to fail.
type breaking struct {
	net.Conn
	write, read *atomic.Bool
}

func (b breaking) Write(p []byte) (int, error) {
	if b.write.Load() {
		b.Conn.Close()
		return 0, errors.New("the network is down")
	}
	return b.Conn.Write(p)
}

func (b breaking) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if b.read.Load() {
		b.Conn.Close()
		return 0, errors.New("the network is down")
	}
	return n, err
}

// TestLostConnection: when the answer to a write is lost, its outcome is unknown, and it may be there. Before the
// commit, and in a transaction that only read, it is an abort.
func TestLostConnection(t *testing.T) {
	var write, read atomic.Bool
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return breaking{c, &write, &read}, err
	}
	db, err := driver{}.Open(ctx, drivers.Config{DSN: server.DSN(), Isolation: watch, Dial: dial})
	must(t, err)
	must(t, db.Create(ctx, func(yield func(string, int64) bool) { yield("a", 1) }))
	t.Cleanup(func() { must(t, db.Close(ctx)) })
	is := func(want int64) {
		t.Helper()
		read.Store(false)
		write.Store(false)
		if v, _, err := begin(t, db).Read(ctx, "a"); err != nil || v != want {
			t.Errorf("a is %d, %v; want %d", v, err, want)
		}
	}
	tx := begin(t, db)
	_, err = tx.Update(ctx, "a", 2)
	must(t, err)
	read.Store(true)
	drivertest.Class(t, "the answer to EXEC is lost", tx.Commit(ctx), drivers.OutcomeUnknown, true)
	is(2)
	light := drivertest.Light(t, db)
	read.Store(true)
	_, err = light.CompareAndSet(ctx, "a", 2, 3)
	drivertest.Class(t, "the answer to EVAL is lost", err, drivers.OutcomeUnknown, true)
	is(3)
	tx = begin(t, db)
	read.Store(true)
	_, _, err = tx.Read(ctx, "a")
	drivertest.Class(t, "the answer to a read is lost", err, drivers.Aborted, true)
	read.Store(false)
	tx = begin(t, db)
	_, _, err = tx.Read(ctx, "a")
	must(t, err)
	read.Store(true)
	drivertest.Class(t, "a transaction that only read", tx.Commit(ctx), drivers.Aborted, true)
	read.Store(false)
	tx = begin(t, db)
	_, err = tx.Update(ctx, "a", 4)
	must(t, err)
	write.Store(true)
	drivertest.Class(t, "EXEC may have been sent", tx.Commit(ctx), drivers.OutcomeUnknown, true)
	is(3)
	tx = begin(t, db)
	_, err = tx.Update(ctx, "a", 4)
	must(t, err)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	drivertest.Class(t, "the time was over before", tx.Commit(ended), drivers.Aborted, true)
	is(3)
	tx = begin(t, db)
	for n := range 100_000 { // more than fits into a buffer: it is sent in parts
		must(t, tx.Insert(ctx, strings.Repeat("x", 20)+string(rune(n)), 1))
	}
	write.Store(true)
	drivertest.Class(t, "the connection broke before EXEC was sent", tx.Commit(ctx), drivers.Aborted, true)
	is(3)
}

// TestTimeout: a server that does not answer ends a call when its time is over.
func TestTimeout(t *testing.T) {
	s := private(t)
	db := drivertest.Open(t, driver{}, s.DSN(), "")
	tx := begin(t, db)
	_, err := tx.Update(ctx, "a", 2)
	must(t, err)
	resume, err := s.Pause(false)
	must(t, err)
	defer resume()
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	err = tx.Commit(short)
	drivertest.Class(t, "no answer", err, drivers.OutcomeUnknown, true)
	if e := drivers.AsError(err); e.Cause != "call timed out" {
		t.Error(e.Cause)
	}
}
