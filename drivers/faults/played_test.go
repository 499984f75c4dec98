package faults

import (
	"testing"
	"time"
)

// calm is a server that survives everything at once.
type calm struct{}

func (calm) Kill()                      {}
func (calm) Start() error               { return nil }
func (calm) Pause(bool) (func(), error) { return func() {}, nil }

// TestPlayed: the times of effects are kept; those of one event that are close together are one time.
func TestPlayed(t *testing.T) {
	events, err := Parse("20ms latency 5ms; 50ms kill for 100ms; 400ms pause backends 2ms every 10ms; 10h cut", 2)
	if err != nil {
		t.Fatal(err)
	}
	s := New(events, 2, 1)
	s.Serve(calm{}, func(string) {}, nil)
	s.Play()
	time.Sleep(600 * time.Millisecond)
	s.Lift()
	for _, want := range []struct {
		what     string
		from, to time.Duration
		most     int // times, of 2 or more effects
	}{
		{"latency 5ms", 20 * time.Millisecond, 600 * time.Millisecond, 1},
		{"kill for 100ms", 50 * time.Millisecond, 150 * time.Millisecond, 1},
		{"pause backends 2ms", 400 * time.Millisecond, 420 * time.Millisecond, 3}, // a busy machine may keep them apart
		{"cut", 0, 0, 0},
	} {
		var from, to time.Duration
		n := 0
		for _, w := range s.Played() {
			if w.Event.Effect() == want.what {
				if n == 0 {
					from = w.From
				}
				to = w.To
				n++
			}
		}
		if from < want.from || to < want.to || to < from || n > want.most || n == 0 && want.most > 0 {
			t.Errorf("%s: %d times from %v to %v, want %+v", want.what, n, from, to, want)
		}
	}
}

// TestPlayedBound: however often an event has an effect, there are few times, and none is lost.
func TestPlayedBound(t *testing.T) {
	var w windows
	start := time.Now().Add(-time.Hour)
	w.begin(start)
	e := &Event{}
	for n := range 2 * maxWindows {
		w.add(e, start.Add(time.Duration(n)*10*time.Second))
		w.list[e][len(w.list[e])-1].To = time.Duration(n)*10*time.Second + time.Second
	}
	if list := w.list[e]; len(list) != maxWindows || list[maxWindows-1].To != (2*maxWindows-1)*10*time.Second+time.Second {
		t.Errorf("%d, %+v", len(list), list[len(list)-1])
	}
}
