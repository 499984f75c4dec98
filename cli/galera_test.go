package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/results"
)

// TestGaleraNodeKilled: isohound starts a cluster, kills one of its three nodes in a run and starts it again. The sessions of
// the others go on. The final read, for which its sessions write their fences when it is back, finds all that was committed.
func TestGaleraNodeKilled(t *testing.T) {
	t.Parallel() // it waits for servers of its own
	tmp, dir := tempForAll(t), filepath.Join(t.TempDir(), "run")
	c := command(t, "run", "--server", "galera", "--isolation", "repeatable read", "--sessions", "6", "--keys", "2000", "--rate", "300", "--duration", "20s", "--patience", "2m",
		"--check", "ryw,mr", "--fault", "2s kill for 1s; 1s pause 50ms", "--out", dir, "--json", "--no-progress")
	c.Env = append(c.Env, "TMPDIR="+tmp)
	got := finish(t, c)
	all := got.outcomes(t)
	if got.code != 0 || len(all) != 2 || !strings.Contains(got.msg, " answers again, after") {
		t.Fatalf("exit code %d: %s%s", got.code, got.out, got.msg)
	}
	for _, o := range all { // what Galera promises
		if o.Verdict != verdict.Satisfied || !o.Certified {
			t.Errorf("%s: %s%s", o.Level, got.out, got.msg)
		}
	}
	r, err := results.Load(dir)
	if err != nil || r.Stats.FinalRead == nil || r.Stats.FinalRead.Problem != "" || r.Stats.FinalRead.Places < 100 || len(r.Config.Nodes) != 3 {
		t.Errorf("%v: the final read: %+v, nodes %v", err, r.Stats.FinalRead, r.Config.Nodes)
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "isohound-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	t.Logf("%s: %d transactions, %+v", r.Config.Server, all[0].Txns, r.Stats.FinalRead)
}

// TestWriteSets: the numbers of write sets are an execution of snapshot isolation over all nodes. --server galera is started so
// that it tells them if they are required.
func TestWriteSets(t *testing.T) {
	c := isohound(t, "run", "--server", "galera", "--isolation", "repeatable read, innodb_snapshot_isolation=ON", "--check", "si", "--claims", "require", "--versions", "assume",
		"--workload", "general", "--sessions", "6", "--txns", "80", "--seed", "3", "--out", filepath.Join(t.TempDir(), "run"), "--json", "--no-progress")
	o := c.outcomes(t)
	if c.code != 0 || len(o) != 1 || o[0].Engine != "replay" || o[0].Claim == nil || !o[0].Claim.Fits || o[0].Assumes == nil || o[0].Assumes.Placed == 0 {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
}
