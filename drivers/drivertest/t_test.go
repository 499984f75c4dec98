package drivertest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/drivers"
	_ "github.com/isohound/isohound/drivers/bbolt"
	"github.com/isohound/isohound/drivers/drivertest"
)

// broken is bbolt with something wrong.
type broken struct {
	drivers.Driver
	blind bool // what it says of itself
	open  func() error
}

func (b broken) Info() drivers.Info {
	i := b.Driver.Info()
	i.Blind = b.blind
	return i
}

func (b broken) Open(ctx context.Context, cfg drivers.Config) (drivers.DB, error) {
	if b.open != nil {
		if err := b.open(); err != nil {
			return nil, err
		}
	}
	return b.Driver.Open(ctx, cfg)
}

// TestVerify: outside go test the same checks pass and fail, and a failure or a panic of one does not end the others.
func TestVerify(t *testing.T) {
	bbolt, err := drivers.Find("bbolt")
	if err != nil {
		t.Fatal(err)
	}
	verify := func(d drivers.Driver) (ok, failed int, text string) {
		drivertest.Verify(d, "", func(c drivertest.Checked) {
			if len(c.Failures) == 0 {
				ok++
			} else {
				failed++
			}
			text += c.Name + ": " + strings.Join(c.Failures, "; ") + "\n"
		})
		return ok, failed, text
	}
	if ok, failed, text := verify(broken{bbolt, true, nil}); ok != 10 || failed > 0 {
		t.Errorf("%d, %d: %s", ok, failed, text)
	}
	if ok, failed, text := verify(broken{bbolt, false, nil}); ok != 9 || failed != 1 || !strings.Contains(text, "keys: values: update of an absent key: true") {
		t.Errorf("%d, %d: %s", ok, failed, text)
	}
	if ok, failed, text := verify(broken{bbolt, true, func() error { return context.Canceled }}); ok > 0 || failed < 4 || !strings.Contains(text, "context canceled") {
		t.Errorf("%d, %d: %s", ok, failed, text)
	}
	if ok, failed, text := verify(commits{broken{bbolt, true, nil}, func(context.Context, drivers.Tx) { panic("oh, a commit") }}); ok == 0 || failed == 0 || !strings.Contains(text, "keys: conflicts: panic: oh, a commit") {
		t.Errorf("%d, %d: %s", ok, failed, text)
	}
	if ok, failed, text := verify(broken{bbolt, true, func() error { panic("oh") }}); ok > 0 || failed < 4 || !strings.Contains(text, "panic: oh") {
		t.Errorf("%d, %d: %s", ok, failed, text)
	}
}

// TestEndedContext: a commit that does not return when its context has ended is a failure, not a check without end.
func TestEndedContext(t *testing.T) {
	bbolt, err := drivers.Find("bbolt")
	if err != nil {
		t.Fatal(err)
	}
	drivertest.LongWait(2 * time.Second)
	defer drivertest.LongWait(0)
	var text string
	drivertest.Verify(commits{broken{bbolt, true, nil}, func(ctx context.Context, _ drivers.Tx) {
		if ctx.Err() != nil { // its session rolls back when it is closed
			select {}
		}
	}}, "", func(c drivertest.Checked) { text += c.Name + ": " + strings.Join(c.Failures, "; ") + "\n" })
	if !strings.Contains(text, "ended contexts: Commit, with a context that has ended, has not returned") {
		t.Error(text)
	}
}

// commits is a driver that does something before each commit.
type commits struct {
	drivers.Driver
	do func(context.Context, drivers.Tx)
}

func (c commits) Open(ctx context.Context, cfg drivers.Config) (drivers.DB, error) {
	db, err := c.Driver.Open(ctx, cfg)
	return commitsDB{db, c.do}, err
}

type commitsDB struct {
	drivers.DB
	do func(context.Context, drivers.Tx)
}

func (d commitsDB) Connect(ctx context.Context) (drivers.Session, error) {
	s, err := d.DB.Connect(ctx)
	return commitsSession{s, d.do}, err
}

type commitsSession struct {
	drivers.Session
	do func(context.Context, drivers.Tx)
}

func (s commitsSession) Begin(ctx context.Context) (drivers.Tx, error) {
	tx, err := s.Session.Begin(ctx)
	return commitsTx{tx, s.do}, err
}

type commitsTx struct {
	drivers.Tx
	do func(context.Context, drivers.Tx)
}

func (x commitsTx) Commit(ctx context.Context) error {
	x.do(ctx, x.Tx)
	return x.Tx.Commit(ctx)
}
