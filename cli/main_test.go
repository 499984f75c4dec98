package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/servers"
)

const (
	lostUpdate = "s1 T1 [0,5]: r(x,0) w(x,1)\ns2 T2 [2,7]: r(x,0) w(x,2)\n"
	fine       = "s1 T1 [0,5]: r(x,0) w(x,1)\ns2 T2 [6,7]: r(x,1) w(x,2)\n"
)

// shop is the path of the example. Commands of tests run in folders of their own.
func shop(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../examples/workload-file/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// ownOptions adds the drivers of a test. The program with the tag front has none.
var ownOptions = func() []Option { return nil }

// TestMain makes the test binary the command if ISOHOUND_MAIN is set, so that tests can send it
// signals and read its exit code.
func TestMain(m *testing.M) {
	switch os.Getenv("ISOHOUND_MAIN") {
	case "":
	case "own":
		Main(ownOptions()...)
	default:
		Main()
	}
	code := m.Run()
	started.stop()
	os.Exit(code)
}

// started are servers shared by tests. Each is started by the first test that needs it.
var started = &shared{}

type shared struct {
	mu       sync.Mutex
	postgres *servers.Postgres
	mariadb  *servers.MariaDB
	redis    *servers.Redis
	firebird *servers.Firebird
}

func (s *shared) stop() {
	if s.postgres != nil {
		s.postgres.Stop()
	}
	if s.mariadb != nil {
		s.mariadb.Stop()
	}
	if s.redis != nil {
		s.redis.Stop()
	}
	if s.firebird != nil {
		s.firebird.Stop()
	}
}

func postgresDSN(t *testing.T) string {
	t.Helper()
	started.mu.Lock()
	defer started.mu.Unlock()
	if started.postgres == nil {
		var err error
		if started.postgres, err = servers.StartPostgres(); err != nil {
			t.Fatal(err)
		}
	}
	return started.postgres.DSN()
}

func mariadbDSN(t *testing.T) string {
	t.Helper()
	started.mu.Lock()
	defer started.mu.Unlock()
	if started.mariadb == nil {
		var err error
		if started.mariadb, err = servers.StartMariaDB(); err != nil {
			t.Fatal(err)
		}
	}
	return started.mariadb.DSN()
}

func redisDSN(t *testing.T) string {
	t.Helper()
	started.mu.Lock()
	defer started.mu.Unlock()
	if started.redis == nil {
		var err error
		if started.redis, err = servers.StartRedis(); err != nil {
			t.Fatal(err)
		}
	}
	return started.redis.DSN()
}

func firebirdDSN(t *testing.T) string {
	t.Helper()
	started.mu.Lock()
	defer started.mu.Unlock()
	if started.firebird == nil {
		var err error
		if started.firebird, err = servers.StartFirebird(); err != nil {
			t.Fatal(err)
		}
	}
	return started.firebird.DSN()
}

// call is a finished invocation of the command.
type call struct {
	code     int
	out, msg string
}

// command prepares an invocation in a new folder.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, args...)
	c.Env = append(os.Environ(), "ISOHOUND_MAIN=1")
	c.Dir = t.TempDir()
	return c
}

// isohound runs the command.
func isohound(t *testing.T, args ...string) call {
	t.Helper()
	return finish(t, command(t, args...))
}

func finish(t *testing.T, c *exec.Cmd) call {
	t.Helper()
	var out, msg bytes.Buffer
	c.Stdout, c.Stderr = &out, &msg
	err := c.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return call{c.ProcessState.ExitCode(), out.String(), msg.String()}
}

// outcomes reads the lines that --json printed.
func (c call) outcomes(t *testing.T) []results.Outcome {
	t.Helper()
	var all []results.Outcome
	dec := json.NewDecoder(strings.NewReader(c.out))
	for dec.More() {
		var o results.Outcome
		if err := dec.Decode(&o); err != nil {
			t.Fatalf("%v in %s%s", err, c.out, c.msg)
		}
		all = append(all, o)
	}
	return all
}

// write makes a file for a test.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
