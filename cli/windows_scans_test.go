package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/results"
)

// TestScansInWindows: the scans of a run in windows are those of all windows, when it is recorded and when it is judged again.
func TestScansInWindows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c := isohound(t, "run", "--driver", "sim", "--isolation", "serializable", "--check", "ser", "--workload", "scan", "--sessions", "8", "--txns", "200", "--cut-every", "500txns", "--seed", "1",
		"--out", dir, "--json", "--no-progress")
	var sum history.Scans
	windows := 0
	err := results.EachWindow(dir, func(_, _ int, o *results.Outcome) error {
		windows++
		sum.Scans += o.Predicates.Scans
		sum.Judged += o.Predicates.Judged
		sum.ClassReads += o.Predicates.ClassReads
		sum.Instantiated += o.Predicates.Instantiated
		return nil
	})
	if err != nil || windows < 2 {
		t.Fatal(err, windows)
	}
	for _, c := range []call{c, isohound(t, "check", dir, "--level", "ser", "--json")} {
		all := c.outcomes(t)
		if len(all) != 1 || all[0].Predicates == nil {
			t.Fatalf("exit code %d: %s%s", c.code, c.out, c.msg)
		}
		if p := all[0].Predicates; p.Scans != sum.Scans || p.Judged != sum.Judged || p.ClassReads != sum.ClassReads || p.Instantiated != sum.Instantiated {
			t.Errorf("%+v, the windows have %+v", p, sum)
		}
	}
	if c := isohound(t, "check", dir, "--level", "ser", "--engine", "polygraph"); strings.Contains(c.out, "reachability") {
		t.Errorf("%s", c.out)
	}
}
