package mongo

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/internal/mongotest"
)

var ctx = context.Background()

func start(t *testing.T) *mongotest.Server {
	t.Helper()
	s, err := mongotest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func TestDriver(t *testing.T) { drivertest.Run(t, driver{}, start(t).URI(), false) }

func TestTables(t *testing.T) { drivertest.Tables(t, driver{}, start(t).URI()) }

func TestCounting(t *testing.T) { drivertest.Counting(t, driver{}, start(t).URI()) }

// TestIsolations checks the requests that the server gets at each isolation: the read concern
// with the first statement, the write concern with the commit, and afterClusterTime in causally
// consistent sessions, from the first transaction on.
func TestIsolations(t *testing.T) {
	for _, iso := range isolations {
		if iso.single {
			continue
		}
		t.Run(iso.Name, func(t *testing.T) {
			s := start(t)
			db := drivertest.Open(t, driver{}, s.URI(), iso.Name)
			session, err := db.Connect(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			var seen int64
			for n := range 2 {
				s.Forget()
				tx, err := session.Begin(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if _, _, err := tx.Read(ctx, "a"); err != nil {
					t.Fatal(err)
				}
				if _, err := tx.Update(ctx, "a", int64(n+7)); err != nil {
					t.Fatal(err)
				}
				if err := tx.Commit(ctx); err != nil {
					t.Fatal(err)
				}
				sent := s.Commands()
				if len(sent) != 3 {
					t.Fatalf("%d commands", len(sent))
				}
				first, second, commit := sent[0].Body, sent[1].Body, sent[2].Body
				for _, c := range sent {
					if auto, ok := c.Body.Lookup("autocommit").BooleanOK(); !ok || auto {
						t.Errorf("%s is not in the transaction: %v", c.Name, c.Body)
					}
				}
				if !first.Lookup("startTransaction").Boolean() || second.Lookup("startTransaction").Type != 0 {
					t.Errorf("not the first statement alone starts: %v, %v", first, second)
				}
				if level, _ := first.Lookup("readConcern", "level").StringValueOK(); level != iso.read || second.Lookup("readConcern").Type != 0 {
					t.Errorf("read concerns in %v, %v", first, second)
				}
				if w := commit.Lookup("writeConcern", "w"); w.Equal(bson.RawValue{}) || concern(w) != iso.write || second.Lookup("writeConcern").Type != 0 {
					t.Errorf("write concerns in %v, %v", second, commit)
				}
				_, after, causal := first.Lookup("readConcern", "afterClusterTime").TimestampOK()
				if causal == iso.acausal || causal && int64(after) <= seen {
					t.Errorf("afterClusterTime is %v %d, after %d", causal, after, seen)
				}
				seen = int64(after)
			}
		})
	}
}

func concern(w bson.RawValue) any {
	if s, ok := w.StringValueOK(); ok {
		return s
	}
	n, _ := w.AsInt64OK()
	return int(n)
}

// TestSnapshot: all reads of a transaction are from one moment, and a transaction reads its own
// writes.
func TestSnapshot(t *testing.T) {
	db := drivertest.Open(t, driver{}, start(t).URI(), "")
	reader, writer := drivertest.Begin(t, db), drivertest.Begin(t, db)
	expect := func(tx drivers.Tx, key string, want int64) {
		t.Helper()
		if v, _, err := tx.Read(ctx, key); err != nil || v != want {
			t.Errorf("%s is %d, %v; want %d", key, v, err, want)
		}
	}
	expect(reader, "a", 1)
	for _, k := range []string{"a", "A"} {
		if _, err := writer.Update(ctx, k, 50); err != nil {
			t.Fatal(err)
		}
	}
	expect(writer, "A", 50)
	expect(reader, "A", 2)
	if err := writer.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	expect(reader, "A", 2)
	_, err := reader.Update(ctx, "a", 51)
	drivertest.Class(t, "a write to what changed since", err, drivers.Aborted, false)
}

// TestSameValue: a write of the current value conflicts like any other write.
func TestSameValue(t *testing.T) {
	db := drivertest.Open(t, driver{}, start(t).URI(), "")
	one, two := drivertest.Begin(t, db), drivertest.Begin(t, db)
	if found, err := one.Update(ctx, "a", 1); !found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
	_, err := two.Update(ctx, "a", 1)
	drivertest.Class(t, "second writer", err, drivers.Aborted, false)
}

// TestKeys: keys are bytes, although strings of BSON are not.
func TestKeys(t *testing.T) {
	s := start(t)
	tx := drivertest.Begin(t, drivertest.Open(t, driver{}, s.URI(), ""))
	for n, k := range []string{"", "\x00", "\x00\x00", "\xff", "\xff\xfe", "a\x00"} {
		if err := tx.Insert(ctx, k, int64(n)); err != nil {
			t.Errorf("%q: %v", k, err)
		}
		if v, found, err := tx.Read(ctx, k); v != int64(n) || !found || err != nil {
			t.Errorf("%q is %d, %v, %v", k, v, found, err)
		}
	}
	for _, c := range s.Commands("find") {
		if id := c.Body.Lookup("filter", "_id"); id.Type != bson.TypeBinary {
			t.Errorf("a key is sent as %s", id.Type)
		}
	}
}

func TestDatabaseIsDropped(t *testing.T) {
	s := start(t)
	t.Run("", func(t *testing.T) { drivertest.Open(t, driver{}, s.URI(), "") })
	drops := s.Commands("dropDatabase")
	if len(drops) != 1 || !strings.HasPrefix(drops[0].Body.Lookup("$db").StringValue(), "isohound_") {
		t.Errorf("%v", drops)
	}
}

// TestStandalone: a server without transactions is recognised, and single documents can still be
// changed.
func TestStandalone(t *testing.T) {
	s := start(t)
	s.Standalone = true
	db := drivertest.Open(t, driver{}, s.URI(), "")
	if notes := db.(drivers.Noter).Notes(); len(notes) != 1 || !strings.Contains(notes[0], "replica set") {
		t.Errorf("%v", notes)
	}
	session, err := db.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	_, err = session.Begin(ctx)
	drivertest.Class(t, "a transaction", err, drivers.Fatal, false)
	if ok, err := session.(drivers.LWT).CompareAndSet(ctx, "a", 1, 2); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
}

// TestSingle: read concern linearizable is for single documents only.
func TestSingle(t *testing.T) {
	session, err := drivertest.Open(t, driver{}, start(t).URI(), "linearizable, majority").Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	_, err = session.Begin(ctx)
	drivertest.Class(t, "a transaction", err, drivers.Fatal, false)
}

func TestMaskDSN(t *testing.T) {
	for dsn, want := range map[string]string{
		"mongodb://me:s3cret@h:27017/":                        "mongodb://me:xxxxx@h:27017/",
		"mongodb+srv://me:s3cret@h/db":                        "mongodb+srv://me:xxxxx@h/db",
		"mongodb://me:s3cret@h1:1,h2:2/?replicaSet=rs0":       "mongodb://me:xxxxx@h1:1,h2:2/?replicaSet=rs0",
		"mongodb://me:s3@cr/et@h/":                            "mongodb://me:xxxxx@h/",
		"mongodb://h/?tlsCertificateKeyFilePassword=s3cret":   "mongodb://h/?tlsCertificateKeyFilePassword=xxxxx",
		"mongodb://h/?x=1&authMechanismProperties=TOKEN:s3&y": "mongodb://h/?x=1&authMechanismProperties=xxxxx&y",
		"mongodb://h1:1,h2:2/?replicaSet=rs0":                 "mongodb://h1:1,h2:2/?replicaSet=rs0",
	} {
		if got := (driver{}).MaskDSN(dsn); got != want {
			t.Errorf("%q becomes %q, want %q", dsn, got, want)
		}
	}
}

// TestStranger: what accepts connections and says nothing that MongoDB's client understands is asked for.
func TestStranger(t *testing.T) {
	drivertest.Stranger(t, driver{}, "mongodb://", "within 5s: ADDR did not answer as MongoDB does; is this a MongoDB server without TLS?")
}

// TestOpenRefuses: errors are reported in one line, without the password.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for dsn, usage := range map[string]bool{
		"mongodb://127.0.0.1:1/":             false,
		"mongodb://":                         true,
		"http://h/":                          true,
		"mongodb://me:s3cret/x@h/":           true,
		"mongodb://me:s3cret%@h/":            true,
		"mongodb://me:s3cret@h/?connect=xyz": true,
	} {
		_, err := driver{}.Open(ctx, drivers.Config{DSN: dsn, Isolation: "snapshot, majority"})
		var bad *drivers.DSNError
		if err == nil || errors.As(err, &bad) != usage || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", dsn, err)
		}
	}
}
