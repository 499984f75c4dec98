package faults

import (
	"slices"
	"sync"
	"time"
)

// Window is a time during which an event had an effect, since the script began.
type Window struct {
	From, To time.Duration
	Event    *Event
}

const (
	// Effects of one event with less than apart between them are one window.
	apart = 250 * time.Millisecond
	// maxWindows bounds the windows of an event. The last one lasts until the last effect.
	maxWindows = 200
)

// windows has the windows of each event.
type windows struct {
	mu    sync.Mutex
	start time.Time
	list  map[*Event][]Window
}

func (w *windows) begin(start time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.start, w.list = start, map[*Event][]Window{}
}

// add adds the effect of an event that began at a moment and ends now.
func (w *windows) add(e *Event, begun time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from, to := begun.Sub(w.start), time.Since(w.start)
	list := w.list[e]
	if n := len(list); n > 0 && (from < list[n-1].To+apart || n == maxWindows) {
		list[n-1].From, list[n-1].To = min(list[n-1].From, from), max(list[n-1].To, to)
		return
	}
	w.list[e] = append(list, Window{from, to, e})
}

// Played lists when the events of the script had effects, in the order of their beginnings. Effects that have not
// ended are not in it.
func (s *Set) Played() []Window {
	s.windows.mu.Lock()
	defer s.windows.mu.Unlock()
	var all []Window
	for _, list := range s.windows.list {
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b Window) int { return int(a.From - b.From) })
	return all
}
