package remote

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/pkg/errors"
)

// Names of the stores, and of what judges share.
const (
	bucket       = "isohound"
	queue        = "isohound-windows"
	queueSubject = "isohound.windows."
	consumer     = "judges"
	judging      = "isohound.judges" // where judges say that they are alive
	asking       = "isohound.hello"  // where a run asks them to say so
	runSubject   = "isohound.runs."  // where a run is told of news
)

// keepFor is how long the stores keep what a run that was killed has left behind.
const keepFor = 7 * 24 * time.Hour

// ackWait is how long a judge may be silent until its window is given to another one.
const ackWait = 30 * time.Second

// Patience is how long a judge, or the server, may be silent until it counts as gone.
const Patience = 10 * time.Second

// callTime bounds one call to the server. transferTime bounds the transfer of a file: a moment, and a second
// for each transferSpeed bytes.
const (
	callTime      = 10 * time.Second
	transferTime  = time.Minute
	transferSpeed = 256 << 10
)

// Server says where the NATS server is.
type Server struct {
	// URL begins with nats://, tls://, ws:// or wss://, and may have a user and password, or a token in
	// their place. Several URLs of one cluster are separated by commas.
	URL string
	// Creds is a file of credentials, with a JWT and a seed; "" for none.
	Creds string
	// CA is a PEM file with the certificates that may sign that of the server; "" for those of the system.
	CA string
}

// Validate reports a URL that is none.
func (s *Server) Validate() error {
	for part := range strings.SplitSeq(s.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil { // it contains the URL, and so the password
			return errors.New("expected a URL such as nats://127.0.0.1:4222; special characters in passwords must be escaped")
		}
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			return errors.Errorf("%s: expected a URL such as nats://127.0.0.1:4222 or tls://nats.example.com", plain(part))
		}
		if u.Host == "" {
			return errors.Errorf("%s: the URL names no host", plain(part))
		}
	}
	return nil
}

// Name is the URL without secrets.
func (s *Server) Name() string { return plain(s.URL) }

func plain(urls string) string {
	var parts []string
	for part := range strings.SplitSeq(urls, ",") {
		if at := strings.LastIndexByte(part, '@'); at >= 0 {
			scheme := ""
			if n := strings.Index(part, "://"); n >= 0 && n < at {
				scheme = part[:n+3]
			}
			part = scheme + part[at+1:]
		}
		parts = append(parts, strings.TrimSpace(part))
	}
	return strings.Join(parts, ",")
}

// Conn is a connection to a NATS server with JetStream. It connects again by itself.
type Conn struct {
	name    string // of the server
	nc      *nats.Conn
	js      jetstream.JetStream
	queue   jetstream.Stream
	objects jetstream.ObjectStore
	keys    jetstream.KeyValue
}

// Dial connects, and makes the stores if they do not exist. A store that exists is used as it is, with the
// limits and replicas that it has. note is told when the connection is lost and when it is back.
func Dial(ctx context.Context, s Server, note func(line string)) (*Conn, error) {
	c := &Conn{name: s.Name()}
	opts := []nats.Option{
		nats.Name("isohound"), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond), nats.Timeout(callTime),
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			if err != nil && !nc.IsClosed() {
				note("the connection to " + c.name + " is lost: " + err.Error())
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { note("connected to " + c.name + " again") }),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // calls return their errors
	}
	if s.Creds != "" {
		opts = append(opts, nats.UserCredentials(s.Creds))
	}
	if s.CA != "" {
		opts = append(opts, nats.RootCAs(s.CA))
	}
	var err error
	if c.nc, err = nats.Connect(s.URL, opts...); err != nil {
		return nil, c.explain(err)
	}
	if c.js, err = jetstream.New(c.nc); err == nil {
		err = c.open(ctx)
	}
	if err != nil {
		c.nc.Close()
		return nil, c.explain(err)
	}
	return c, nil
}

// Close ends the connection, after what was said has been sent.
func (c *Conn) Close() {
	c.nc.FlushTimeout(time.Second)
	c.nc.Close()
}

// open opens the stores or makes them.
func (c *Conn) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*callTime)
	defer cancel()
	if _, err := c.js.AccountInfo(ctx); err != nil {
		return err
	}
	var err error
	c.queue, err = c.js.Stream(ctx, queue)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		c.queue, err = c.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: queue, Description: "windows of isohound's runs that are not judged", Subjects: []string{queueSubject + ">"},
			Retention: jetstream.WorkQueuePolicy, MaxAge: keepFor,
		})
	}
	if err != nil {
		return errors.Wrapf(err, "the stream %s", queue)
	}
	c.objects, err = c.js.ObjectStore(ctx, bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		c.objects, err = c.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: bucket, Description: "windows of isohound's runs", TTL: keepFor})
	}
	if err != nil {
		return errors.Wrapf(err, "the object store %s", bucket)
	}
	c.keys, err = c.js.KeyValue(ctx, bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		c.keys, err = c.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: bucket, Description: "verdicts on windows of isohound's runs", TTL: keepFor})
	}
	return errors.Wrapf(err, "the key-value bucket %s", bucket)
}

// errReconnected says that what was sent may be lost, and answers, too.
var errReconnected = errors.New("the connection was lost meanwhile")

// steady returns a context for the transfer of a file, which ends if the connection is lost: when it is back,
// or after Patience.
func (c *Conn) steady(ctx context.Context, bytes int64) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	limit := transferTime + time.Duration(bytes/transferSpeed)*time.Second
	began, connects := time.Now(), c.nc.Stats().Reconnects
	go func() {
		for last := began; ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
			switch connected := c.nc.IsConnected(); {
			case connected && c.nc.Stats().Reconnects != connects:
				cancel(errReconnected)
			case connected:
				last = time.Now()
			case time.Since(last) > Patience:
				cancel(errors.Errorf("there was no connection for %s", Patience))
			}
			if time.Since(began) > limit {
				cancel(errors.Errorf("the transfer of %d bytes did not end within %s", bytes, limit))
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// explain adds the server and the remedy to an error.
func (c *Conn) explain(err error) error {
	remedy := ""
	text := err.Error()
	switch {
	case Full(err):
		remedy = "; give JetStream more space (isohound nats --max-store, or max_file_store of nats-server), or start more judges"
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		remedy = "; start nats-server with -js, or use isohound nats"
	case errors.Is(err, nats.ErrNoServers), strings.Contains(text, "connection refused"):
		remedy = "; is it running? isohound nats starts one for this machine"
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), strings.Contains(text, "Authorization Violation"), strings.Contains(text, "nonce"):
		remedy = "; give --nats-creds, or a user and password in the URL"
	case strings.Contains(text, "x509:"), strings.Contains(text, "certificate"):
		remedy = "; --nats-ca names the file with the certificate of its authority"
	case errors.Is(err, nats.ErrSecureConnRequired), strings.Contains(text, "secure connection"):
		remedy = "; use tls:// in the URL"
	}
	return errors.Errorf("NATS server %s: %v%s", c.name, err, remedy)
}

// Full reports whether an error says that JetStream has no space left.
func Full(err error) bool {
	if err == nil {
		return false
	}
	var api *jetstream.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode {
		case 10023, 10047, 10122: // insufficient resources, storage, and stream limits
			return true
		}
	}
	text := err.Error()
	return strings.Contains(text, "maximum bytes exceeded") || strings.Contains(text, "resources") || strings.Contains(text, "no space left")
}
