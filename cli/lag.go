//go:build !front

package cli

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// lag is how far the checker is behind the run: the time since the oldest window that is complete and not
// judged was completed.
type lag struct {
	mu      sync.Mutex
	waiting []time.Time // when the windows were completed that are not judged
	done    int
	most    time.Duration
	waited  time.Duration // of the run, for the checker
	rates   [4]float64    // transactions a second at which the latest windows were judged here, 0 if there are fewer
	end     chan struct{} // closed when the run has ended
	once    sync.Once
}

func (l *lag) complete(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end == nil {
		l.end = make(chan struct{})
	}
	l.waiting = append(l.waiting, at)
}

func (l *lag) judged(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.most = max(l.most, at.Sub(l.waiting[0]))
	l.waiting = l.waiting[1:]
	l.done++
}

// now returns the lag and how many windows are not judged.
func (l *lag) now() (time.Duration, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		return 0, 0
	}
	return time.Since(l.waiting[0]), len(l.waiting)
}

// learn notes that a window of so many transactions was judged here in a time.
func (l *lag) learn(txns int, took time.Duration) {
	if txns == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	copy(l.rates[1:], l.rates[:])
	l.rates[0] = float64(txns) / max(took.Seconds(), 1e-9)
}

// judgeable is how many transactions a window may have to be judged in a time, at the lowest of the latest rates; 0 if no
// window was judged here.
func (l *lag) judgeable(in time.Duration) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rates[0] == 0 {
		return 0
	}
	rate := l.rates[0]
	for _, r := range l.rates {
		if r > 0 {
			rate = min(rate, r)
		}
	}
	return max(1, int64(rate*in.Seconds()))
}

func (l *lag) hold(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waited += d
}

// held is how long the run has waited for the checker.
func (l *lag) held() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waited
}

// longest is the longest time from the completion of a window to its verdict.
func (l *lag) longest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.most
}

// finish says that the run has ended, so that the checker need not leave cores to it.
func (l *lag) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end == nil {
		l.end = make(chan struct{})
	}
	l.once.Do(func() { close(l.end) })
}

func (l *lag) ending() bool {
	select {
	case <-l.end:
		return true
	default:
		return false
	}
}

// text is for the progress of a run.
func (l *lag) text() string {
	behind, _ := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	text := fmt.Sprintf("%s judged, the checker is %.1f s behind", plural(l.done, "window"), behind.Seconds())
	if l.waited > 0 {
		text += fmt.Sprintf(", waited %.1f s for it", l.waited.Seconds())
	}
	return text
}

// parseShare reads a part of the cores, such as 50%.
func parseShare(text string) (float64, error) {
	n, ok := strings.CutSuffix(text, "%")
	if f, err := strconv.ParseFloat(n, 64); ok && err == nil && f > 0 && f <= 100 {
		return f / 100, nil
	}
	return 0, usage("--judge-share %s: expected a part of the cores such as 50%%", text)
}

// restAfter is how long the checker, which uses one core, rests after it has judged for a time, so that it
// uses no more than a share of all cores.
func restAfter(judged time.Duration, share float64) time.Duration {
	cores := share * float64(runtime.GOMAXPROCS(0))
	if cores >= 1 {
		return 0
	}
	return time.Duration(float64(judged) * (1/cores - 1))
}

// pauseUntil waits for d, or until end is closed.
func pauseUntil(end <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-end:
	case <-timer.C:
	}
}
