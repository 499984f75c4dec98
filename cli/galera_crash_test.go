package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/servers"
)

// TestGaleraCrashed: all nodes of a cluster that does not write its log at commit crash at the same time. The last commits
// are in no log. The run goes on after the recovery, and its final read finds what is lost.
func TestGaleraCrashed(t *testing.T) {
	t.Parallel() // it waits for servers of its own
	g, err := servers.StartGalera(3, servers.Set("innodb_flush_log_at_trx_commit", "0"),
		servers.Set("innodb_flush_log_at_timeout", "2700"), servers.Set("wsrep_sync_wait", "1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	dir := filepath.Join(t.TempDir(), "run")
	args := []string{"run", "--driver", "mariadb", "--isolation", "repeatable read", "--sessions", "6", "--keys", "2000", "--rate", "300", "--duration", "1h", "--patience", "2m",
		"--check", "cc", "--out", dir, "--json", "--no-progress"}
	for _, dsn := range g.DSNs() {
		args = append(args, "--dsn", dsn)
	}
	run, msg, wait := begin(t, args...)
	t.Cleanup(func() { run.Process.Kill() }) // if the test ends early
	waitForSize(t, filepath.Join(dir, "history.jsonl.zst"), 8<<10)
	time.Sleep(3 * time.Second)
	g.KillAll()
	if err := g.Recover(); err != nil {
		t.Fatalf("%v\n%s", err, g.Logs())
	}
	time.Sleep(2 * time.Second) // in which the sessions come back
	if err := run.Process.Signal(os.Interrupt); err != nil {
		t.Fatalf("%v: %s", err, msg)
	}
	c := wait()
	all := c.outcomes(t)
	r, err := results.Load(dir)
	if err != nil || r.Stats.FinalRead == nil || r.Stats.FinalRead.Problem != "" {
		t.Fatalf("%v: the final read: %+v\n%s%s", err, r.Stats.FinalRead, c.out, c.msg)
	}
	if c.code != 1 || len(all) != 1 || all[0].Verdict != verdict.Violated || !all[0].Certified || !strings.Contains(c.out, "LostWrite") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	t.Logf("%s: %d transactions in %.0f s, %d lost writes told", g.Version(), all[0].Txns, r.Stats.Seconds, strings.Count(c.out, `"LostWrite"`))
}
