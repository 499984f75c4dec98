package cli

import (
	"path/filepath"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
)

// TestRedisWorkloads: scans, lists and lightweight transactions of several sessions keep what WATCH promises: a scan
// watches which rows there are, and every row that it reads.
func TestRedisWorkloads(t *testing.T) {
	dsn := redisDSN(t)
	for _, args := range [][]string{
		{"--workload", "scan"},
		{"--workload", "scan", "-p", "scans=read", "-p", "then=insert,item,again", "-p", "most=1000"}, // only phantoms can violate it
		{"--workload", "append", "--keys", "10"},
		{"--workload", "skew"},
		{"--workload", "lwt", "--isolation", "no WATCH"},
	} {
		out := filepath.Join(t.TempDir(), "run")
		c := isohound(t, append([]string{"run", "--driver", "redis", "--dsn", dsn, "--sessions", "8", "--txns", "60", "--seed", "1", "--out", out, "--json", "--quiet"}, args...)...)
		all := c.outcomes(t)
		if c.code != 0 || len(all) != 1 || all[0].Level != "sser" && all[0].Level != "lin" || all[0].Verdict != verdict.Satisfied || !all[0].Certified {
			t.Errorf("%v: exit code %d: %s%s", args, c.code, c.out, c.msg)
		}
	}
}
