package servers

import (
	"context"
	"fmt"
	"io/fs"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/servers/fetch"
)

// Postgres is a private PostgreSQL server.
type Postgres struct {
	*process
	bin      string
	data     string
	settings []setting
	// name is the application name of a standby.
	name string
	// waitsFor are the standbys that commits wait for.
	waitsFor []string
	watch    watcher
	traced   traced
	// exact is the version of the package that was fetched, "" if none was.
	exact string
}

const postgresPackage = "postgresql"

// StartPostgres makes a cluster and starts it. Settings are PostgreSQL's
// parameters.
func StartPostgres(opts ...Option) (*Postgres, error) {
	c, err := configure(opts)
	if err != nil {
		return nil, err
	}
	bin, exact, err := postgresPrograms(c)
	if err != nil {
		return nil, err
	}
	s, err := newPostgres(c, "postgres", bin, func(s *Postgres) error {
		err := s.run(c.ctx, filepath.Join(bin, "initdb"), "-D", s.data, "-A", "trust", "-U", "isohound", "--no-sync", "-E", "UTF8")
		switch {
		case errors.Is(err, fs.ErrPermission):
			return errors.Errorf("the user %s, as whom the server runs, must be able to run the programs in %s", s.user, bin)
		case errors.Is(err, fs.ErrNotExist) && exact != nil: // it is there, and what loads it is not
			return errors.Errorf("the programs in %s need a system with glibc", bin)
		}
		return err
	})
	if err == nil && exact != nil {
		s.exact = exact.String()
		if s.version != exact.Postgres() {
			s.Stop()
			return nil, errors.Errorf("the package %s has PostgreSQL %s", exact, s.version)
		}
	}
	return s, err
}

// postgresPrograms finds the folder with PostgreSQL's programs, and fetches them if an exact version is asked for.
func postgresPrograms(c *config) (string, *fetch.Package, error) {
	if c.exact != "" {
		f, err := fetch.New(c.note)
		if err != nil {
			return "", nil, err
		}
		p, err := f.Postgres(c.ctx, c.exact)
		if err != nil {
			return "", nil, err
		}
		return filepath.Join(p.Folder, "bin"), p, nil
	}
	places := []string{"/usr/lib/postgresql/*/bin"}
	if c.programs != "" {
		places = []string{c.programs, filepath.Join(c.programs, "bin")}
	}
	initdb, err := find("initdb", postgresPackage, places...)
	if err == nil && c.programs != "" && filepath.Dir(initdb) != places[0] && filepath.Dir(initdb) != places[1] {
		err = fmt.Errorf("there is no initdb in %s or %s", places[0], places[1])
	}
	return filepath.Dir(initdb), nil, err
}

// newPostgres makes a folder, lets fill create the data, and starts a server.
func newPostgres(c *config, kind, bin string, fill func(*Postgres) error) (*Postgres, error) {
	p, err := newProcess(kind, postgresUser(c), syscall.SIGQUIT, c)
	if err != nil {
		return nil, err
	}
	s := &Postgres{process: p, bin: bin, data: filepath.Join(p.dir, "data"), settings: c.settings, name: filepath.Base(p.dir)}
	var ports []int
	if err = fill(s); err == nil {
		ports, err = freePorts(1)
	}
	if err == nil {
		p.port = ports[0]
		err = s.begin(c.ctx)
	}
	if err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// postgresUser is the user as whom servers of root run. Programs that do not come from the distribution's package may be
// there without the user that the package makes.
func postgresUser(c *config) string {
	if _, err := user.Lookup("postgres"); err != nil && (c.exact != "" || c.programs != "") {
		return "nobody"
	}
	return "postgres"
}

// Exact is the version of the fetched package that runs, such as 18.4.0-beta.17, or "" if none was fetched.
func (s *Postgres) Exact() string { return s.exact }

// Start starts the server again after Kill.
func (s *Postgres) Start() error { return s.begin(context.Background()) }

func (s *Postgres) begin(ctx context.Context) error {
	args := []string{"-D", s.data, "-k", s.dir, "-p", fmt.Sprint(s.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "deadlock_timeout=10ms", "-c", "max_connections=200"}
	if s.disk { // the log would take half of it
		args = append(args, "-c", "max_wal_size=256MB")
	}
	for _, set := range s.settings {
		args = append(args, "-c", set.name+"="+set.value)
	}
	for deadline := time.Now().Add(stopTimeout); ; time.Sleep(20 * time.Millisecond) {
		before := len(s.Logs())
		err := s.start(ctx, s.ping, filepath.Join(s.bin, "postgres"), args...)
		if err == nil || !strings.Contains(s.Logs()[before:], stillInUse) || time.Now().After(deadline) || ctx.Err() != nil {
			return err
		}
	}
}

// stillInUse is logged by a server that ends because processes of a killed server are still
// running. They are in their own process groups.
const stillInUse = "pre-existing shared memory block"

func (s *Postgres) ping(ctx context.Context) error {
	return s.admin(ctx, func(ctx context.Context, c *pgx.Conn) error {
		err := c.QueryRow(ctx, "SHOW server_version").Scan(&s.version)
		s.version, _, _ = strings.Cut(s.version, " ") // the rest is the package's name
		return err
	})
}

// DSN returns the address of the server.
func (s *Postgres) DSN() string {
	return fmt.Sprintf("postgres://isohound@127.0.0.1:%d/postgres", s.port)
}

// Admin runs f on its own connection, as the superuser.
func (s *Postgres) Admin(f func(context.Context, *pgx.Conn) error) error {
	return s.admin(context.Background(), f)
}

func (s *Postgres) admin(ctx context.Context, f func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, s.DSN())
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	return f(ctx, c)
}

// Stop shuts the server down and removes its folder. Its standbys must be stopped first.
func (s *Postgres) Stop() {
	s.signal(syscall.SIGINT)
	s.remove()
}
