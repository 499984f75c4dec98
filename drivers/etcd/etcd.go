// Package etcd drives etcd through its v3 client.
package etcd

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"iter"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/isohound/isohound/drivers"
)

func init() { drivers.Register(driver{}) }

// The isolations are those of package concurrency of etcd's client.
const (
	serializable         = "serializable"
	serializableSnapshot = "serializable snapshot"
	repeatableReads      = "repeatable reads"
	readCommitted        = "read committed"
)

// guarantees is the page that says what etcd promises for each request.
const guarantees = "https://etcd.io/docs/latest/learning/api_guarantees/"

type driver struct{}

func (driver) Info() drivers.Info {
	return drivers.Info{
		Name:    "etcd",
		Title:   "etcd",
		Blind:   true,
		DSN:     "http://user:password@127.0.0.1:2379",
		DSNHelp: "endpoints of one cluster, separated by commas; user and password, if any, in the first",
		Schemes: []string{"http", "https"}, Commas: true,
		Isolations: []drivers.Isolation{
			{Name: serializable, Promises: "sser", Lightweight: "lin", Source: guarantees, Note: "reads at one revision, compared at commit"},
			{Name: serializableSnapshot, Promises: "sser", Lightweight: "lin", Source: guarantees, Note: "keys that are written are compared, too"},
			{Name: repeatableReads, Promises: "sser", Lightweight: "lin", Source: guarantees, Note: "each read at its own revision, compared at commit: only aborted transactions have read different revisions"},
			{Name: readCommitted, Promises: "ru", Lightweight: "lin", Source: "https://pkg.go.dev/go.etcd.io/etcd/client/v3/concurrency#Isolation", Note: "nothing compared; reads from any committed revision, so one read may be older than the one before"},
		},
		Can: []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Lightweight, drivers.Disturb, drivers.Positions},
		Notes: []string{
			"A transaction collects its writes and commits with one request that compares what it read; etcd's own limit of operations in a request (--max-txn-ops, 128) is that of a transaction.",
			"The history has as dbtxn the revision that a transaction's writes made, which is their order.",
		},
	}
}

// MaskDSN implements drivers.Masker.
func (driver) MaskDSN(dsn string) string {
	var out []string
	for _, e := range endpoints(dsn) {
		shown := drivers.MaskURL(e)
		if shown == drivers.Masked {
			return shown
		}
		out = append(out, shown)
	}
	return strings.Join(out, ",")
}

// endpoints splits a DSN into URLs.
func endpoints(dsn string) []string {
	var out []string
	for _, e := range strings.Split(dsn, ",") {
		if e = strings.TrimSpace(e); !strings.Contains(e, "://") {
			e = "http://" + e
		}
		out = append(out, e)
	}
	return out
}

// setupTimeout bounds connecting, creating and dropping separately.
const setupTimeout = 15 * time.Second

func parse(dsn string) (conf clientv3.Config, err error) {
	for i, e := range endpoints(dsn) {
		u, err := url.Parse(e)
		if err != nil {
			return conf, err
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || strings.Trim(u.Path, "/") != "" {
			return conf, errors.New("expected endpoints like http://127.0.0.1:2379, separated by commas")
		}
		if i == 0 && u.User != nil {
			conf.Username = u.User.Username()
			conf.Password, _ = u.User.Password()
		}
		conf.Endpoints = append(conf.Endpoints, u.Scheme+"://"+u.Host)
	}
	conf.Logger = zap.NewNop()
	conf.DialTimeout = setupTimeout
	// Keep-alives detect a dead connection.
	conf.DialKeepAliveTime, conf.DialKeepAliveTimeout = 10*time.Second, 5*time.Second
	return conf, nil
}

func (driver) Open(ctx context.Context, cfg drivers.Config) (drivers.DB, error) {
	conf, err := parse(cfg.DSN)
	if err != nil {
		return nil, &drivers.DSNError{Driver: "etcd", Err: err}
	}
	if cfg.Dial != nil {
		conf.DialOptions = append(conf.DialOptions, grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return cfg.Dial(ctx, "tcp", addr)
		}))
	}
	name := make([]byte, 6)
	if _, err := rand.Read(name); err != nil {
		return nil, errors.WithStack(err)
	}
	d := &db{conf: conf, prefix: "isohound_" + hex.EncodeToString(name) + "/", isolation: cfg.Isolation}
	if err := reachable(ctx, conf.Endpoints, cfg.Dial); err != nil {
		return nil, &drivers.UnreachableError{Driver: "etcd", Err: err}
	}
	err = d.admin(ctx, func(ctx context.Context, c *clientv3.Client) error {
		st, err := c.Status(ctx, conf.Endpoints[0])
		if err == nil {
			d.version = st.Version
		}
		return err
	})
	if err != nil {
		return nil, &drivers.UnreachableError{Driver: "etcd", Err: stranger(err, conf.Endpoints[0])}
	}
	return d, nil
}

// stranger explains an error of the first request. What accepts connections and speaks something else looks silent to
// the client, which tries until its time is over.
func stranger(err error, endpoint string) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	tls := "without"
	if strings.HasPrefix(endpoint, "https:") {
		tls = "with"
	}
	return errors.Errorf("%s did not answer as etcd does within %v; is this an etcd server %s TLS?", endpoint, setupTimeout, tls)
}

// reachable returns the error of the last endpoint if no endpoint accepts a connection, with TLS where it is asked for. The client
// itself tries until its time is over, and then does not say why.
func reachable(ctx context.Context, endpoints []string, dial drivers.Dial) (err error) {
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	for _, e := range endpoints {
		u, _ := url.Parse(e) // parse made it
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		var c net.Conn
		if c, err = dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port)); err != nil {
			continue
		}
		if u.Scheme == "https" {
			err = handshake(ctx, c, u.Hostname())
		}
		if c.Close(); err == nil {
			return nil
		}
	}
	return err
}

var remedies = drivers.Remedies{
	Without:   "without TLS endpoints begin with http://",
	Unchecked: "an authority of the system must have signed it",
}

// handshake looks whether the server has TLS and a certificate that fits. Of any other error the client's is better.
func handshake(ctx context.Context, c net.Conn, host string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if err := tls.Client(c, &tls.Config{ServerName: host, NextProtos: []string{"h2"}}).HandshakeContext(ctx); err != nil {
		return remedies.Explain(err)
	}
	return nil
}

type db struct {
	conf      clientv3.Config
	prefix    string // of all keys of the run
	isolation string
	version   string
	created   bool
}

func (d *db) Server() string { return "etcd " + d.version }

// admin runs f with its own client.
func (d *db) admin(ctx context.Context, f func(context.Context, *clientv3.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	c, err := clientv3.New(d.conf)
	if err != nil {
		return err
	}
	defer c.Close()
	return f(ctx, c)
}

// batch is how many keys one request creates. It is etcd's default limit.
const batch = 128

func (d *db) Create(ctx context.Context, initial iter.Seq2[string, int64]) error {
	err := d.admin(ctx, func(ctx context.Context, c *clientv3.Client) error {
		d.created = true // from here on there may be something to delete
		var puts []clientv3.Op
		flush := func() error {
			_, err := c.Txn(ctx).Then(puts...).Commit()
			puts = puts[:0]
			return err
		}
		for k, v := range initial {
			if puts = append(puts, clientv3.OpPut(d.prefix+k, encode(v))); len(puts) == batch {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return flush()
	})
	if err != nil {
		return &drivers.UnreachableError{Driver: "etcd", Err: errors.Wrap(err, "creating the initial keys")}
	}
	return nil
}

// Connect makes a client with its own connection, and checks that the server answers.
func (d *db) Connect(ctx context.Context) (drivers.Session, error) {
	c, err := clientv3.New(d.conf)
	if err != nil {
		return nil, statementError(err)
	}
	if _, err := c.Get(ctx, d.prefix, clientv3.WithCountOnly()); err != nil {
		c.Close()
		return nil, statementError(err)
	}
	return &session{c: c, db: d}, nil
}

// Owns implements drivers.Owner.
func (d *db) Owns() string {
	if !d.created {
		return ""
	}
	return "the keys that begin with " + d.prefix + "; delete them with etcdctl del --prefix " + d.prefix
}

func (d *db) Close(ctx context.Context) error {
	if !d.created {
		return nil
	}
	err := d.admin(ctx, func(ctx context.Context, c *clientv3.Client) error {
		_, err := c.Delete(ctx, d.prefix, clientv3.WithPrefix())
		return err
	})
	if err == nil {
		return nil
	}
	return errors.Wrapf(&drivers.UnreachableError{Driver: "etcd", Err: err}, "keys are left behind, delete them with etcdctl del --prefix %s", d.prefix)
}

func encode(v int64) string { return strconv.FormatInt(v, 10) }

func decode(b []byte) (int64, error) {
	v, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return 0, &drivers.Error{Class: drivers.Fatal, Cause: "value is no number", Err: err}
	}
	return v, nil
}
