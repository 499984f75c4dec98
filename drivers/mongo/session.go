package mongo

import (
	"context"

	"github.com/pkg/errors"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/isohound/isohound/drivers"
)

type session struct {
	db     *db
	client *mongo.Client
	s      *mongo.Session
	kv     *mongo.Collection
	// unsettled: a commit was begun and its outcome is not known.
	unsettled bool
}

func newSession(d *db, c *mongo.Client, s *mongo.Session) *session {
	kv := c.Database(d.name).Collection("kv", options.Collection().SetReadConcern(d.iso.readConcern()).SetWriteConcern(d.iso.writeConcern()))
	return &session{db: d, client: c, s: s, kv: kv}
}

// Begin starts a transaction. Nothing is sent: the first statement starts it on the server, and
// carries the read concern.
func (s *session) Begin(context.Context) (drivers.Tx, error) {
	switch {
	case s.db.lack != "":
		return nil, &drivers.Error{Class: drivers.Fatal, Cause: "no transactions", Err: errors.New(s.db.lack)}
	case s.db.iso.single:
		return nil, &drivers.Error{Class: drivers.Fatal, Cause: "no transactions", Err: errors.Errorf("isolation %q is for lightweight transactions", s.db.iso.Name)}
	}
	err := s.s.StartTransaction(options.Transaction().SetReadConcern(s.db.iso.readConcern()).SetWriteConcern(s.db.iso.writeConcern()))
	if err != nil {
		return nil, statementError(err)
	}
	return &tx{session: s}, nil
}

// Close aborts an open transaction. A transaction whose commit was sent must not be aborted,
// because on a sharded cluster commit and abort could meet (see mongo.Session.WithTransaction).
// Its session is killed instead, which aborts it unless it is committed or prepared (manual,
// "killSessions"). Otherwise it would block others until transactionLifetimeLimitSeconds.
func (s *session) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if s.unsettled {
		s.client.Database("admin").RunCommand(ctx, bson.D{{Key: "killSessions", Value: bson.A{s.s.ID()}}})
	} else {
		s.s.EndSession(ctx)
	}
	disconnect(s.client)
}

type tx struct {
	*session
	// changed: a statement has changed something. committed is the position of the commit, 0 if it is not known.
	changed   bool
	committed int64
}

func (x *tx) in(ctx context.Context) context.Context { return mongo.NewSessionContext(ctx, x.s) }

func (x *tx) Read(ctx context.Context, k string) (int64, bool, error) {
	return read(x.in(ctx), x.kv, k)
}

// read returns the value of the document with a key.
func read(ctx context.Context, kv *mongo.Collection, k string) (int64, bool, error) {
	doc, err := kv.FindOne(ctx, key(k)).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, statementError(err)
	}
	v, ok := doc.Lookup("v").Int64OK()
	if !ok {
		return 0, false, &drivers.Error{Class: drivers.Fatal, Cause: "foreign document", Err: errors.Errorf("the document of key %q holds no 64-bit integer", k)}
	}
	return v, true, nil
}

func (x *tx) Insert(ctx context.Context, k string, value int64) error {
	_, err := x.kv.InsertOne(x.in(ctx), entry(k, value))
	x.wrote(err == nil)
	return statementError(err)
}

func (x *tx) Update(ctx context.Context, k string, value int64) (bool, error) {
	res, err := x.kv.UpdateOne(x.in(ctx), key(k), set(value))
	if err != nil {
		return false, statementError(err)
	}
	return x.wrote(res.MatchedCount > 0), nil
}

// set changes the value, and counts the changes. For MongoDB an update that leaves a document
// unchanged is not a write and conflicts with nothing.
func set(value int64) bson.D {
	return bson.D{{Key: "$set", Value: bson.D{{Key: "v", Value: value}}}, {Key: "$inc", Value: bson.D{{Key: "n", Value: int64(1)}}}}
}

func (x *tx) Delete(ctx context.Context, k string) (bool, error) {
	res, err := x.kv.DeleteOne(x.in(ctx), key(k))
	if err != nil {
		return false, statementError(err)
	}
	return x.wrote(res.DeletedCount > 0), nil
}

// Commit sends commitTransaction. The client sends it again when it gets no answer, or an answer
// that the primary is changing: until ctx ends, or once if ctx has no deadline. This hides no
// outcome, because the server answers a repeated commit as it did the first, and every further
// attempt uses write concern majority (specification "Transactions", "Drivers MUST apply a
// majority write concern when retrying commitTransaction").
func (x *tx) Commit(ctx context.Context) error {
	ctx, sent := counting(ctx)
	x.unsettled = true
	err := commitError(x.s.CommitTransaction(ctx), sent)
	if err == nil || drivers.AsError(err).Class == drivers.Aborted {
		x.unsettled = false
	}
	if err == nil && sent.Load() == 1 {
		x.place()
	}
	return err
}

// Rollback aborts the transaction. It does not matter whether the server receives the message:
// without a commit the transaction has no effect.
func (x *tx) Rollback(ctx context.Context) error {
	if err := x.s.AbortTransaction(ctx); err != nil {
		return statementError(err)
	}
	return nil
}
