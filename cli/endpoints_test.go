//go:build !front

package cli

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/servers"
)

// TestEndpoints runs on a primary and its hot standby: each session keeps its node, which the
// history names, and transactions that write at the standby abort.
func TestEndpoints(t *testing.T) {
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
	secret := strings.Replace(standby.DSN(), "isohound@", "isohound:s3cret@", 1)
	out := filepath.Join(t.TempDir(), "run")
	c := isohound(t, "run", "--driver", "postgres", "--dsn", primary.DSN(), "--dsn", secret, "--isolation", "repeatable read",
		"--check", "si", "--sessions", "10", "--txns", "200", "--out", out, "--no-progress")
	t.Log(c.out, c.msg)
	// A long fork between primary and standby would be an error of PostgreSQL.
	if c.code > 1 || !strings.Contains(c.msg, "on 2 endpoints") || !strings.Contains(c.msg, "hot standby") {
		t.Errorf("exit code %d", c.code)
	}
	masked := strings.Replace(secret, "s3cret", "xxxxx", 1)
	if !strings.Contains(c.msg, "--dsn "+primary.DSN()+" --dsn "+masked) || strings.Contains(c.msg, "s3cret") {
		t.Error("the line that repeats the run lacks an endpoint, or shows a password")
	}
	r, err := results.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Config.Nodes; len(n) != 2 || n[0] != primary.DSN() || n[1] != masked {
		t.Errorf("nodes %q", n)
	}
	if r.Stats.AbortsByCause["25006 the endpoint only reads"] == 0 {
		t.Errorf("aborts %v", r.Stats.AbortsByCause)
	}
	if n := r.Stats.Nodes; len(n) != 2 || n[0].Committed+n[1].Committed != r.Stats.Committed || n[0].Committed == 0 || n[1].Committed == 0 || n[1].Aborted == 0 || n[0].LatencyMS.P50 <= 0 {
		t.Errorf("figures of the endpoints: %+v", n)
	}
	page, err := os.ReadFile(filepath.Join(out, "report.html"))
	if err != nil || !strings.Contains(string(page), "<h2>Endpoints</h2>") || !strings.Contains(string(page), masked) || strings.Contains(string(page), "s3cret") {
		t.Errorf("the report lacks an endpoint, or shows a password (%v)", err)
	}
	h := load(t, filepath.Join(out, "history.jsonl.zst"))
	if len(h.Nodes) != 2 || h.Nodes[1] != masked {
		t.Errorf("nodes %q", h.Nodes)
	}
	committed := map[int16]int{}
	nodeOf := map[int32]int16{}
	for i := range h.Txns {
		tx := &h.Txns[i]
		if was, ok := nodeOf[tx.Session]; ok && was != tx.Node || tx.Node < 1 || tx.Node > 2 {
			t.Fatalf("transaction %d of session %d at node %d", tx.ID, tx.Session, tx.Node)
		}
		nodeOf[tx.Session] = tx.Node
		if tx.Status != history.Committed {
			continue
		}
		committed[tx.Node]++
		if tx.Node == 2 && writes(h, tx) {
			t.Errorf("transaction %d wrote at a standby", tx.ID)
		}
	}
	if committed[1] < 100 || committed[2] < 20 {
		t.Errorf("committed by node: %v", committed)
	}
}

// TestEndpointsRefused: mistakes with several endpoints are reported before anything is done.
func TestEndpointsRefused(t *testing.T) {
	pg := postgresDSN(t)
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--driver", "badger", "--dsn", "a", "--dsn", "b"}, 64, "driver badger takes one --dsn, not 2; "},
		{[]string{"--driver", "postgres", "--dsn", pg, "--dsn", pg, "--sessions", "1"}, 64, "2 endpoints need at least as many --sessions"},
		{[]string{"--driver", "postgres", "--dsn", pg, "--dsn", "postgres://127.0.0.1:1/x"}, 69, "endpoint 2 of 2, postgres://127.0.0.1:1/x: postgres: cannot use the server"},
		{[]string{"--driver", "postgres", "--dsn", pg, "--dsn", "postgres://x:y:z@["}, 64, "endpoint 2 of 2"},
	} {
		c := isohound(t, append([]string{"run"}, tc.args...)...)
		if c.code != tc.code || !strings.Contains(c.msg, tc.want) {
			t.Errorf("%v: exit code %d, want %d: %s", tc.args, c.code, tc.code, c.msg)
		}
	}
}

// TestEndpointOfOtherDatabase: a run that waits for an endpoint to have what was created at the first one says so.
func TestEndpointOfOtherDatabase(t *testing.T) {
	dsn := postgresDSN(t)
	other, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	other.Path = "/template1"
	run, _, wait := begin(t, "run", "--driver", "postgres", "--dsn", dsn, "--dsn", other.String(), "--no-progress", "--out", filepath.Join(t.TempDir(), "run"))
	if err := run.Process.Signal(os.Interrupt); err != nil { // after the first line, which is the note
		t.Fatal(err)
	}
	if c := wait(); c.code != 130 || !strings.HasPrefix(c.msg, "note: endpoint 2 of 2 does not have what was created at the first, waiting") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
}

// TestEndpointsFromEnvironment: the environment variable has one DSN per line, and the command
// that repeats the run contains none of them.
func TestEndpointsFromEnvironment(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	c := command(t, "run", "--driver", "mariadb", "--txns", "50", "--sessions", "4", "--out", out, "--no-progress")
	c.Env = append(c.Env, dsnVariable+"="+mariadbDSN(t)+"\n\n "+mariadbDSN(t)+"\n")
	got := finish(t, c)
	if got.code != 0 || strings.Contains(got.msg, "--dsn") || !strings.Contains(got.msg, "on 2 endpoints") {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.msg)
	}
}
