// Package cqltest is a small server that speaks Cassandra's native protocol, for tests of
// clients. It keeps one table of keys and values for each keyspace, executes conditional
// statements one after the other, and injects faults. It does not model the replication or the
// data loss of a real server.
package cqltest

import (
	"net"
	"strings"
	"sync"

	"github.com/datastax/go-cassandra-native-protocol/frame"
	"github.com/datastax/go-cassandra-native-protocol/message"
	"github.com/datastax/go-cassandra-native-protocol/primitive"
	"github.com/pkg/errors"
)

// Server is a node. Its fields may be set before the first client connects.
type Server struct {
	// Version is the version that it reports, Protocol the highest protocol version that it
	// supports.
	Version  string
	Protocol primitive.ProtocolVersion
	// Password, if not empty, is required, for any user.
	Password string
	// Peers is the number of other nodes that it reports.
	Peers int

	listener net.Listener
	done     sync.WaitGroup

	mu     sync.Mutex
	store  store
	faults []*Fault
	log    []Statement
	conns  map[net.Conn]bool
	closed bool
}

// Statement is a received statement; statements on system tables are not recorded.
type Statement struct {
	CQL                 string
	Consistency, Serial primitive.ConsistencyLevel
}

// Fault makes statements fail.
type Fault struct {
	// Begins is the beginning of the statements that fail, such as "UPDATE".
	Begins string
	// Times is how often; 0 is always.
	Times int
	// Executed executes the statement before it fails.
	Executed bool
	// Error is the answer. Deny answers that a condition was not fulfilled. If neither is set,
	// the connection is closed.
	Error message.Error
	Deny  bool
	// Hold delays the statement until the channel is closed.
	Hold <-chan struct{}
}

// Start starts a server on a free port.
func Start() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.WithStack(err)
	}
	s := &Server{Version: "4.1.3", Protocol: primitive.ProtocolVersion4, listener: l, store: newStore(), conns: map[net.Conn]bool{}}
	s.done.Add(1)
	go s.accept()
	return s, nil
}

// Addr is the address that the server listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Stop ends the server and all connections.
func (s *Server) Stop() {
	s.listener.Close()
	s.locked(func() {
		s.closed = true
		for c := range s.conns {
			c.Close()
		}
	})
	s.done.Wait()
}

// Lag makes reads that are not serial return the state before the last n writes.
func (s *Server) Lag(n int) { s.locked(func() { s.store.lag = n }) }

// Inject makes statements fail from now on. If several faults match, the first applies.
func (s *Server) Inject(f Fault) { s.locked(func() { s.faults = append(s.faults, &f) }) }

// Heal removes all faults.
func (s *Server) Heal() { s.locked(func() { s.faults = nil }) }

// Statements returns the statements that begin with a text and were received since the last call
// of Forget.
func (s *Server) Statements(begins string) (out []Statement) {
	s.locked(func() {
		for _, st := range s.log {
			if strings.HasPrefix(st.CQL, begins) {
				out = append(out, st)
			}
		}
	})
	return out
}

// Forget empties the list of statements.
func (s *Server) Forget() { s.locked(func() { s.log = nil }) }

// Keyspaces returns the number of keyspaces.
func (s *Server) Keyspaces() (n int) {
	s.locked(func() { n = len(s.store.keyspaces) })
	return n
}

func (s *Server) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *Server) accept() {
	defer s.done.Done()
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.locked(func() {
			if s.closed {
				c.Close()
				return
			}
			s.conns[c] = true
			s.done.Add(1)
			go s.serve(c)
		})
	}
}

func (s *Server) serve(c net.Conn) {
	defer s.done.Done()
	defer s.locked(func() { delete(s.conns, c) })
	defer c.Close()
	codec := frame.NewCodec()
	for {
		f, err := codec.DecodeFrame(c)
		if err != nil {
			return
		}
		version := f.Header.Version
		var answer message.Message
		if version > s.Protocol {
			version = s.Protocol
			answer = &message.ProtocolError{ErrorMessage: "Invalid or unsupported protocol version: " + f.Header.Version.String()}
		} else if answer = s.answer(f); answer == nil {
			return
		}
		if err := codec.EncodeFrame(frame.NewFrame(version, f.Header.StreamId, answer), c); err != nil {
			return
		}
	}
}

// answer returns the answer to a request, nil if the connection must be closed.
func (s *Server) answer(f *frame.Frame) message.Message {
	switch m := f.Body.Message.(type) {
	case *message.Options:
		return &message.Supported{Options: map[string][]string{"CQL_VERSION": {"3.0.0"}, "COMPRESSION": {}}}
	case *message.Startup:
		if s.Password != "" {
			return &message.Authenticate{Authenticator: "org.apache.cassandra.auth.PasswordAuthenticator"}
		}
		return &message.Ready{}
	case *message.AuthResponse:
		if parts := strings.Split(string(m.Token), "\x00"); parts[len(parts)-1] != s.Password {
			return &message.AuthenticationError{ErrorMessage: "Username and/or password are incorrect"}
		}
		return &message.AuthSuccess{}
	case *message.Prepare:
		return s.prepare(m.Query)
	case *message.Query:
		return s.run(m.Query, m.Options)
	case *message.Execute:
		return s.run(string(m.QueryId), m.Options)
	}
	return &message.ProtocolError{ErrorMessage: "not understood"}
}

// run executes a statement, or makes it fail.
func (s *Server) run(cql string, o *message.QueryOptions) message.Message {
	st := Statement{CQL: cql, Consistency: o.Consistency}
	if o.SerialConsistency != nil {
		st.Serial = *o.SerialConsistency
	}
	f := s.fault(st)
	if f == nil {
		return s.execute(st, o.PositionalValues)
	}
	if f.Hold != nil {
		<-f.Hold
	}
	var answer message.Message
	if f.Executed {
		answer = s.execute(st, o.PositionalValues)
	}
	switch {
	case f.Deny:
		return denied(answer)
	case f.Error != nil:
		return f.Error
	}
	return nil
}

// fault records a statement and returns the fault that applies to it.
func (s *Server) fault(st Statement) (out *Fault) {
	s.locked(func() {
		if strings.Contains(st.CQL, " system.") {
			return
		}
		s.log = append(s.log, st)
		for i, f := range s.faults {
			if !strings.HasPrefix(st.CQL, f.Begins) {
				continue
			}
			copied := *f
			out = &copied
			if f.Times > 0 {
				if f.Times--; f.Times == 0 {
					s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
				}
			}
			return
		}
	})
	return out
}
