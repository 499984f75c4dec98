package mongo

import (
	"runtime"
	"sync"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/internal/mongotest"
)

func TestLightweight(t *testing.T) { drivertest.Lightweight(t, driver{}, start(t).URI()) }

func lightweight(t *testing.T, dsn, isolation string) drivers.LWT {
	t.Helper()
	return drivertest.Light(t, drivertest.Open(t, driver{}, dsn, isolation))
}

// TestLWT: values are compared, keys are inserted once, and the concerns are
// those of the isolation.
func TestLWT(t *testing.T) {
	for _, iso := range isolations {
		t.Run(iso.Name, func(t *testing.T) {
			s := start(t)
			l := lightweight(t, s.URI(), iso.Name)
			s.Forget()
			holds := func(key string, want int64, there bool) {
				t.Helper()
				if v, found, err := l.ReadOne(ctx, key); v != want || found != there || err != nil {
					t.Errorf("%q is %d, %v, %v; want %d, %v", key, v, found, err, want, there)
				}
			}
			applied := func(want bool) func(bool, error) {
				return func(got bool, err error) {
					t.Helper()
					if got != want || err != nil {
						t.Errorf("applied: %v, %v; want %v", got, err, want)
					}
				}
			}
			applied(true)(l.CompareAndSet(ctx, "a", 1, 10))
			applied(false)(l.CompareAndSet(ctx, "a", 1, 11))
			applied(true)(l.CompareAndSet(ctx, "a", 10, 10))
			holds("a", 10, true)
			applied(false)(l.CompareAndSet(ctx, "new", 0, 1))
			holds("new", 0, false)
			applied(true)(l.InsertIfAbsent(ctx, "new", 5))
			applied(false)(l.InsertIfAbsent(ctx, "new", 6))
			holds("new", 5, true)
			for _, c := range s.Commands("find") {
				if level := c.Body.Lookup("readConcern", "level").StringValue(); level != iso.read {
					t.Errorf("read concern %s", level)
				}
			}
			for _, c := range s.Commands("update", "insert") {
				if concern(c.Body.Lookup("writeConcern", "w")) != iso.write {
					t.Errorf("write concern of %v", c.Body)
				}
			}
		})
	}
}

// TestLWTErrors compares the class of an error of a write with what the server did, and with how
// often the client sent it.
func TestLWTErrors(t *testing.T) {
	var together sync.WaitGroup
	const no = "&retryWrites=false"
	applied := drivers.Class(-1) // no error
	for name, tc := range map[string]struct {
		fault  mongotest.Fault
		dsn    string
		class  drivers.Class
		effect bool
		sent   int
		broken bool
	}{
		"answer lost":                     {mongotest.Fault{LoseAnswer: true}, "", applied, true, 2, false},
		"answer lost, not repeated":       {mongotest.Fault{LoseAnswer: true}, no, drivers.OutcomeUnknown, true, 1, true},
		"cut before":                      {mongotest.Fault{CloseConnection: true}, "", applied, true, 2, false},
		"cut before, not repeated":        {mongotest.Fault{CloseConnection: true}, no, drivers.OutcomeUnknown, false, 1, true},
		"always cut":                      {mongotest.Fault{CloseConnection: true, Times: -1}, "", drivers.OutcomeUnknown, false, 2, true},
		"answer lost, then refused":       {mongotest.Fault{LoseAnswer: true, RefuseThen: true}, "", drivers.OutcomeUnknown, true, 1, true},
		"stepped down":                    {mongotest.Fault{Code: mongotest.PrimarySteppedDown}, "", applied, true, 2, false},
		"stepped down, not repeated":      {mongotest.Fault{Code: mongotest.PrimarySteppedDown}, no, drivers.OutcomeUnknown, false, 1, false},
		"conflict":                        {mongotest.Fault{Code: mongotest.WriteConflict}, "", drivers.Aborted, false, 1, false},
		"not the primary, not repeated":   {mongotest.Fault{Code: mongotest.NotWritablePrimary}, no, drivers.Aborted, false, 1, false},
		"not permitted":                   {mongotest.Fault{Code: mongotest.Unauthorized}, "", drivers.Fatal, false, 1, false},
		"took too long":                   {mongotest.Fault{Code: mongotest.MaxTimeMSExpired}, "", drivers.OutcomeUnknown, false, 1, false},
		"not known":                       {mongotest.Fault{Code: 8}, "", drivers.OutcomeUnknown, false, 1, false},
		"write concern not fulfilled":     {mongotest.Fault{WriteConcernError: mongotest.WriteConcernTimeout}, "", drivers.OutcomeUnknown, true, 1, false},
		"stepped down when replicated":    {mongotest.Fault{WriteConcernError: mongotest.PrimarySteppedDown}, "", applied, true, 2, false},
		"stepped down when replicated, -": {mongotest.Fault{WriteConcernError: mongotest.PrimarySteppedDown}, no, drivers.OutcomeUnknown, true, 1, false},
	} {
		together.Go(func() {
			t.Run(name, func(t *testing.T) {
				for _, op := range []struct {
					command string
					key     string
					run     func(drivers.LWT) (bool, error)
				}{
					{"update", "a", func(l drivers.LWT) (bool, error) { return l.CompareAndSet(ctx, "a", 1, 10) }},
					{"insert", "new", func(l drivers.LWT) (bool, error) { return l.InsertIfAbsent(ctx, "new", 10) }},
				} {
					s := start(t)
					l := lightweight(t, s.URI()+tc.dsn, "")
					f := tc.fault
					f.Commands = []string{op.command}
					switch f.Times {
					case 0:
						f.Times = 1
					case -1:
						f.Times = 0
					}
					s.Forget()
					s.Inject(f)
					ok, err := op.run(l)
					if tc.class != applied {
						drivertest.Class(t, op.command, err, tc.class, tc.broken)
					} else if !ok || err != nil {
						t.Errorf("%s: %v, %v", op.command, ok, err)
					}
					if n := len(s.Commands(op.command)); n != tc.sent {
						t.Errorf("%s was sent %d times, want %d", op.command, n, tc.sent)
					}
					s.Heal()
					v, _, err := l.ReadOne(ctx, op.key)
					if err != nil || (v == 10) != tc.effect {
						t.Errorf("%s: %s is %d, %v, though the effect is %v", op.command, op.key, v, err, tc.effect)
					}
				}
			})
		})
	}
	together.Wait()
}

// TestLastAnswer: the server's answer to the second attempt says nothing about the first.
func TestLastAnswer(t *testing.T) {
	s := start(t)
	l := lightweight(t, s.URI(), "")
	s.Inject(mongotest.Fault{Commands: []string{"update"}, Times: 1, LoseAnswer: true})
	s.Inject(mongotest.Fault{Commands: []string{"update"}, Times: 1, Code: mongotest.WriteConflict})
	_, err := l.CompareAndSet(ctx, "a", 1, 10)
	drivertest.Class(t, "update", err, drivers.OutcomeUnknown, false)
	if v, _, err := l.ReadOne(ctx, "a"); v != 10 || err != nil {
		t.Errorf("a is %d, %v", v, err)
	}
}

// TestUnconfirmedDuplicate: a key whose existence no majority confirms may disappear again.
func TestUnconfirmedDuplicate(t *testing.T) {
	s := start(t)
	l := lightweight(t, s.URI(), "")
	s.Inject(mongotest.Fault{Commands: []string{"insert"}, WriteConcernError: mongotest.WriteConcernTimeout})
	_, err := l.InsertIfAbsent(ctx, "a", 10)
	drivertest.Class(t, "insert", err, drivers.OutcomeUnknown, false)
}

// TestWaits: a lightweight write waits for the end of a transaction that wrote
// the same key, and is not lost.
func TestWaits(t *testing.T) {
	s := start(t)
	db := drivertest.Open(t, driver{}, s.URI(), "")
	tx := drivertest.Begin(t, db)
	if _, err := tx.Update(ctx, "a", 9); err != nil {
		t.Fatal(err)
	}
	session, err := db.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	done := make(chan bool)
	go func() {
		ok, err := session.(drivers.LWT).CompareAndSet(ctx, "a", 9, 10)
		done <- ok && err == nil
	}()
	for len(s.Commands("update")) < 2 {
		runtime.Gosched()
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if !<-done {
		t.Error("the compare-and-set was not applied to what the transaction left")
	}
}
