//go:build !front

package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/servers"
)

// stubborn is a database that cannot be dropped.
type stubborn struct{ drivers.DB }

func (stubborn) Close(context.Context) error { return errors.New("database x is left behind") }

func (stubborn) Owns() string { return "database x" }

type stopped struct{ servers.Server }

func (stopped) Stop() {}

// TestLeftOnPrivateServer: what cannot be dropped is named if it stays. On a server of the run it does not.
func TestLeftOnPrivateServer(t *testing.T) {
	for _, private := range []bool{false, true} {
		msg, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		a := &app{msg: msg}
		if private {
			a.server = stopped{}
		}
		a.own(stubborn{})
		if owns := a.owns.Load() != nil; owns == private {
			t.Errorf("private %v: after a second signal it is named: %v", private, owns)
		}
		a.closeDB(stubborn{})
		text, err := os.ReadFile(msg.Name())
		if err != nil || strings.Contains(string(text), "left behind") == private {
			t.Errorf("private %v: %q, %v", private, bytes.TrimSpace(text), err)
		}
	}
}

// noting is a database with notes.
type noting struct {
	drivers.DB
	notes []string
}

func (n noting) Notes() []string { return n.notes }

// TestLateNotes: a note that a database has only after the run is printed once, and is in the run's files.
func TestLateNotes(t *testing.T) {
	msg, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	a, conf := &app{msg: msg}, &results.Config{Notes: []string{"before"}}
	for range 2 {
		a.lateNotes(noting{notes: []string{"before", "after"}}, conf)
	}
	if text, err := os.ReadFile(msg.Name()); err != nil || string(text) != "note: after\n" || len(conf.Notes) != 2 {
		t.Errorf("%q, %v, %q", text, err, conf.Notes)
	}
}
