package cassandra

import (
	"context"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pkg/errors"
)

// anyone is the address that the client believes it connects to. The dialer uses the real one: a
// name may have several addresses, and the client would treat each as a separate node.
const anyone = "127.0.0.1"

// dialer makes the two connections of a session, in the order in which the client asks for them:
// the one that monitors the node, and the one for statements. It makes no others, so a session
// that broke stays broken. A client whose monitoring connection was restored would look for
// other nodes, and would panic if a node does not report its address, as in Cassandra 2.0.
type dialer struct {
	target  *target
	timeout time.Duration

	mu    sync.Mutex
	made  int
	watch *watched
}

// watched is a connection that records whether it has ended.
type watched struct {
	net.Conn
	ended atomic.Bool
}

func (w *watched) Close() error {
	w.ended.Store(true)
	return w.Conn.Close()
}

func (d *dialer) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.made == 2 || d.made == 1 && (d.watch == nil || d.watch.ended.Load()) {
		return nil, errors.New("the connection of this session is lost")
	}
	d.made++
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	dial := d.target.dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	c, err := dial(ctx, network, net.JoinHostPort(d.target.host, strconv.Itoa(d.target.port)))
	if err != nil || d.made == 2 {
		return c, err
	}
	d.watch = &watched{Conn: c}
	return d.watch, nil
}
