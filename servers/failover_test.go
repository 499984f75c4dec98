package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestFailover: each time the primary is killed, the standby takes over with all that was committed, and the killed one
// becomes its standby. Commits wait for the standby.
func TestFailover(t *testing.T) {
	spec, err := ParseSpec("postgres-failover")
	if err != nil || !spec.Standby() || spec.Nodes() != 1 {
		t.Fatalf("%+v, %v", spec, err)
	}
	started, err := spec.Begin()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(started.Stop)
	s := started.(*PostgresFailover)
	do := func(f func(context.Context, *pgx.Conn) error) {
		t.Helper()
		c, err := pgx.Connect(t.Context(), s.DSN())
		if err == nil {
			err = f(t.Context(), c)
			c.Close(t.Context())
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, s.Logs())
		}
	}
	exec := func(text string) {
		do(func(ctx context.Context, c *pgx.Conn) error { _, err := c.Exec(ctx, text); return err })
	}
	exec("CREATE TABLE done (n int)")
	for n := 1; n <= 2; n++ {
		var synced int
		do(func(ctx context.Context, c *pgx.Conn) error {
			return c.QueryRow(ctx, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'").Scan(&synced)
		})
		if synced != 1 {
			t.Fatalf("%d synchronous standbys", synced)
		}
		exec(fmt.Sprintf("INSERT INTO done VALUES (%d)", n))
		old := s.primary
		s.Kill()
		var count int
		do(func(ctx context.Context, c *pgx.Conn) error {
			return c.QueryRow(ctx, "SELECT count(*) FROM done").Scan(&count)
		})
		if count != n || s.primary == old {
			t.Fatalf("after failover %d there are %d rows", n, count)
		}
		if err := s.Start(); err != nil {
			t.Fatalf("%v\n%s", err, s.Logs())
		}
		s.KillStandby()
		if err := s.StartAgain(); err != nil {
			t.Fatal(err)
		}
	}
	// Without a standby, the primary starts again on its own data, and gets one.
	s.Kill()
	s.Kill()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if exec("INSERT INTO done VALUES (3)"); s.standby == nil {
		t.Error("it has no standby")
	}
	for _, n := range s.nodes {
		if left, _ := filepath.Glob(filepath.Join(n.dir, "*")); len(left) == 0 {
			t.Errorf("%s is empty", n.dir)
		}
	}
	s.Stop()
	for _, n := range s.nodes {
		if _, err := os.Stat(n.dir); err == nil {
			t.Errorf("%s is left", n.dir)
		}
	}
}
