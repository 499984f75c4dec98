package sim

import (
	"testing"

	"github.com/isohound/isohound/drivers"
)

// TestPausedCommit: without commit-latch, a session that is paused in its commit lets another one commit meanwhile, and
// overwrites it. With it, or without a pause, nobody comes between.
func TestPausedCommit(t *testing.T) {
	for _, c := range []struct {
		dsn    string
		paused bool
		lost   bool
	}{
		{"sim://?off=commit-latch&rate=1&window=1", true, true},
		{"sim://?off=commit-latch&rate=1&window=1", false, false},
		{"sim://?window=1", true, false},
	} {
		d := open(t, "snapshot isolation", c.dsn)
		one := d.connect()
		x := one.begin(false)
		read(t, x, "a", 1)
		update(t, x, "a", 2)
		unlock, err := x.call() // as Commit does first; nobody has a pause for it yet
		if err != nil {
			t.Fatal(err)
		}
		resume := func() {}
		if c.paused {
			if resume, err = d.PauseSession(); err != nil { // the only session is drawn
				t.Fatal(err)
			}
		}
		ended := make(chan error)
		go func() {
			defer unlock()
			ended <- x.finish()
		}()
		if !c.lost {
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
		}
		y := d.connect().begin(false) // waits for the lock, which is free in the window, or behind the commit
		want := int64(2)
		if c.lost {
			want = 1
		}
		read(t, y, "a", want)
		update(t, y, "a", 3)
		if err := y.Commit(ctx); err != nil {
			t.Errorf("%s: %v", c.dsn, err)
		}
		resume()
		if c.lost {
			if err := <-ended; err != nil {
				t.Errorf("%s: %v", c.dsn, err)
			}
		}
	}
}

// TestPauseSession: a session that is paused waits at its next call until it is resumed; one that is gone is not drawn.
func TestPauseSession(t *testing.T) {
	d := open(t, "snapshot isolation", "")
	if resume, err := d.PauseSession(); err != nil {
		t.Fatal(err)
	} else {
		resume() // there was none
	}
	s := d.connect()
	resume, err := d.PauseSession()
	if err != nil {
		t.Fatal(err)
	}
	again, err := d.PauseSession() // the same one, which is paused until resume
	if err != nil {
		t.Fatal(err)
	}
	again()
	began := make(chan struct{})
	go func() {
		s.begin(false)
		close(began)
	}()
	other := d.connect()
	x := other.begin(false)
	update(t, x, "a", 2)
	if err := x.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	select {
	case <-began:
		t.Error("a paused session went on")
	default:
	}
	resume()
	<-began
	s.Close()
	other.Close()
	if n := len(d.halting.sessions); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
	var _ drivers.Pauser = d
}
