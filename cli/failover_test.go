package cli

import (
	"context"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/servers"
)

// TestStandbyPromoted: an asynchronous standby that is behind becomes the primary when that one crashes. The
// commits that had not reached it are lost, and the run finds that, in windows and in one piece.
func TestStandbyPromoted(t *testing.T) {
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
	}
}
