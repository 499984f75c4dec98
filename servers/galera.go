package servers

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"
	"golang.org/x/sync/errgroup"
)

// Galera is a private cluster of MariaDB servers with Galera replication. Every node accepts
// writes.
type Galera struct {
	nodes   []*MariaDB
	args    [][]string // of each node, to join
	version string
}

// StartGalera starts a cluster of n nodes, from 1 on, and waits until all are synced. The first
// node bootstraps the cluster; the others copy its data with rsync. Settings are those of
// StartMariaDB, for every node. The value of wsrep_provider_options is added to the options of a
// private cluster.
func StartGalera(n int, opts ...Option) (*Galera, error) {
	c, err := configure(opts)
	if err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, errors.Errorf("a Galera cluster of %d nodes; expected at least 1", n)
	}
	provider, err := galeraProvider()
	if err != nil {
		return nil, err
	}
	if _, err := find("rsync", "rsync"); err != nil {
		return nil, err
	}
	own := c.take("wsrep_provider_options")
	for try := 1; ; try++ {
		g := &Galera{}
		err := g.start(n, c, provider, own)
		if err == nil {
			return g, nil
		}
		g.Stop()
		// On a busy machine a node may fail to join. With a single node there is nothing to
		// join.
		if len(g.nodes) < 2 || try == maxGaleraStarts || c.ctx.Err() != nil {
			return nil, err
		}
	}
}

// maxGaleraStarts is how often the start of a cluster is tried if its nodes do not join.
const maxGaleraStarts = 3

const galeraPackage = "galera-4"

// galeraProvider is the path of Galera, a library that servers load.
func galeraProvider() (string, error) {
	return find("libgalera_smm.so", galeraPackage, "/usr/lib/galera", "/usr/lib64/galera*", "/usr/lib")
}

// The ports of a node.
const (
	forClients    = iota
	forCluster    // group communication
	forWriteSets  // incremental state transfer (IST): write sets that a node has missed
	forWholeState // state snapshot transfer (SST): all data, for a node that joins
	portsPerNode
)

func (g *Galera) start(n int, c *config, provider, own string) error {
	ports, err := freePorts(n * portsPerNode)
	if err != nil {
		return err
	}
	at := func(node, use int) string { return fmt.Sprintf("127.0.0.1:%d", ports[node*portsPerNode+use]) }
	var members []string
	for i := range n {
		members = append(members, at(i, forCluster))
	}
	for i := range n {
		node, err := newMariaDB("galera", c)
		if err != nil {
			return err
		}
		g.nodes = append(g.nodes, node)
		node.port = ports[i*portsPerNode+forClients]
		// A node on a busy machine may be silent for a while without having failed.
		options := "gmcast.listen_addr=tcp://" + at(i, forCluster) + ";ist.recv_addr=" + at(i, forWriteSets) +
			";gcache.size=16M;evs.suspect_timeout=PT30S;evs.inactive_timeout=PT1M;" + own
		args := node.arguments("--binlog-format=ROW", "--default-storage-engine=InnoDB", "--innodb-autoinc-lock-mode=2",
			"--wsrep-on=ON", "--wsrep-provider="+provider, "--wsrep-cluster-name=isohound", fmt.Sprintf("--wsrep-node-name=node%d", i+1),
			"--wsrep-node-address="+at(i, forCluster), "--wsrep-cluster-address=gcomm://"+strings.Join(members, ","),
			"--wsrep-sst-method=rsync", "--wsrep-sst-receive-address="+at(i, forWholeState), "--wsrep-provider-options="+options)
		g.args = append(g.args, args)
		if i == 0 {
			err = node.found(c.ctx, args)
		} else {
			err = node.join(args)
		}
		if err != nil {
			return errors.WithMessagef(err, "node %d of %d", i+1, n)
		}
	}
	all, ctx := errgroup.WithContext(c.ctx) // if one node ends, the others are not waited for
	for i, node := range g.nodes {
		all.Go(func() error {
			return errors.WithMessagef(node.await(ctx, node.synced(n)), "node %d of %d", i+1, n)
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	first := g.nodes[0]
	return first.query(func(db *sql.DB) error {
		var provider string
		if err := db.QueryRowContext(c.ctx, "SELECT "+status("wsrep_provider_version")).Scan(&provider); err != nil {
			return errors.WithStack(err)
		}
		provider, _, _ = strings.Cut(provider, "(")
		g.version = first.version + ", Galera " + provider
		return nil
	})
}

// found starts the first node.
func (s *MariaDB) found(ctx context.Context, args []string) error {
	if err := s.install(ctx); err != nil {
		return err
	}
	return s.process.start(ctx, s.synced(1), s.bin, append(args, "--wsrep-new-cluster", "--init-file="+s.initFile())...)
}

// join starts a node that copies all its data from another.
func (s *MariaDB) join(args []string) error {
	if err := os.Mkdir(s.data(), 0o700); err != nil {
		return errors.WithStack(err)
	}
	if err := s.give(s.data()); err != nil {
		return err
	}
	return s.launch(s.bin, args...)
}

// synced returns a check that a node is synced in a cluster of n.
func (s *MariaDB) synced(n int) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := s.ping(ctx); err != nil {
			return err
		}
		var state, size string
		err := s.query(func(db *sql.DB) error {
			return db.QueryRowContext(ctx, "SELECT "+status("wsrep_local_state_comment")+", "+status("wsrep_cluster_size")).Scan(&state, &size)
		})
		if err != nil {
			return err
		}
		if state != "Synced" || size != fmt.Sprint(n) {
			return errors.Errorf("it is %s in a cluster of %s", state, size)
		}
		return nil
	}
}

func status(name string) string {
	return "(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = '" + name + "')"
}

// DSNs returns the addresses of the nodes.
func (g *Galera) DSNs() []string {
	var all []string
	for _, node := range g.nodes {
		all = append(all, node.DSN())
	}
	return all
}

// Version is the version that the servers report, with Galera's.
func (g *Galera) Version() string { return g.version }

// Logs returns the nodes' logs, until Stop removes them.
func (g *Galera) Logs() string {
	var b strings.Builder
	for i, node := range g.nodes {
		fmt.Fprintf(&b, "== node %d, %s\n%s\n", i+1, filepath.Base(node.dir), node.Logs())
	}
	return b.String()
}

// Kill kills node i, from 0, like a crash. The others go on without it when it has been silent for
// evs.suspect_timeout, 30 s unless wsrep_provider_options sets it.
func (g *Galera) Kill(i int) { g.nodes[i].Kill() }

// Start starts node i again after Kill, while others are there. It copies all data from one of them, and is
// synced when Start returns. On a busy machine the transfer of the data may fail, and the node ends and says that it has
// to be started again, which is done.
func (g *Galera) Start(i int) error {
	node := g.nodes[i]
	for try := 1; ; try++ {
		err := node.start(context.Background(), node.synced(len(g.nodes)), node.bin, g.args[i]...)
		if ended := (*endedError)(nil); try == maxGaleraStarts || !errors.As(err, &ended) {
			return err
		}
	}
}

// Stop kills all nodes, since none of their data is kept, and removes their folders.
func (g *Galera) Stop() {
	for _, node := range g.nodes {
		node.Kill()
		node.remove()
	}
}
