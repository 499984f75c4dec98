package faults

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// Set is the proxies for the endpoints of one database.
type Set struct {
	events []Event
	nodes  []*node
	stop   context.CancelFunc
	played sync.WaitGroup
	// server is the server that the script kills and pauses, tell is told what a fault did to it, and
	// env is the environment of commands.
	server Server
	// serving is held while the server is killed, or processes to pause are chosen.
	serving sync.Mutex
	tell    func(string)
	env     []string
	// session pauses a session of a database that is no server, nil if there is none.
	session func() (resume func(), err error)
	windows windows
}

// Serve names the server that events act on, whom to tell about them, and variables for the
// environment of commands.
func (s *Set) Serve(server Server, tell func(string), env []string) {
	s.server, s.tell, s.env = server, tell, env
}

// Pause names what pauses one session, drawn at random, of a database that is no server. Events that pause sessions
// call it in place of the server.
func (s *Set) Pause(session func() (resume func(), err error)) { s.session = session }

// node is the proxy for one endpoint. Toxiproxy's streams carry the bytes. The connections are
// made here, so that they can be reset, and so that an unreachable endpoint looks as it would
// without a proxy.
type node struct {
	mu    sync.Mutex
	pairs map[*pair]bool
	// down counts the events that currently refuse connections; late are the events that
	// currently delay answers.
	down   int
	late   map[*Event]bool
	jitter *rand.Rand
}

// pair is one connection of a client, which ends here, and the corresponding connection to the
// server.
type pair struct {
	client, server net.Conn
}

// New prepares proxies that do nothing yet. Random choices are drawn from seed.
func New(events []Event, endpoints int, seed int64) *Set {
	s := &Set{events: events, stop: func() {}, tell: func(string) {}}
	for n := range endpoints {
		s.nodes = append(s.nodes, &node{pairs: map[*pair]bool{}, late: map[*Event]bool{}, jitter: rand.New(rand.NewPCG(uint64(seed), uint64(n)))})
	}
	return s
}

// Dial returns the dial function for endpoint n, from 0.
func (s *Set) Dial(n int) drivers.Dial { return s.nodes[n].dial }

// Play starts the script.
func (s *Set) Play() {
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	start := time.Now()
	s.windows.begin(start)
	for i := range s.events {
		e := &s.events[i]
		if !e.Action.Connections() {
			s.played.Add(1)
			go func() {
				defer s.played.Done()
				s.playServer(ctx, e, start)
			}()
			continue
		}
		for n, nd := range s.nodes {
			if e.Node == 0 || e.Node == n+1 {
				s.played.Add(1)
				go func() {
					defer s.played.Done()
					nd.play(ctx, e, start, &s.windows)
				}()
			}
		}
	}
}

// Lift stops the script and ends all its effects.
func (s *Set) Lift() {
	s.stop()
	s.played.Wait()
}

// Close stops the script and ends all connections.
func (s *Set) Close() {
	s.Lift()
	for _, n := range s.nodes {
		n.end(false, 0)
	}
}

// until waits for a moment, or returns false if ctx ends first.
func until(ctx context.Context, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// play runs one event at one node, with its repetitions. Times are counted from the start, so
// that delays do not add up.
func (n *node) play(ctx context.Context, e *Event, start time.Time, w *windows) {
	for t := start.Add(e.At); until(ctx, t); t = t.Add(e.Every) {
		begun := time.Now()
		lift := n.begin(e)
		if e.For > 0 {
			until(ctx, t.Add(e.For))
		} else if e.Action == Latency {
			<-ctx.Done()
		}
		lift()
		w.add(e, begun)
		if e.Every == 0 {
			return
		}
	}
}

// begin begins an event, and returns a function that ends it.
func (n *node) begin(e *Event) (lift func()) {
	if e.Action == Latency {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.late[e] = true
		return func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			delete(n.late, e)
		}
	}
	down := 0
	if e.For > 0 {
		down = 1
	}
	n.end(e.Action == Reset, down)
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.down -= down
	}
}

// end ends all connections. It adds down to the count of events that refuse new ones.
func (n *node) end(reset bool, down int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down += down
	for p := range n.pairs {
		p.close(reset)
	}
}

func (p *pair) close(reset bool) {
	for _, c := range []net.Conn{p.client, p.server} {
		if t, ok := c.(*net.TCPConn); ok && reset {
			_ = t.SetLinger(0)
		}
		c.Close()
	}
}

var errRefused = errors.New("refused by a fault of the script")

func (n *node) refusing() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.down > 0
}

// dial makes a connection to a server through the proxy.
func (n *node) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if n.refusing() {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errRefused}
	}
	var d net.Dialer
	server, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	near, far, err := loopback(ctx)
	if err != nil {
		server.Close()
		return nil, err
	}
	p := &pair{client: far, server: server}
	if !n.add(p) { // connections are refused since a moment ago
		p.close(true)
		near.Close()
		return nil, &net.OpError{Op: "dial", Net: network, Err: errRefused}
	}
	go carry(&output{n, p, server}, far)
	n.carryLate(&output{n, p, far}, server)
	return &conn{near, server.RemoteAddr()}, nil
}

// add registers a new pair, unless connections are refused.
func (n *node) add(p *pair) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down > 0 {
		return false
	}
	n.pairs[p] = true
	return true
}

// output is the end of one direction of a pair. When the input has ended, output is closed and
// the pair is removed.
type output struct {
	n *node
	p *pair
	net.Conn
}

// Write never fails, so that the stream before it is drained. Streams learn of the end of a
// connection where they read.
func (o *output) Write(b []byte) (int, error) {
	_, _ = o.Conn.Write(b)
	return len(b), nil
}

func (o *output) Close() error {
	o.n.mu.Lock()
	delete(o.n.pairs, o.p)
	o.n.mu.Unlock()
	return o.Conn.Close()
}

// conn is a client's end. It returns the server's address, because clients connect to it to
// cancel statements.
type conn struct {
	*net.TCPConn
	remote net.Addr
}

func (c *conn) RemoteAddr() net.Addr { return c.remote }

// loopback makes a connection of this process to itself.
func loopback(ctx context.Context) (near, far *net.TCPConn, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	var d net.Dialer
	a, err := d.DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	for {
		b, err := l.Accept()
		if err != nil {
			a.Close()
			return nil, nil, err
		}
		if b.RemoteAddr().String() == a.LocalAddr().String() {
			return a.(*net.TCPConn), b.(*net.TCPConn), nil
		}
		b.Close() // another process connected first
	}
}
