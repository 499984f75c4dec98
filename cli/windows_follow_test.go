package cli

import (
	"path/filepath"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
)

// TestWindowsFollow: a level at which windows cannot be judged follows from all windows at another level, not from
// the latest one alone.
func TestWindowsFollow(t *testing.T) {
	c := isohound(t, "run", "--sessions", "8", "--txns", "300", "--seed", "1", "--cut-every", "500txns", "--check", "rc", "--out", filepath.Join(t.TempDir(), "run"), "--json", "--no-progress")
	all := c.outcomes(t)
	if len(all) != 1 || all[0].Verdict != verdict.Satisfied || all[0].FollowsFrom != "ser" || all[0].Windows.Total() < 3 || all[0].Committed < 2400 {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
}

// TestWindowsFollowAssumed: where claimed snapshots are assumed, a snapshot level does not follow from a serial one. Others do.
func TestWindowsFollowAssumed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	isohound(t, "run", "--driver", "sim", "--isolation", "serializable snapshot isolation", "--sessions", "8", "--txns", "300", "--seed", "1", "--cut-every", "500txns", "--check", "ser", "--out", dir, "--keep", "all", "--quiet", "--no-progress")
	for level, want := range map[string]map[string]verdict.Verdict{
		"pc": {"assume": verdict.Unknown, "hint": verdict.Satisfied},
		"rc": {"assume": verdict.Satisfied, "hint": verdict.Satisfied},
	} {
		for versions, want := range want {
			c := isohound(t, "check", dir, "--level", level, "--versions", versions, "--json")
			if all := c.outcomes(t); len(all) != 1 || all[0].Verdict != want {
				t.Errorf("%s, %s: exit code %d: %s%s", level, versions, c.code, c.out, c.msg)
			}
		}
	}
}
