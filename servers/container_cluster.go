package servers

import (
	"context"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/servers/docker"
)

// clusterSuffix ends the kinds that are clusters of containers, such as docker-etcd-cluster.
const clusterSuffix = "-cluster"

// clusterNodes is how many containers such a cluster has: one may be away.
const clusterNodes = 3

// cluster says how the image of a database becomes a cluster. Its containers use the network of the machine, so that
// they and the clients reach a node at the same address.
type cluster struct {
	driver string
	// ports are how many a node needs. Clients use the first one.
	ports int
	// args are those of a node. at is, by node, its addresses on loopback.
	args func(n int, at [][]string) []string
	// setup is executed in the first container until it succeeds, after all have started. It may be nil.
	setup func(at [][]string) []string
	// dsn is that of a node, or of all nodes if whole is set.
	dsn   func(n int, at [][]string) string
	whole bool
	// self is the DSN that asks a node whether it is ready. nil: that is dsn.
	self func(n int, at [][]string) string
}

// firsts are the addresses for clients, joined.
func firsts(at [][]string) string {
	var all []string
	for _, a := range at {
		all = append(all, a[0])
	}
	return strings.Join(all, ",")
}

// clusters are indexed by what is between docker- and -cluster in a kind.
var clusters = map[string]cluster{
	"etcd": {
		driver: "etcd", ports: 2, whole: true,
		args: func(n int, at [][]string) []string { return append([]string{"etcd"}, etcdArgs(n, at)...) },
		dsn:  func(_ int, at [][]string) string { return "http://" + strings.ReplaceAll(firsts(at), ",", ",http://") },
		self: func(n int, at [][]string) string { return "http://" + at[n][0] },
	},
	"cockroach": {
		driver: "cockroach", ports: 2,
		args: func(n int, at [][]string) []string {
			return []string{"start", "--insecure", "--listen-addr=" + at[n][0], "--http-addr=" + at[n][1], "--join=" + firsts(at)}
		},
		setup: func(at [][]string) []string {
			return []string{"sh", "-c", `out=$(cockroach init --insecure --host=` + at[0][0] + ` 2>&1 || /cockroach/cockroach init --insecure --host=` + at[0][0] + ` 2>&1)` +
				` && exit 0; case "$out" in *"already been initialized"*) exit 0;; esac; echo "$out" >&2; exit 1`}
		},
		dsn: func(n int, at [][]string) string { return "postgres://root@" + at[n][0] + "/defaultdb?sslmode=disable" },
	},
	// A replica set. The driver finds out which member is the primary.
	"mongo": {
		driver: "mongo", ports: 1, whole: true,
		args: func(n int, at [][]string) []string {
			host, port, _ := strings.Cut(at[n][0], ":")
			return []string{"mongod", "--replSet", "rs0", "--bind_ip", host, "--port", port}
		},
		setup: func(at [][]string) []string { return mongoSetup(strings.Split(firsts(at), ",")...) },
		dsn:   func(_ int, at [][]string) string { return "mongodb://" + firsts(at) + "/?replicaSet=rs0" },
	},
}

// clusterKinds are the kinds of clusters. The first one has the form of all.
func clusterKinds() []kind {
	var names []string
	for name := range clusters {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []kind
	for n, name := range names {
		k := kind{
			name: containerPrefix + name + clusterSuffix, driver: clusters[name].driver, needs: true, value: image,
			start: func(s Spec, opts []Option) (Server, error) {
				c, err := configure(opts)
				if err != nil {
					return nil, err
				}
				return started(startContainers(clusters[name], s.Value, c))
			},
		}
		if !clusters[name].whole {
			k.nodes = clusterNodes
		}
		if n == 0 {
			k.forms = []string{containerPrefix + "NAME" + clusterSuffix + "=IMAGE (three nodes; NAME is one of " + strings.Join(names, ", ") + ")"}
		}
		out = append(out, k)
	}
	return out
}

// containers are a cluster as a Server.
type containers struct {
	nodes[*container]
	dsns []string
}

// startContainers gets the image, and starts a cluster.
func startContainers(r cluster, image string, c *config) (*containers, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("a cluster in containers needs Linux, where containers can use the network of the machine")
	}
	if err := obtain(r.driver, image, false, c); err != nil {
		return nil, err
	}
	ports, err := freePorts(clusterNodes * r.ports)
	if err != nil {
		return nil, err
	}
	at := make([][]string, clusterNodes)
	for i, p := range ports {
		at[i%clusterNodes] = append(at[i%clusterNodes], "127.0.0.1:"+strconv.Itoa(p))
	}
	s := &containers{nodes: nodes[*container]{turns: turns{count: clusterNodes}}}
	for n := range at {
		args := append([]string{"create", docker.Label(), "--network", "host", image}, r.args(n, at)...)
		id, err := docker.Do(c.ctx, docker.Answer, nil, args...)
		if err != nil {
			s.Stop()
			return nil, err
		}
		self := r.dsn(n, at)
		if r.self != nil {
			self = r.self(n, at)
		}
		s.all = append(s.all, &container{id: docker.LastLine(id), dsn: self, ready: c.ready})
		if n == 0 || !r.whole {
			s.dsns = append(s.dsns, r.dsn(n, at))
		}
	}
	var setup []string
	if r.setup != nil {
		setup = r.setup(at)
	}
	if err := s.begin(c.ctx, setup); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// begin starts all nodes, which wait for each other, and waits until they can be used.
func (s *containers) begin(ctx context.Context, setup []string) error {
	limit, cancel := context.WithTimeoutCause(ctx, containerTimeout, errors.Errorf("it is not ready after %s", containerTimeout))
	defer cancel()
	for _, c := range s.all {
		if _, err := docker.Do(limit, docker.End, nil, "start", c.id); err != nil {
			return err
		}
	}
	for n, c := range s.all {
		if err := c.prepare(limit, setup); err != nil {
			return errors.WithMessagef(err, "node %d", n+1)
		}
		setup = nil // it was for the first node
	}
	return nil
}

// DSN implements Server.
func (s *containers) DSN() string { return strings.Join(s.dsns, "\n") }
