package redis

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// conn is one connection. Neither it nor redigo ever sends a command again or connects again.
type conn struct {
	redis.Conn
	net net.Conn
	// kind and version are those of the server.
	kind, version string
}

// command is a command with its arguments.
type command struct {
	name string
	args []any
}

// lostError is an error of the connection; sent says that the last command may have reached the server.
type lostError struct {
	sent bool
	err  error
}

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// exchange sends commands in one piece and returns an answer for each. Answers that are errors of the server are
// values of type redis.Error. Any other error is a *lostError, and ends the connection. So does the end of ctx.
func (c *conn) exchange(ctx context.Context, cmds ...command) ([]any, error) {
	if err := ctx.Err(); err != nil {
		return nil, &lostError{false, err}
	}
	stop := context.AfterFunc(ctx, func() { c.net.Close() })
	defer stop()
	lost := func(sent bool, err error) error {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return &lostError{sent, err}
	}
	for _, cmd := range cmds {
		// A long piece is sent in parts. The end of the last command, which is EXEC or the only one that writes, is
		// sent by Flush.
		if err := c.Send(cmd.name, cmd.args...); err != nil {
			return nil, lost(false, err)
		}
	}
	if err := c.Flush(); err != nil {
		return nil, lost(true, err)
	}
	replies := make([]any, len(cmds))
	for n := range replies {
		reply, err := c.Receive()
		var answer redis.Error
		switch {
		case errors.As(err, &answer):
			reply = answer
		case err != nil:
			return nil, lost(true, err)
		}
		replies[n] = reply
	}
	return replies, nil
}

// all is exchange for commands of which none may fail: the first answer that is an error is the error.
func (c *conn) all(ctx context.Context, cmds ...command) ([]any, error) {
	replies, err := c.exchange(ctx, cmds...)
	if err != nil {
		return nil, err
	}
	for n, r := range replies {
		if e, ok := r.(redis.Error); ok {
			return nil, &answerError{cmds[n].name, e}
		}
	}
	return replies, nil
}

// one is all for one command.
func (c *conn) one(ctx context.Context, name string, args ...any) (any, error) {
	replies, err := c.all(ctx, command{name, args})
	if err != nil {
		return nil, err
	}
	return replies[0], nil
}

// info is what the server says about itself, by the names of INFO.
func (c *conn) info(ctx context.Context) (map[string]string, error) {
	reply, err := c.one(ctx, "INFO")
	if err != nil {
		return map[string]string{}, err
	}
	out := map[string]string{}
	for line := range strings.Lines(text(reply)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		out[name] = value
	}
	return out, nil
}

// text is an answer that is a string, else "".
func text(reply any) string {
	switch r := reply.(type) {
	case []byte:
		return string(r)
	case string:
		return r
	}
	return ""
}

// connect connects to the primary: the first of the hosts that is one, or the one that a sentinel names.
func (a *address) connect(ctx context.Context) (*conn, error) {
	var err error
	for _, host := range a.hosts {
		var c *conn
		if a.sentinel == "" {
			c, err = a.primary(ctx, host)
		} else {
			c, err = a.ask(ctx, host)
		}
		if err == nil {
			return c, nil
		}
		if fatal(err) {
			break
		}
	}
	return nil, err
}

// ask asks a sentinel for the primary and connects to that.
func (a *address) ask(ctx context.Context, host string) (*conn, error) {
	s, err := a.open(ctx, host)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	reply, err := s.one(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", a.sentinel)
	if err != nil {
		return nil, errors.WithMessage(err, "sentinel "+host)
	}
	pair, ok := reply.([]any)
	if !ok || len(pair) != 2 {
		return nil, errors.Errorf("the sentinel at %s knows no primary called %q", host, a.sentinel)
	}
	return a.primary(ctx, net.JoinHostPort(text(pair[0]), text(pair[1])))
}

var remedies = drivers.Remedies{
	Without:   "without TLS the DSN begins with redis://",
	Unchecked: "name its authority with cacert=FILE; insecure=true does not check the certificate",
}

// stranger explains an error of the first connection. What accepts it and does not answer as Redis, or not as TLS, is of
// another kind.
func (a *address) stranger(err error) error {
	var lost *lostError
	var op *net.OpError
	if explained := remedies.Explain(err); explained != nil {
		return explained
	}
	if !errors.As(err, &lost) || errors.Is(err, context.Canceled) ||
		errors.As(err, &op) && (op.Op == "dial" || op.Op == "remote error") { // what the other side of TLS says of itself
		return err
	}
	question := "is this a Redis server without TLS? With TLS the DSN begins with rediss://"
	if a.tls != nil {
		question = "is this a Redis server with TLS? Without TLS the DSN begins with redis://"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.Errorf("it did not answer as expected within %v; %s", setupTimeout, question)
	}
	return errors.Errorf("%v; %s", err, question)
}

// errPlain has the words by which drivers.Remedies knows a server without TLS.
var errPlain = errors.New("the server answers without TLS, and does not support TLS")

// silentTLS is how long a server may be silent to a handshake before it is asked without TLS.
const silentTLS = time.Second

// handshake is that of TLS. A Redis server without TLS takes it for the beginning of a command, and waits for the end of the line. So
// a server that is silent is asked on a connection of its own, whether it answers without TLS. It is sent no password.
func handshake(ctx context.Context, secured *tls.Conn, dial func(context.Context) (net.Conn, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ask := time.AfterFunc(silentTLS, func() {
		if answersPlain(ctx, dial) {
			cancel(errPlain)
		}
	})
	defer ask.Stop()
	err := secured.HandshakeContext(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errPlain) {
		return errPlain
	}
	return err
}

// answersPlain reports whether a server answers a command without TLS: with + or -.
func answersPlain(ctx context.Context, dial func(context.Context) (net.Conn, error)) bool {
	n, err := dial(ctx)
	if err != nil {
		return false
	}
	defer n.Close()
	defer context.AfterFunc(ctx, func() { n.Close() })()
	answer := make([]byte, 1)
	if _, err := n.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	_, err = n.Read(answer)
	return err == nil && (answer[0] == '+' || answer[0] == '-')
}

// open connects to a host.
func (a *address) open(ctx context.Context, host string) (*conn, error) {
	dial := a.dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	n, err := dial(ctx, "tcp", host)
	if err != nil {
		return nil, &lostError{false, err}
	}
	if a.tls != nil {
		conf := a.tls.Clone()
		conf.ServerName, _, _ = net.SplitHostPort(host)
		secured := tls.Client(n, conf)
		if err := handshake(ctx, secured, func(ctx context.Context) (net.Conn, error) { return dial(ctx, "tcp", host) }); err != nil {
			n.Close()
			return nil, &lostError{false, errors.WithMessage(err, "TLS with "+host)}
		}
		n = secured
	}
	return &conn{Conn: redis.NewConn(n, 0, 0), net: n}, nil
}

// primary connects to a server, which must be a primary and no cluster.
func (a *address) primary(ctx context.Context, host string) (*conn, error) {
	c, err := a.open(ctx, host)
	if err != nil {
		return nil, err
	}
	if err := a.greet(ctx, host, c); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// greet logs in and looks at what kind of server it is.
func (a *address) greet(ctx context.Context, host string, c *conn) error {
	switch {
	case a.user != "":
		if _, err := c.one(ctx, "AUTH", a.user, a.password); err != nil {
			return err
		}
	case a.password != "":
		if _, err := c.one(ctx, "AUTH", a.password); err != nil {
			return err
		}
	}
	reply, err := c.one(ctx, "HELLO", 2)
	if err != nil {
		return err
	}
	fields, _ := reply.([]any)
	said := map[string]string{}
	for n := 0; n+1 < len(fields); n += 2 {
		said[text(fields[n])] = text(fields[n+1])
	}
	c.kind, c.version = said["server"], said["version"]
	switch {
	case c.kind == "" || c.version == "":
		return errors.Errorf("%s does not answer like Redis", host)
	case said["mode"] == "sentinel":
		return &wrongServer{host + " is a sentinel; name its primary, as in ?sentinel=mymaster"}
	case said["mode"] != "standalone":
		return &wrongServer{host + " is a node of a " + said["mode"] + ", which this driver does not support"}
	case said["role"] != "master":
		return &notPrimary{host}
	}
	if a.database != 0 {
		_, err = c.one(ctx, "SELECT", a.database)
	}
	return err
}
