// Package drivertest is the test that every driver must pass.
package drivertest

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/declared"
)

// Initial are the keys that Open creates. Some names differ only by case or by a trailing space;
// the database must keep them apart.
var Initial = map[string]int64{"a": 1, "A": 2, "a ": 3, "ü'\"\\": -4}

// Open opens and creates a database, and closes it at the end of the test.
func Open(t T, d drivers.Driver, dsn, isolation string) drivers.DB {
	t.Helper()
	iso, err := d.Info().FindIsolation(isolation)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	db, err := d.Open(ctx, drivers.Config{DSN: dsn, Isolation: iso.Name, CallTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Create(ctx, all(Initial)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return db
}

func all(m map[string]int64) iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for k, v := range m {
			if !yield(k, v) {
				return
			}
		}
	}
}

// Begin opens a session and a transaction in it.
func Begin(t T, db drivers.DB) drivers.Tx {
	t.Helper()
	s, err := db.Connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	tx, err := s.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// Run checks that d, at its default isolation, fulfils the contract of package drivers.
func Run(t T, d drivers.Driver, dsn string, blindWrites bool) {
	ctx := context.Background()
	must(t, declared.Check(d.Info()))
	sub(t, "values", func(t T) {
		db := Open(t, d, dsn, "")
		if db.Server() == "" {
			t.Error("no server version")
		}
		if c, ok := db.(drivers.Claimer); ok {
			if _, err := level.ParseList(c.Promises()); err != nil && c.Promises() != "" {
				t.Errorf("Promises of this server: %v", err)
			}
		}
		tx := Begin(t, db)
		expect(t, tx, Initial, "nobody")
		must(t, tx.Insert(ctx, "new", -1<<62))
		found, err := tx.Update(ctx, "a", 1<<62)
		if err != nil || !found {
			t.Errorf("update: %v, %v", found, err)
		}
		if found, err = tx.Delete(ctx, "A"); err != nil || !found {
			t.Errorf("delete: %v, %v", found, err)
		}
		expect(t, tx, map[string]int64{"new": -1 << 62, "a": 1 << 62, "a ": 3}, "A")
		if !blindWrites {
			if found, err = tx.Update(ctx, "nobody", 5); err != nil || found {
				t.Errorf("update of an absent key: %v, %v", found, err)
			}
			if found, err = tx.Delete(ctx, "nobody"); err != nil || found {
				t.Errorf("delete of an absent key: %v, %v", found, err)
			}
		}
		must(t, tx.Commit(ctx))
		expect(t, Begin(t, db), map[string]int64{"new": -1 << 62, "a": 1 << 62, "a ": 3}, "A")
	})
	sub(t, "rollback", func(t T) {
		db := Open(t, d, dsn, "")
		s, err := db.Connect(ctx)
		must(t, err)
		defer s.Close()
		for range 3 { // the session remains usable
			tx, err := s.Begin(ctx)
			must(t, err)
			_, err = tx.Update(ctx, "a", 99)
			must(t, err)
			must(t, tx.Insert(ctx, "new", 1))
			must(t, tx.Rollback(ctx))
		}
		expect(t, Begin(t, db), map[string]int64{"a": 1}, "new")
	})
	sub(t, "schemas", func(t T) {
		one, two := Open(t, d, dsn, ""), Open(t, d, dsn, "")
		tx := Begin(t, one)
		_, err := tx.Update(ctx, "a", 50)
		must(t, err)
		must(t, tx.Commit(ctx))
		expect(t, Begin(t, two), map[string]int64{"a": 1})
	})
	sub(t, "conflicts", func(t T) { conflicts(t, Open(t, d, dsn, "")) })
	sub(t, "ended contexts", func(t T) { endedContexts(t, Open(t, d, dsn, "")) })
	sub(t, "remnants", func(t T) { remnants(t, d, dsn) })
}

// endedContexts checks that calls return if their context has ended, with an error or without: a run waits for its calls.
func endedContexts(t T, db drivers.DB) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, call := range map[string]func(drivers.Tx) error{
		"Read":     func(tx drivers.Tx) error { _, _, err := tx.Read(ended, "a"); return err },
		"Update":   func(tx drivers.Tx) error { _, err := tx.Update(ended, "a", 5); return err },
		"Commit":   func(tx drivers.Tx) error { return tx.Commit(ended) },
		"Rollback": func(tx drivers.Tx) error { return tx.Rollback(ended) },
	} {
		tx := Begin(t, db)
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer caught(t)
			_ = call(tx)
			if name == "Read" || name == "Update" {
				_ = tx.Rollback(ended)
			}
		}()
		wait := longWait()
		late := time.NewTimer(wait)
		select {
		case <-done:
		case <-late.C:
			t.Fatalf("%s, with a context that has ended, has not returned within %s", name, wait)
		}
		late.Stop()
	}
}

// longWait is when a call counts as one that never returns.
func longWait() time.Duration {
	if d := shorterWait.Load(); d > 0 {
		return time.Duration(d)
	}
	return 2 * time.Minute
}

// shorterWait is for tests.
var shorterWait atomic.Int64

// conflicts lets sessions increment one key. Every commit that the driver reports must have
// counted, and failures must be reported as aborted.
func conflicts(t T, db drivers.DB) {
	ctx := context.Background()
	var mu sync.Mutex
	committed, aborted := 0, 0
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer caught(t)
			s, err := db.Connect(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			for range 40 {
				err := increment(ctx, s)
				mu.Lock()
				switch e := drivers.AsError(err); {
				case err == nil:
					committed++
				case e.Class == drivers.Aborted && !e.Broken && e.Cause != "":
					aborted++
				default:
					t.Errorf("%+v", e)
				}
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	if committed == 0 || committed+aborted != 320 {
		t.Errorf("%d committed, %d aborted", committed, aborted)
	}
	expect(t, Begin(t, db), map[string]int64{"a": 1 + int64(committed)})
}

func increment(ctx context.Context, s drivers.Session) error {
	tx, err := s.Begin(ctx)
	if err != nil {
		return err
	}
	v, _, err := tx.Read(ctx, "a")
	if err == nil {
		time.Sleep(100 * time.Microsecond) // lets other sessions run
		_, err = tx.Update(ctx, "a", v+1)
	}
	if err != nil {
		if rerr := tx.Rollback(ctx); rerr != nil {
			return rerr
		}
		return err
	}
	return tx.Commit(ctx)
}

// expect reads keys and compares their values, and checks that others are absent.
func expect(t T, tx drivers.Tx, values map[string]int64, absent ...string) {
	t.Helper()
	ctx := context.Background()
	for k, want := range values {
		if v, found, err := tx.Read(ctx, k); err != nil || !found || v != want {
			t.Errorf("key %q is %d, %v, %v; want %d", k, v, found, err, want)
		}
	}
	for _, k := range absent {
		if v, found, err := tx.Read(ctx, k); err != nil || found {
			t.Errorf("key %q is %d, %v, %v; want it absent", k, v, found, err)
		}
	}
	readMany(t, tx, values, absent)
}

// readMany reads keys that expect has just checked once more with one statement, if the driver has that.
func readMany(t T, tx drivers.Tx, values map[string]int64, absent []string) {
	t.Helper()
	many, ok := tx.(drivers.ManyReader)
	if !ok {
		return
	}
	keys := slices.Concat(slices.Sorted(maps.Keys(values)), absent)
	keys = append(keys, keys...) // a key may be asked for twice
	got, err := many.ReadMany(context.Background(), keys)
	if err != nil || len(got) != len(keys) {
		t.Errorf("reading %q at once returned %v, %v", keys, got, err)
		return
	}
	for i, key := range keys {
		if want, found := values[key]; got[i] != (drivers.Found{Value: want, OK: found}) {
			t.Errorf("reading many keys at once: %q is %v, want %d, %v", key, got[i], want, found)
		}
	}
}

// Class fails unless err is of the given class and its cause contains a text.
func Class(t T, what string, err error, class drivers.Class, broken bool) {
	t.Helper()
	e := drivers.AsError(err)
	if err == nil || e.Class != class || e.Broken != broken || e.Cause == "" || e.Cause == "unclassified error" {
		t.Errorf("%s: %s", what, fmt.Sprintf("%+v (broken %v, class %d)", err, e.Broken, e.Class))
	}
}

func must(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
