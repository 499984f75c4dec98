package servers

import (
	"fmt"
	"strings"
)

// galeraNodes is how many nodes the cluster of a Spec has: with three, one may be away.
const galeraNodes = 3

// suspectAfter is after how long the nodes of such a cluster go on without one that is silent, as Galera's default is.
const suspectAfter = "evs.suspect_timeout=PT5S;evs.inactive_timeout=PT15S"

// galeraServer is a cluster as a Server. What happens to the server happens to one node.
type galeraServer struct {
	*Galera
	turns
	killed int
}

func startGaleraServer(_ Spec, opts []Option) (Server, error) {
	g, err := StartGalera(galeraNodes, append(opts, Set("wsrep_provider_options", suspectAfter))...)
	if err != nil {
		return nil, err
	}
	return &galeraServer{Galera: g, turns: turns{count: galeraNodes}}, nil
}

// DSN is the addresses of all nodes, a line each.
func (s *galeraServer) DSN() string { return strings.Join(s.DSNs(), "\n") }

func (s *galeraServer) Kill() {
	s.killed = s.turn()
	s.Galera.Kill(s.killed)
}

// Start starts the node again that was killed. It copies all data from another one.
func (s *galeraServer) Start() error {
	if err := s.Galera.Start(s.killed); err != nil {
		return fmt.Errorf("node %d: %w", s.killed+1, err)
	}
	return nil
}

func (s *galeraServer) Pause(backends bool) (resume func(), err error) {
	return s.Galera.nodes[s.turn()].Pause(backends)
}
