package cli

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
)

// cutter is a proxy on loopback that cuts connections at every nth commit: either before the
// server receives it or before the client receives the answer.
type cutter struct {
	t        *testing.T
	listener net.Listener
	target   string
	word     []byte // what a commit looks like on the wire
	every    int

	mu                  sync.Mutex
	commits             int
	cutBefore, cutAfter int
	conns               map[net.Conn]bool
}

func newCutter(t *testing.T, target, word string, every int) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{t: t, listener: l, target: target, word: []byte(word), every: every, conns: map[net.Conn]bool{}}
	t.Cleanup(func() {
		l.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		for conn := range c.conns {
			conn.Close()
		}
	})
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go c.serve(client)
		}
	}()
	return c
}

func (c *cutter) addr() string { return c.listener.Addr().String() }

func (c *cutter) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", c.target)
	if err != nil {
		return
	}
	defer server.Close()
	c.mu.Lock()
	c.conns[client], c.conns[server] = true, true
	c.mu.Unlock()
	deaf := make(chan struct{})
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			select {
			case <-deaf: // the client must not receive the answer
				client.Close()
				return
			default:
			}
			if n > 0 {
				client.Write(buf[:n])
			}
			if err != nil {
				client.Close()
				return
			}
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if n > 0 {
			switch c.decide(buf[:n]) {
			case "before":
				return
			case "after":
				close(deaf)
				server.Write(buf[:n])
				io.Copy(io.Discard, client)
				return
			}
			server.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// decide decides what happens to a message of a client.
func (c *cutter) decide(msg []byte) string {
	if !bytes.Contains(msg, c.word) {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commits++
	if c.commits%c.every != 0 {
		return ""
	}
	if c.commits/c.every%2 == 0 {
		c.cutBefore++
		return "before"
	}
	c.cutAfter++
	return "after"
}
