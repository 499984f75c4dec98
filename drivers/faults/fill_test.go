package faults

import (
	"strings"
	"testing"
)

// filled is a server with a disk. It ends when that is full, if it is weak.
type filled struct {
	calm
	weak, full, ended bool
	starts            int
	began             chan bool
}

func (f *filled) Start() error {
	f.starts++
	f.ended = f.full
	return nil
}

func (f *filled) Ended() bool { return f.ended }

func (f *filled) Fill() (func() error, error) {
	f.full, f.ended = true, f.weak
	f.began <- true
	return func() error {
		f.full = false
		return nil
	}, nil
}

// TestFill: a disk has space again after the time, also when the sessions end before. A server that has ended is started after that.
func TestFill(t *testing.T) {
	for _, tc := range []struct {
		script string
		weak   bool
		starts int
		told   string
	}{
		{"0s fill for 20ms", false, 0, "the server's disk was full for"},
		{"0s fill for 20ms", true, 1, "the server had ended, and was started again"},
		{"0s fill for 1h", true, 1, "the server had ended, and was started again"},
	} {
		events, err := Parse(tc.script, 1)
		if err != nil {
			t.Fatal(err)
		}
		server := &filled{weak: tc.weak, began: make(chan bool, 1)}
		s := New(events, 1, 1)
		told := make(chan string, 10)
		s.Serve(server, func(text string) { told <- text }, nil)
		s.Play()
		<-server.began
		if tc.script == "0s fill for 20ms" {
			s.played.Wait()
		}
		s.Lift()
		if text := <-told; server.full || server.ended || server.starts != tc.starts || !strings.Contains(text, tc.told) {
			t.Errorf("%+v: %+v, %q", tc, server, text)
		}
	}
}
