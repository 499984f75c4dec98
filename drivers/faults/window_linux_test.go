package faults_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/faults"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/internal/replay"
	"github.com/isohound/isohound/workloads"
	_ "github.com/isohound/isohound/workloads/mini"
)

// kvDriver is a driver for the small server.
type kvDriver struct{ server *kvServer }

func (kvDriver) Info() drivers.Info {
	return drivers.Info{Name: "kv", Title: "a small server", Can: []drivers.Capability{drivers.Transactions}, Isolations: []drivers.Isolation{{Name: "checked", Promises: "ser"}}}
}

func (d kvDriver) Open(context.Context, drivers.Config) (drivers.DB, error) {
	return &kvDB{d.server, map[string]int{}}, nil
}

// kvDB numbers the keys.
type kvDB struct {
	server *kvServer
	number map[string]int
}

func (d *kvDB) Server() string              { return "a small server" }
func (d *kvDB) Close(context.Context) error { return nil }

func (d *kvDB) Create(_ context.Context, initial iter.Seq2[string, int64]) error {
	s, err := openShared(d.server.file)
	if err != nil {
		return err
	}
	for k, v := range initial {
		n := len(d.number)
		if n == kvKeys {
			return errors.New("too many keys")
		}
		d.number[k] = n
		s.locked(func() { s.write(n, 0, v) })
	}
	return nil
}

func (d *kvDB) Connect(context.Context) (drivers.Session, error) {
	c, err := net.Dial("tcp", d.server.listener.Addr().String())
	if err != nil {
		return nil, err
	}
	return &kvSession{d, c, bufio.NewScanner(c)}, nil
}

type kvSession struct {
	db *kvDB
	c  net.Conn
	in *bufio.Scanner
}

func (s *kvSession) Close() { s.c.Close() }

func (s *kvSession) ask(words ...any) (int64, error) {
	if _, err := fmt.Fprintln(s.c, words...); err != nil {
		return 0, err
	}
	if !s.in.Scan() {
		return 0, errors.New("the connection ended")
	}
	return strconv.ParseInt(s.in.Text(), 10, 64)
}

func (s *kvSession) Begin(context.Context) (drivers.Tx, error) {
	_, err := s.ask("B")
	return s, err
}

func (s *kvSession) Read(_ context.Context, key string) (int64, bool, error) {
	v, err := s.ask("R", s.db.number[key])
	return v, err == nil, err
}

func (s *kvSession) Update(_ context.Context, key string, value int64) (bool, error) {
	_, err := s.ask("W", s.db.number[key], value)
	return err == nil, err
}

func (s *kvSession) Insert(context.Context, string, int64) error { return errors.New("not used") }
func (s *kvSession) Delete(context.Context, string) (bool, error) {
	return false, errors.New("not used")
}
func (s *kvSession) Rollback(context.Context) error { return nil } // the next B forgets everything

func (s *kvSession) Commit(context.Context) error {
	committed, err := s.ask("C")
	if err == nil && committed == 0 {
		err = &drivers.Error{Class: drivers.Aborted, Cause: "not serializable"}
	}
	return err
}

// runKV runs transactions on the small server, and reports whether they were serializable.
func runKV(t *testing.T, seed int64, window time.Duration, wrong bool, script string) (violated bool) {
	t.Helper()
	events, err := faults.Parse(script, 1)
	if err != nil {
		t.Fatal(err)
	}
	server := startKV(t, window, wrong)
	defer server.stop()
	set := faults.New(events, 1, seed)
	var failed sync.Once
	set.Serve(server, func(text string) {
		if strings.Contains(text, "failed") {
			failed.Do(func() { t.Error(text) })
		}
	}, nil)
	w, err := replay.New("mini", workloads.Common{Sessions: 4, Keys: 3, Dist: "uniform", Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := replay.Record(kvDriver{server}, drivers.Config{}, w, generator.Config{Sessions: 4, Txns: 600, Seed: seed, Started: set.Play, Ended: set.Lift})
	if err != nil {
		t.Fatal(err)
	}
	h, err := replay.Load(raw)
	if err != nil {
		t.Fatal(err)
	}
	r, err := checker.Check(t.Context(), h, level.SER, checker.Options{Certify: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict == verdict.Unknown {
		t.Fatal("the verdict is unknown")
	}
	return r.Verdict == verdict.Violated
}

const pauses = "0s pause backends 2ms every 3ms"

// TestWindowFound: a window in the commits of a small server, in which a whole transaction would have to fit, is found while its
// processes are paused. A server without the window has none. The window lasts 1 ms here, which the pauses are certain to meet
// on a busy machine, too. Whether it opens without pauses depends on how busy the machine is, so nothing is expected then;
// ISOHOUND_WINDOWS=20 counts runs, with pauses and without, for shorter windows.
func TestWindowFound(t *testing.T) {
	if text := os.Getenv("ISOHOUND_WINDOWS"); text != "" {
		runs, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		countWindows(t, runs)
		return
	}
	if runKV(t, 1, time.Millisecond, false, pauses) {
		t.Error("a server without the window is violated")
	}
	const most = 40
	for seed := int64(1); !runKV(t, seed, time.Millisecond, true, pauses); seed++ {
		if seed == most {
			t.Fatalf("not found in %d runs", most)
		}
	}
}

// countWindows says in how many runs windows were found.
func countWindows(t *testing.T, runs int) {
	for _, window := range []time.Duration{5 * time.Microsecond, 20 * time.Microsecond, 100 * time.Microsecond} {
		found := map[string]int{}
		for seed := range runs { // in turn, so that both meet the same load
			for _, script := range []string{pauses, ""} {
				if runKV(t, int64(seed), window, true, script) {
					found[script]++
				}
			}
		}
		t.Logf("window of %v: found in %d of %d runs with pauses, in %d without", window, found[pauses], runs, found[""])
	}
}
