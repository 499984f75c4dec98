// Package ferrettest runs the lightweight transactions of the MongoDB driver on FerretDB, which
// implements MongoDB's protocol with SQLite or PostgreSQL. It is a separate module, so that isohound does not
// depend on FerretDB.
package ferrettest

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/FerretDB/FerretDB/ferretdb"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	_ "github.com/isohound/isohound/drivers/mongo"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/servers"
	"github.com/isohound/isohound/workloads"
	_ "github.com/isohound/isohound/workloads/lwt"
)

var ctx = context.Background()

// backends are the stores under FerretDB.
var backends = []string{"sqlite", "postgresql"}

// onEach runs a test on FerretDB over each store.
func onEach(t *testing.T, test func(t *testing.T, backend string)) {
	for _, backend := range backends {
		t.Run(backend, func(t *testing.T) { test(t, backend) })
	}
}

// open starts FerretDB and opens a database with the keys of drivertest.
func open(t *testing.T, backend string) drivers.DB {
	t.Helper()
	conf := &ferretdb.Config{
		Logger:   slog.New(slog.DiscardHandler),
		Listener: ferretdb.ListenerConfig{TCP: "127.0.0.1:0"},
		Handler:  backend,
	}
	if backend == "sqlite" {
		conf.SQLiteURL = "file:" + t.TempDir() + "/"
	} else {
		pg, err := servers.StartPostgres()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pg.Stop)
		conf.PostgreSQLURL = pg.DSN()
	}
	f, err := ferretdb.New(conf)
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- f.Run(running) }()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	d, err := drivers.Find("mongo")
	if err != nil {
		t.Fatal(err)
	}
	return drivertest.Open(t, d, f.MongoDBURI(), "linearizable, majority")
}

func TestLWT(t *testing.T) { onEach(t, testLWT) }

func testLWT(t *testing.T, backend string) {
	db := open(t, backend)
	if s := db.Server(); !strings.HasPrefix(s, "FerretDB ") {
		t.Errorf("server %q", s)
	}
	l := drivertest.Light(t, db)
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
	for k, v := range drivertest.Initial {
		holds(k, v, true)
	}
	applied(true)(l.CompareAndSet(ctx, "a", 1, 1<<62))
	applied(false)(l.CompareAndSet(ctx, "a", 1, 11))
	applied(true)(l.CompareAndSet(ctx, "a", 1<<62, 1<<62))
	holds("a", 1<<62, true)
	holds("A", 2, true)
	applied(false)(l.CompareAndSet(ctx, "new", 0, 1))
	holds("new", 0, false)
	applied(true)(l.InsertIfAbsent(ctx, "new", -1<<62))
	applied(false)(l.InsertIfAbsent(ctx, "new", 6))
	holds("new", -1<<62, true)
}

// TestNoTransactions: FerretDB ignores the fields that make statements a transaction, so the
// driver must not begin one.
func TestNoTransactions(t *testing.T) { onEach(t, testNoTransactions) }

func testNoTransactions(t *testing.T, backend string) {
	s, err := open(t, backend).Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Begin(ctx)
	drivertest.Class(t, "a transaction", err, drivers.Fatal, false)
}

// TestLinearizable: sequential sessions see one register. Concurrent ones lose updates: FerretDB
// 1.24 looks up the document that matches an update's filter, and then updates it by _id, even
// if the document has changed meanwhile (internal/handler/msg_update.go, collection.go of both
// internal/backends). So the path from the driver to the verdict finds real
// errors of a database.
func TestLinearizable(t *testing.T) { onEach(t, testLinearizable) }

func testLinearizable(t *testing.T, backend string) {
	db := open(t, backend)
	if r := run(t, db, 1); r.Verdict != verdict.Satisfied {
		t.Errorf("one session: %+v", r)
	}
	for attempt := range 10 {
		r := run(t, open(t, backend), 8)
		if r.Verdict == verdict.Satisfied {
			continue // the sessions did not conflict
		}
		if r.Verdict != verdict.Violated || !slices.Contains(r.Anomalies[0].Names, "LostUpdate") {
			t.Errorf("eight sessions: %+v", r)
			return
		}
		t.Logf("attempt %d: %s", attempt, r.Anomalies[0].Text)
		return
	}
	t.Error("no update was lost; if FerretDB has become atomic, say so here and in docs/drivers.md")
}

// run runs the workload lwt and judges its history.
func run(t *testing.T, db drivers.DB, sessions int) *verdict.Result {
	t.Helper()
	spec, err := workloads.Find("lwt")
	if err != nil {
		t.Fatal(err)
	}
	values, err := spec.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := spec.New(workloads.Common{Sessions: sessions, Keys: 5, Dist: "uniform"}, values)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	log, err := native.NewLog(&out, false)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := generator.NewRecorder(log, history.Header{}, w)
	if err != nil {
		t.Fatal(err)
	}
	cfg := generator.Config{Sessions: sessions, Txns: 150, Seed: 7, CallTimeout: generator.DefaultCallTimeout, Patience: generator.DefaultPatience}
	if _, err := generator.NewRunner(cfg, db, w, rec).Run(ctx, ctx); err != nil {
		t.Fatal(err)
	}
	src, err := native.NewReader(&out, "h", 0)
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.Load(ctx, src)
	if err != nil {
		t.Fatal(err)
	}
	if n := h.Count(); n.Committed < 100 || n.Unknown > 0 {
		t.Errorf("%+v", n)
	}
	r, err := checker.Check(ctx, h, level.LIN, checker.Options{Certify: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
