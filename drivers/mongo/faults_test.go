package mongo

import (
	"strings"
	"sync"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/internal/mongotest"
)

// TestStatementErrors: after any error before a commit, the transaction is aborted; only an
// error that a retry cannot fix is fatal.
func TestStatementErrors(t *testing.T) {
	var together sync.WaitGroup // the client waits most of the time, 500 ms after each broken connection
	for name, tc := range map[string]struct {
		fault  mongotest.Fault
		class  drivers.Class
		broken bool
		cause  string
	}{
		"conflict":          {mongotest.Fault{Code: mongotest.WriteConflict}, drivers.Aborted, false, "112 WriteConflict"},
		"lock":              {mongotest.Fault{Code: mongotest.LockTimeout}, drivers.Aborted, false, "24 LockTimeout"},
		"prepared":          {mongotest.Fault{Code: mongotest.PreparedTransactionInProgress}, drivers.Aborted, false, "267"},
		"no snapshot":       {mongotest.Fault{Code: mongotest.SnapshotUnavailable}, drivers.Aborted, false, "246 SnapshotUnavailable"},
		"gone":              {mongotest.Fault{Code: mongotest.NoSuchTransaction}, drivers.Aborted, false, "251 NoSuchTransaction"},
		"stepped down":      {mongotest.Fault{Code: mongotest.PrimarySteppedDown}, drivers.Aborted, false, "189"},
		"too long":          {mongotest.Fault{Code: mongotest.MaxTimeMSExpired}, drivers.Aborted, false, "50 MaxTimeMSExpired"},
		"without label":     {mongotest.Fault{Code: mongotest.WriteConflict, Labels: []string{}}, drivers.Aborted, false, "112"},
		"not permitted":     {mongotest.Fault{Code: mongotest.Unauthorized}, drivers.Fatal, false, "13 Unauthorized"},
		"connection cut":    {mongotest.Fault{CloseConnection: true}, drivers.Aborted, true, "connection lost"},
		"answer lost":       {mongotest.Fault{LoseAnswer: true}, drivers.Aborted, true, "connection lost"},
		"server goes away":  {mongotest.Fault{CloseConnection: true, RefuseThen: true}, drivers.Aborted, true, "connection lost"},
		"client overloaded": {mongotest.Fault{Code: 462, Labels: []string{"SystemOverloadedError", "RetryableError"}}, drivers.Aborted, false, "error 462"},
	} {
		together.Go(func() {
			t.Run(name, func(t *testing.T) {
				for _, command := range []string{"find", "update", "insert", "delete"} {
					s := start(t)
					tx := drivertest.Begin(t, drivertest.Open(t, driver{}, s.URI(), ""))
					if _, err := tx.Update(ctx, "A", 9); err != nil {
						t.Fatal(err)
					}
					s.Forget()
					f := tc.fault
					f.Commands = []string{command}
					s.Inject(f)
					err := statement(tx, command)
					drivertest.Class(t, command, err, tc.class, tc.broken)
					if e := drivers.AsError(err); !strings.Contains(e.Cause, tc.cause) {
						t.Errorf("%s: cause %q", command, e.Cause)
					}
					if n := len(s.Commands(command)); n != 1 {
						t.Errorf("%s was sent %d times", command, n)
					}
					s.Heal()
					if err := tx.Rollback(ctx); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
	together.Wait()
}

func statement(tx drivers.Tx, command string) (err error) {
	switch command {
	case "find":
		_, _, err = tx.Read(ctx, "a")
	case "update":
		_, err = tx.Update(ctx, "a", 5)
	case "insert":
		err = tx.Insert(ctx, "new", 5)
	case "delete":
		_, err = tx.Delete(ctx, "a")
	}
	return err
}

// TestAbort: after an error that the server does not know of, closing the session aborts its
// transaction, so that its writes do not block others.
func TestAbort(t *testing.T) {
	s := start(t)
	db := drivertest.Open(t, driver{}, s.URI(), "")
	session, err := db.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := session.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Update(ctx, "a", 9); err != nil {
		t.Fatal(err)
	}
	s.Inject(mongotest.Fault{Commands: []string{"find"}, Times: 1, LoseAnswer: true})
	_, _, err = tx.Read(ctx, "A")
	drivertest.Class(t, "answer lost", err, drivers.Aborted, true)
	session.Close()
	other := drivertest.Begin(t, db)
	if _, err := other.Update(ctx, "a", 10); err != nil {
		t.Errorf("the transaction is still open: %v", err)
	}
}

func TestDuplicate(t *testing.T) {
	db := drivertest.Open(t, driver{}, start(t).URI(), "")
	tx := drivertest.Begin(t, db)
	err := tx.Insert(ctx, "a", 5)
	drivertest.Class(t, "duplicate key", err, drivers.Aborted, false)
	if e := drivers.AsError(err); e.Cause != "11000 DuplicateKey" {
		t.Errorf("cause %q", e.Cause)
	}
	_, _, err = tx.Read(ctx, "a")
	drivertest.Class(t, "in a failed transaction", err, drivers.Aborted, false)
}
