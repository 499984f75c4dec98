package servers

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/servers/docker"
)

// containerPrefix begins the kinds that are containers, such as docker-postgres.
const containerPrefix = "docker-"

// containerTimeout bounds the start of a container: Cassandra and YugabyteDB take a minute on a fast machine.
const containerTimeout = 5 * time.Minute

// container is a private server in a container, with the docker command.
type container struct {
	id, dsn string
	ready   func(context.Context, string) error
	// killed is why Kill failed.
	killed error
	// sessions have a process each.
	sessions bool
	watch    watcher
	signals  signaller
	// disk has the data of a container with a disk of its own.
	disk folder
}

// recipe says how the image of a database becomes a private server. In args, setup and dsn, {port} is the port on loopback
// at which clients reach it.
type recipe struct {
	driver string
	// port is that inside the container, 0 if the server listens at {port} there, too.
	port int
	env  []string
	args []string
	// settings are what comes before name=value for a setting. nil says that there are none.
	settings []string
	// setup is executed in the container until it succeeds.
	setup []string
	dsn   string
	// sessions: each session has a process.
	sessions bool
}

// recipes are indexed by what follows docker- in a kind.
var recipes = map[string]recipe{
	"postgres": {
		driver: "postgres", port: 5432,
		env:  []string{"POSTGRES_USER=isohound", "POSTGRES_DB=postgres", "POSTGRES_HOST_AUTH_METHOD=trust"},
		args: []string{"-c", "max_connections=200", "-c", "deadlock_timeout=10ms"}, settings: []string{"-c", ""},
		dsn: "postgres://isohound@127.0.0.1:{port}/postgres", sessions: true,
	},
	"mariadb": {
		driver: "mariadb", port: 3306, env: []string{"MARIADB_ALLOW_EMPTY_ROOT_PASSWORD=1", "MARIADB_ROOT_HOST=%"},
		args: []string{"--max-connections=200"}, settings: []string{"--"}, dsn: "mariadb://root@127.0.0.1:{port}/",
	},
	"mysql": {
		driver: "mariadb", port: 3306, env: []string{"MYSQL_ALLOW_EMPTY_PASSWORD=1", "MYSQL_ROOT_HOST=%"},
		args: []string{"--max-connections=200"}, settings: []string{"--"}, dsn: "mariadb://root@127.0.0.1:{port}/",
	},
	// A replica set of one member, which clients reach at the address that it tells them.
	"mongo": {
		driver: "mongo", args: []string{"mongod", "--replSet", "rs0", "--bind_ip_all", "--port", "{port}"},
		setup: mongoSetup("127.0.0.1:{port}"),
		dsn:   "mongodb://127.0.0.1:{port}/?replicaSet=rs0",
	},
	// Its store is in the container, so that it outlives Kill.
	"cockroach": {
		driver: "cockroach", port: 26257, args: []string{"start-single-node", "--insecure"}, dsn: "postgres://root@127.0.0.1:{port}/defaultdb?sslmode=disable",
	},
	"yugabyte": {
		driver: "yugabyte", port: 5433, args: []string{"bin/yugabyted", "start", "--background=false"}, dsn: "postgres://yugabyte@127.0.0.1:{port}/yugabyte",
	},
	"cassandra": {
		driver: "cassandra", port: 9042, env: []string{"MAX_HEAP_SIZE=1G", "HEAP_NEWSIZE=200M"}, dsn: "cassandra://127.0.0.1:{port}/",
	},
	"redis": {
		driver: "redis", port: 6379, args: []string{"--appendonly", "yes", "--appendfsync", "always"}, dsn: "redis://127.0.0.1:{port}/0",
	},
	"etcd": {
		driver: "etcd", port: 2379,
		args: []string{"etcd", "--listen-client-urls", "http://0.0.0.0:2379", "--advertise-client-urls", "http://127.0.0.1:{port}"},
		dsn:  "http://127.0.0.1:{port}",
	},
}

// mongoSetup begins a replica set with these members, and succeeds when it has a primary. It is executed where the first
// member runs. The old shell does not throw where there is no replica set. Elections are as short as runs are patient: by
// default MongoDB waits ten seconds before one.
func mongoSetup(members ...string) []string {
	_, port, _ := strings.Cut(members[0], ":")
	var list []string
	for n, host := range members {
		list = append(list, fmt.Sprintf("{_id: %d, host: '%s'}", n, host))
	}
	return []string{"sh", "-c", `exec "$(command -v mongosh || echo mongo)" --quiet --port ` + port + ` --eval "` +
		`var s; try { s = rs.status() } catch (e) { s = {ok: 0} }; ` +
		`if (!s.ok) rs.initiate({_id: 'rs0', settings: {electionTimeoutMillis: 2000}, members: [` + strings.Join(list, ", ") + `]}); ` +
		`if (!(s.members || []).some(function (m) { return m.stateStr == 'PRIMARY' })) quit(1)"`}
}

// containerKinds are the kinds of recipes. The first one has the form of all.
func containerKinds() []kind {
	var names []string
	for name := range recipes {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []kind
	for n, name := range names {
		k := kind{
			name: containerPrefix + name, driver: recipes[name].driver, needs: true, value: image, disk: true,
			start: func(s Spec, opts []Option) (Server, error) {
				c, err := configure(opts)
				if err != nil {
					return nil, err
				}
				return started(startContainer(recipes[name], s.Value, c))
			},
		}
		if n == 0 {
			k.forms = []string{containerPrefix + "NAME=IMAGE (NAME is one of " + strings.Join(names, ", ") + ")"}
		}
		out = append(out, k)
	}
	return out
}

func image(text string) error {
	if text == "" || strings.HasPrefix(text, "-") || strings.ContainsAny(text, " \t\n") {
		return fmt.Errorf("after = there is an image, such as postgres:18.1")
	}
	return nil
}

// obtain gets the image of a database.
func obtain(driver, image string, settings bool, c *config) error {
	note := c.note
	if note == nil {
		note = func(string) {}
	}
	switch {
	case c.ready == nil:
		return errors.New("a container needs the option Ready")
	case len(c.settings) > 0 && !settings:
		return errors.Errorf("settings of %s in a container cannot be chosen", driver)
	}
	if err := docker.Available(c.ctx); err != nil {
		return errors.WithMessage(err, "a server in a container needs docker")
	}
	docker.Sweep(c.ctx, note)
	return docker.Image(c.ctx, image, "", note)
}

// startContainer gets the image, and starts it.
func startContainer(r recipe, image string, c *config) (*container, error) {
	if err := obtain(r.driver, image, r.settings != nil, c); err != nil {
		return nil, err
	}
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(ports[0])
	fill := strings.NewReplacer("{port}", port).Replace
	inside := port
	if r.port != 0 {
		inside = strconv.Itoa(r.port)
	}
	// The port is the same after a restart.
	args := []string{"create", docker.Label(), "--publish", "127.0.0.1:" + port + ":" + inside}
	for _, e := range r.env {
		args = append(args, "--env", e)
	}
	s := &container{dsn: fill(r.dsn), ready: c.ready, sessions: r.sessions}
	if c.disk {
		mounts, err := s.ownDisk(c.ctx, image)
		if err != nil {
			s.disk.remove()
			return nil, err
		}
		args = append(args, mounts...)
	}
	args = append(args, image)
	for _, a := range r.args {
		args = append(args, fill(a))
	}
	for _, set := range c.settings {
		last := len(r.settings) - 1
		args = append(append(args, r.settings[:last]...), r.settings[last]+set.name+"="+set.value)
	}
	id, err := docker.Do(c.ctx, docker.Answer, nil, args...)
	if err != nil {
		s.disk.remove()
		return nil, err
	}
	s.id = docker.LastLine(id)
	var setup []string
	for _, a := range r.setup {
		setup = append(setup, fill(a))
	}
	err = s.begin(c.ctx, setup)
	if err == nil && c.disk {
		err = s.usesDisk()
	}
	if err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// begin starts the container and waits until it can be used.
func (s *container) begin(ctx context.Context, setup []string) error {
	limit, cancel := context.WithTimeoutCause(ctx, containerTimeout, errors.Errorf("it is not ready after %s", containerTimeout))
	defer cancel()
	if _, err := docker.Do(limit, docker.End, nil, "start", s.id); err != nil {
		return err
	}
	return s.prepare(limit, setup)
}

// prepare waits until the container, which was started, can be used. setup is executed in it before.
func (s *container) prepare(ctx context.Context, setup []string) error {
	if len(setup) > 0 {
		err := s.await(ctx, func(ctx context.Context) error {
			_, err := docker.Do(ctx, docker.End, nil, append([]string{"exec", s.id}, setup...)...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return s.await(ctx, func(ctx context.Context) error {
		if err := s.ready(ctx, s.dsn); err != nil {
			return err
		}
		// In a cluster the other nodes may have answered.
		if runs, err := docker.Running(ctx, s.id); err != nil || runs {
			return err
		}
		return errors.New("others answer")
	})
}

// await repeats f until it succeeds, ctx ends, or the container has ended.
func (s *container) await(ctx context.Context, f func(context.Context) error) error {
	if err := docker.Await(ctx, map[string]string{"the container": s.id}, f); err != nil {
		return errors.Errorf("%v; the end of its log:\n%s", err, s.log())
	}
	return nil
}

// log is the end of the container's log.
func (s *container) log() string {
	text, err := docker.Logs(context.Background(), s.id)
	if err != nil {
		return err.Error()
	}
	return tail(text)
}

// DSN implements Server.
func (s *container) DSN() string { return s.dsn }

// Kill ends all processes of the container with SIGKILL.
func (s *container) Kill() {
	s.killed = docker.Kill(context.Background(), s.id)
}

// Start implements Server.
func (s *container) Start() error {
	if s.killed != nil {
		return s.killed
	}
	return s.begin(context.Background(), nil)
}

// Pause freezes all processes of the container, which takes docker some tens of milliseconds, or with backends the process of
// one session, which takes about one.
func (s *container) Pause(backends bool) (resume func(), err error) {
	if backends {
		return s.pauseSession()
	}
	if _, err := docker.Do(context.Background(), docker.End, nil, "pause", s.id); err != nil {
		return nil, err
	}
	return func() { _, _ = docker.Do(context.Background(), docker.End, nil, "unpause", s.id) }, nil
}

// Stop removes the container with its data.
func (s *container) Stop() {
	s.signals.end()
	_ = docker.Remove(context.Background(), s.id)
	if s.disk.dir != "" {
		s.disk.remove()
	}
}
