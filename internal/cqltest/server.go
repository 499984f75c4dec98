// Package cqltest is a small server that speaks Cassandra's native protocol,
// for tests of clients. It keeps one table of keys and values for each
// keyspace, executes conditional statements one after the other, and fails as it
// is told to. It says nothing about how a real server replicates or loses
// anything.
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
	// Version is what it calls itself, Protocol the best that it speaks.
	Version  string
	Protocol primitive.ProtocolVersion
	// Password is asked for if it is not empty, whoever the user.
	Password string
	// Peers is how many other nodes it knows of.
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

// Statement is one that the server was sent, those on system tables aside.
type Statement struct {
	CQL                 string
	Consistency, Serial primitive.ConsistencyLevel
}

// Fault makes statements fail.
type Fault struct {
	// Begins is how the statements that fail begin, "UPDATE" say.
	Begins string
	// Times is how often; 0 is always.
	Times int
	// Executed lets the statement be executed before it fails.
	Executed bool
	// Error is the answer. Deny answers that a condition was not fulfilled.
	// With neither the connection is closed.
	Error message.Error
	Deny  bool
	// Hold holds the statement back until the channel is closed.
	Hold <-chan struct{}
}

// Start starts a server on a port of its own.
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

// Lag lets reads that are not serial be n writes old.
func (s *Server) Lag(n int) { s.locked(func() { s.store.lag = n }) }

// Inject makes statements fail from now on. Of several faults the first that
// fits counts.
func (s *Server) Inject(f Fault) { s.locked(func() { s.faults = append(s.faults, &f) }) }

// Heal takes all faults away.
func (s *Server) Heal() { s.locked(func() { s.faults = nil }) }

// Statements returns those that begin with a text and were sent since the last
// call of Forget.
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

// Keyspaces is how many there are.
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

// answer returns the answer to a request, nil if the connection is to be closed.
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

// run executes a statement, or has it fail.
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

// fault notes a statement and returns what it is to suffer.
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
