package cli

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/servers"
)

// TestStandbyPromoted: an asynchronous standby that is behind becomes the primary when that one crashes. The
// commits that had not reached it are lost, and the run finds that, in windows and in one piece.
func TestStandbyPromoted(t *testing.T) {
	t.Parallel() // it waits for servers of its own
	for _, cuts := range [][]string{nil, {"--cut-every", "1s"}} {
		primary, err := servers.StartPostgres()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(primary.Stop)
		standby, err := primary.StartStandby()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(standby.Stop)
		first, err := url.Parse(primary.DSN())
		if err != nil {
			t.Fatal(err)
		}
		second, err := url.Parse(standby.DSN())
		if err != nil {
			t.Fatal(err)
		}
		first.Host += "," + second.Host
		first.RawQuery = "target_session_attrs=read-write"
		out := filepath.Join(t.TempDir(), "run")
		_, _, wait := begin(t, append([]string{"run", "--driver", "postgres", "--dsn", first.String(), "--isolation", "serializable", "--keys", "3000", "--duration", "7s",
			"--check", "ser", "--out", out, "--json", "--no-progress"}, cuts...)...)
		history := "history.jsonl.zst"
		if cuts != nil {
			history = "windows/000001.jsonl.zst"
		}
		waitForSize(t, filepath.Join(out, history), 16<<10)
		exec := func(statements ...string) {
			err := standby.Admin(func(ctx context.Context, c *pgx.Conn) error {
				for _, s := range statements {
					if _, err := c.Exec(ctx, s); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		exec("ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()") // it receives nothing more
		time.Sleep(time.Second)
		primary.Kill()
		exec("SELECT pg_promote()")
		c := wait()
		all := c.outcomes(t)
		// What is lost is missed by the final read (LostWrite), or before by reads after the promotion: by those of a
		// fence, if a cut was made while the standby received nothing.
		if c.code != 1 || len(all) != 1 || all[0].Verdict != verdict.Violated || !all[0].Certified {
			t.Errorf("%v: exit code %d: %s%s", cuts, c.code, c.out, c.msg)
		}
		// An older value is of an earlier window.
		if strings.Contains(c.out, `"ThinAirRead"`) {
			t.Errorf("%v: %s", cuts, c.out)
		}
	}
}

// TestReplicaPromoted is the same with a replica of Redis. With several servers Redis promises only rc, which holds.
func TestReplicaPromoted(t *testing.T) {
	primary, err := servers.StartRedis()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(primary.Stop)
	replica, err := primary.StartReplica()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(replica.Stop)
	out := filepath.Join(t.TempDir(), "run")
	_, _, wait := begin(t, "run", "--driver", "redis", "--dsn", primary.DSNWith(replica), "--sessions", "6", "--rate", "500", "--keys", "3000", "--duration", "12s",
		"--check", "claimed,ser", "--out", out, "--json", "--no-progress")
	history := filepath.Join(out, "history.jsonl.zst")
	waitForSize(t, history, 1<<10)
	if err := replica.Detach(); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(history)
	if err != nil {
		t.Fatal(err)
	}
	waitForSize(t, history, before.Size()+4<<10) // what these commits wrote the replica lacks
	primary.Kill()
	if err := replica.Promote(); err != nil {
		t.Fatal(err)
	}
	c := wait()
	all := c.outcomes(t)
	if c.code != 1 || len(all) != 2 {
		t.Fatalf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	for _, o := range all {
		want := map[string]verdict.Verdict{"rc": verdict.Satisfied, "ser": verdict.Violated}[o.Level]
		// With so few transactions on so many keys, hardly any may meet.
		vacuous := o.Level == "rc" && o.Verdict == verdict.Vacuous
		if o.Verdict != want && !vacuous || !o.Certified || *o.Promised != (o.Level == "rc") {
			t.Errorf("%s %s, promised %v: %s", o.Level, o.Verdict, *o.Promised, c.msg)
		}
	}
}

// TestSentinelTakesOver: the sentinels of a private server make the replica the primary, and the run goes on there. The
// old primary is away until the run ends, and the run ends when all its transactions were made.
func TestSentinelTakesOver(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	c := isohound(t, "run", "--server", "redis-sentinel", "--sessions", "6", "--rate", "300", "-p", "think=2ms", "--txns", "150", "--patience", "5m", "--fault", "1s kill for 10m", "--out", out, "--json", "--no-progress")
	all := c.outcomes(t)
	if c.code != 0 || len(all) != 1 || all[0].Level != "rc" || all[0].Verdict != verdict.Satisfied || all[0].Sessions <= 6 {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	for _, want := range []string{"replication is asynchronous", "the server was killed and started again", "answers again"} {
		if !strings.Contains(c.msg, want) {
			t.Errorf("the messages lack %q: %s", want, c.msg)
		}
	}
}
