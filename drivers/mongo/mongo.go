// Package mongo drives MongoDB through its official client, in multi-document
// transactions and in writes of single documents.
//
// Statements about the server's behaviour are taken from MongoDB's manual and from MongoDB's
// driver specifications (github.com/mongodb/specifications).
package mongo

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"iter"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/isohound/isohound/drivers"
)

func init() { drivers.Register(driver{}) }

type driver struct{}

func (driver) Info() drivers.Info {
	info := drivers.Info{
		Name:    "mongo",
		Title:   "MongoDB",
		DSN:     "mongodb://user:password@127.0.0.1:27017/?replicaSet=rs0",
		DSNHelp: "a connection string; the isolation overrides its read and write concern; retryWrites decides whether a lightweight transaction with a lost answer is retried",
		Schemes: []string{"mongodb", "mongodb+srv"}, OnlyURL: true,
		Can: []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Tables, drivers.Predicates, drivers.Lightweight, drivers.Disturb, drivers.Positions},
		Notes: []string{
			"Transactions need a replica set or a sharded cluster; the run's collections are not sharded.",
			"A commit without an answer is sent again, by MongoDB's client, until --call-timeout is over, or once if there is none; if there is still no answer the outcome stays unknown.",
			"A member of a replica set tells the position of a commit, its time in the oplog, with the answer to the commit; a sharded cluster does not.",
			"Write concern w1 can lose commits when the primary changes, a replica set with writeConcernMajorityJournalDefault=false in a crash. That looks like an isolation bug, but is none.",
		},
	}
	for _, i := range isolations {
		info.Isolations = append(info.Isolations, i.Isolation)
	}
	return info
}

const (
	// openTimeout bounds the search for a server that accepts writes. setupTimeout bounds
	// creating, and also dropping.
	openTimeout  = 5 * time.Second
	setupTimeout = 15 * time.Second
	closeTimeout = time.Second
)

// dialer adapts a drivers.Dial to MongoDB's client.
type dialer drivers.Dial

func (d dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return d(ctx, network, addr)
}

func (driver) Open(ctx context.Context, cfg drivers.Config) (drivers.DB, error) {
	d := &db{asked: cfg.Positions}
	for _, i := range isolations {
		if i.Name == cfg.Isolation {
			d.iso = i
		}
	}
	var err error
	if d.opts, err = parseDSN(cfg.DSN); err != nil {
		return nil, &drivers.DSNError{Driver: "mongo", Err: err}
	}
	if cfg.Dial != nil {
		d.opts.SetDialer(dialer(cfg.Dial))
	}
	d.opts.SetServerMonitor(&event.ServerMonitor{ServerHeartbeatFailed: d.noteFailure})
	d.opts.SetMonitor(&event.CommandMonitor{Started: count})
	name := make([]byte, 6)
	if _, err := rand.Read(name); err != nil {
		return nil, errors.WithStack(err)
	}
	d.name = "isohound_" + hex.EncodeToString(name)
	if err := d.admin(ctx, openTimeout, d.inspect); err != nil {
		return nil, &drivers.UnreachableError{Driver: "mongo", Err: d.reason(err)}
	}
	return d, nil
}

type db struct {
	iso     isolation
	opts    *options.ClientOptions
	name    string
	version string
	lack    string // why transactions are not available
	// asked: transactions tell their positions, if they can. member: the server is one of a replica set.
	asked, member bool
	created       bool
	// Sessions begin after what Create did.
	clusterTime   bson.Raw
	operationTime *bson.Timestamp

	mu      sync.Mutex
	failure error  // the last failure to get an answer from a server
	failed  string // the address of that server
}

func (d *db) Server() string { return d.version }

// Notes implements drivers.Noter.
func (d *db) Notes() []string {
	if d.lack == "" {
		return nil
	}
	return []string{"there are no transactions here: " + d.lack}
}

// admin runs f with its own client.
func (d *db) admin(ctx context.Context, limit time.Duration, f func(context.Context, *mongo.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := mongo.Connect(d.opts)
	if err != nil {
		return err
	}
	defer disconnect(c)
	return f(ctx, c)
}

// disconnect closes a client's connections. It bounds the wait for a server that does not
// respond.
func disconnect(c *mongo.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = c.Disconnect(ctx)
}

// inspect asks what kind of server it is.
func (d *db) inspect(ctx context.Context, c *mongo.Client) error {
	var hello struct {
		SetName string `bson:"setName"`
		Msg     string `bson:"msg"`
	}
	var build struct {
		Version string `bson:"version"`
		Ferret  string `bson:"ferretdbVersion"`
	}
	admin := c.Database("admin")
	if err := admin.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil {
		return err
	}
	if err := admin.RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&build); err != nil {
		return err
	}
	d.version = "MongoDB " + build.Version
	d.member = hello.SetName != ""
	switch {
	case build.Ferret != "":
		d.version = "FerretDB " + build.Ferret + " (as MongoDB " + build.Version + ")"
		d.lack = "FerretDB has no multi-document transactions"
	case hello.SetName == "" && hello.Msg != "isdbgrid": // a mongos answers isdbgrid
		d.lack = "the server is neither a member of a replica set nor a mongos"
	}
	return nil
}

func (d *db) noteFailure(e *event.ServerHeartbeatFailedEvent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failure != nil && errors.Is(e.Failure, context.Canceled) { // the end of the client itself
		return
	}
	d.failure = e.Failure
	d.failed, _, _ = strings.Cut(e.ConnectionID, "[-") // behind the address it has the connection's number
}

// reason says why no server was found. It replaces the client's long description of its state.
func (d *db) reason(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := answer(err); ok || d.failure == nil {
		return err
	}
	return errors.Wrapf(d.stranger(), "no server that takes writes was found within %v", openTimeout)
}

var remedies = drivers.Remedies{
	Without:   "leave tls=true out",
	Unchecked: "name its authority with tlsCAFile=FILE; tlsInsecure=true does not check the certificate",
}

// stranger explains the last failure. What accepts connections and does not answer, or answers in another protocol, is
// hardly a MongoDB. The client then speaks of its messages, or of its own end.
func (d *db) stranger() error {
	var op *net.OpError
	var name *net.DNSError
	switch {
	case errors.As(d.failure, &op) && op.Op == "dial", errors.As(d.failure, &name):
		return d.failure
	}
	if err := remedies.Explain(d.failure); err != nil {
		return err
	}
	tls := "without"
	if d.opts.TLSConfig != nil {
		tls = "with"
	}
	question := "is this a MongoDB server " + tls + " TLS?"
	if errors.Is(d.failure, context.Canceled) || mongo.IsTimeout(d.failure) {
		return errors.Errorf("%s did not answer as MongoDB does; %s", d.failed, question)
	}
	return errors.Errorf("%v; %s", d.failure, question)
}

// key is the _id of a key. It is binary, because strings must be UTF-8.
func key(k string) bson.D { return bson.D{{Key: "_id", Value: bson.Binary{Data: []byte(k)}}} }

func entry(k string, v int64) bson.D { return append(key(k), bson.E{Key: "v", Value: v}) }

// perInsert bounds the size of the commands that load the initial keys.
const perInsert = 1000

func (d *db) Create(ctx context.Context, initial iter.Seq2[string, int64]) error {
	err := d.admin(ctx, setupTimeout, func(ctx context.Context, c *mongo.Client) error {
		return d.inSession(ctx, c, func(ctx context.Context) error { return d.create(ctx, c, initial) })
	})
	if err != nil {
		return &drivers.UnreachableError{Driver: "mongo", Err: errors.Wrap(err, "creating the database "+d.name)}
	}
	return nil
}

// inSession runs f in a session after which the sessions of the run begin, if the server has
// sessions.
func (d *db) inSession(ctx context.Context, c *mongo.Client, f func(context.Context) error) error {
	if d.lack != "" {
		return f(ctx)
	}
	s, err := c.StartSession()
	if err != nil {
		return err
	}
	defer s.EndSession(ctx)
	defer func() { d.clusterTime, d.operationTime = s.ClusterTime(), s.OperationTime() }()
	return f(mongo.NewSessionContext(ctx, s))
}

func (d *db) create(ctx context.Context, c *mongo.Client, initial iter.Seq2[string, int64]) error {
	data := c.Database(d.name, options.Database().SetWriteConcern(writeconcern.Majority()))
	d.created = true // from here on there may be something to drop
	// Before MongoDB 4.4, transactions could not create a collection.
	if err := data.CreateCollection(ctx, "kv"); err != nil {
		return err
	}
	var docs []any
	flush := func() error {
		if len(docs) == 0 {
			return nil
		}
		_, err := data.Collection("kv").InsertMany(ctx, docs)
		docs = docs[:0]
		return err
	}
	for k, v := range initial {
		if docs = append(docs, entry(k, v)); len(docs) == perInsert {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// Connect opens a client with one connection for statements and, because the client requires it,
// one that monitors the server. A client shared by all sessions would close all their
// connections when one breaks.
func (d *db) Connect(ctx context.Context) (drivers.Session, error) {
	c, err := mongo.Connect(d.opts)
	if err != nil {
		return nil, statementError(err)
	}
	if err := c.Ping(ctx, readpref.Primary()); err != nil {
		disconnect(c)
		return nil, connectError(err)
	}
	s, err := c.StartSession(options.Session().SetCausalConsistency(!d.iso.acausal))
	if err != nil {
		disconnect(c)
		return nil, connectError(err)
	}
	if !d.iso.acausal && d.operationTime != nil {
		if err := s.AdvanceClusterTime(d.clusterTime); err == nil {
			err = s.AdvanceOperationTime(d.operationTime)
		}
		if err != nil {
			disconnect(c)
			return nil, connectError(err)
		}
	}
	return newSession(d, c, s), nil
}

// Owns implements drivers.Owner.
func (d *db) Owns() string {
	if !d.created {
		return ""
	}
	return "database " + d.name + "; drop it with db.getSiblingDB('" + d.name + "').dropDatabase()"
}

func (d *db) Close(ctx context.Context) error {
	if !d.created {
		return nil
	}
	err := d.admin(ctx, setupTimeout, func(ctx context.Context, c *mongo.Client) error {
		return c.Database(d.name, options.Database().SetWriteConcern(writeconcern.Majority())).Drop(ctx)
	})
	if err == nil {
		return nil
	}
	return errors.Wrapf(&drivers.UnreachableError{Driver: "mongo", Err: err}, "database %s is left behind, drop it with db.getSiblingDB('%s').dropDatabase()", d.name, d.name)
}
