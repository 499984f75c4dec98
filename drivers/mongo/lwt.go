package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Lightweight transactions are writes of one document, which MongoDB executes atomically, at the
// isolation's read and write concern. They use the client's implicit sessions, so that servers
// without sessions work too. A retryable write whose answer was lost is sent again with the same
// number, and the answer describes the first execution (specification "Retryable Writes").

// ReadOne implements drivers.LWT.
func (s *session) ReadOne(ctx context.Context, k string) (int64, bool, error) {
	return read(ctx, s.kv, k)
}

// InsertIfAbsent implements drivers.LWT.
func (s *session) InsertIfAbsent(ctx context.Context, k string, value int64) (bool, error) {
	ctx, sent := counting(ctx)
	_, err := s.kv.InsertOne(ctx, entry(k, value))
	if mongo.IsDuplicateKeyError(err) && !unconfirmed(err) {
		return false, nil
	}
	return err == nil, writeError(err, sent)
}

// CompareAndSet implements drivers.LWT.
func (s *session) CompareAndSet(ctx context.Context, k string, old, value int64) (bool, error) {
	ctx, sent := counting(ctx)
	res, err := s.kv.UpdateOne(ctx, append(key(k), bson.E{Key: "v", Value: old}), set(value))
	if err != nil {
		return false, writeError(err, sent)
	}
	return res.MatchedCount > 0, nil
}
