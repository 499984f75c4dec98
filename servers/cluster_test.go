package servers

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestStandby has one synchronous standby and one that is not, which the primary distinguishes.
// A commit with remote_apply is visible at the first.
func TestStandby(t *testing.T) {
	here(t)
	primary, err := StartPostgres(Set("synchronous_commit", "remote_apply"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(primary.Stop)
	standby, err := primary.StartStandby(Synchronous(), Set("work_mem", "6MB"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(standby.Stop)
	follower, err := primary.StartStandby()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(follower.Stop)
	if got := ask(t, standby, "SHOW work_mem") + ask(t, follower, "SHOW work_mem"); got != "6MB4MB" {
		t.Errorf("work_mem of the standbys: %s", got)
	}
	const state = "SELECT coalesce(max(sync_state), 'none') FROM pg_stat_replication WHERE application_name = $1"
	if got := ask(t, primary, state, standby.name); got != "sync" {
		t.Errorf("the synchronous standby is %s", got)
	}
	if got := ask(t, primary, state, follower.name); got == "sync" {
		t.Errorf("the other standby is %s", got)
	}
	err = primary.Admin(func(ctx context.Context, c *pgx.Conn) error {
		for _, stmt := range []string{"CREATE TABLE t (n int)", "INSERT INTO t VALUES (7)"} {
			if _, err := c.Exec(ctx, stmt); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(t, standby, "SELECT coalesce(max(n), 0)::text FROM t"); got != "7" {
		t.Errorf("the standby reads %s after a commit with remote_apply", got)
	}
	// Commits also wait for a second synchronous standby.
	another, err := primary.StartStandby(Synchronous())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(another.Stop)
	if got := ask(t, primary, "SELECT count(*)::text FROM pg_stat_replication WHERE sync_state = 'sync'"); got != "2" {
		t.Errorf("%s synchronous standbys", got)
	}
}

// TestGalera: three nodes, synced, that replicate and have the settings.
func TestGalera(t *testing.T) {
	here(t)
	g, err := StartGalera(3, Set("wsrep_sync_wait", "1"), Set("wsrep_provider_options", "gcs.fc_limit=17"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	if len(g.DSNs()) != 3 || !strings.Contains(g.Version(), ", Galera ") || strings.Count(g.Logs(), "ready for connections") < 3 {
		t.Errorf("DSNs %v, version %q, logs:\n%s", g.DSNs(), g.Version(), g.Logs())
	}
	for i, node := range g.nodes {
		err := node.query(func(db *sql.DB) error {
			if i == 0 {
				_, err := db.Exec("CREATE DATABASE there")
				return err
			}
			_, err := db.Exec("CREATE TABLE there.t" + strconv.Itoa(i) + " (k INT PRIMARY KEY)")
			return err
		})
		if err != nil {
			t.Errorf("node %d: %v", i+1, err)
		}
		if got := askMaria(t, node, "SELECT "+status("wsrep_local_state_comment")); got != "Synced" {
			t.Errorf("node %d is %s", i+1, got)
		}
		if got := askMaria(t, node, "SELECT @@wsrep_provider_options"); !strings.Contains(got, "gcs.fc_limit = 17;") || !strings.Contains(got, "tcp://127.0.0.1:") {
			t.Errorf("node %d: provider options %s", i+1, got)
		}
	}
	for i, node := range g.nodes {
		// With wsrep_sync_wait=1, reads wait for commits of other nodes.
		if got := askMaria(t, node, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'there'"); got != "2" {
			t.Errorf("node %d sees %s tables", i+1, got)
		}
		if got := askMaria(t, node, "SELECT @@wsrep_sync_wait"); got != "1" {
			t.Errorf("node %d: wsrep_sync_wait %s", i+1, got)
		}
	}
}

// TestGaleraGivenUp ends the context during a start: while the second node copies the data, and
// before anything runs.
func TestGaleraGivenUp(t *testing.T) {
	here(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	because := errors.New("enough")
	go func() {
		for ctx.Err() == nil {
			if logs, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "isohound-galera-*", "log")); len(logs) > 1 {
				cancel(because)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	for range 2 {
		g, err := StartGalera(3, Context(ctx))
		if !errors.Is(err, because) {
			t.Errorf("%v, want %v", err, because)
		}
		stop(g, err)
	}
}
