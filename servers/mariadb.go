package servers

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	_ "github.com/go-sql-driver/mysql" // the driver behind sql.Open
)

// MariaDB is a private MariaDB server.
type MariaDB struct {
	*process
	bin string
}

// StartMariaDB makes a data folder and starts a server on it.
func StartMariaDB() (*MariaDB, error) {
	const hint = "install the package mariadb-server"
	install, err := find("mariadb-install-db", hint)
	if err != nil {
		return nil, err
	}
	bin, err := find("mariadbd", hint, "/usr/sbin")
	if err != nil {
		return nil, err
	}
	p, err := newProcess("mariadb", "mysql")
	if err != nil {
		return nil, err
	}
	s := &MariaDB{process: p, bin: bin}
	if err := s.prepare(install); err != nil {
		p.remove()
		return nil, err
	}
	return s, nil
}

func (s *MariaDB) prepare(install string) error {
	if err := s.run(install, "--no-defaults", "--datadir="+s.data(), "--auth-root-authentication-method=normal", "--skip-test-db"); err != nil {
		return err
	}
	// The server wants one statement a line here.
	grant := "CREATE USER IF NOT EXISTS 'isohound'@'%';\nGRANT ALL ON *.* TO 'isohound'@'%';\n"
	if err := os.WriteFile(s.initFile(), []byte(grant), 0o644); err != nil {
		return err
	}
	var err error
	if s.port, err = freePort(); err != nil {
		return err
	}
	return s.Start()
}

func (s *MariaDB) data() string     { return filepath.Join(s.dir, "data") }
func (s *MariaDB) initFile() string { return filepath.Join(s.dir, "init.sql") }

// Start starts the server again after Kill.
func (s *MariaDB) Start() error {
	return s.start(s.ping, s.bin, "--no-defaults", "--datadir="+s.data(), "--socket="+filepath.Join(s.dir, "sock"),
		"--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", s.port), "--pid-file="+filepath.Join(s.dir, "pid"),
		"--init-file="+s.initFile(), "--skip-name-resolve", "--max-connections=200")
}

// DSN is where the server listens.
func (s *MariaDB) DSN() string { return fmt.Sprintf("mariadb://isohound@127.0.0.1:%d/", s.port) }

func (s *MariaDB) ping() error {
	db, err := sql.Open("mysql", fmt.Sprintf("isohound@tcp(127.0.0.1:%d)/?timeout=5s", s.port))
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Ping()
}

// Kill ends the server at once, as a crash would.
func (s *MariaDB) Kill() { s.signal(syscall.SIGKILL) }

// Stop shuts the server down and removes its folder.
func (s *MariaDB) Stop() {
	s.signal(syscall.SIGTERM)
	s.remove()
}
