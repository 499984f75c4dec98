package servers

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/pkg/errors"
)

// MariaDB is a private MariaDB server.
type MariaDB struct {
	*process
	bin      string
	settings []setting
}

const mariadbPackage = "mariadb-server"

// StartMariaDB makes a data folder and starts a server on it. Settings are
// MariaDB's system variables, or options of its server.
func StartMariaDB(opts ...Option) (*MariaDB, error) {
	c, err := configure(opts)
	if err != nil {
		return nil, err
	}
	s, err := newMariaDB("mariadb", c)
	if err != nil {
		return nil, err
	}
	if err = s.install(c.ctx); err == nil {
		err = s.allocate()
	}
	if err == nil {
		err = s.begin(c.ctx)
	}
	if err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// newMariaDB makes a folder for a server.
func newMariaDB(kind string, c *config) (*MariaDB, error) {
	bin, err := find("mariadbd", mariadbPackage, "/usr/sbin")
	if err != nil {
		return nil, err
	}
	p, err := newProcess(kind, "mysql", syscall.SIGKILL, c)
	if err != nil {
		return nil, err
	}
	return &MariaDB{process: p, bin: bin, settings: c.settings}, nil
}

// install makes a data folder with a user isohound, who has all privileges and no password.
func (s *MariaDB) install(ctx context.Context) error {
	install, err := find("mariadb-install-db", mariadbPackage)
	if err != nil {
		return err
	}
	if err := s.run(ctx, install, "--no-defaults", "--datadir="+s.data(), "--auth-root-authentication-method=normal", "--skip-test-db", redoLog); err != nil {
		return err
	}
	// The server requires one statement per line here.
	grant := "CREATE USER IF NOT EXISTS 'isohound'@'%';\nGRANT ALL ON *.* TO 'isohound'@'%';\n"
	return errors.WithStack(os.WriteFile(s.initFile(), []byte(grant), 0o644))
}

// redoLog keeps InnoDB's log small: little is written, and a cluster copies it.
const redoLog = "--innodb-log-file-size=16M"

// allocate finds a port.
func (s *MariaDB) allocate() error {
	ports, err := freePorts(1)
	if err == nil {
		s.port = ports[0]
	}
	return err
}

func (s *MariaDB) data() string     { return filepath.Join(s.dir, "data") }
func (s *MariaDB) initFile() string { return filepath.Join(s.dir, "init.sql") }

// Start starts the server again after Kill.
func (s *MariaDB) Start() error { return s.begin(context.Background()) }

func (s *MariaDB) begin(ctx context.Context) error {
	return s.start(ctx, s.ping, s.bin, s.arguments("--init-file="+s.initFile())...)
}

// arguments are those of the server's command line.
func (s *MariaDB) arguments(more ...string) []string {
	args := append([]string{"--no-defaults", "--datadir=" + s.data(), "--socket=" + filepath.Join(s.dir, "sock"),
		"--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", s.port), "--pid-file=" + filepath.Join(s.dir, "pid"),
		"--skip-name-resolve", "--max-connections=200", redoLog}, more...)
	for _, set := range s.settings {
		args = append(args, "--"+set.name+"="+set.value)
	}
	return args
}

// DSN returns the address of the server.
func (s *MariaDB) DSN() string { return fmt.Sprintf("mariadb://isohound@127.0.0.1:%d/", s.port) }

func (s *MariaDB) ping(ctx context.Context) error {
	return s.query(func(db *sql.DB) error { return db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&s.version) })
}

func (s *MariaDB) query(f func(*sql.DB) error) error {
	return query("isohound", s.port, f)
}

// query runs f on its own connection to a server that speaks MySQL's protocol.
func query(user string, port int, f func(*sql.DB) error) error {
	conf := mysql.NewConfig()
	conf.User, conf.Net, conf.Addr = user, "tcp", fmt.Sprintf("127.0.0.1:%d", port)
	conf.Timeout, conf.ReadTimeout = 5*time.Second, 5*time.Second
	conf.Logger = log.New(io.Discard, "", 0) // it would print errors that are also returned
	to, err := mysql.NewConnector(conf)
	if err != nil {
		return err
	}
	db := sql.OpenDB(to)
	defer db.Close()
	return f(db)
}

// Stop shuts the server down and removes its folder.
func (s *MariaDB) Stop() {
	s.signal(syscall.SIGTERM)
	s.remove()
}
