package mongo

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/internal/mongotest"
)

// TestCommitErrors compares the class of an error of a commit with what the server did, and with
// how often the client sent it.
func TestCommitErrors(t *testing.T) {
	var together sync.WaitGroup
	const (
		commits = iota // the driver says that it committed
		aborts
		unknown
	)
	code := func(c int32, labels ...string) mongotest.Fault { return mongotest.Fault{Code: c, Labels: labels} }
	for name, tc := range map[string]struct {
		fault   mongotest.Fault
		times   int
		result  int
		applied bool
		sent    int // how often the commit is sent
		broken  bool
	}{
		"as usual":                     {mongotest.Fault{}, 1, commits, true, 1, false},
		"answer lost once":             {mongotest.Fault{LoseAnswer: true}, 1, commits, true, 2, false},
		"cut before, once":             {mongotest.Fault{CloseConnection: true}, 1, commits, true, 2, false},
		"answer lost, always":          {mongotest.Fault{LoseAnswer: true}, 0, unknown, true, 2, true},
		"cut before, always":           {mongotest.Fault{CloseConnection: true}, 0, unknown, false, 2, true},
		"answer lost, then refused":    {mongotest.Fault{LoseAnswer: true, RefuseThen: true}, 1, unknown, true, 1, true},
		"cut before, then refused":     {mongotest.Fault{CloseConnection: true, RefuseThen: true}, 1, unknown, false, 1, true},
		"stepping down, once":          {code(mongotest.PrimarySteppedDown), 1, commits, true, 2, false},
		"stepping down, always":        {code(mongotest.PrimarySteppedDown), 0, unknown, false, 2, false},
		"shutting down, once":          {code(mongotest.ShutdownInProgress), 1, commits, true, 2, false},
		"took too long":                {code(mongotest.MaxTimeMSExpired), 1, unknown, false, 1, false},
		"no write concern in time":     {mongotest.Fault{WriteConcernError: mongotest.WriteConcernTimeout}, 1, unknown, true, 1, false},
		"unsatisfiable write concern":  {mongotest.Fault{WriteConcernError: mongotest.UnsatisfiableWriteConcern}, 1, unknown, true, 1, false},
		"stepped down when replicated": {mongotest.Fault{WriteConcernError: mongotest.InterruptedDueToReplStateChange}, 1, commits, true, 2, false},
		"gone":                         {code(mongotest.NoSuchTransaction), 1, aborts, false, 1, false},
		"gone, but not for a majority": {mongotest.Fault{Code: mongotest.NoSuchTransaction, WriteConcernError: mongotest.WriteConcernTimeout}, 1, unknown, false, 1, false},
		"gone, labelled all the same":  {mongotest.Fault{Code: mongotest.NoSuchTransaction, Labels: []string{transientTransactionError}, WriteConcernError: mongotest.WriteConcernTimeout}, 1, unknown, false, 1, false},
		"no snapshot":                  {code(mongotest.SnapshotUnavailable), 1, aborts, false, 1, false},
		"both labels":                  {code(1, transientTransactionError, unknownTransactionCommitResult), 1, unknown, false, 1, false},
		"not a known error":            {code(8), 1, unknown, false, 1, false},
		"not permitted":                {code(mongotest.Unauthorized), 1, unknown, false, 1, false},
	} {
		together.Go(func() {
			t.Run(name, func(t *testing.T) {
				s := start(t)
				d := drivertest.Open(t, driver{}, s.URI(), "")
				tx := drivertest.Begin(t, d)
				if _, err := tx.Update(ctx, "a", 9); err != nil {
					t.Fatal(err)
				}
				s.Forget()
				if tc.fault.Labels != nil || tc.fault.Code != 0 || name != "as usual" {
					tc.fault.Commands, tc.fault.Times = []string{"commitTransaction"}, tc.times
					s.Inject(tc.fault)
				}
				err := tx.Commit(ctx)
				switch tc.result {
				case commits:
					if err != nil {
						t.Errorf("%v", err)
					}
				case aborts:
					drivertest.Class(t, "commit", err, drivers.Aborted, tc.broken)
				case unknown:
					drivertest.Class(t, "commit", err, drivers.OutcomeUnknown, tc.broken)
				}
				sent := s.Commands("commitTransaction")
				if len(sent) != tc.sent {
					t.Errorf("the commit was sent %d times, want %d", len(sent), tc.sent)
				}
				for _, c := range sent {
					if w, _ := c.Body.Lookup("writeConcern", "w").StringValueOK(); w != "majority" {
						t.Errorf("write concern of %v", c.Body)
					}
				}
				s.Heal()
				v, _, err := drivertest.Begin(t, d).Read(ctx, "a")
				if err != nil || (v == 9) != tc.applied {
					t.Errorf("a is %d, %v, though the commit was applied: %v", v, err, tc.applied)
				}
				tx.(interface{ Close() }).Close()
				if n := len(s.Commands("abortTransaction")); n != 0 {
					t.Errorf("%d aborts after a commit", n)
				}
				if _, err := drivertest.Begin(t, d).Update(ctx, "a", 10); err != nil {
					t.Errorf("the transaction is in the way of others: %v", err)
				}
			})
		})
	}
	together.Wait()
}

// TestRetryAsksForMajority: a commit at write concern w1 is repeated with write concern
// majority, so that the outcome in the second answer is permanent.
func TestRetryAsksForMajority(t *testing.T) {
	s := start(t)
	tx := drivertest.Begin(t, drivertest.Open(t, driver{}, s.URI(), "snapshot, w1"))
	if _, err := tx.Update(ctx, "a", 9); err != nil {
		t.Fatal(err)
	}
	s.Inject(mongotest.Fault{Commands: []string{"commitTransaction"}, Times: 1, LoseAnswer: true})
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	sent := s.Commands("commitTransaction")
	if len(sent) != 2 || concern(sent[0].Body.Lookup("writeConcern", "w")) != 1 || concern(sent[1].Body.Lookup("writeConcern", "w")) != "majority" {
		t.Errorf("%v", sent)
	}
}

// TestRetriesUntilDeadline: with a deadline, a commit is repeated until it.
func TestRetriesUntilDeadline(t *testing.T) {
	s := start(t)
	tx := drivertest.Begin(t, drivertest.Open(t, driver{}, s.URI(), ""))
	if _, err := tx.Update(ctx, "a", 9); err != nil {
		t.Fatal(err)
	}
	s.Inject(mongotest.Fault{Commands: []string{"commitTransaction"}, Times: 3, LoseAnswer: true})
	long, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := tx.Commit(long); err != nil {
		t.Error(err)
	}
	if n := len(s.Commands("commitTransaction")); n != 4 {
		t.Errorf("the commit was sent %d times", n)
	}
}

// TestCommitTimesOut: the call ends before the server answers.
func TestCommitTimesOut(t *testing.T) {
	s := start(t)
	hold := make(chan struct{})
	db := drivertest.Open(t, driver{}, s.URI(), "")
	tx := drivertest.Begin(t, db)
	if _, err := tx.Update(ctx, "a", 9); err != nil {
		t.Fatal(err)
	}
	s.Inject(mongotest.Fault{Commands: []string{"commitTransaction"}, Hold: hold})
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	err := tx.Commit(short)
	drivertest.Class(t, "commit", err, drivers.OutcomeUnknown, true)
	if e := drivers.AsError(err); e.Cause != "call timed out" {
		t.Errorf("cause %q", e.Cause)
	}
	tx.(interface{ Close() }).Close()
	close(hold)
	if n := len(s.Commands("abortTransaction")); n != 0 {
		t.Errorf("%d aborts after a commit", n)
	}
}

// TestServerAborts: a transaction that the server aborted is aborted, and the session remains
// usable.
func TestServerAborts(t *testing.T) {
	s := start(t)
	session, err := drivertest.Open(t, driver{}, s.URI(), "").Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for range 2 {
		tx, err := session.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Update(ctx, "a", 9); err != nil {
			t.Fatal(err)
		}
		s.AbortAll()
		drivertest.Class(t, "commit", tx.Commit(ctx), drivers.Aborted, false)
	}
}

// TestNotSent: a commit that was not sent is aborted.
func TestNotSent(t *testing.T) {
	s := start(t)
	tx := drivertest.Begin(t, drivertest.Open(t, driver{}, s.URI(), ""))
	if _, err := tx.Update(ctx, "a", 9); err != nil {
		t.Fatal(err)
	}
	s.Inject(mongotest.Fault{Commands: []string{"find"}, CloseConnection: true, RefuseThen: true})
	_, _, err := tx.Read(ctx, "a")
	drivertest.Class(t, "connection cut", err, drivers.Aborted, true)
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	drivertest.Class(t, "commit", tx.Commit(short), drivers.Aborted, true)
	if n := len(s.Commands("commitTransaction")); n != 0 {
		t.Errorf("the commit was sent %d times", n)
	}
	s.Heal()
}

// TestOwnLabels: the client gives its own errors, such as "connection pool was cleared", the
// label TransientTransactionError. That says nothing about a commit that was sent before.
func TestOwnLabels(t *testing.T) {
	err := mongo.CommandError{Message: "connection pool was cleared", Labels: []string{transientTransactionError}}
	var sent atomic.Int32
	drivertest.Class(t, "never sent", commitError(err, &sent), drivers.Aborted, true)
	sent.Store(1)
	drivertest.Class(t, "sent", commitError(err, &sent), drivers.OutcomeUnknown, true)
}
