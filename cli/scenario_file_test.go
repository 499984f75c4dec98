//go:build !front

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/catalogue"
)

// TestScenarioOfRun: the reproduction of a violation has the run as a scenario, which finds the anomaly again, and is not
// as expected where the database has no defect. A run on a database that isohound did not start has none.
func TestScenarioOfRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c := isohound(t, "run", "--driver", "sim", "--dsn", "sim://?off=first-committer-wins", "--isolation", "snapshot isolation", "--check", "si", "--seed", "4", "--retries", "0", "--out", dir, "--quiet")
	file := filepath.Join(dir, "repro", "scenario", "found-sim-lostupdate.yaml")
	text, err := os.ReadFile(file)
	if c.code != 1 || err != nil || !strings.Contains(string(text), "retries: 0\n") {
		t.Fatalf("exit code %d, %v: %s\n%s%s", c.code, err, text, c.out, c.msg)
	}
	folder := filepath.Dir(file)
	if c := isohound(t, "scenarios", "run", "all", "--dir", folder, "--out", filepath.Join(t.TempDir(), "again")); c.code != 0 || !strings.Contains(c.out, "1 of 1 as expected") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	whole := strings.NewReplacer("sim://?off=first-committer-wins", "sim://", "tries: 10", "tries: 2").Replace(string(text))
	if err := os.WriteFile(file, []byte(whole), 0o644); err != nil {
		t.Fatal(err)
	}
	if c := isohound(t, "scenarios", "run", "all", "--dir", folder, "--out", filepath.Join(t.TempDir(), "whole")); c.code != 1 {
		t.Errorf("without the defect: exit code %d: %s%s", c.code, c.out, c.msg)
	}
	for name, args := range map[string][]string{
		"found":   {"--dsn", postgresDSN(t)},
		"windows": {"--server", "postgres", "--cut-every", "200txns"},
	} {
		dir := filepath.Join(t.TempDir(), name)
		c := isohound(t, append([]string{"run", "--driver", "postgres", "--isolation", "read committed", "--check", "si", "--seed", "4", "--out", dir, "--quiet"}, args...)...)
		if _, err := os.Stat(filepath.Join(dir, "repro", "README.md")); c.code != 1 || err != nil {
			t.Errorf("%s: exit code %d, %v: %s%s", name, c.code, err, c.out, c.msg)
		}
		if _, err := os.Stat(filepath.Join(dir, "repro", "scenario")); !os.IsNotExist(err) {
			t.Errorf("%s: there is a scenario: %v", name, err)
		}
	}
}

// TestOnServer: what a scenario starts for each kind of private server.
func TestOnServer(t *testing.T) {
	for server, want := range map[string]catalogue.Scenario{
		"mariadb":                         {Target: catalogue.Target{Start: "mariadb"}},
		"postgres@15.3?enable_seqscan=on": {Target: catalogue.Target{Start: "postgres@15.3"}, DSN: catalogue.List{"{1}?enable_seqscan=on"}},
		"tidb@2019":                       {Target: catalogue.Target{Start: "tidb", Version: "2019"}},
		"dgraph@1.1.1":                    {Target: catalogue.Target{Start: "dgraph", Version: "1.1.1", Nodes: 2}},
		"dgraph@1.1.1?predicates=2":       {},
		"postgres=/opt/pg":                {},
		"redis=off":                       {},
		"redis-sentinel":                  {},
		"etcd":                            {Target: catalogue.Target{Start: "etcd"}},
		"etcd-cluster":                    {},
	} {
		x := &catalogue.Scenario{DSN: catalogue.List{"of the server that was started"}}
		if ok := onServer(x, server); ok != (want.Target.Start != "") {
			t.Errorf("%s: %v", server, ok)
		} else if ok && (x.Target.Start != want.Target.Start || x.Target.Version != want.Target.Version || x.Target.Nodes != want.Target.Nodes || len(x.DSN) != len(want.DSN) || len(x.DSN) > 0 && x.DSN[0] != want.DSN[0]) {
			t.Errorf("%s: %+v", server, x)
		}
	}
	if onServer(&catalogue.Scenario{Faults: catalogue.List{"1s kill"}}, "postgres") {
		t.Error("a server that is killed is no scenario")
	}
}
