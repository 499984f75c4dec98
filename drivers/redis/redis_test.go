package redis

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/servers"
)

var server *servers.Redis

func TestMain(m *testing.M) { os.Exit(servers.Main(m, &server, servers.StartRedis)) }

var ctx = context.Background()

func TestDriver(t *testing.T)      { drivertest.Run(t, driver{}, server.DSN(), true) }
func TestTables(t *testing.T)      { drivertest.Tables(t, driver{}, server.DSN()) }
func TestCounting(t *testing.T)    { drivertest.Counting(t, driver{}, server.DSN()) }
func TestLightweight(t *testing.T) { drivertest.Lightweight(t, driver{}, server.DSN()) }

func begin(t *testing.T, db drivers.DB) drivers.Tx {
	t.Helper()
	return drivertest.Begin(t, db)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestWatch: what a transaction has read must still be so when it commits, even if it only read, and even if the key
// was absent or has the same value again.
func TestWatch(t *testing.T) {
	for _, tc := range []struct {
		key    string
		others func(tx drivers.Tx) error
		write  bool
	}{
		{"a", func(tx drivers.Tx) error { _, err := tx.Update(ctx, "a", 7); return err }, true},
		{"a", func(tx drivers.Tx) error { _, err := tx.Update(ctx, "a", 1); return err }, true},
		{"a", func(tx drivers.Tx) error { _, err := tx.Delete(ctx, "a"); return err }, false},
		{"new", func(tx drivers.Tx) error { return tx.Insert(ctx, "new", 1) }, false},
	} {
		for _, isolation := range []string{watch, noWatch} {
			db := drivertest.Open(t, driver{}, server.DSN(), isolation)
			tx, other := begin(t, db), begin(t, db)
			_, _, err := tx.Read(ctx, tc.key)
			must(t, err)
			must(t, tc.others(other))
			must(t, other.Commit(ctx))
			if tc.write {
				must(t, tx.Insert(ctx, "result", 5))
			}
			err = tx.Commit(ctx)
			if isolation == watch {
				drivertest.Class(t, "a commit after a change", err, drivers.Aborted, false)
			} else {
				must(t, err)
			}
			_, found, err := begin(t, db).Read(ctx, "result")
			must(t, err)
			if found != (tc.write && isolation == noWatch) {
				t.Errorf("%s: the write is there: %v", isolation, found)
			}
		}
	}
}

// TestRollback: a session that has rolled back watches nothing any more.
func TestRollback(t *testing.T) {
	db := drivertest.Open(t, driver{}, server.DSN(), "")
	s, err := db.Connect(ctx)
	must(t, err)
	defer s.Close()
	tx, err := s.Begin(ctx)
	must(t, err)
	_, _, err = tx.Read(ctx, "a")
	must(t, err)
	must(t, tx.Rollback(ctx))
	other := begin(t, db)
	_, err = other.Update(ctx, "a", 9)
	must(t, err)
	must(t, other.Commit(ctx))
	tx, err = s.Begin(ctx)
	must(t, err)
	must(t, tx.Insert(ctx, "new", 1))
	must(t, tx.Commit(ctx))
}

// invariants is a workload with invariants and nothing else.
type invariants struct {
	generator.Workload
	all []generator.Invariant
}

func (i invariants) Invariants() []generator.Invariant { return i.all }

// TestLook: what looks at invariants watches nothing, and reads what a watching transaction reads.
func TestLook(t *testing.T) {
	db := drivertest.Open(t, driver{}, server.DSN(), watch)
	results := generator.CheckInvariants(ctx, db, invariants{all: []generator.Invariant{{Check: func(ctx context.Context, look drivers.Tx) (string, error) {
		v, found, err := look.Read(ctx, "a")
		if !found || v != drivertest.Initial["a"] {
			t.Errorf("%d, %v", v, found)
		}
		if look.(*tx).watching {
			t.Error("it watches")
		}
		return "", err
	}}}})
	if len(results) != 1 || results[0].Error != "" {
		t.Errorf("%+v", results)
	}
}

func TestDSN(t *testing.T) {
	for dsn, want := range map[string]struct {
		hosts               []string
		user, password      string
		database            int
		sentinel            string
		secured, skipVerify bool
	}{
		"redis://127.0.0.1":                 {hosts: []string{"127.0.0.1:6379"}},
		"redis://a:1,b:2,[::1]/3":           {hosts: []string{"a:1", "b:2", "[::1]:6379"}, database: 3},
		"redis://me:pass%2Cword%40x@a:1/":   {hosts: []string{"a:1"}, user: "me", password: "pass,word@x"},
		"redis://:secret@a":                 {hosts: []string{"a:6379"}, password: "secret"},
		"redis://a,b:5/1?sentinel=mymaster": {hosts: []string{"a:26379", "b:5"}, database: 1, sentinel: "mymaster"},
		"rediss://a":                        {hosts: []string{"a:6379"}, secured: true},
		"rediss://a?insecure=true":          {hosts: []string{"a:6379"}, secured: true, skipVerify: true},
	} {
		a, err := parse(dsn)
		if err != nil || !slices.Equal(a.hosts, want.hosts) || a.user != want.user || a.password != want.password || a.database != want.database || a.sentinel != want.sentinel ||
			(a.tls != nil) != want.secured || want.secured && a.tls.InsecureSkipVerify != want.skipVerify {
			t.Errorf("%s: %+v, %v", dsn, a, err)
		}
	}
	for _, dsn := range []string{"", "127.0.0.1", "http://a", "redis://", "redis:///3", "redis://a:b", "redis://a,", "redis://a/x", "redis://a/-1", "redis://a?x=y", "redis://a?sentinel=", "redis://a#b",
		"redis://user@a", "redis://me:secret@a:x", "redis://me:secret@a,b:x", "redis://me:sec%ret@a", "redis://a?insecure=true", "rediss://a?insecure=2", "rediss://a?cacert=/no/such/file"} {
		_, err := driver{}.Open(ctx, drivers.Config{DSN: dsn, Isolation: watch})
		var de *drivers.DSNError
		if !errors.As(err, &de) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "sec%") {
			t.Errorf("%q: %v", dsn, err)
		}
	}
}

func TestMask(t *testing.T) {
	for _, dsn := range []string{"redis://me:secret@a:1,b:2/3", "rediss://:secret@a", "redis://me:sec@ret@a:x", "redis://me:secret@a?sentinel=m"} {
		if got := drivers.MaskDSN(driver{}, dsn); strings.Contains(got, "sec") || strings.Contains(got, "ret@") || !strings.Contains(got, drivers.Masked) {
			t.Errorf("%s is shown as %s", dsn, got)
		}
	}
	if got := drivers.MaskDSN(driver{}, "redis://a:1,b:2/3"); got != "redis://a:1,b:2/3" {
		t.Error(got)
	}
}

// TestPromise: only a single server promises strict serializability.
func TestPromise(t *testing.T) {
	for _, tc := range []struct{ dsn, isolation, want, light string }{
		{server.DSN(), watch, "sser", "lin"},
		{server.DSN(), noWatch, "rc", "lin"},
		{server.DSNWith(server), watch, "rc", "rc"},
	} {
		db, err := driver{}.Open(ctx, drivers.Config{DSN: tc.dsn, Isolation: tc.isolation})
		must(t, err)
		if got := db.(drivers.Claimer).Promises(); got != tc.want {
			t.Errorf("%s at %s promises %s", tc.isolation, tc.dsn, got)
		}
		if got := db.(drivers.LightweightClaimer).Lightweight(); got != tc.light {
			t.Errorf("%s at %s promises %s for lightweight transactions", tc.isolation, tc.dsn, got)
		}
		if notes := strings.Join(db.(drivers.Noter).Notes(), "; "); strings.Contains(notes, "replication is asynchronous") != (tc.light == "rc") || strings.Contains(notes, "append") {
			t.Errorf("%s at %s: notes %q", tc.isolation, tc.dsn, notes)
		}
		must(t, db.Close(ctx))
	}
}

// TestTablesNeedWatch: without it rows could be there in part.
func TestTablesNeedWatch(t *testing.T) {
	db := drivertest.Open(t, driver{}, server.DSN(), noWatch)
	if err := db.(drivers.TableDB).CreateTables(ctx, nil, nil); err == nil || !strings.Contains(err.Error(), watch) {
		t.Error(err)
	}
}

// TestResume: another process goes on with the keys of a run, and only one that resumes it drops them.
func TestResume(t *testing.T) {
	db := drivertest.Open(t, driver{}, server.DSN(), "")
	name := db.(drivers.Resumer).Schema()
	open := func() drivers.DB {
		t.Helper()
		other, err := driver{}.Open(ctx, drivers.Config{DSN: server.DSN(), Isolation: watch})
		must(t, err)
		return other
	}
	attached, resumed := open(), open()
	must(t, attached.(drivers.Attacher).Attach(ctx, name))
	must(t, resumed.(drivers.Resumer).Resume(ctx, name))
	for _, d := range []drivers.DB{attached, resumed} {
		if v, found, err := begin(t, d).Read(ctx, "a"); err != nil || !found || v != 1 {
			t.Errorf("%d, %v, %v", v, found, err)
		}
	}
	must(t, attached.Close(ctx))
	if _, found, err := begin(t, db).Read(ctx, "a"); err != nil || !found {
		t.Errorf("%v, %v", found, err)
	}
	must(t, resumed.Close(ctx))
	if left, err := server.Do("KEYS", name+"*"); err != nil || len(left.([]any)) > 0 {
		t.Errorf("left: %s, %v", left, err)
	}
	if err := open().(drivers.Resumer).Resume(ctx, name); err == nil || !strings.Contains(err.Error(), name) {
		t.Error(err)
	}
}
