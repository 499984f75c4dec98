package servers

import (
	"context"
	"strings"
	"sync"

	"github.com/pkg/errors"
)

// dgraphGroups is how many groups the cluster of a Spec has. With two, transactions are distributed.
const dgraphGroups = 2

// dgraphServer is a cluster as a Server. What happens to the server happens to all its processes, or to the alpha that
// Aim has named.
type dgraphServer struct {
	*Dgraph
	aimed int // from 1, or 0
}

func startDgraphServer(s Spec, opts []Option) (Server, error) {
	d, err := StartDgraph(s.Version, dgraphGroups, 1, opts...)
	if err != nil {
		return nil, err
	}
	return &dgraphServer{Dgraph: d}, nil
}

// DSN is the addresses of all alphas, a line each.
func (s *dgraphServer) DSN() string { return strings.Join(s.DSNs(), "\n") }

// Aim names the alpha, from 1, that the next Kill or Pause hits.
func (s *dgraphServer) Aim(node int) { s.aimed = node }

// hit returns the processes that a Kill or Pause hits.
func (s *dgraphServer) hit() []*process {
	node := s.aimed
	s.aimed = 0
	if node > 0 {
		return s.alphas[node-1 : node]
	}
	return s.all()
}

func (s *dgraphServer) Kill() {
	var killed sync.WaitGroup
	for _, p := range s.hit() {
		killed.Go(p.Kill)
	}
	killed.Wait()
}

// Start starts again what was killed.
func (s *dgraphServer) Start() error { return s.begin(context.Background()) }

func (s *dgraphServer) Pause(backends bool) (resume func(), err error) {
	if backends {
		return nil, errors.New("sessions of Dgraph are goroutines; pause the whole cluster instead")
	}
	var pids []int
	for _, p := range s.hit() {
		if !p.running() {
			return nil, errors.New("the cluster does not run")
		}
		pids = append(pids, p.cmd.Process.Pid)
	}
	return halt(pids)
}
