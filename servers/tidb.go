package servers

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/pkg/errors"
)

// TiDBVersions are the versions of TiDB that can be started, the newest first.
var TiDBVersions = []string{"2024", "2019"}

// TiDB is a private TiDB server with its store in the same process: unistore in the version of
// 2024, mocktikv in that of 2019. Both are stores for tests. Both keep their data in a folder.
type TiDB struct {
	*process
	bin string
	old bool // 2019, which has other flags
}

// FindTiDB returns the program of a version, or an error that says where to get it.
func FindTiDB(version string) (string, error) {
	if !slices.Contains(TiDBVersions, version) {
		return "", errors.Errorf("there is no TiDB %s here, but %s", version, strings.Join(TiDBVersions, " and "))
	}
	return findBuilt("tidb-server-"+version, "tidb")
}

// StartTiDB starts a server of one of TiDBVersions on an empty folder. It takes no settings.
func StartTiDB(version string, opts ...Option) (*TiDB, error) {
	c, err := configure(opts)
	if err != nil {
		return nil, err
	}
	if len(c.settings) > 0 {
		return nil, errors.Errorf("setting %s: a private TiDB takes none; set system variables in the DSN", c.settings[0].name)
	}
	bin, err := FindTiDB(version)
	if err != nil {
		return nil, err
	}
	p, err := newProcess("tidb", "", syscall.SIGKILL, nil)
	if err != nil {
		return nil, err
	}
	s := &TiDB{process: p, bin: bin, old: version == "2019"}
	ports, err := freePorts(1)
	if err == nil {
		s.port = ports[0]
		err = s.begin(c.ctx)
	}
	if err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// Start starts the server again after Kill.
func (s *TiDB) Start() error { return s.begin(context.Background()) }

func (s *TiDB) begin(ctx context.Context) error {
	args := []string{"-path", filepath.Join(s.dir, "data"), "-host", "127.0.0.1", "-P", fmt.Sprint(s.port), "-report-status=false", "-L", "error"}
	if s.old { // with a socket it would not listen on a port
		args = append(args, "-store", "mocktikv")
	} else { // without one it would make one outside the folder
		args = append(args, "-store", "unistore", "-socket", filepath.Join(s.dir, "sock"))
	}
	return s.start(ctx, s.ping, s.bin, args...)
}

// DSN returns the address of the server.
func (s *TiDB) DSN() string { return fmt.Sprintf("tidb://root@127.0.0.1:%d/", s.port) }

func (s *TiDB) ping(ctx context.Context) error {
	return query("root", s.port, func(db *sql.DB) error { return db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&s.version) })
}

// Pause stops the server with SIGSTOP until the returned function is called. Its sessions are
// goroutines, which cannot be stopped one by one.
func (s *TiDB) Pause(backends bool) (resume func(), err error) {
	if backends {
		return nil, errors.New("sessions of TiDB are goroutines of one process; pause the whole server instead")
	}
	if !s.running() {
		return nil, errors.New("the server does not run")
	}
	return halt([]int{s.cmd.Process.Pid})
}

// Stop ends the server and removes its folder. Nothing is asked of its data any more, so it is not
// shut down, which takes long.
func (s *TiDB) Stop() {
	s.Kill()
	s.remove()
}
