package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
)

// TestRounds: a run with fences is judged in rounds, in isohound's format and as Cobra's logs, and transactions are removed.
func TestRounds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if c := isohound(t, "run", "--driver", "badger", "--workload", "mini", "--keys", "50", "--sessions", "4", "--txns", "500", "--fence-every", "10",
		"--check", "ser", "--out", dir, "-q"); c.code != 0 {
		t.Fatal(c.out, c.msg)
	}
	path := filepath.Join(dir, "history.jsonl.zst")
	h, err := file.Load(context.Background(), path, file.Auto, nil)
	if err != nil {
		t.Fatal(err)
	}
	for s, txns := range h.BySession() {
		since := 10 // of transactions of the workload
		for _, i := range txns {
			isFence := slices.ContainsFunc(h.Ops(&h.Txns[i]), func(op history.Op) bool { return h.KeyName(op.Key) == history.EpochKey })
			final := slices.ContainsFunc(h.Ops(&h.Txns[i]), func(op history.Op) bool { return h.IsFence(op.Key) })
			if final || h.AtEnd(int(i)) {
				break
			}
			switch {
			case isFence && h.Txns[i].Status == history.Committed:
				since = 0
			case !isFence && since >= 13: // retries count
				t.Fatalf("session %d made %d transactions without a fence", h.SessionName(int32(s)), since)
			case !isFence:
				since++
			}
		}
	}
	logs := filepath.Join(t.TempDir(), "logs")
	if c := isohound(t, "convert", path, logs, "--to", "cobra", "--lossy"); c.code != 0 {
		t.Fatal(c.out, c.msg)
	}
	for _, of := range []string{dir, logs} {
		o := isohound(t, "check", of, "--level", "ser", "--rounds", "cobra=300", "--certify", "--json").outcomes(t)[0]
		if o.Verdict != verdict.Satisfied || o.Rounds == nil || !o.Rounds.Certified || o.Certified || o.Rounds.Rounds < 7 || o.Rounds.Fences < 150 || o.Txns != len(h.Txns) {
			t.Errorf("%s: %+v %+v", of, o, o.Rounds)
		}
		// How much is removed depends on how the sessions take turns.
		if o.Rounds != nil && o.Rounds.Most > o.Txns {
			t.Errorf("%s: %d at once of %d", of, o.Rounds.Most, o.Txns)
		}
	}
}

// TestRoundsViolated: a violation that a round shows gets the counterexample and the proof of the history until then.
func TestRoundsViolated(t *testing.T) {
	path, err := filepath.Abs(filepath.Join("..", "scenarios", "figures", "cobra-theorem52.txt"))
	if err != nil {
		t.Fatal(err)
	}
	c := isohound(t, "check", path, "--level", "ser", "--rounds", "cobra=9", "--certify", "--json")
	o := c.outcomes(t)[0]
	if c.code != 1 || o.Verdict != verdict.Violated || !o.Certified || o.Rounds == nil || o.Rounds.Removed == 0 || len(o.Anomalies) == 0 {
		t.Errorf("%d: %s%s", c.code, c.out, c.msg)
	}
	// In the middle of a history: what comes after is not judged.
	long := "s1 T1: r(E,0) w(E,1)\ns1 T2: r(x,0) w(x,1)\ns2 T3: r(x,0) w(x,2)\ns1 T4: r(E,1) w(E,2)\n"
	c = isohound(t, "check", write(t, "long.txt", long), "--level", "ser", "--rounds", "cobra=3", "--json")
	if o := c.outcomes(t)[0]; c.code != 1 || o.Verdict != verdict.Violated || o.Txns != 3 {
		t.Errorf("%d: %s%s", c.code, c.out, c.msg)
	}
}

// TestRoundsWhole: what rounds cannot judge is judged as a whole, or refused.
func TestRoundsWhole(t *testing.T) {
	for name, text := range map[string]string{
		"is written twice":  "s1 T1: r(E,0) w(E,1)\ns1 T2: r(x,0) w(x,1)\ns1 T3: r(E,1) w(E,2)\ns1 T4: r(x,1) w(x,1)\n",
		"transactions wait": "s1 T1: r(E,0) w(E,1)\ns1 T2: r(x,7)\ns1 T3: r(E,1) w(E,2)\n",
	} {
		path := write(t, "h.txt", text)
		want := isohound(t, "check", path, "--level", "ser", "--json").outcomes(t)[0]
		got := isohound(t, "check", path, "--level", "ser", "--rounds", "cobra=2", "--fence-key", "E", "--json").outcomes(t)[0]
		if got.Verdict != want.Verdict || len(got.Anomalies) != len(want.Anomalies) || !strings.Contains(strings.Join(got.Notes, "\n"), name) {
			t.Errorf("%s: %+v, and as a whole %+v", name, got, want)
		}
	}
	// The first round may access the key in transactions of unknown outcome only.
	late := write(t, "late.txt", "s1 T1: r(E,0) w(E,1) unknown\ns2 T2: w(x,1)\ns2 T3: r(x,1)\ns1 T4: r(E,1) w(E,2)\ns2 T5: r(x,1)\ns1 T6: r(E,2) w(E,3)\n")
	ok := write(t, "ok.txt", "s1 T1: r(E,0) w(E,1)\ns1 T2: r(x,0)\ns1 T3: r(E,1) w(E,2)\n")
	for _, c := range []struct {
		args []string
		code exitCode
		want string
	}{
		{[]string{ok, "--level", "si", "--rounds", "cobra"}, exitUsage, "judges level ser only"},
		{[]string{ok, "--level", "ser", "--rounds", "cobra=x"}, exitUsage, "must be a number"},
		{[]string{ok, "--level", "ser", "--rounds", "windows"}, exitUsage, "must be cobra"},
		{[]string{ok, "--level", "ser", "--fence-key", "E"}, exitUsage, "is for --rounds"},
		{[]string{"-", "--level", "ser", "--rounds", "cobra"}, exitUsage, "standard input"},
		{[]string{ok, "--level", "ser", "--rounds", "cobra", "--fence-key", "F"}, exitData, "the key F"},
		{[]string{write(t, "none.txt", "s1 T1: w(x,1)\n"), "--level", "ser", "--rounds", "cobra"}, exitData, "has no fences"},
		{[]string{ok, "--level", "ser", "--rounds", "cobra", "--fence-key", "E"}, 0, ""},
		{[]string{late, "--level", "ser", "--rounds", "cobra=2", "--fence-key", "E"}, 0, ""},
	} {
		if got := isohound(t, append([]string{"check"}, c.args...)...); got.code != int(c.code) || !strings.Contains(got.msg, c.want) {
			t.Errorf("%v: %d %s%s", c.args, got.code, got.out, got.msg)
		}
	}
	if c := isohound(t, "run", "--fence-every", "20", "--cut-every", "1s"); c.code != int(exitUsage) {
		t.Errorf("%d: %s", c.code, c.msg)
	}
	if c := isohound(t, "run", "--fence-every", "20", "--workload", "lwt"); c.code != int(exitUsage) {
		t.Errorf("%d: %s", c.code, c.msg)
	}
}
