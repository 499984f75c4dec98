package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/internal/cqltest"
	"github.com/isohound/isohound/results"
)

// cassandraDSN starts a fake Cassandra server.
func cassandraDSN(t *testing.T) string {
	t.Helper()
	s, err := cqltest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return "cassandra://" + s.Addr() + "/"
}

// TestCassandra runs the command on two endpoints of a fake server, because no real one is
// available, and disturbs the connections. Stale reads must be found.
func TestCassandra(t *testing.T) {
	s, err := cqltest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	s.Lag(5)
	dsn := "cassandra://" + s.Addr() + "/"
	for isolation, want := range map[string]verdict.Verdict{"SERIAL": verdict.Satisfied, "ONE": verdict.Violated} {
		t.Run(isolation, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "run")
			c := isohound(t, "run", "--driver", "cassandra", "--dsn", dsn, "--dsn", dsn, "--isolation", isolation, "--workload", "lwt", "--check", "lin",
				"--sessions", "8", "--duration", "2s", "--call-timeout", "3s", "--fault", "300ms cut every 500ms", "--out", out, "--json", "--no-progress")
			all := c.outcomes(t)
			if len(all) != 1 || all[0].Verdict != want || !all[0].Certified {
				t.Fatalf("exit code %d, %+v\n%s", c.code, all, c.msg)
			}
			r, err := results.Load(out)
			if err != nil {
				t.Fatal(err)
			}
			if all[0].Sessions < 3*8 || r.Stats.AbortsByCause["connection lost"] == 0 {
				t.Errorf("%d sessions, aborts %v", all[0].Sessions, r.Stats.AbortsByCause)
			}
			if n := s.Keyspaces(); n != 0 {
				t.Errorf("%d keyspaces are left: %v\n%s", n, append(s.Statements("CREATE"), s.Statements("DROP")...), c.msg)
			}
		})
	}
}

// TestCassandraTransactions: a capability that Cassandra lacks is reported before anything is
// done.
func TestCassandraTransactions(t *testing.T) {
	c := isohound(t, "run", "--driver", "cassandra", "--dsn", "cassandra://127.0.0.1:1/", "--check", "lin")
	if c.code != 64 || !strings.Contains(c.msg, "transactions") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
}
