//go:build !front

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/results"
)

// TestClean: clean finds what a killed run has left, and drops it, but not what a run that goes on uses.
func TestClean(t *testing.T) {
	for driver, dsn := range map[string]string{"postgres": postgresDSN(t), "mariadb": mariadbDSN(t), "redis": redisDSN(t)} {
		list := func(args ...string) map[string]remnant {
			t.Helper()
			c := isohound(t, append([]string{"clean", "--dsn", dsn, "--json"}, args...)...) // the scheme names the driver
			var found []remnant
			if err := json.Unmarshal([]byte(c.out), &found); c.code != 0 || err != nil {
				t.Fatalf("%s: %d, %v: %s%s", driver, c.code, err, c.out, c.msg)
			}
			byName := map[string]remnant{}
			for _, r := range found {
				byName[r.Name] = r
			}
			return byName
		}
		before := list()
		start := func() (name string, kill, stop func()) {
			dir := filepath.Join(t.TempDir(), "run")
			run, _, wait := begin(t, "run", "--driver", driver, "--dsn", dsn, "--sessions", "2", "--duration", "1h", "--cut-every", "500ms", "--out", dir, "--no-progress")
			t.Cleanup(func() { run.Process.Kill() })
			waitForSize(t, filepath.Join(dir, results.WindowVerdicts), 1)
			for n, r := range list() {
				if _, old := before[n]; !old {
					name = n
					if r.Sessions == nil || *r.Sessions < 2 {
						t.Errorf("%s: a run that goes on: %+v", driver, r)
					}
					before[n] = r
				}
			}
			return name, func() { run.Process.Kill(); wait() }, func() { run.Process.Signal(os.Interrupt); wait() }
		}
		killed, kill, _ := start()
		kill()
		living, _, stop := start()
		if killed == "" || living == "" {
			t.Fatalf("%s: the schemas of runs are not found: %q, %q", driver, killed, living)
		}
		if c := isohound(t, "clean", "--driver", driver, "--dsn", dsn); c.code != 0 || !strings.Contains(c.out, killed+"  no session uses it") || !strings.Contains(c.out, living+"  used by ") || !strings.Contains(c.msg, "--drop all") {
			t.Errorf("%s: %d: %s%s", driver, c.code, c.out, c.msg)
		}
		if got := list("--drop", "all"); !got[killed].Dropped || got[living].Dropped {
			t.Errorf("%s: --drop all: %+v of %s and %s", driver, got, killed, living)
		}
		stop()
		if got := list(); len(got[killed].Name)+len(got[living].Name) > 0 {
			t.Errorf("%s: still there: %+v", driver, got)
		}
	}
	for _, args := range [][]string{
		{"--driver", "postgres", "--dsn", postgresDSN(t), "--drop", "public"},
		{"--driver", "postgres", "--dsn", postgresDSN(t), "--drop", "isohound_000000000000"},
		{"--driver", "badger"},
		{"--driver", "postgres"},
		{"--dsn", "host=127.0.0.1"},
		{},
	} {
		if c := isohound(t, append([]string{"clean"}, args...)...); c.code != int(exitUsage) {
			t.Errorf("%v: %d: %s", args, c.code, c.msg)
		}
	}
}
