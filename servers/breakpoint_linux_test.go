package servers

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func connect(t *testing.T, s Server) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func do(t *testing.T, c *pgx.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := c.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// mayTrace skips a test where processes may not be traced, as in a container without that capability.
func mayTrace(t *testing.T, err error) {
	t.Helper()
	if err != nil && strings.Contains(err.Error(), "not permitted") {
		t.Skip(err)
	}
}

// TestBreak: sessions stop at a function until that is ended. Then they go on, and the server lives.
func TestBreak(t *testing.T) {
	here(t)
	s, err := StartPostgres()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	all := []*pgx.Conn{connect(t, s), connect(t, s), connect(t, s)}
	do(t, all[0], "CREATE TABLE t (k int)")
	if _, err := s.Break(t.Context(), "NoSuchFunction", time.Second); err == nil || !strings.Contains(err.Error(), `"NoSuchFunction" not defined`) {
		mayTrace(t, err)
		t.Errorf("a function that the server does not have: %v", err)
	}
	const hold = 300 * time.Millisecond
	ctx, end := context.WithCancel(t.Context())
	var stops int
	ended := make(chan error, 1)
	go func() {
		var err error
		stops, err = s.Break(ctx, "ProcArrayEndTransaction", hold)
		ended <- err
	}()
	slow := func() (n int) {
		for _, c := range all {
			begun := time.Now()
			do(t, c, "INSERT INTO t VALUES (1)")
			if time.Since(begun) >= hold {
				n++
			}
		}
		return n
	}
	// Two of the three sessions: the second debugger is attached some time after the first.
	for deadline := time.Now().Add(30 * time.Second); slow() < 2; {
		if time.Now().After(deadline) {
			t.Fatal("fewer than two sessions are stopped")
		}
	}
	end()
	if err := <-ended; err != nil || stops < 2 {
		t.Errorf("%d stops, %v", stops, err)
	}
	slow() // what was on its way
	begun := time.Now()
	do(t, all[0], "INSERT INTO t VALUES (1)")
	do(t, all[1], "INSERT INTO t VALUES (1)")
	do(t, all[2], "INSERT INTO t VALUES (1)")
	if took := time.Since(begun); took >= 3*hold {
		t.Errorf("three commits took %s after the end", took)
	}
}

// TestCommitWindow: PostgreSQL's serializable lets a cycle of three transactions commit, if one of them (first) is stopped
// where others already see its commit, and the record of its read-write conflicts is not yet closed. docs/found.md explains it.
// The version is an old one, so that the test does not depend on when this is mended.
func TestCommitWindow(t *testing.T) {
	here(t)
	s, err := StartPostgres(Exact("15.3"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	do(t, connect(t, s), "CREATE TABLE t (k text PRIMARY KEY, v int)", "INSERT INTO t VALUES ('a', 0), ('b', 0)")
	for _, stopped := range []bool{false, true} {
		first, second, reader := connect(t, s), connect(t, s), connect(t, s)
		for _, c := range []*pgx.Conn{first, second, reader} {
			do(t, c, "SET default_transaction_isolation = 'serializable'", "SET enable_seqscan = off")
		}
		value := func(c *pgx.Conn, key string) (v int, err error) {
			return v, c.QueryRow(t.Context(), "SELECT v FROM t WHERE k = $1", key).Scan(&v)
		}
		see := func(c *pgx.Conn, key string) int {
			t.Helper()
			v, err := value(c, key)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		// second read b before first wrote it, so it comes before first.
		do(t, second, "UPDATE t SET v = 0", "BEGIN")
		see(second, "b")
		do(t, second, "UPDATE t SET v = 1 WHERE k = 'a'")
		do(t, first, "BEGIN", "UPDATE t SET v = 1 WHERE k = 'b'")
		b := &breaks{server: s, function: "ReleasePredicateLocks", hold: 5 * time.Second, at: map[int]*debugger{}}
		if stopped {
			s.traced.claim(int(first.PgConn().PID()))
			if err := b.attach(t.Context(), int(first.PgConn().PID())); err != nil {
				mayTrace(t, err)
				t.Fatal(err)
			}
		}
		committed := make(chan error, 1)
		go func() {
			_, err := first.Exec(context.Background(), "COMMIT")
			committed <- err
		}()
		// reader saw what first wrote, so it comes after first.
		for do(t, reader, "BEGIN"); see(reader, "b") == 0; do(t, reader, "ROLLBACK", "BEGIN") {
			time.Sleep(time.Millisecond)
		}
		if !stopped {
			if err := <-committed; err != nil {
				t.Fatal(err)
			}
			committed <- nil
		} else if len(committed) > 0 {
			t.Fatal("first was not stopped while others saw its commit")
		}
		do(t, second, "COMMIT")
		if err := <-committed; err != nil {
			t.Fatal(err)
		}
		b.detach()
		// reader did not see what second wrote, so it would come before second: a cycle.
		v, err := value(reader, "a")
		if err == nil {
			_, err = reader.Exec(t.Context(), "COMMIT")
		}
		var refused *pgconn.PgError
		switch {
		case stopped && (err != nil || v != 0):
			t.Errorf("the reader found a = %d, %v: the cycle was found or not made", v, err)
		case !stopped && (!errors.As(err, &refused) || refused.Code != "40001"):
			t.Errorf("without a stop the cycle committed: a = %d, %v", v, err)
		}
	}
}
