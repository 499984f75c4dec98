package lwt

import (
	"context"
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/workloads"
)

// broken is a database whose sessions break a promise.
type broken struct {
	drivers.DB
	wrap func(drivers.LWT) drivers.LWT
}

func (b broken) Connect(ctx context.Context) (drivers.Session, error) {
	s, err := b.DB.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return struct {
		drivers.Session
		drivers.LWT
	}{s, b.wrap(s.(drivers.LWT))}, nil
}

// retrying repeats each statement until the key did not change meanwhile, so that only the
// errors of the test occur.
func retrying(statement func() (bool, error)) (applied bool, err error) {
	for {
		if applied, err = statement(); err == nil || drivers.AsError(err).Class != drivers.Aborted {
			return applied, err
		}
	}
}

// torn compares and then sets, in two steps.
type torn struct{ drivers.LWT }

func (s torn) CompareAndSet(ctx context.Context, key string, old, value int64) (bool, error) {
	v, found, err := s.ReadOne(ctx, key)
	if err != nil || !found || v != old {
		return false, err
	}
	return retrying(func() (bool, error) {
		now, _, err := s.ReadOne(ctx, key)
		if err != nil {
			return false, err
		}
		return s.LWT.CompareAndSet(ctx, key, now, value)
	})
}

// blind inserts even if the key exists.
type blind struct{ drivers.LWT }

func (s blind) InsertIfAbsent(ctx context.Context, key string, value int64) (bool, error) {
	return retrying(func() (bool, error) {
		if applied, err := s.LWT.InsertIfAbsent(ctx, key, value); applied || err != nil {
			return applied, err
		}
		now, _, err := s.ReadOne(ctx, key)
		if err != nil {
			return false, err
		}
		return s.LWT.CompareAndSet(ctx, key, now, value)
	})
}

// liar sometimes reports a compare-and-set as applied that was not.
type liar struct {
	drivers.LWT
	n *int
}

func (s liar) CompareAndSet(ctx context.Context, key string, old, value int64) (bool, error) {
	applied, err := s.LWT.CompareAndSet(ctx, key, old, value)
	if *s.n++; err == nil && *s.n%50 == 0 {
		applied = !applied
	}
	return applied, err
}

// stale returns what it read some time ago.
type stale struct {
	drivers.LWT
	last map[string]int64
	n    *int
}

func (s stale) ReadOne(ctx context.Context, key string) (int64, bool, error) {
	v, found, err := s.LWT.ReadOne(ctx, key)
	if err != nil || !found {
		return v, found, err
	}
	old, known := s.last[key]
	s.last[key] = v
	if *s.n++; known && *s.n%20 == 0 {
		return old, true, nil
	}
	return v, found, nil
}

// TestBroken: a database that breaks a promise is detected; a wrapped one that breaks none is
// not.
func TestBroken(t *testing.T) {
	for name, wrap := range map[string]func(drivers.LWT) drivers.LWT{
		"":      func(s drivers.LWT) drivers.LWT { return s },
		"torn":  func(s drivers.LWT) drivers.LWT { return torn{s} },
		"blind": func(s drivers.LWT) drivers.LWT { return blind{s} },
		"liar":  func(s drivers.LWT) drivers.LWT { return liar{s, new(int)} },
		"stale": func(s drivers.LWT) drivers.LWT { return stale{s, map[string]int64{}, new(int)} },
	} {
		for _, driver := range []string{"badger", "postgres", "mariadb"} {
			t.Run(driver+" "+name, func(t *testing.T) {
				h := run(t, broken{open(t, driver, ""), wrap}, newLWT(t, workloads.Common{Keys: 3}), 16, 200)
				want := verdict.Violated
				if name == "" {
					want = verdict.Satisfied
				}
				r := judge(t, h, level.LIN)
				if r.Verdict != want || !r.Certified {
					t.Errorf("%s %s", r.Verdict, r.Reason)
				}
				for _, a := range r.Anomalies {
					t.Log(a.Names, a.Count)
				}
			})
		}
	}
}
