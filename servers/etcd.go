package servers

import (
	"context"
	"fmt"
	"strings"
	"syscall"
)

// Etcd is a private etcd server, alone or a node of a cluster.
type Etcd struct {
	*process
	bin  string
	args []string
}

const etcdPackage = "etcd-server"

// StartEtcd starts a server. Settings are its flags.
func StartEtcd(opts ...Option) (*Etcd, error) {
	all, err := startEtcd(1, opts)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// etcdArgs are the arguments of node n of those whose addresses, for clients and for other nodes, are at.
func etcdArgs(n int, at [][]string) []string {
	var peers []string
	for i := range at {
		peers = append(peers, fmt.Sprintf("n%d=http://%s", i+1, at[i][1]))
	}
	client, peer := "http://"+at[n][0], "http://"+at[n][1]
	return []string{
		"--name", fmt.Sprintf("n%d", n+1), "--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", strings.Join(peers, ","),
	}
}

// startEtcd starts n nodes, which wait for each other.
func startEtcd(n int, opts []Option) ([]*Etcd, error) {
	c, err := configure(opts)
	if err != nil {
		return nil, err
	}
	all, err := newEtcd(n, c)
	for _, s := range all {
		if err == nil {
			err = s.launch(s.bin, s.args...)
		}
	}
	for _, s := range all {
		if err == nil {
			err = s.await(c.ctx, s.ready)
		}
	}
	if err != nil {
		for _, s := range all {
			s.Stop()
		}
		return nil, err
	}
	return all, nil
}

func newEtcd(n int, c *config) (all []*Etcd, err error) {
	bin, err := find("etcd", etcdPackage)
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(2 * n)
	if err != nil {
		return nil, err
	}
	at := make([][]string, n)
	for i, port := range ports {
		at[i/2] = append(at[i/2], fmt.Sprintf("127.0.0.1:%d", port))
	}
	for i := range at {
		p, err := newProcess("etcd", "etcd", syscall.SIGKILL, c)
		if err != nil {
			return all, err
		}
		p.port = ports[2*i]
		s := &Etcd{process: p, bin: bin, args: append(etcdArgs(i, at), "--data-dir", p.dir+"/data")}
		for _, set := range c.settings {
			s.args = append(s.args, "--"+strings.ReplaceAll(set.name, "_", "-")+"="+set.value)
		}
		all = append(all, s)
	}
	return all, nil
}

// ready asks for the health of the server, which needs a leader.
func (s *Etcd) ready(ctx context.Context) error {
	_, err := get(ctx, s.port, "/health")
	return err
}

// Start starts the server again after Kill.
func (s *Etcd) Start() error { return s.start(context.Background(), s.ready, s.bin, s.args...) }

// DSN returns the address of the server.
func (s *Etcd) DSN() string { return fmt.Sprintf("http://127.0.0.1:%d", s.port) }

// Pause stops the server with SIGSTOP until the returned function is called. Its sessions are
// goroutines, which cannot be stopped one by one.
func (s *Etcd) Pause(backends bool) (resume func(), err error) { return s.pause("etcd", backends) }

// Stop ends the server and removes its folder.
func (s *Etcd) Stop() {
	s.Kill()
	s.remove()
}

// etcdNodes is how many nodes the cluster of a Spec has: with three, one may be away.
const etcdNodes = 3

// etcdCluster is a cluster as a Server.
type etcdCluster struct{ nodes[*Etcd] }

func startEtcdCluster(_ Spec, opts []Option) (Server, error) {
	all, err := startEtcd(etcdNodes, opts)
	if err != nil {
		return nil, err
	}
	return &etcdCluster{nodes[*Etcd]{turns: turns{count: len(all)}, all: all}}, nil
}

// DSN is the addresses of all nodes, in one line: the client spreads the requests.
func (s *etcdCluster) DSN() string {
	var list []string
	for _, n := range s.all {
		list = append(list, n.DSN())
	}
	return strings.Join(list, ",")
}
