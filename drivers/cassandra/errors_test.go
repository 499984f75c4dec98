package cassandra

import (
	"context"
	"testing"
	"time"

	"github.com/datastax/go-cassandra-native-protocol/message"
	"github.com/datastax/go-cassandra-native-protocol/primitive"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/internal/cqltest"
)

const serial, quorum = primitive.ConsistencyLevelSerial, primitive.ConsistencyLevelQuorum

// TestErrors compares the class of an error of a conditional statement with what the server did,
// and checks that the statement was sent once.
func TestErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		fault  cqltest.Fault
		class  drivers.Class
		broken bool
		cause  string
	}{
		"timed out while proposing":  {cqltest.Fault{Error: &message.WriteTimeout{Consistency: serial, BlockFor: 2, WriteType: primitive.WriteTypeCas}}, drivers.OutcomeUnknown, false, "write timeout CAS"},
		"timed out, yet proposed":    {cqltest.Fault{Executed: true, Error: &message.WriteTimeout{Consistency: serial, BlockFor: 2, WriteType: primitive.WriteTypeCas}}, drivers.OutcomeUnknown, false, "write timeout CAS"},
		"timed out while writing":    {cqltest.Fault{Executed: true, Error: &message.WriteTimeout{Consistency: quorum, BlockFor: 2, WriteType: primitive.WriteTypeSimple}}, drivers.OutcomeUnknown, false, "write timeout SIMPLE"},
		"read timeout":               {cqltest.Fault{Error: &message.ReadTimeout{Consistency: serial, BlockFor: 2}}, drivers.OutcomeUnknown, false, "read timeout"},
		"write failure":              {cqltest.Fault{Executed: true, Error: &message.WriteFailure{Consistency: quorum, BlockFor: 2, NumFailures: 1, WriteType: primitive.WriteTypeCas}}, drivers.OutcomeUnknown, false, "write failure"},
		"unavailable":                {cqltest.Fault{Error: &message.Unavailable{Consistency: serial, Required: 2, Alive: 1}}, drivers.OutcomeUnknown, false, "unavailable"},
		"unavailable when it writes": {cqltest.Fault{Executed: true, Error: &message.Unavailable{Consistency: quorum, Required: 2, Alive: 1}}, drivers.OutcomeUnknown, false, "unavailable"},
		"overloaded":                 {cqltest.Fault{Executed: true, Error: &message.Overloaded{}}, drivers.OutcomeUnknown, false, "overloaded"},
		"server error":               {cqltest.Fault{Executed: true, Error: &message.ServerError{}}, drivers.OutcomeUnknown, false, "server error"},
		"not permitted":              {cqltest.Fault{Error: &message.Unauthorized{}}, drivers.Fatal, false, "unauthorized"},
		"not valid":                  {cqltest.Fault{Error: &message.Invalid{}}, drivers.Fatal, false, "invalid"},
		"answer lost":                {cqltest.Fault{Executed: true}, drivers.OutcomeUnknown, true, "connection lost"},
		"request lost":               {cqltest.Fault{}, drivers.OutcomeUnknown, true, "connection lost"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			db := drivertest.Open(t, driver{}, dsn(s), "")
			for begins, run := range map[string]func(drivers.LWT) (bool, error){
				"UPDATE": func(l drivers.LWT) (bool, error) { return l.CompareAndSet(ctx, "a", 1, 10) },
				"INSERT": func(l drivers.LWT) (bool, error) { return l.InsertIfAbsent(ctx, "new", 10) },
			} {
				l := drivertest.Light(t, db)
				s.Forget()
				f := tc.fault
				f.Begins = begins
				s.Inject(f)
				applied, err := run(l)
				drivertest.Class(t, begins, err, tc.class, tc.broken)
				if e := drivers.AsError(err); applied || e.Cause != tc.cause {
					t.Errorf("%s: %v, cause %q", begins, applied, e.Cause)
				}
				if n := len(s.Statements(begins)); n != 1 {
					t.Errorf("%s was sent %d times", begins, n)
				}
				s.Heal()
			}
			l := drivertest.Light(t, db)
			for _, key := range []string{"a", "new"} {
				if v, _, err := l.ReadOne(ctx, key); err != nil || (v == 10) != tc.fault.Executed {
					t.Errorf("%s is %d, %v, though executed is %v", key, v, err, tc.fault.Executed)
				}
			}
		})
	}
}

// TestReadErrors: a read that fails has no effect.
func TestReadErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		fault  cqltest.Fault
		class  drivers.Class
		broken bool
	}{
		"timed out":     {cqltest.Fault{Error: &message.ReadTimeout{Consistency: serial, BlockFor: 2}}, drivers.Aborted, false},
		"unavailable":   {cqltest.Fault{Error: &message.Unavailable{Consistency: serial, Required: 2, Alive: 1}}, drivers.Aborted, false},
		"bootstrapping": {cqltest.Fault{Error: &message.IsBootstrapping{}}, drivers.Aborted, false},
		"not permitted": {cqltest.Fault{Error: &message.Unauthorized{}}, drivers.Fatal, false},
		"cut":           {cqltest.Fault{}, drivers.Aborted, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			l := drivertest.Light(t, drivertest.Open(t, driver{}, dsn(s), ""))
			tc.fault.Begins = "SELECT"
			s.Inject(tc.fault)
			_, _, err := l.ReadOne(ctx, "a")
			drivertest.Class(t, "read", err, tc.class, tc.broken)
		})
	}
}

// TestTimesOut: the call ends before the server answers.
func TestTimesOut(t *testing.T) {
	s := start(t)
	hold := make(chan struct{})
	l := drivertest.Light(t, drivertest.Open(t, driver{}, dsn(s), ""))
	s.Inject(cqltest.Fault{Begins: "UPDATE", Hold: hold, Executed: true})
	defer close(hold)
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_, err := l.CompareAndSet(short, "a", 1, 10)
	drivertest.Class(t, "update", err, drivers.OutcomeUnknown, true)
	if e := drivers.AsError(err); e.Cause != "call timed out" {
		t.Errorf("cause %q", e.Cause)
	}
}

// TestNoConnection: the client does not reconnect a session that lost its connection, and
// statements that were not sent have no effect.
func TestNoConnection(t *testing.T) {
	s := start(t)
	l := drivertest.Light(t, drivertest.Open(t, driver{}, dsn(s), ""))
	s.Inject(cqltest.Fault{Begins: "UPDATE", Times: 1})
	_, err := l.CompareAndSet(ctx, "a", 1, 10)
	drivertest.Class(t, "connection cut", err, drivers.OutcomeUnknown, true)
	s.Forget()
	for range 20 {
		_, err := l.CompareAndSet(ctx, "a", 1, 10)
		if e := drivers.AsError(err); err == nil || !e.Broken {
			t.Fatalf("the session is back: %v", err)
		}
	}
	for range 100 { // until the client has noticed that the connection is gone
		if _, err = l.CompareAndSet(ctx, "a", 1, 10); drivers.AsError(err).Class == drivers.Aborted {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	drivertest.Class(t, "not sent", err, drivers.Aborted, true)
	if n := len(s.Statements("UPDATE")); n > 0 {
		t.Errorf("%d statements arrived", n)
	}
}
