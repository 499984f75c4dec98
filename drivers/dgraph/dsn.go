package dgraph

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/dgraph-io/dgo/v250"
	"github.com/dgraph-io/dgo/v250/protos/api"
	"github.com/pkg/errors"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/isohound/isohound/drivers"
)

// target is a parsed DSN.
type target struct {
	addr           string
	user, password string
	namespace      uint64
	token          string
	sslmode        string
	predicates     int
	dial           drivers.Dial
}

// maxPredicates bounds how many pairs of predicates a run creates. Each predicate is a separate
// tablet.
const maxPredicates = 64

func parseDSN(dsn string) (*target, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "dgraph" || u.Hostname() == "" || u.Port() == "" || strings.Trim(u.Path, "/") != "" || u.Fragment != "" {
		return nil, errors.New("expected an address like dgraph://127.0.0.1:9080")
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, err
	}
	t := &target{addr: u.Host, user: u.User.Username(), sslmode: "disable", predicates: 1}
	t.password, _ = u.User.Password()
	for name, values := range q {
		switch value := values[len(values)-1]; name {
		case "namespace":
			if t.namespace, err = strconv.ParseUint(value, 10, 64); err != nil || t.user == "" {
				return nil, errors.Errorf("namespace=%s is not a number, or there is no user to log into it", value)
			}
		case "predicates":
			if t.predicates, err = strconv.Atoi(value); err != nil || t.predicates < 1 || t.predicates > maxPredicates {
				return nil, errors.Errorf("predicates=%s is not a number from 1 to %d", value, maxPredicates)
			}
		case "sslmode":
			if t.sslmode = value; value != "disable" && value != "require" && value != "verify-ca" {
				return nil, errors.Errorf("sslmode=%s is not disable, require or verify-ca", value)
			}
		case "token":
			t.token = value
		default:
			return nil, errors.Errorf("unknown parameter %s; known are namespace, predicates, sslmode, token", name)
		}
	}
	return t, nil
}

func maskDSN(dsn string) string {
	return drivers.MaskURL(dsn, "token")
}

// client is a connection to one alpha.
type client struct {
	*dgo.Dgraph
	api  api.DgraphClient
	conn *grpc.ClientConn
}

// connect makes a client with one connection, which the first request opens. gRPC repeats a
// request by itself only if no server has seen it.
func (t *target) connect(ctx context.Context) (*client, error) {
	opts := []grpc.DialOption{grpc.WithTransportCredentials(t.credentials()), grpc.WithNoProxy(), grpc.WithDisableRetry(), grpc.WithChainUnaryInterceptor(noteCommit), grpc.WithDisableServiceConfig()}
	if t.dial != nil {
		opts = append(opts, grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return t.dial(ctx, "tcp", addr)
		}))
	}
	if t.token != "" {
		opts = append(opts, grpc.WithUnaryInterceptor(t.addToken))
	}
	conn, err := grpc.NewClient("passthrough:///"+t.addr, opts...)
	if err != nil {
		return nil, err
	}
	c := &client{api: api.NewDgraphClient(conn), conn: conn}
	// Not dgo.NewClient, which hides the call for the server's version.
	c.Dgraph = dgo.NewDgraphClient(c.api)
	if t.user != "" {
		if err := c.LoginIntoNamespace(ctx, t.user, t.password, t.namespace); err != nil {
			c.close()
			return nil, errors.Wrap(err, "logging in")
		}
	}
	return c, nil
}

func (c *client) close() { c.conn.Close() }

func (t *target) credentials() credentials.TransportCredentials {
	switch t.sslmode {
	case "require":
		return credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})
	case "verify-ca":
		return credentials.NewTLS(&tls.Config{})
	}
	return insecure.NewCredentials()
}

// addToken sends the token that a server requires for schema changes.
func (t *target) addToken(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return invoke(metadata.AppendToOutgoingContext(ctx, "auth-token", t.token), method, req, reply, cc, opts...)
}
