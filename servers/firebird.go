package servers

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	_ "github.com/nakagami/firebirdsql" // the client
	"github.com/pkg/errors"
)

// Firebird is a private Firebird server with one database.
type Firebird struct {
	*process
	bin string
}

const firebirdPackage = "firebird3.0-server"

// The programs look for their modules and their configuration in one folder, and the version's
// empty database of users is made by a script.
const (
	firebirdFolders = "/usr/lib/*/firebird/3.0"
	firebirdUsers   = "/usr/share/firebird/3.0/security.sql"
)

// StartFirebird makes a database and starts a server on it. Settings are parameters of firebird.conf. Deadlocks
// are looked for after a second, where Firebird's default is ten. The server's own log stays in the place that the
// package has compiled in, if its user may write there.
func StartFirebird(opts ...Option) (*Firebird, error) {
	c, err := configure(opts)
	if err != nil {
		return nil, err
	}
	s, err := newFirebird()
	if err != nil {
		return nil, err
	}
	if err = s.install(c); err == nil {
		err = s.begin(c.ctx)
	}
	if err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func newFirebird() (*Firebird, error) {
	bin, err := find("firebird", firebirdPackage, "/usr/sbin")
	if err != nil {
		return nil, err
	}
	p, err := newProcess("firebird", "firebird", syscall.SIGKILL, nil)
	if err != nil {
		return nil, err
	}
	s := &Firebird{process: p, bin: bin}
	s.env = []string{"FIREBIRD=" + s.root(), "FIREBIRD_LOCK=" + s.dir, "FIREBIRD_TMP=" + s.dir}
	return s, nil
}

func (s *Firebird) root() string     { return filepath.Join(s.dir, "root") }
func (s *Firebird) database() string { return filepath.Join(s.dir, "isohound.fdb") }

// firebirdRoot finds the folder of the package.
func firebirdRoot() (string, error) {
	found, _ := filepath.Glob(firebirdFolders)
	if len(found) == 0 {
		return "", errors.Errorf("there is no folder %s; install the package %s", firebirdFolders, firebirdPackage)
	}
	return found[len(found)-1], nil
}

// install makes a root folder with an own configuration, a database of users with the user isohound, whose
// password is isohound, and a database that belongs to it. The user guest, whose password is guest, has no rights there.
func (s *Firebird) install(c *config) error {
	from, err := firebirdRoot()
	if err != nil {
		return err
	}
	isql, err := find("isql-fb", firebirdPackage)
	if err != nil {
		return err
	}
	if err := os.Mkdir(s.root(), 0o755); err != nil {
		return errors.WithStack(err)
	}
	for _, name := range []string{"firebird.msg", "intl", "plugins", "plugins.conf", "fbtrace.conf"} {
		if err := os.Symlink(filepath.Join(from, name), filepath.Join(s.root(), name)); err != nil {
			return errors.WithStack(err)
		}
	}
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	s.port = ports[0]
	users := filepath.Join(s.dir, "security.fdb")
	conf, err := s.configuration(filepath.Join(from, "firebird.conf"), users, c.settings)
	if err != nil {
		return err
	}
	script, err := os.ReadFile(firebirdUsers)
	if err != nil {
		return errors.WithStack(err)
	}
	for name, text := range map[string]string{
		"root/firebird.conf":  conf,
		"root/databases.conf": fmt.Sprintf("security.db = %s\n{\n\tRemoteAccess = false\n}\nisohound = %s\n", users, s.database()),
		"users.sql":           fmt.Sprintf("CREATE DATABASE '%s';\n%s", users, script),
		"user.sql":            "CREATE USER isohound PASSWORD 'isohound' USING PLUGIN Srp;\nCREATE USER guest PASSWORD 'guest' USING PLUGIN Srp;\nCOMMIT;\n",
		"database.sql":        fmt.Sprintf("CREATE DATABASE '%s' PAGE_SIZE 16384;\n", s.database()),
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
			return errors.WithStack(err)
		}
	}
	// The tool opens files itself, as any user.
	for _, args := range [][]string{{"-user", "SYSDBA", "-i", "users.sql"}, {"-user", "SYSDBA", "-i", "user.sql", "security.db"}, {"-user", "isohound", "-i", "database.sql"}} {
		if err := s.run(c.ctx, isql, append([]string{"-q", "-bail"}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// configuration writes firebird.conf. The server takes parameters that it does not know in silence, so they are
// looked up in the package's file, which lists them all.
func (s *Firebird) configuration(list, users string, settings []setting) (string, error) {
	known, err := os.ReadFile(list)
	if err != nil {
		return "", errors.WithStack(err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "RemoteBindAddress = 127.0.0.1\nRemoteServicePort = %d\nSecurityDatabase = %s\nAuthServer = Srp\nUserManager = Srp\nWireCrypt = Enabled\n", s.port, users)
	values := map[string]string{"DeadlockTimeout": "1"}
	for _, set := range settings {
		if !regexp.MustCompile(`(?m)^#?` + regexp.QuoteMeta(set.name) + ` *=`).Match(known) {
			return "", errors.Errorf("Firebird has no parameter %q; %s lists them", set.name, list)
		}
		values[set.name] = set.value
	}
	for name, value := range values {
		fmt.Fprintf(&b, "%s = %s\n", name, value)
	}
	return b.String(), nil
}

// Start starts the server again after Kill.
func (s *Firebird) Start() error { return s.begin(context.Background()) }

func (s *Firebird) begin(ctx context.Context) error { return s.start(ctx, s.ping, s.bin) }

// DSN returns the address of the database.
func (s *Firebird) DSN() string {
	return fmt.Sprintf("firebird://isohound:isohound@127.0.0.1:%d/isohound", s.port)
}

func (s *Firebird) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	db, err := sql.Open("firebirdsql", s.DSN())
	if err != nil {
		return err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, "SELECT RDB$GET_CONTEXT('SYSTEM', 'ENGINE_VERSION') FROM RDB$DATABASE").Scan(&s.version)
	s.version = strings.TrimSpace(s.version)
	return err
}

// Stop ends the server and removes its folder. It is killed: a shutdown may wait for connections that are closing, and
// nothing is kept.
func (s *Firebird) Stop() {
	s.Kill()
	s.remove()
}
