package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/results"
)

// TestFaults disturbs connections in all ways: sessions reconnect, unanswered commits are
// resolved or stay unknown, no committed write is lost, and no violation is reported.
func TestFaults(t *testing.T) {
	const script = "200ms latency 3ms 2ms for 500ms; 500ms cut every 1s; 1s reset for 100ms every 1s"
	for _, tc := range []struct{ name, dsn, isolation, check string }{
		{"postgres", postgresDSN(t), "serializable", "ser,sser"},
		{"mariadb", mariadbDSN(t), "serializable", "ser,sser"},
		{"mongo", mongoDSN(t), "snapshot, majority", "si"}, // a fake MongoDB server
	} {
		t.Run(tc.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "run")
			c := isohound(t, "run", "--driver", tc.name, "--dsn", tc.dsn, "--isolation", tc.isolation, "--check", tc.check,
				"--sessions", "8", "--duration", "4s", "--out", out, "--json", "--no-progress", "--fault", script, "--call-timeout", "3s")
			t.Log(c.msg)
			if c.code != 0 {
				t.Errorf("exit code %d\n%s", c.code, c.out)
			}
			for _, o := range c.outcomes(t) {
				if o.Verdict != verdict.Satisfied || !o.Certified || o.Sessions <= 8 { // on a slow machine few sessions have reconnected before the next cut
					t.Errorf("%s: %s with %d sessions: %s %v", o.Level, o.Verdict, o.Sessions, o.Reason, o.Anomalies)
				}
			}
			r, err := results.Load(out)
			if err != nil {
				t.Fatal(err)
			}
			lost := r.Stats.AbortsByCause["connection lost"] + r.Stats.AbortsByCause["connection error"]
			if r.Config.Faults != script || lost < 4 { // of at least two cuts of eight connections each
				t.Errorf("faults %q; aborts %v", r.Config.Faults, r.Stats.AbortsByCause)
			}
			if !strings.Contains(c.msg, "--fault '"+script+"'") {
				t.Error("the line that repeats the run lacks the faults")
			}
			h := load(t, filepath.Join(out, "history.jsonl.zst"))
			if h.Params["--fault"] != script || !h.Closed {
				t.Errorf("closed %v, parameters %v", h.Closed, h.Params)
			}
			n := h.Count()
			t.Logf("%+v", n)
			if tc.name == "postgres" { // read-only transactions have no id to ask for
				for i := range h.Txns {
					if tx := &h.Txns[i]; tx.Status == history.Unknown && writes(h, tx) {
						t.Errorf("transaction %d (database %d) was not settled", tx.ID, h.DBTxn(i))
					}
				}
			}
		})
	}
}

// TestFaultsRefused: mistakes are reported before anything is done.
func TestFaultsRefused(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--fault", "1s cut"}, "driver badger has no connections to disturb; "},
		{[]string{"--driver", "postgres", "--dsn", "x", "--fault", "1s slow"}, `--fault: "1s slow": expected latency, cut, reset, kill, pause, fill or exec, not "slow"`},
		{[]string{"--driver", "postgres", "--dsn", "x", "--fault", "1s cut on 2"}, "there is no endpoint 2"},
	} {
		if c := isohound(t, append([]string{"run"}, tc.args...)...); c.code != 64 || !strings.Contains(c.msg, tc.want) {
			t.Errorf("%v: exit code %d: %s", tc.args, c.code, c.msg)
		}
	}
}
