package drivertest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/isohound/isohound/drivers"
)

// Light opens a session with lightweight transactions.
func Light(t T, db drivers.DB) drivers.LWT {
	t.Helper()
	s, err := db.Connect(context.Background())
	must(t, err)
	t.Cleanup(s.Close)
	return s.(drivers.LWT)
}

// Lightweight checks the lightweight transactions of d, at each isolation that promises
// linearizability for them.
func Lightweight(t T, d drivers.Driver, dsn string) {
	if !slices.Contains(d.Info().Can, drivers.Lightweight) {
		t.Fatalf("%s does not say that it has lightweight transactions", d.Info().Name)
	}
	for _, iso := range d.Info().Isolations {
		if iso.Lightweight != "lin" {
			continue
		}
		sub(t, iso.Name, func(t T) {
			sub(t, "statements", func(t T) { statements(t, Open(t, d, dsn, iso.Name)) })
			sub(t, "races", func(t T) { races(t, Open(t, d, dsn, iso.Name)) })
		})
	}
}

// statements runs single statements one after another, alternating between two sessions, so that
// each statement sees what the other session has committed.
func statements(t T, db drivers.DB) {
	ctx := context.Background()
	sessions := []drivers.LWT{Light(t, db), Light(t, db)}
	const high, low = 1<<63 - 1, -1 << 62
	for n, step := range []struct {
		insert     bool
		key        string
		old, value int64
		applied    bool
		after      map[string]int64
		absent     string
	}{
		{true, "new", 0, low, true, map[string]int64{"new": low, "a": 1}, "NEW"},
		{true, "new", 0, 5, false, map[string]int64{"new": low}, ""},
		{true, "a", 0, 1, false, map[string]int64{"a": 1}, ""},
		{false, "new", low, high, true, map[string]int64{"new": high}, ""},
		{false, "new", low, 7, false, map[string]int64{"new": high}, ""},
		{false, "new", high, high, true, map[string]int64{"new": high}, ""}, // nothing changes, but it held the expected value
		{false, "a", 1, 11, true, map[string]int64{"a": 11, "A": 2, "a ": 3}, ""},
		{false, "A", 1, 12, false, map[string]int64{"a": 11, "A": 2, "a ": 3}, ""},
		{false, "a ", 3, 13, true, map[string]int64{"a": 11, "A": 2, "a ": 13}, ""},
		{false, "nobody", 0, 14, false, nil, "nobody"},
		{true, "ü'\"\\", 0, 15, false, map[string]int64{"ü'\"\\": -4}, ""},
		{false, "ü'\"\\", -4, 15, true, map[string]int64{"ü'\"\\": 15}, ""},
	} {
		s, other := sessions[n%2], sessions[(n+1)%2]
		var applied bool
		var err error
		if step.insert {
			applied, err = s.InsertIfAbsent(ctx, step.key, step.value)
		} else {
			applied, err = s.CompareAndSet(ctx, step.key, step.old, step.value)
		}
		if err != nil || applied != step.applied {
			t.Errorf("step %d: %v, %v, want %v", n, applied, err, step.applied)
		}
		for k, want := range step.after {
			if v, found, err := other.ReadOne(ctx, k); err != nil || !found || v != want {
				t.Errorf("step %d: key %q is %d, %v, %v; want %d", n, k, v, found, err, want)
			}
		}
		if step.absent == "" {
			continue
		}
		if v, found, err := other.ReadOne(ctx, step.absent); err != nil || found {
			t.Errorf("step %d: key %q is %d, %v, %v; want it absent", n, step.absent, v, found, err)
		}
	}
}

// races lets sessions insert the same keys and increment one key. Each key must be inserted
// once, and each applied increment must count.
func races(t T, db drivers.DB) {
	ctx := context.Background()
	const sessions, rounds = 8, 30
	var mu sync.Mutex
	increments, failures := 0, 0
	inserted := map[string]int{}
	// note counts an applied statement. It requires of an error that the statement had no
	// effect.
	note := func(applied bool, err error, count func()) {
		mu.Lock()
		defer mu.Unlock()
		switch e := drivers.AsError(err); {
		case err == nil && applied:
			count()
		case err == nil:
			failures++
		case applied || e.Class != drivers.Aborted || e.Broken || e.Cause == "":
			t.Errorf("%v, %+v", applied, e)
		}
	}
	var wg sync.WaitGroup
	for n := range sessions {
		s := Light(t, db)
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer caught(t)
			for round := range rounds {
				key := fmt.Sprintf("raced%d", round)
				for { // a refused insertion does not show whether the key exists
					applied, err := s.InsertIfAbsent(ctx, key, int64(n))
					note(applied, err, func() { inserted[key]++ })
					if err == nil || drivers.AsError(err).Class != drivers.Aborted {
						break
					}
				}
				v, _, err := s.ReadOne(ctx, "a")
				if err != nil {
					note(false, err, nil)
					continue
				}
				time.Sleep(100 * time.Microsecond) // lets other sessions run
				applied, err := s.CompareAndSet(ctx, "a", v, v+1)
				note(applied, err, func() { increments++ })
			}
		}()
	}
	wg.Wait()
	s := Light(t, db)
	if v, _, err := s.ReadOne(ctx, "a"); err != nil || v != 1+int64(increments) || increments == 0 {
		t.Errorf("%d increments were applied, and the value is %d, from 1 (%v)", increments, v, err)
	}
	if failures < rounds {
		t.Errorf("only %d statements were not applied", failures)
	}
	for round := range rounds {
		if n := inserted[fmt.Sprintf("raced%d", round)]; n != 1 {
			t.Errorf("key raced%d was inserted %d times", round, n)
		}
	}
}
