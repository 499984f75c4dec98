package embedtest

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/results"
)

// build builds the command.
func build(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "isohound")
	if out, err := exec.Command("go", "build", "-C", "../../..", "-o", bin, "./cmd/isohound").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin
}

// run runs mini against a server, calls meanwhile during the run, and returns the exit code and
// the outcomes.
func run(t *testing.T, bin string, s *server, meanwhile func(), args ...string) (int, []results.Outcome) {
	t.Helper()
	c := exec.Command(bin, append([]string{"run", "--driver", "etcd", "--dsn", s.client, "--json", "--no-progress",
		"--out", filepath.Join(t.TempDir(), "run")}, args...)...)
	var out, msg bytes.Buffer
	c.Stdout, c.Stderr = &out, &msg
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	meanwhile()
	c.Wait()
	t.Log(msg.String())
	var all []results.Outcome
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		var o results.Outcome
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, o)
	}
	return c.ProcessState.ExitCode(), all
}

// TestHunt runs mini at every isolation: promises hold, and without comparisons updates are
// lost.
func TestHunt(t *testing.T) {
	bin, server := build(t), newServer(t)
	for _, isolation := range find(t).Info().Isolations {
		t.Run(isolation.Name, func(t *testing.T) {
			levels, strict := "ser,sser,si,strong-si", isolation.Promises == "sser"
			if !strict {
				levels = "si,ser," + isolation.Promises
			}
			code, all := run(t, bin, server, func() {}, "--isolation", isolation.Name, "--check", levels, "--txns", "200")
			if (code == 0) != strict || len(all) != strings.Count(levels, ",")+1 {
				t.Errorf("exit code %d, %d outcomes", code, len(all))
			}
			for _, o := range all {
				want := verdict.Violated
				if *o.Promised {
					want = verdict.Satisfied
				}
				if o.Verdict != want || *o.Promised == (!strict && o.Level != isolation.Promises) || !o.Certified || o.Committed < 1000 {
					t.Errorf("%s, promised %v: %s, certified %v, %d committed, %v", o.Level, *o.Promised, o.Verdict, o.Certified, o.Committed, o.Anomalies)
				}
				// Where strict serializability is promised, the order of the revisions is an execution.
				if c := o.Claim; strict && (c == nil || !c.Fits || c.Positions != "revisions") || c == nil {
					t.Errorf("%s: the claim is %+v", o.Level, c)
				}
				lost := slices.ContainsFunc(o.Anomalies, func(a results.Anomaly) bool { return slices.Contains(a.Names, "LostUpdate") })
				if lost != (want == verdict.Violated) {
					t.Errorf("%s: %v", o.Level, o.Anomalies)
				}
			}
		})
	}
}

// TestFaults has the harness cut and reset connections by a script.
func TestFaults(t *testing.T) {
	code, all := run(t, build(t), newServer(t), func() {}, "--check", "ser,sser", "--keys", "50", "--duration", "4s",
		"--fault", "200ms latency 3ms 2ms for 500ms; 500ms cut every 1s; 1s reset for 100ms every 1s")
	if code != 0 || len(all) != 2 {
		t.Errorf("exit code %d, %d outcomes", code, len(all))
	}
	for _, o := range all {
		if o.Verdict != verdict.Satisfied || !o.Certified || o.UnknownOutcome == 0 || o.Sessions <= 20 {
			t.Errorf("%s: %s, certified %v, %d unknown, %d sessions: %s %v", o.Level, o.Verdict, o.Certified, o.UnknownOutcome, o.Sessions, o.Reason, o.Anomalies)
		}
	}
}

// TestServerKilled kills the server twice during a run and starts it again: unanswered commits
// stay unknown, no committed write is lost, and no violation is reported.
func TestServerKilled(t *testing.T) {
	bin, server := build(t), newServer(t)
	for name, args := range map[string][]string{
		"serializable":     {"--isolation", "serializable", "--check", "ser,sser", "--keys", "50"},
		"repeatable reads": {"--isolation", "repeatable reads", "--check", "ser,sser", "--keys", "50"},
		"lightweight":      {"--workload", "lwt", "--check", "lin"},
	} {
		code, all := run(t, bin, server, func() {
			for range 2 {
				time.Sleep(1500 * time.Millisecond)
				server.kill()
				server.start(t)
			}
		}, append(args, "--duration", "6s")...)
		if code != 0 || len(all) == 0 {
			t.Errorf("%s: exit code %d, %d outcomes", name, code, len(all))
		}
		for _, o := range all {
			if o.Verdict != verdict.Satisfied || !o.Certified {
				t.Errorf("%s: %s: %s, %s %v", name, o.Level, o.Verdict, o.Reason, o.Anomalies)
			}
			if o.Sessions <= 20 || o.UnknownOutcome == 0 {
				t.Errorf("%s: %d sessions, %d unknown: the server was not missed", name, o.Sessions, o.UnknownOutcome)
			}
		}
	}
}
