package cqltest

import (
	"regexp"

	"github.com/datastax/go-cassandra-native-protocol/message"
	"github.com/datastax/go-cassandra-native-protocol/primitive"
)

// store holds all writes, in order, so that reads can return old states.
type store struct {
	keyspaces map[string]bool // true if it has its table
	rows      map[string][]version
	writes    int
	lag       int
}

// version is the content of a row from the n-th write on.
type version struct {
	value int64
	n     int
}

func newStore() store { return store{keyspaces: map[string]bool{}, rows: map[string][]version{}} }

// read returns the content of a row after n writes.
func (s *store) read(key string, n int) (value int64, found bool) {
	for _, v := range s.rows[key] {
		if v.n <= n {
			value, found = v.value, true
		}
	}
	return value, found
}

func (s *store) write(key string, value int64) {
	s.writes++
	s.rows[key] = append(s.rows[key], version{value, s.writes})
}

func (s *store) execute(re *regexp.Regexp, prefix string, st Statement, args []*primitive.Value) message.Message {
	switch re {
	case insert:
		key := prefix + string(args[0].Contents)
		v, found := s.read(key, s.writes)
		if !found {
			s.write(key, number(args[1]))
		}
		return outcome(!found, found, []string{"k", "v"}, message.Row{args[0].Contents, long(v)})
	case update:
		key := prefix + string(args[1].Contents)
		v, found := s.read(key, s.writes)
		applied := found && v == number(args[2])
		if applied {
			s.write(key, number(args[0]))
		}
		return outcome(applied, found, []string{"v"}, message.Row{long(v)})
	}
	n := s.writes
	if st.Consistency != primitive.ConsistencyLevelSerial && st.Consistency != primitive.ConsistencyLevelLocalSerial {
		n -= s.lag
	}
	v, found := s.read(prefix+string(args[0].Contents), n)
	if !found {
		return rows(columns("v"))
	}
	return rows(columns("v"), message.Row{long(v)})
}
