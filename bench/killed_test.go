//go:build unix

package bench

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
)

// TestKilled: a check that does not end is killed with its children, even if one holds its pipes.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	fifo, script := filepath.Join(dir, "fifo"), filepath.Join(dir, "other")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte("#!/bin/sh\n(sleep 60; echo late) > '"+fifo+"' &\nwait\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	said := make(chan string)
	go func() {
		f, err := os.Open(fifo) // when the child opens it, too
		if err != nil {
			said <- err.Error()
			return
		}
		defer f.Close()
		b, _ := io.ReadAll(f)
		said <- string(b)
	}()
	c := &Checker{Command: script, Timeout: time.Second}
	m, err := c.once(context.Background(), "h", level.SER, Contestant{Name: "polygraph"})
	if err != nil || m.Verdict != verdict.Unknown || !strings.Contains(m.Reason, "was killed") {
		t.Errorf("%+v, %v", m, err)
	}
	if w, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // the child may have been killed before it opened it
		w.Close()
	}
	if s := <-said; s != "" {
		t.Errorf("a child of the check went on and said %q", s)
	}
}
