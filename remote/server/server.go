// Package server runs a NATS server with JetStream in this process, for the judges of one machine. It is the
// server of nats-server, whose file of configuration it reads: users, TLS, clusters.
package server

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/pkg/errors"
)

// Options of a server. What File says about the same things counts for less.
type Options struct {
	// Listen is the address, host:port. Port 0 is a free one. "" is that of File, or 127.0.0.1:4222.
	Listen string
	// Dir is the folder of JetStream; "" is that of File.
	Dir string
	// MaxStore is the limit of that folder in bytes; 0 is that of File, or three quarters of the free disk.
	MaxStore int64
	// File is a file of configuration of nats-server, or "".
	File string
	// Log is told of warnings and errors.
	Log func(line string)
}

// Server is a running server.
type Server struct{ s *server.Server }

// startTime is how long a server may take to listen. It first reads what is in its folder.
const startTime = time.Minute

// Start starts a server.
func Start(o Options) (*Server, error) {
	opts := &server.Options{}
	if o.File != "" {
		var err error
		if opts, err = server.ProcessConfigFile(o.File); err != nil {
			return nil, errors.WithStack(err)
		}
	} else {
		opts.Host, opts.Port = "127.0.0.1", server.DEFAULT_PORT
	}
	if o.Listen != "" {
		host, port, err := net.SplitHostPort(o.Listen)
		if err == nil {
			opts.Port, err = strconv.Atoi(port)
		}
		if err != nil {
			return nil, errors.WithStack(err)
		}
		if opts.Host = host; opts.Port == 0 {
			opts.Port = server.RANDOM_PORT
		}
	}
	opts.NoSigs, opts.JetStream = true, true
	if o.Dir != "" {
		opts.StoreDir = o.Dir
	}
	if o.MaxStore > 0 { // a limit that is set as a field alone counts for nothing
		if err := opts.ProcessConfigString(fmt.Sprintf("jetstream {max_file_store: %d}", o.MaxStore)); err != nil {
			return nil, errors.WithStack(err)
		}
	}
	s, err := server.NewServer(opts)
	if err != nil {
		return nil, errors.WithStack(err)
	}
	s.SetLogger(logger{o.Log}, false, false)
	s.Start()
	if !s.ReadyForConnections(startTime) {
		s.Shutdown()
		return nil, errors.Errorf("the server does not listen on %s:%d", opts.Host, opts.Port)
	}
	if !s.JetStreamEnabled() {
		s.Shutdown()
		return nil, errors.Errorf("JetStream did not start in %s", opts.StoreDir)
	}
	return &Server{s}, nil
}

// URL is where clients connect, without secrets.
func (s *Server) URL() string { return s.s.ClientURL() }

// Stop ends the server.
func (s *Server) Stop() {
	s.s.Shutdown()
	s.s.WaitForShutdown()
}

// logger passes on what is wrong.
type logger struct{ log func(string) }

func (l logger) Noticef(string, ...any)            {}
func (l logger) Debugf(string, ...any)             {}
func (l logger) Tracef(string, ...any)             {}
func (l logger) Warnf(format string, args ...any)  { l.log(fmt.Sprintf(format, args...)) }
func (l logger) Errorf(format string, args ...any) { l.log(fmt.Sprintf(format, args...)) }
func (l logger) Fatalf(format string, args ...any) { l.log(fmt.Sprintf(format, args...)) }
