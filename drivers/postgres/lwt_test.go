package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
)

func TestLightweight(t *testing.T) { drivertest.Lightweight(t, driver{}, server.DSN()) }

// TestLightweightIsolation asks the server at which isolation single statements
// run.
func TestLightweightIsolation(t *testing.T) {
	for _, iso := range (driver{}).Info().Isolations {
		s := drivertest.Light(t, drivertest.Open(t, driver{}, server.DSN(), iso.Name)).(*session)
		var got string
		if err := s.c.QueryRow(ctx, "SHOW transaction_isolation").Scan(&got); err != nil || got != iso.Name {
			t.Errorf("%s was requested, %s is in effect (%v)", iso.Name, got, err)
		}
	}
}

func execute(t *testing.T, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if err := server.Admin(func(ctx context.Context, c *pgx.Conn) error {
			_, err := c.Exec(ctx, sql)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLightweightFailsAtCommit: the row count is sent before the commit. If the commit then
// fails, nothing was applied.
func TestLightweightFailsAtCommit(t *testing.T) {
	d := drivertest.Open(t, driver{}, server.DSN(), "").(*db)
	s := drivertest.Light(t, d)
	name := pgx.Identifier{d.schema}.Sanitize()
	execute(t, "CREATE FUNCTION "+name+`.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF NEW.v = 99 THEN RAISE serialization_failure; END IF; RETURN NULL; END $$`,
		"CREATE CONSTRAINT TRIGGER late AFTER INSERT OR UPDATE ON "+name+".kv DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE PROCEDURE "+name+".refuse()")
	for range 3 { // the first statement prepares, the others do not
		applied, err := s.InsertIfAbsent(ctx, "new", 99)
		drivertest.Class(t, "insertion", err, drivers.Aborted, false)
		if applied {
			t.Error("an insertion that failed at its commit is called applied")
		}
		if applied, err = s.CompareAndSet(ctx, "a", 1, 99); applied {
			t.Error("a compare-and-set that failed at its commit is called applied")
		}
		drivertest.Class(t, "compare-and-set", err, drivers.Aborted, false)
	}
	if applied, err := s.CompareAndSet(ctx, "a", 1, 98); !applied || err != nil {
		t.Errorf("the session does not go on: %v, %v", applied, err)
	}
}

// TestLightweightErrors: a write without an answer has an unknown outcome, a read never does. A
// refused statement had no effect.
func TestLightweightErrors(t *testing.T) {
	d := drivertest.Open(t, driver{}, server.DSN(), "").(*db)
	kill := func(s drivers.LWT) drivers.LWT {
		admin(t, "SELECT pg_terminate_backend($1)::int", s.(*session).c.PgConn().PID())
		return s
	}
	_, _, err := kill(drivertest.Light(t, d)).ReadOne(ctx, "a")
	drivertest.Class(t, "connection cut before a read", err, drivers.Aborted, true)
	_, err = kill(drivertest.Light(t, d)).CompareAndSet(ctx, "a", 1, 2)
	drivertest.Class(t, "connection cut before a compare-and-set", err, drivers.OutcomeUnknown, true)
	_, err = kill(drivertest.Light(t, d)).InsertIfAbsent(ctx, "new", 2)
	drivertest.Class(t, "connection cut before an insertion", err, drivers.OutcomeUnknown, true)

	// A lock keeps the statement from being answered in time.
	holder := drivertest.Begin(t, d)
	if _, err := holder.Update(ctx, "a", 50); err != nil {
		t.Fatal(err)
	}
	late := drivertest.Light(t, d)
	short, cancel := context.WithTimeout(ctx, 500*time.Millisecond) // long enough for the statement to be sent
	defer cancel()
	_, err = late.CompareAndSet(short, "a", 1, 2)
	drivertest.Class(t, "a compare-and-set that takes too long", err, drivers.OutcomeUnknown, true)
	_, err = drivertest.Light(t, d).CompareAndSet(short, "a", 1, 2) // the deadline has already passed
	drivertest.Class(t, "a compare-and-set that was never sent", err, drivers.Aborted, true)
	waiting := drivertest.Light(t, d)
	if _, err := waiting.(*session).c.Exec(ctx, "SET lock_timeout = '20ms'"); err != nil {
		t.Fatal(err)
	}
	_, err = waiting.CompareAndSet(ctx, "a", 1, 2)
	drivertest.Class(t, "a lock that is not available", err, drivers.Aborted, false)
	if err := holder.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if v, _, err := drivertest.Light(t, d).ReadOne(ctx, "a"); v != 1 && v != 2 || err != nil {
		t.Errorf("%d, %v", v, err)
	}

	execute(t, "DROP TABLE "+pgx.Identifier{d.schema}.Sanitize()+".kv")
	_, err = drivertest.Light(t, d).CompareAndSet(ctx, "a", 1, 2)
	drivertest.Class(t, "a table that is gone", err, drivers.Fatal, false)
}
