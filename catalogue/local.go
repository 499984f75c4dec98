package catalogue

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/servers"
	"github.com/isohound/isohound/servers/fetch"
)

// starter starts servers from packages of the distribution.
type starter struct {
	// missing returns what is not installed here, "" if nothing.
	missing func(t *Target) string
	// options and cluster say that it accepts settings, and a number of nodes.
	options, cluster bool
	// versioned says that the target's version selects what is started. Other starters start the
	// installed version.
	versioned bool
	// nodes is the default number of endpoints.
	nodes int
	start func(ctx context.Context, t *Target) (*running, error)
}

func (st *starter) endpoints(t *Target) int {
	if st.cluster && t.Nodes > 0 {
		return t.Nodes
	}
	return st.nodes
}

// versioned reports whether the version selects what runs. Otherwise it only says what the
// expectation was observed with.
func (t *Target) versioned() bool {
	st := starterOf(t.Start)
	return t.Kind != Local || st != nil && st.versioned
}

// starterOf is the starter that target.start names, nil if there is none: one of starters, or PostgreSQL in an exact
// version, such as postgres@15.3.
func starterOf(start string) *starter {
	if st := starters[start]; st != nil || !strings.Contains(start, "@") {
		return st
	}
	spec, err := servers.ParseSpec(start)
	if err != nil || spec.Kind != "postgres" || spec.Params != "" {
		return nil
	}
	st := *starters["postgres"]
	st.missing = func(*Target) string {
		if _, err := fetch.New(nil); err != nil {
			return "another machine: " + err.Error()
		}
		return ""
	}
	st.start = func(ctx context.Context, t *Target) (*running, error) {
		s, err := servers.StartPostgres(append(settings(ctx, t), servers.Exact(spec.Version))...)
		if err != nil {
			return nil, err
		}
		return serving(s), nil
	}
	return &st
}

// CanStart reports whether start is a name that target.start may have.
func CanStart(start string) bool { return starterOf(start) != nil }

// starters are indexed by the names in target.start.
var starters = map[string]*starter{
	"postgres": {missing: packaged(servers.MissingPostgres), options: true, nodes: 1, start: func(ctx context.Context, t *Target) (*running, error) {
		s, err := servers.StartPostgres(settings(ctx, t)...)
		if err != nil {
			return nil, err
		}
		return serving(s), nil
	}},
	"postgres-standby": {missing: packaged(servers.MissingPostgres), options: true, nodes: 2, start: func(ctx context.Context, t *Target) (*running, error) {
		return withStandby(ctx, t)
	}},
	"postgres-synchronous-standby": {missing: packaged(servers.MissingPostgres), options: true, nodes: 2, start: func(ctx context.Context, t *Target) (*running, error) {
		return withStandby(ctx, t, servers.Synchronous())
	}},
	"mariadb": {missing: packaged(servers.MissingMariaDB), options: true, nodes: 1, start: func(ctx context.Context, t *Target) (*running, error) {
		s, err := servers.StartMariaDB(settings(ctx, t)...)
		if err != nil {
			return nil, err
		}
		return serving(s), nil
	}},
	"redis": {missing: packaged(servers.MissingRedis), options: true, nodes: 1, start: func(ctx context.Context, t *Target) (*running, error) {
		s, err := servers.StartRedis(settings(ctx, t)...)
		if err != nil {
			return nil, err
		}
		return serving(s), nil
	}},
	"firebird": {missing: packaged(servers.MissingFirebird), options: true, nodes: 1, start: func(ctx context.Context, t *Target) (*running, error) {
		s, err := servers.StartFirebird(settings(ctx, t)...)
		if err != nil {
			return nil, err
		}
		return serving(s), nil
	}},
	"etcd": {missing: packaged(servers.MissingEtcd), options: true, nodes: 1, start: func(ctx context.Context, t *Target) (*running, error) {
		s, err := servers.StartEtcd(settings(ctx, t)...)
		if err != nil {
			return nil, err
		}
		return serving(s), nil
	}},
	// One DSN for both, of which the driver uses the primary.
	"redis-replica": {missing: packaged(servers.MissingRedis), options: true, nodes: 1, start: func(ctx context.Context, t *Target) (*running, error) {
		s, err := servers.StartRedis(settings(ctx, t)...)
		if err != nil {
			return nil, err
		}
		replica, err := s.StartReplica(settings(ctx, t)...)
		if err != nil {
			s.Stop()
			return nil, err
		}
		r := serving(s, replica)
		r.dsns = []string{s.DSNWith(replica)}
		return r, nil
	}},
	"dgraph": {missing: func(t *Target) string { return builtDgraph(t.Version) }, cluster: true, versioned: true, nodes: 1, start: func(ctx context.Context, t *Target) (*running, error) {
		d, err := servers.StartDgraph(t.Version, max(t.Nodes, 1), 1, servers.Context(ctx))
		if err != nil {
			return nil, err
		}
		r := &running{dsns: d.DSNs(), logs: map[string]func() string{"dgraph.log": d.Logs}, stop: d.Stop}
		r.what = "servers at " + strings.Join(r.dsns, ", ")
		return r, nil
	}},
	"tidb": {missing: func(t *Target) string { return builtTiDB(t.Version) }, versioned: true, nodes: 1, start: func(ctx context.Context, t *Target) (*running, error) {
		s, err := servers.StartTiDB(t.Version, servers.Context(ctx))
		if err != nil {
			return nil, err
		}
		return serving(s), nil
	}},
	"galera": {missing: packaged(servers.MissingGalera), options: true, cluster: true, nodes: galeraNodes, start: func(ctx context.Context, t *Target) (*running, error) {
		nodes := t.Nodes
		if nodes == 0 {
			nodes = galeraNodes
		}
		g, err := servers.StartGalera(nodes, settings(ctx, t)...)
		if err != nil {
			return nil, err
		}
		r := &running{dsns: g.DSNs(), logs: map[string]func() string{"galera.log": g.Logs}, stop: g.Stop}
		r.what = "servers at " + strings.Join(r.dsns, ", ")
		return r, nil
	}},
}

// packaged returns a check whether a package of the distribution is missing.
func packaged(name func() string) func(*Target) string {
	return func(*Target) string {
		if pkg := name(); pkg != "" {
			return "the package " + pkg
		}
		return ""
	}
}

// builtDgraph returns what is missing for a version of Dgraph.
func builtDgraph(version string) string {
	if _, err := servers.FindDgraph(version); err != nil {
		return "dgraph-" + version + " on PATH; ./run.sh dgraph builds it into bin/"
	}
	return ""
}

// builtTiDB returns what is missing for a version of TiDB.
func builtTiDB(version string) string {
	if _, err := servers.FindTiDB(version); err != nil {
		return "tidb-server-" + version + " on PATH; ./run.sh tidb builds it into bin/"
	}
	return ""
}

// galeraNodes is the default number of nodes of a cluster.
const galeraNodes = 3

// settings are the options of a target's servers.
func settings(ctx context.Context, t *Target) []servers.Option {
	opts := []servers.Option{servers.Context(ctx)}
	for _, name := range sorted(t.Options) {
		opts = append(opts, servers.Set(name, t.Options[name]))
	}
	return opts
}

// withStandby starts a primary and a hot standby.
func withStandby(ctx context.Context, t *Target, more ...servers.Option) (*running, error) {
	s, err := servers.StartPostgres(settings(ctx, t)...)
	if err != nil {
		return nil, err
	}
	standby, err := s.StartStandby(append([]servers.Option{servers.Context(ctx)}, more...)...)
	if err != nil {
		s.Stop()
		return nil, err
	}
	return serving(s, standby), nil
}

// server is common to servers from packages.
type server interface {
	DSN() string
	Stop()
}

// serving makes a target of servers. They are stopped in reverse order.
func serving(all ...server) *running {
	r := &running{logs: map[string]func() string{}}
	for n, s := range all {
		r.dsns = append(r.dsns, s.DSN())
		if l, ok := s.(interface{ Logs() string }); ok {
			r.logs[fmt.Sprintf("server-%d.log", n+1)] = l.Logs
		}
	}
	r.what = "servers at " + strings.Join(r.dsns, ", ")
	r.stop = func() {
		for n := len(all) - 1; n >= 0; n-- {
			all[n].Stop()
		}
	}
	return r
}

// running is a started target.
type running struct {
	dsns []string
	// what describes what is running, so that it can be found if it is left behind.
	what string
	// logs are the servers' own logs, by the name of the file to save them to.
	logs map[string]func() string
	// disturb runs the disturbances of the target during a run, until ctx ends.
	disturb func(ctx context.Context)
	stop    func()
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// fill inserts the endpoints of servers into a scenario's DSN. A following ?name=value is added
// to the parameters of the endpoint.
func fill(dsn string, endpoints []string) (string, error) {
	var err error
	out := placeholder.ReplaceAllStringFunc(dsn, func(p string) string {
		n, bad := strconv.Atoi(p[1 : len(p)-1])
		if bad != nil || n < 1 || n > len(endpoints) {
			err = errors.Errorf("%s is none of the target's endpoints, {1} to {%d}", p, len(endpoints))
			return p
		}
		return endpoints[n-1]
	})
	if err != nil {
		return "", err
	}
	if before, after, found := strings.Cut(out, "?"); found {
		out = before + "?" + strings.ReplaceAll(after, "?", "&")
	}
	return out, nil
}

// dsns returns the DSNs of a run against a target.
func (s *Scenario) dsns(r *running) ([]string, error) {
	if len(s.DSN) == 0 {
		return r.dsns, nil
	}
	var out []string
	for _, dsn := range s.DSN {
		full, err := fill(dsn, r.dsns)
		if err != nil {
			return nil, err
		}
		out = append(out, full)
	}
	return out, nil
}
