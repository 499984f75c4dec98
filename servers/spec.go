package servers

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/isohound/isohound/servers/fetch"
)

// Server is a private server.
type Server interface {
	// DSN is its address, for the driver of its Spec. A cluster has several, a line each.
	DSN() string
	// Kill ends all its processes at once. Start starts it again on the same data and address.
	Kill()
	Start() error
	// Pause stops its processes until the returned function is called: those of one session, drawn at random, if backends
	// is set, else all.
	Pause(backends bool) (resume func(), err error)
	// Stop ends it and removes its data.
	Stop()
}

// Exacter is a Server whose version may be named less exactly than it is known.
type Exacter interface {
	// Exact is the version, in the form of Spec.Version.
	Exact() string
}

// Standby is a Server with a standby.
type Standby interface {
	Server
	// KillStandby ends all processes of the standby at once, StartAgain starts it again.
	KillStandby()
	StartAgain() error
	// PauseStandby stops its processes until the returned function is called.
	PauseStandby() (resume func(), err error)
}

// Filler is a Server with a disk of its own (Disk). Fill leaves it no free space until empty is called. Ended reports whether
// the server has ended meanwhile.
type Filler interface {
	Server
	Fill() (empty func() error, err error)
	Ended() bool
}

// Spec says which server to start, in the words of the command line and of plans: postgres, mariadb,
// postgres=FOLDER, postgres@18.4, postgres-failover, redis=everysec, docker-mongo=mongo:7.0.14, and each with ?name=value for
// the DSN.
type Spec struct {
	Kind string
	// Driver is the name of the driver for it.
	Driver string
	// Version is what follows @, such as 18.4, or "".
	Version string
	// Value is what follows =, such as a folder with PostgreSQL's programs or an image, or "".
	Value string
	// Params are parameters of the DSN, as in a URL, or "".
	Params string
}

// kind is a kind of private servers.
type kind struct {
	name, driver string
	forms        []string
	// version and value look at what follows @ and =. nil says that nothing may.
	version, value func(string) error
	needs          bool // one of the two
	disk           bool // it can have a disk of its own
	nodes          int  // its addresses, if it has more than one
	start          func(Spec, []Option) (Server, error)
}

// failoverKind is the kind with a standby that is promoted.
const failoverKind = "postgres-failover"

// kinds are all kinds, in the order of help texts.
var kinds = append([]kind{
	{
		name: "postgres", driver: "postgres", disk: true, forms: []string{"postgres", "postgres@VERSION", "postgres=FOLDER"},
		version: fetch.Check, value: programFolder,
		start: func(s Spec, opts []Option) (Server, error) {
			switch {
			case s.Version != "":
				opts = append(opts, Exact(s.Version))
			case s.Value != "":
				opts = append(opts, Programs(s.Value))
			}
			return started(StartPostgres(opts...))
		},
	},
	{
		name: failoverKind, driver: "postgres", forms: []string{failoverKind, failoverKind + "@VERSION"}, version: fetch.Check,
		start: func(s Spec, opts []Option) (Server, error) {
			if s.Version != "" {
				opts = append(opts, Exact(s.Version))
			}
			return started(StartPostgresFailover(opts...))
		},
	},
	{
		name: "mariadb", driver: "mariadb", disk: true, forms: []string{"mariadb"},
		version: func(string) error {
			return fmt.Errorf("MariaDB cannot be had by version; mariadb is the installed one")
		},
		start: func(_ Spec, opts []Option) (Server, error) { return started(StartMariaDB(opts...)) },
	},
	{name: "galera", driver: "mariadb", forms: []string{"galera"}, nodes: galeraNodes, start: startGaleraServer},
	{
		name: "firebird", driver: "firebird", forms: []string{"firebird"},
		start: func(_ Spec, opts []Option) (Server, error) { return started(StartFirebird(opts...)) },
	},
	{
		name: "etcd", driver: "etcd", disk: true, forms: []string{"etcd"},
		start: func(_ Spec, opts []Option) (Server, error) { return started(StartEtcd(opts...)) },
	},
	{name: "etcd-cluster", driver: "etcd", forms: []string{"etcd-cluster"}, start: startEtcdCluster},
	{
		name: "redis", driver: "redis", disk: true, forms: []string{"redis"}, value: fsync,
		start: func(s Spec, opts []Option) (Server, error) {
			return started(StartRedis(append(opts, onDisk(s.Value)...)...))
		},
	},
	{
		name: "redis-sentinel", driver: "redis", forms: []string{"redis-sentinel"}, value: fsync,
		start: func(s Spec, opts []Option) (Server, error) {
			return started(StartRedisSentinel(append(opts, onDisk(s.Value)...)...))
		},
	},
	{
		name: "tidb", driver: "tidb", forms: []string{"tidb@2024", "tidb@2019"}, needs: true,
		version: oneOf("TiDB", TiDBVersions),
		start:   func(s Spec, opts []Option) (Server, error) { return started(StartTiDB(s.Version, opts...)) },
	},
	{
		name: "dgraph", driver: "dgraph", forms: []string{"dgraph@25.0.0", "dgraph@1.1.1"}, needs: true, nodes: dgraphGroups,
		version: oneOf("Dgraph", DgraphVersions), start: startDgraphServer,
	},
}, append(containerKinds(), clusterKinds()...)...)

// started makes a started server a Server, which is nil if there is an error.
func started[S Server](s S, err error) (Server, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// oneOf looks for a version among those that can be started.
func oneOf(title string, versions []string) func(string) error {
	return func(text string) error {
		if !slices.Contains(versions, text) {
			return fmt.Errorf("of %s there are %s", title, strings.Join(versions, " and "))
		}
		return nil
	}
}

func programFolder(text string) error {
	if text == "" {
		return fmt.Errorf("after = there is the folder with PostgreSQL's programs")
	}
	return nil
}

// fsyncs are when Redis has its log on disk; with off there is none.
var fsyncs = []string{"always", "everysec", "no", "off"}

func fsync(text string) error {
	if !slices.Contains(fsyncs, text) {
		return fmt.Errorf("after = there is when the log is on disk, one of %s", strings.Join(fsyncs, ", "))
	}
	return nil
}

func onDisk(fsync string) []Option {
	switch fsync {
	case "":
		return nil
	case "off":
		return []Option{Set("appendonly", "no")}
	}
	return []Option{Set("appendfsync", fsync)}
}

// SpecForms are the forms of a Spec, for help texts and errors.
func SpecForms() string {
	var all []string
	for _, k := range kinds {
		all = append(all, k.forms...)
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

func errForms() error { return fmt.Errorf("expected %s", SpecForms()) }

func (s Spec) kind() (kind, bool) {
	n := slices.IndexFunc(kinds, func(k kind) bool { return k.name == s.Kind })
	if n < 0 {
		return kind{}, false
	}
	return kinds[n], true
}

// ParseSpec reads a Spec. A folder's name may not contain a question mark.
func ParseSpec(text string) (Spec, error) {
	text, params, has := strings.Cut(text, "?")
	if has {
		if _, err := url.ParseQuery(params); err != nil || params == "" {
			return Spec{}, fmt.Errorf("after ? there are parameters of the DSN, such as enable_seqscan=on&jit=on, not %q", params)
		}
	}
	s := Spec{Kind: text, Params: params}
	n := strings.IndexAny(text, "=@")
	if n >= 0 {
		s.Kind = text[:n]
	}
	k, ok := s.kind()
	if !ok {
		return Spec{}, errForms()
	}
	s.Driver = k.driver
	if n < 0 {
		if k.needs {
			return Spec{}, errForms()
		}
		return s, nil
	}
	at, check := &s.Value, k.value
	if text[n] == '@' {
		at, check = &s.Version, k.version
	}
	if check == nil {
		return Spec{}, errForms()
	}
	*at = text[n+1:]
	if err := check(*at); err != nil {
		return Spec{}, err
	}
	return s, nil
}

func (s Spec) String() string {
	text := s.Kind
	if s.Version != "" {
		text += "@" + s.Version
	}
	if s.Value != "" {
		text += "=" + s.Value
	}
	if s.Params != "" {
		text += "?" + s.Params
	}
	return text
}

// Begin starts the server.
func (s Spec) Begin(opts ...Option) (Server, error) {
	k, ok := s.kind()
	if !ok {
		return nil, errForms()
	}
	return k.start(s, opts)
}

// Standby reports whether the server has a standby, which can be killed and paused, too: it is a Standby.
func (s Spec) Standby() bool { return s.Kind == failoverKind }

// Container reports whether the server runs in a container.
func (s Spec) Container() bool { return strings.HasPrefix(s.Kind, containerPrefix) }

// Disk reports whether the server can have a disk of its own: it is then a Filler.
func (s Spec) Disk() bool {
	k, ok := s.kind()
	return ok && k.disk
}

// Breaks reports whether sessions of the server can be stopped at a function (Postgres.Break).
func (s Spec) Breaks() bool { return s.Kind == "postgres" }

// Nodes is how many addresses the server has.
func (s Spec) Nodes() int {
	k, _ := s.kind()
	return max(1, k.nodes)
}

// DSNs are the DSNs of the started server, with the parameters added.
func (s Spec) DSNs(dsn string) []string {
	all := strings.Split(dsn, "\n")
	for n := range all {
		switch {
		case s.Params == "":
		case strings.Contains(all[n], "?"):
			all[n] += "&" + s.Params
		default:
			all[n] += "?" + s.Params
		}
	}
	return all
}
