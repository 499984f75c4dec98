//go:build !front

package cli

import (
	"testing"
	"time"
)

// TestLagMost: how many transactions a window may have follows from the slowest of the last four windows.
func TestLagMost(t *testing.T) {
	var l lag
	if n := l.judgeable(time.Second); n != 0 {
		t.Errorf("%d before any window was judged", n)
	}
	for n, want := range []int64{100, 100, 50, 50, 50, 50, 200, 200} {
		txns := []int{100, 200, 50, 200, 200, 200, 200, 0}[n]
		l.learn(txns, time.Second)
		if got := l.judgeable(time.Second); got != want {
			t.Errorf("after window %d: %d, want %d", n+1, got, want)
		}
	}
	l = lag{}
	l.learn(1000, 2*time.Second)
	if n := l.judgeable(10 * time.Second); n != 5000 {
		t.Errorf("%d in 10 s at 500 a second", n)
	}
}
