package redis

import (
	"context"

	"github.com/isohound/isohound/drivers"
)

// A script is executed at once, as a single command. A key that is not there has no value, so it equals no old value.
const compareAndSet = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2]) return 1 end return 0`

// ReadOne implements drivers.LWT.
func (s *session) ReadOne(ctx context.Context, key string) (int64, bool, error) {
	reply, err := s.c.one(ctx, "GET", s.key(key))
	if err != nil || reply == nil {
		return 0, false, statementError(err)
	}
	v, err := decode(text(reply))
	return v, true, err
}

// InsertIfAbsent implements drivers.LWT.
func (s *session) InsertIfAbsent(ctx context.Context, key string, value int64) (bool, error) {
	reply, err := s.c.one(ctx, "SET", s.key(key), encode(value), "NX")
	return reply != nil, writeError(err)
}

// CompareAndSet implements drivers.LWT.
func (s *session) CompareAndSet(ctx context.Context, key string, old, value int64) (bool, error) {
	reply, err := s.c.one(ctx, "EVAL", compareAndSet, 1, s.key(key), encode(old), encode(value))
	return reply == int64(1), writeError(err)
}

func (s *session) key(key string) string { return s.db.name + ":" + plain(key) }

var _ drivers.LWT = (*session)(nil)
