package generator

import (
	"testing"
	"time"
)

// TestAutoWindow: the sessions stand still for less than 2% of the time, even if the next cut takes nearly twice as
// long as the one before; where the checker needs shorter windows, if it takes a fifth longer.
func TestAutoWindow(t *testing.T) {
	for cut := time.Millisecond; cut < time.Minute; cut += cut/3 + 1 {
		for times, next := range map[time.Duration]time.Duration{standing: cut * 19 / 10, leastStanding: cut * 6 / 5} {
			window := autoWindow(cut, times)
			if share := float64(next) / float64(window+next); window < shortestWindow || share >= 0.02 {
				t.Errorf("a window of %s after a cut of %s: %.4f", window, cut, share)
			}
		}
	}
}
