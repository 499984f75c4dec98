package catalogue

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/servers"
)

// starter starts servers from distribution packages.
type starter struct {
	// missing names the package that is not installed here, "" if none.
	missing func() string
	// options and cluster say that it takes settings, and a number of nodes.
	options, cluster bool
	// nodes is the number of endpoints where the scenario does not say.
	nodes int
	start func(ctx context.Context, t *Target) (*running, error)
}

func (st *starter) endpoints(t *Target) int {
	if st.cluster && t.Nodes > 0 {
		return t.Nodes
	}
	return st.nodes
}

// starters are known by the names that target.start takes.
var starters = map[string]*starter{
	"postgres": {missing: servers.MissingPostgres, nodes: 1, start: func(context.Context, *Target) (*running, error) {
		s, err := servers.StartPostgres()
		if err != nil {
			return nil, err
		}
		return serving(s), nil
	}},
	"postgres-standby": {missing: servers.MissingPostgres, nodes: 2, start: func(context.Context, *Target) (*running, error) {
		s, err := servers.StartPostgres()
		if err != nil {
			return nil, err
		}
		standby, err := s.StartStandby()
		if err != nil {
			s.Stop()
			return nil, err
		}
		return serving(s, standby), nil
	}},
	"mariadb": {missing: servers.MissingMariaDB, nodes: 1, start: func(context.Context, *Target) (*running, error) {
		s, err := servers.StartMariaDB()
		if err != nil {
			return nil, err
		}
		return serving(s), nil
	}},
}

// server is what packages' servers have in common.
type server interface {
	DSN() string
	Stop()
}

// serving makes a target of servers, which are stopped in the reverse order.
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

// running is a target that was started.
type running struct {
	dsns []string
	// what says in words what runs, so that it can be found if it is left behind.
	what string
	// logs are the servers' own, by the name of the file that keeps them.
	logs map[string]func() string
	// disturb plays what happens to the target during a run, until ctx ends.
	disturb func(ctx context.Context)
	stop    func()
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// fill puts the endpoints of servers into a scenario's DSN. What follows as
// ?name=value is added to what the endpoint already has.
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

// endpoints are the DSNs of a run against a target.
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
