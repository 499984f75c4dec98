package faults

import (
	"slices"
	"strings"
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

// three is a cluster that notes which node is hit; 0 is its own choice.
type three struct {
	calm
	aimed int
	hit   []int
}

func (c *three) Aim(node int) { c.aimed = node }
func (c *three) hits()        { c.hit, c.aimed = append(c.hit, c.aimed), 0 }
func (c *three) Kill()        { c.hits() }
func (c *three) Pause(bool) (func(), error) {
	c.hits()
	return func() {}, nil
}

// TestServerOn: kill and pause hit the endpoint of a cluster that they name, and say so.
func TestServerOn(t *testing.T) {
	events, err := Parse("0s kill on 3; 0s pause 1us on 2; 0s kill; 0s pause 1us", 3)
	if err != nil {
		t.Fatal(err)
	}
	cluster, said := &three{}, []string{}
	s := New(nil, 3, 1)
	s.Serve(cluster, func(text string) { said = append(said, text) }, nil)
	s.windows.begin(time.Now())
	for n := range events {
		s.playServer(t.Context(), &events[n], time.Now())
	}
	if want := []int{3, 2, 0, 0}; !slices.Equal(cluster.hit, want) {
		t.Errorf("hit %v, want %v", cluster.hit, want)
	}
	if len(said) != 2 || !strings.HasPrefix(said[0], "endpoint 3 was killed and started again") || !strings.HasPrefix(said[1], "the server was") {
		t.Errorf("said %q", said)
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
