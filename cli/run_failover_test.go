package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/results"
)

// TestRunFailover: a run on a primary that is killed and a standby that is promoted, killed and paused. It goes on, and its final
// read finds all that was committed. Nothing of the servers is left.
func TestRunFailover(t *testing.T) {
	tmp, out := tempForAll(t), filepath.Join(t.TempDir(), "run")
	c := command(t, "run", "--server", "postgres-failover", "--isolation", "serializable", "--check", "ser", "--sessions", "6", "--keys", "200", "--rate", "200", "--txns", "150", "--patience", "2m",
		"--out", out, "--json", "--no-progress", "--fault", "300ms kill for 100ms; 1s kill standby for 100ms; 200ms pause standby 20ms every 1s; 0s pause backends 5ms every 50ms")
	c.Env = append(c.Env, "TMPDIR="+tmp)
	got := finish(t, c)
	all := got.outcomes(t)
	if got.code != 0 || len(all) != 1 || all[0].Verdict != verdict.Satisfied || all[0].Sessions <= 6 {
		t.Fatalf("exit code %d: %s%s", got.code, got.out, got.msg)
	}
	for _, want := range []string{"the server was killed and started again", "the standby was killed and started again", "--server postgres-failover"} {
		if !strings.Contains(got.msg, want) {
			t.Errorf("the messages lack %q: %s", want, got.msg)
		}
	}
	r, err := results.Load(out)
	if err != nil || r.Stats.FinalRead == nil || r.Stats.FinalRead.Problem != "" || r.Stats.FinalRead.Places < 100 {
		t.Errorf("%v: the final read: %+v", err, r.Stats.FinalRead)
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "isohound-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
