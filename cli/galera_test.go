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

// TestGaleraNodeKilled kills one of three nodes in a run and starts it again. The final read, for which its sessions
// write their fences when it is back, finds all that was committed.
func TestGaleraNodeKilled(t *testing.T) {
	g, err := servers.StartGalera(3, servers.Set("wsrep_sync_wait", "1"), servers.Set("wsrep_provider_options", "evs.suspect_timeout=PT4S;evs.inactive_timeout=PT8S"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	dir := filepath.Join(t.TempDir(), "run")
	args := []string{"run", "--driver", "mariadb", "--isolation", "repeatable read", "--sessions", "6", "--keys", "2000", "--rate", "300", "--duration", "1h", "--patience", "2m",
		"--check", "causal,ryw,mr", "--out", dir, "--json", "--no-progress"}
	for _, dsn := range g.DSNs() {
		args = append(args, "--dsn", dsn)
	}
	run, msg, wait := begin(t, args...)
	t.Cleanup(func() { run.Process.Kill() }) // if the test ends early
	waitForSize(t, filepath.Join(dir, "history.jsonl.zst"), 8<<10)
	g.Kill(1)
	if err := again(func() error { return g.Start(1) }); err != nil {
		t.Fatalf("%v\n%s", err, g.Logs())
	}
	time.Sleep(time.Second) // in which its sessions come back
	if err := run.Process.Signal(os.Interrupt); err != nil {
		t.Fatalf("%v: %s", err, msg)
	}
	c := wait()
	all := c.outcomes(t)
	if len(all) != 3 || strings.Contains(c.out, "LostWrite") || !strings.Contains(c.msg, "endpoint 2 answers again") {
		t.Fatalf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	for _, o := range all[1:] { // what Galera promises
		if o.Verdict != verdict.Satisfied || !o.Certified {
			t.Errorf("%s: %s%s", o.Level, c.out, c.msg)
		}
	}
	r, err := results.Load(dir)
	if err != nil || r.Stats.FinalRead == nil || r.Stats.FinalRead.Problem != "" || r.Stats.FinalRead.Places < 100 {
		t.Errorf("%v: the final read: %+v", err, r.Stats.FinalRead)
	}
	t.Logf("%s: %d transactions, %s %s, %+v", g.Version(), all[0].Txns, all[0].Level, all[0].Verdict, r.Stats.FinalRead)
}
