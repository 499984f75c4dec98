// Package mongotest is a small server that speaks MongoDB's wire protocol, for tests of clients.
// It keeps documents in memory, finds them by filters (filter.go), and implements what MongoDB's published specifications
// say of servers: sessions, transactions, retryable writes and error labels
// (github.com/mongodb/specifications, source/transactions, source/retryable-writes,
// source/sessions), and the faults that their tests require of servers (failCommand). It does
// not model the ordering, the replication or the data loss of a real server.
package mongotest

import (
	"bufio"
	"net"
	"sync"

	"github.com/pkg/errors"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// Server is a replica set of one primary, or a standalone server.
type Server struct {
	// Standalone has no transactions and no retryable writes. It may be set
	// before the first client connects.
	Standalone bool

	listener net.Listener
	store    *store // its mutex also protects the fields below
	sessions map[string]*session
	faults   []*Fault
	log      []Command
	conns    map[net.Conn]bool
	refusing bool
	closed   bool
	done     sync.WaitGroup
}

// Command is a received command; hello is not recorded.
type Command struct {
	Name string
	Body bson.Raw
}

// Fault makes commands fail, like the fail point failCommand. Its fields are those of
// "failCommand" in the tests of the specifications.
type Fault struct {
	// Commands are the names of the commands that fail.
	Commands []string
	// Times is how often; 0 is always.
	Times int
	// Code fails the command before it is executed, with Labels, or with the server's own labels
	// if Labels is nil.
	Code   int32
	Labels []string
	// CloseConnection closes the connection before the command is executed.
	CloseConnection bool
	// WriteConcernError executes the command and reports that its write concern was not
	// fulfilled.
	WriteConcernError int32
	// The following fields are not part of failCommand. LoseAnswer executes the command and
	// closes the connection instead of answering. With RefuseThen, CloseConnection and LoseAnswer
	// also close every new connection from then on. Hold delays the command until the channel is
	// closed.
	LoseAnswer bool
	RefuseThen bool
	Hold       <-chan struct{}
}

// Start starts a server on a free port.
func Start() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.WithStack(err)
	}
	s := &Server{listener: l, store: newStore(), sessions: map[string]*session{}, conns: map[net.Conn]bool{}}
	s.done.Add(1)
	go s.accept()
	return s, nil
}

// Addr is the address that the server listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URI is the connection string of the server.
func (s *Server) URI() string {
	if s.Standalone {
		return "mongodb://" + s.Addr() + "/"
	}
	return "mongodb://" + s.Addr() + "/?replicaSet=rs0"
}

// Stop ends the server, all transactions and all connections.
func (s *Server) Stop() {
	s.listener.Close()
	s.AbortAll() // writes may be waiting for the end of transactions
	s.store.mu.Lock()
	s.closed = true
	for c := range s.conns {
		c.Close()
	}
	s.store.mu.Unlock()
	s.done.Wait()
}

// IgnoreConflicts switches the detection of write conflicts off, so that the server loses
// updates.
func (s *Server) IgnoreConflicts() { s.locked(func() { s.store.detect = false }) }

// Lag makes snapshots, and reads outside transactions, n commits old, unless a client requires a
// newer state.
func (s *Server) Lag(n int) { s.locked(func() { s.store.lag = uint32(n) }) }

// Inject makes commands fail from now on. If several faults match, the first applies.
func (s *Server) Inject(f Fault) { s.locked(func() { s.faults = append(s.faults, &f) }) }

// Heal removes all faults.
func (s *Server) Heal() { s.locked(func() { s.faults, s.refusing = nil, false }) }

// AbortAll aborts all open transactions, like a server that runs out of cache or enforces a time
// limit.
func (s *Server) AbortAll() {
	s.locked(func() {
		for _, x := range s.sessions {
			s.kill(x)
		}
	})
}

// Commands returns the commands with the given names, or all if there are no names, that were
// received since the last call of Forget.
func (s *Server) Commands(names ...string) (out []Command) {
	s.locked(func() {
		for _, c := range s.log {
			fits := len(names) == 0
			for _, n := range names {
				fits = fits || n == c.Name
			}
			if fits {
				out = append(out, c)
			}
		}
	})
	return out
}

// Forget empties the list of commands.
func (s *Server) Forget() { s.locked(func() { s.log = nil }) }

func (s *Server) locked(f func()) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
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
			if s.refusing || s.closed {
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
	in := bufio.NewReader(c)
	for {
		q, err := readRequest(in)
		if err != nil {
			return
		}
		f := s.fault(q)
		if f.Hold != nil {
			<-f.Hold
		}
		if f.CloseConnection {
			s.refuse(f)
			return
		}
		reply := s.execute(q, f)
		if f.LoseAnswer {
			s.refuse(f)
			return
		}
		if err := writeReply(c, q, reply); err != nil {
			return
		}
	}
}

func (s *Server) refuse(f Fault) {
	if f.RefuseThen {
		s.locked(func() { s.refusing = true })
	}
}

// fault records a command and returns the fault that applies to it.
func (s *Server) fault(q *request) (out Fault) {
	s.locked(func() {
		if _, hello := hellos[q.name]; !hello {
			s.log = append(s.log, Command{q.name, q.body})
		}
		for i, f := range s.faults {
			for _, name := range f.Commands {
				if name != q.name {
					continue
				}
				out = *f
				if f.Times > 0 {
					if f.Times--; f.Times == 0 {
						s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
					}
				}
				return
			}
		}
	})
	return out
}
