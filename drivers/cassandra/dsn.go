package cassandra

import (
	"context"
	"crypto/tls"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gocql/gocql"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// target is a parsed DSN.
type target struct {
	host           string
	port           int
	user, password string
	dc             string
	replication    int
	protocol       int
	tls            *tls.Config
	dial           drivers.Dial
}

// protocols are the versions of the native protocol, the best first. Version 1 cannot specify
// the consistency for reading a condition.
var protocols = []int{4, 3, 2}

func parseDSN(dsn string) (*target, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "cassandra" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.Fragment != "" {
		return nil, errors.New("expected an address like cassandra://127.0.0.1:9042/")
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, err
	}
	t := &target{host: u.Hostname(), port: 9042, user: u.User.Username()}
	t.password, _ = u.User.Password()
	if p := u.Port(); p != "" {
		if t.port, err = strconv.Atoi(p); err != nil || t.port < 1 || t.port > 65535 {
			return nil, errors.Errorf("%s is no port", p)
		}
	}
	for name, values := range q {
		if err := t.set(name, values[len(values)-1]); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *target) set(name, value string) (err error) {
	switch name {
	case "dc":
		t.dc = value
	case "replication":
		if t.replication, err = strconv.Atoi(value); err != nil || t.replication < 1 {
			return errors.Errorf("replication=%s is not a number from 1", value)
		}
	case "protocol":
		if t.protocol, err = strconv.Atoi(value); err != nil || !slices.Contains(protocols, t.protocol) {
			return errors.Errorf("protocol=%s is not 2, 3 or 4", value)
		}
	case "tls":
		switch value {
		case "true":
			t.tls = &tls.Config{ServerName: t.host}
		case "insecure":
			t.tls = &tls.Config{InsecureSkipVerify: true}
		default:
			return errors.Errorf("tls=%s is not true or insecure", value)
		}
	default:
		return errors.Errorf("unknown parameter %s; known are dc, protocol, replication, tls", name)
	}
	return nil
}

// connectTimeout bounds connecting if the context has no deadline.
const connectTimeout = 10 * time.Second

// cluster returns the client's configuration. The client uses one node, with one connection for
// statements. It does not look for other nodes and does not retry. It sends no timestamps,
// because conditional statements do not allow them.
func (t *target) cluster(ctx context.Context) *gocql.ClusterConfig {
	c := gocql.NewCluster(anyone)
	c.Port = t.port
	c.ProtoVersion = t.protocol
	c.NumConns = 1
	c.Consistency = gocql.Quorum
	c.DefaultTimestamp = false
	c.DisableInitialHostLookup = true
	// The columns of the answer to a conditional statement depend on what it found, so the
	// metadata from preparing it does not describe the answer.
	c.DisableSkipMetadata = true
	c.Events.DisableNodeStatusEvents = true
	c.Events.DisableTopologyEvents = true
	c.Events.DisableSchemaEvents = true
	c.ReconnectInterval = 0
	c.ReconnectionPolicy = &gocql.ConstantReconnectionPolicy{MaxRetries: 1} // one attempt
	c.WriteCoalesceWaitTime = 0
	c.MaxWaitSchemaAgreement = setupTimeout
	c.Logger = silent{}
	// The context bounds how long a statement may take.
	c.Timeout, c.WriteTimeout = 0, 0
	c.ConnectTimeout = connectTimeout
	if until, ok := ctx.Deadline(); ok {
		c.ConnectTimeout = min(c.ConnectTimeout, max(time.Until(until), time.Millisecond))
	}
	if t.user != "" {
		c.Authenticator = gocql.PasswordAuthenticator{Username: t.user, Password: t.password}
	}
	if t.tls != nil {
		c.SslOpts = &gocql.SslOptions{Config: t.tls, EnableHostVerification: !t.tls.InsecureSkipVerify}
	}
	c.Dialer = &dialer{target: t, timeout: c.ConnectTimeout}
	return c
}

// silent is a logger that discards everything.
type silent struct{}

func (silent) Print(...any)          {}
func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}

func (t *target) connect(ctx context.Context) (*gocql.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return t.cluster(ctx).CreateSession()
}

// negotiate connects with the best protocol version that the server supports. The error for
// other versions depends on the server's version.
func (t *target) negotiate(ctx context.Context) (s *gocql.Session, err error) {
	if t.protocol != 0 {
		return t.connect(ctx)
	}
	for _, t.protocol = range protocols {
		if s, err = t.connect(ctx); err == nil || !strings.Contains(err.Error(), "protocol") {
			return s, err
		}
	}
	return nil, err
}
