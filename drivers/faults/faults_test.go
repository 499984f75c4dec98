package faults

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for script, want := range map[string]string{
		"": "",
		"2s latency 50ms 10ms for 3s; 5s cut; 7s reset":                             "2s latency 50ms 10ms for 3s|5s cut|7s reset",
		"\n 0s  latency 1ms\n\n1m cut every 2s for 500ms":                           "0s latency 1ms|1m0s cut for 500ms every 2s",
		"1.5s reset on 2 every 1s":                                                  "1.5s reset on 2 every 1s",
		"1s latency 5ms for 1s every 2s on 1":                                       "1s latency 5ms on 1 for 1s every 2s",
		"1s pause backends 8ms at ReleasePredicateLocks":                            "1s pause backends 8ms at ReleasePredicateLocks",
		"5s kill for 3s; 10s pause backends 5ms every 20ms;20s exec ./mine.sh a  b": "5s kill for 3s|10s pause backends 5ms every 20ms|20s exec ./mine.sh a b",
		"1s kill standby for 3s; 1s pause standby 5ms every 1s":                     "1s kill standby for 3s|1s pause standby 5ms every 1s",
		"1s fill for 3s every 10s":                                                  "1s fill for 3s every 10s",
		"1s kill on 2 for 3s; 1s pause 5ms on 1 every 1s":                           "1s kill on 2 for 3s|1s pause 5ms on 1 every 1s",
		"1s kill every 2s; 1s pause 5ms; 1s exec echo every 2s":                     "1s kill every 2s|1s pause 5ms|1s exec echo every 2s",
	} {
		events, err := Parse(script, 2)
		var got []string
		for _, e := range events {
			got = append(got, e.String())
			if again, err := Parse(e.String(), 2); err != nil || again[0] != e {
				t.Errorf("%v is read again as %v, %v", e, again, err)
			}
		}
		if err != nil || strings.Join(got, "|") != want {
			t.Errorf("%q: %q, %v", script, got, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for script, want := range map[string]string{
		"cut":                            `"cut": expected when it begins, a time such as 1.5s or 20ms, not "cut"`,
		"-1s cut":                        "expected when it begins",
		"1s":                             `expected latency, cut, reset, kill, pause, fill or exec, not ""`,
		"1s cut; 2s latncy 5ms":          `"2s latncy 5ms": expected latency, cut, reset, kill, pause, fill or exec, not "latncy"`,
		"1s latency":                     "how much later answers come",
		"1s latency 0s":                  "how much later answers come",
		"1s latency 5ms 6ms":             "cannot vary by 6ms",
		"1s latency 5ms every 1s":        "needs an end",
		"1s latency 5ms for 2s every 1s": "a fault that lasts 2s cannot begin every 1s",
		"1s pause":                       "how long it lasts",
		"1s pause 5ms for 1s":            "stands after pause",
		"1s pause backends standby 5ms":  "how long it lasts",
		"1s pause backends 5ms at":       "the name of a function of the server after at",
		"1s pause backends 5ms at f(x)":  "the name of a function of the server after at",
		"1s pause backends 5ms at commit every 1s": "every and on do not go with at",
		"1s pause backends 5ms at commit on 1":     "every and on do not go with at",
		"1s pause 5ms at commit":                   "expected on, for or every",
		"1s cut standby":                           `expected on, for or every, not "standby"`,
		"1s pause 5ms every 5ms":                   "cannot begin every",
		"1s exec":                                  "expected a command",
		"1s fill":                                  "a full disk needs an end",
		"1s cut for":                               "how long it lasts",
		"1s cut every 0s":                          "when it begins again",
		"1s cut 5ms":                               `expected on, for or every, not "5ms"`,
		"1s cut for 1s for 2s":                     `"for" stands twice`,
		"1s cut on 0":                              "the number of an endpoint, from 1",
		"1s cut on 3":                              "there is no endpoint 3",
		"1s kill standby on 1":                     "the standby is no endpoint",
	} {
		if _, err := Parse(script, 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", script, err, want)
		}
	}
}

// echo is a server that sends back what it gets.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				io.Copy(c, c)
				c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func set(t *testing.T, script string, endpoints int) *Set {
	t.Helper()
	events, err := Parse(script, endpoints)
	if err != nil {
		t.Fatal(err)
	}
	s := New(events, endpoints, 1)
	t.Cleanup(s.Close)
	return s
}

func connect(t *testing.T, s *Set, n int, addr string) net.Conn {
	t.Helper()
	c, err := s.Dial(n)(context.Background(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if c.RemoteAddr().String() != addr {
		t.Errorf("the connection leads to %s, want %s", c.RemoteAddr(), addr)
	}
	return c
}

// ask sends a message and waits for its echo.
func ask(c net.Conn) error {
	if _, err := c.Write([]byte("hello")); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, 5))
	return err
}

func (n *node) open() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.pairs)
}

// eventually waits for what must come.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for range 1000 {
		if f() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s did not happen", what)
}

// TestUndisturbed: without events bytes are passed on, and an end reaches the other side.
func TestUndisturbed(t *testing.T) {
	s := set(t, "", 1)
	c := connect(t, s, 0, echo(t))
	for range 100 {
		if err := ask(c); err != nil {
			t.Fatal(err)
		}
	}
	c.Close()
	eventually(t, "the end of the connection", func() bool { return s.nodes[0].open() == 0 })
	if _, err := s.Dial(0)(context.Background(), "tcp", "127.0.0.1:1"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a server that is not there: %v", err)
	}
}

// TestEnds: a cut connection ends, a reset one breaks, those of other endpoints continue, and
// new ones are refused during the event.
func TestEnds(t *testing.T) {
	for action, want := range map[string]error{"cut": io.EOF, "reset": syscall.ECONNRESET} {
		s := set(t, "0s "+action+" on 1 for 1h", 2)
		addr := echo(t)
		c, other := connect(t, s, 0, addr), connect(t, s, 1, addr)
		if err := ask(c); err != nil {
			t.Fatal(err)
		}
		s.Play()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, want) {
			t.Errorf("%s: %v", action, err)
		}
		if err := ask(other); err != nil {
			t.Errorf("%s: the other endpoint: %v", action, err)
		}
		if _, err := s.Dial(0)(context.Background(), "tcp", addr); !errors.Is(err, errRefused) {
			t.Errorf("%s: a new connection: %v", action, err)
		}
		s.Lift()
		if err := ask(connect(t, s, 0, addr)); err != nil {
			t.Errorf("%s: after its end: %v", action, err)
		}
	}
}

// TestEvery: an event repeats.
func TestEvery(t *testing.T) {
	s := set(t, "1ms reset every 5ms", 1)
	addr := echo(t)
	s.Play()
	for range 3 {
		c := connect(t, s, 0, addr)
		eventually(t, "a reset", func() bool { return ask(c) != nil })
	}
}

// TestLatency: answers are delayed during the event. They cannot come earlier, so the test
// cannot fail by chance.
func TestLatency(t *testing.T) {
	s := set(t, "0s latency 60ms 10ms; 0s latency 50ms on 2", 2)
	addr := echo(t)
	one, two := connect(t, s, 0, addr), connect(t, s, 1, addr)
	s.Play()
	took := func(c net.Conn) time.Duration {
		begun := time.Now()
		if err := ask(c); err != nil {
			t.Fatal(err)
		}
		return time.Since(begun)
	}
	eventually(t, "a latency of 50 ms", func() bool { return took(one) >= 50*time.Millisecond })
	eventually(t, "a latency of 100 ms", func() bool { return took(two) >= 100*time.Millisecond })
	late := connect(t, s, 1, addr)
	if d := took(late); d < 100*time.Millisecond {
		t.Errorf("a new connection answers after %v", d)
	}
	s.Lift()
	eventually(t, "the end of the latency", func() bool { return took(two) < 50*time.Millisecond })
}

// TestStorm changes everything at once while connections come and go.
func TestStorm(t *testing.T) {
	s := set(t, "0s latency 1ms for 2ms every 3ms; 1ms cut every 7ms; 2ms reset for 1ms every 11ms; 0s latency 2ms 1ms for 1ms every 5ms", 1)
	addr := echo(t)
	s.Play()
	answered := make(chan int)
	for range 8 {
		go func() {
			n := 0
			for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
				c, err := s.Dial(0)(context.Background(), "tcp", addr)
				if err != nil {
					continue
				}
				for ask(c) == nil && time.Now().Before(end) {
					n++
				}
				c.Close()
			}
			answered <- n
		}()
	}
	total := 0
	for range 8 {
		total += <-answered
	}
	if total == 0 {
		t.Error("nothing came through")
	}
	s.Lift()
	if err := ask(connect(t, s, 0, addr)); err != nil {
		t.Errorf("after the storm: %v", err)
	}
	s.Close()
	eventually(t, "the end of all connections", func() bool { return s.nodes[0].open() == 0 })
}
