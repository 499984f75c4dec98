// Package dgraph drives Dgraph through its Go client, dgo.
//
// Statements about the server's behaviour are taken from Dgraph's documentation and from the
// source of versions 1.1.1 and 25.0.0.
package dgraph

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"iter"
	"net/url"
	"strings"
	"time"

	"github.com/dgraph-io/dgo/v250/protos/api"
	"github.com/pkg/errors"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/isohound/isohound/drivers"
)

func init() { drivers.Register(driver{}) }

const snapshotIsolation = "snapshot isolation"

type driver struct{}

func (driver) Info() drivers.Info {
	return drivers.Info{
		Name:    "dgraph",
		Title:   "Dgraph",
		DSN:     "dgraph://127.0.0.1:9080",
		DSNHelp: "the gRPC port of one alpha: dgraph://[user:password@]host:port; namespace=N and sslmode=disable, require or verify-ca are those of Dgraph's client; predicates=N (1) spreads the keys over so many pairs of predicates, which Dgraph may serve from different groups; token is that of --security or --auth_token",
		Schemes: []string{"dgraph"}, OnlyURL: true,
		Isolations: []drivers.Isolation{
			{Name: snapshotIsolation, Promises: "strong-si", Lightweight: "lin", Source: "https://docs.hypermode.com/dgraph/concepts/transactions", Note: "conflicts on written values and, by @upsert, on inserted keys; a snapshot has all that was committed before it"},
		},
		Can: []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Lightweight, drivers.Endpoints, drivers.Disturb, drivers.Positions},
		Notes: []string{
			"Run against Dgraph 1.1.1 and 25.0.0; what is between them speaks the same protocol, but was not run.",
			"The history has as dbtxn the timestamp at which a transaction's snapshot was taken.",
		},
	}
}

// MaskDSN implements drivers.Masker.
func (driver) MaskDSN(dsn string) string { return maskDSN(dsn) }

const (
	// openTimeout bounds the search for a server. setupTimeout bounds creating, and also
	// dropping; Dgraph builds indexes when a schema is created.
	openTimeout  = 5 * time.Second
	setupTimeout = 30 * time.Second
)

func (driver) Open(ctx context.Context, cfg drivers.Config) (drivers.DB, error) {
	t, err := parseDSN(cfg.DSN)
	if err != nil {
		return nil, &drivers.DSNError{Driver: "dgraph", Err: err}
	}
	t.dial = cfg.Dial
	name := make([]byte, 6)
	if _, err := rand.Read(name); err != nil {
		return nil, errors.WithStack(err)
	}
	d := &db{target: t, name: "isohound_" + hex.EncodeToString(name)}
	err = d.admin(ctx, openTimeout, func(ctx context.Context, c *client) error {
		v, err := c.api.CheckVersion(ctx, &api.Check{})
		d.version = v.GetTag()
		return err
	})
	if err != nil {
		return nil, unusable(err)
	}
	return d, nil
}

var remedies = drivers.Remedies{
	Without:   "use sslmode=disable",
	Unchecked: "an authority of the system must have signed it; sslmode=require does not check the certificate",
}

func unusable(err error) error {
	if explained := remedies.Explain(err); explained != nil {
		err = explained
	}
	return &drivers.UnreachableError{Driver: "dgraph", Err: err}
}

type db struct {
	target  *target
	name    string // all predicates of the run begin with it
	version string
	created bool
	joined  bool
}

func (d *db) Server() string {
	if d.version == "" {
		return "Dgraph, built without a version"
	}
	return "Dgraph " + d.version
}

// admin runs f with its own client.
func (d *db) admin(ctx context.Context, limit time.Duration, f func(context.Context, *client) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := d.target.connect(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	return f(ctx, c)
}

// place is where a key is stored: the predicates that hold the key and its value, and a text
// that stands for the key. Different keys have different texts. A text has no character that
// must be quoted, and never equals the mark of Create.
type place struct{ key, value, text string }

const mark = "created"

func (d *db) place(key string) place {
	n := 0
	if d.target.predicates > 1 {
		h := fnv.New32a()
		h.Write([]byte(key))
		n = int(h.Sum32() % uint32(d.target.predicates))
	}
	return place{d.keys(n), d.values(n), "k:" + url.PathEscape(key)}
}

func (d *db) keys(n int) string   { return fmt.Sprintf("%s.k%d", d.name, n) }
func (d *db) values(n int) string { return fmt.Sprintf("%s.v%d", d.name, n) }

// schema declares the predicates. With @upsert a transaction that adds a key conflicts with
// others that add or remove the same key. Values need no directive, because two writes of one
// value always conflict.
func (d *db) schema() string {
	var b strings.Builder
	for n := range d.target.predicates {
		fmt.Fprintf(&b, "%s: string @index(exact) @upsert .\n%s: int .\n", d.keys(n), d.values(n))
	}
	return b.String()
}

// batch is how many keys are created with one request.
const batch = 500

func (d *db) Create(ctx context.Context, initial iter.Seq2[string, int64]) error {
	err := d.admin(ctx, setupTimeout, func(ctx context.Context, c *client) error {
		d.created = true // from here on there may be something to drop
		if err := alter(ctx, c, &api.Operation{Schema: d.schema()}); err != nil {
			return err
		}
		var quads strings.Builder
		n := 0
		flush := func() error {
			_, err := c.NewTxn().Mutate(ctx, &api.Mutation{SetNquads: []byte(quads.String()), CommitNow: true})
			quads.Reset()
			n = 0
			return err
		}
		for k, v := range initial {
			quads.WriteString(d.place(k).quads(fmt.Sprintf("_:n%d", n), v))
			if n++; n == batch {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		fmt.Fprintf(&quads, "_:mark <%s> %q .\n", d.keys(0), mark)
		return flush()
	})
	if err != nil {
		return unusable(errors.Wrap(err, "creating the initial keys"))
	}
	return nil
}

func (d *db) Connect(ctx context.Context) (drivers.Session, error) {
	c, err := d.target.connect(ctx)
	if err != nil {
		return nil, statementError(err)
	}
	if _, err := c.api.CheckVersion(ctx, &api.Check{}); err != nil {
		c.close()
		return nil, statementError(err)
	}
	return &session{client: c, db: d}, nil
}

// Owns implements drivers.Owner.
func (d *db) Owns() string {
	if !d.created {
		return ""
	}
	return fmt.Sprintf("the predicates %s.k0 to .v%d; drop each with {\"drop_attr\": \"NAME\"} at an alpha's /alter", d.name, d.target.predicates-1)
}

func (d *db) Close(ctx context.Context) error {
	if !d.created || d.joined {
		return nil
	}
	err := d.admin(ctx, setupTimeout, func(ctx context.Context, c *client) error {
		for n := range d.target.predicates {
			for _, p := range []string{d.keys(n), d.values(n)} {
				if err := drop(ctx, c, p); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil {
		return nil
	}
	return errors.Wrapf(unusable(err), "left behind: %s", d.Owns())
}

func drop(ctx context.Context, c *client, predicate string) error {
	return alter(ctx, c, &api.Operation{DropOp: api.Operation_ATTR, DropValue: predicate})
}

// alter changes the schema, which may be done again. A server must be asked again while transactions are open that wrote a predicate
// that is dropped, such as those of broken sessions, which it aborts; and while it has lost its zero or another group, as just
// after its start on a loaded machine.
func alter(ctx context.Context, c *client, op *api.Operation) error {
	for {
		err := c.Alter(ctx, op)
		if status.Code(err) != codes.Unknown || !strings.Contains(err.Error(), "Please retry") && !strings.Contains(err.Error(), "No connection exists") {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}
