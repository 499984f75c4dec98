package firebird

import (
	"context"
	"io"
	"net"
	"sync"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// relay passes connections on, because the client cannot be told how to make them: it connects to a port of this
// machine, and for each connection there the relay makes one with drivers.Dial. When either side ends, both do.
type relay struct {
	l      net.Listener
	cancel context.CancelFunc
}

func newRelay(server string, dial drivers.Dial) (*relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.WithStack(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &relay{l: l, cancel: cancel}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go pass(ctx, client, server, dial)
		}
	}()
	return r, nil
}

// pass serves one connection. If the server cannot be reached, the client sees its connection end.
func pass(ctx context.Context, client net.Conn, server string, dial drivers.Dial) {
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	to, err := dial(ctx, "tcp", server)
	cancel()
	if err != nil {
		return
	}
	defer to.Close()
	var both sync.WaitGroup
	copying := func(dst, src net.Conn) {
		_, _ = io.Copy(dst, src)
		_ = dst.Close()
		_ = src.Close()
	}
	both.Go(func() { copying(to, client) })
	both.Go(func() { copying(client, to) })
	both.Wait()
}

func (r *relay) address() string { return r.l.Addr().String() }

func (r *relay) close() {
	if r != nil {
		r.cancel()
		_ = r.l.Close()
	}
}
