package cli

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/isohound/isohound/catalogue"
)

// scenario is a scenario on Badger that loses updates.
const scenario = `name: NAME
title: t
about: b
sources: [s]
target: {kind: embedded}
driver: badger
isolation: DetectConflicts=false
workload: mini
sessions: 8
txns: 200
keys: 10
seed: 1
time: 1s
expect:
  - {level: si, verdict: violated, anomaly: LostUpdate}
`

// shelf makes a folder of scenarios: by name, the changes to the scenario above.
func shelf(t *testing.T, changed map[string][]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, pairs := range changed {
		text := strings.NewReplacer(append([]string{"NAME", name}, pairs...)...).Replace(scenario)
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// statuses reads what scenarios run --json printed.
func statuses(t *testing.T, c call) map[string]catalogue.Result {
	t.Helper()
	all := map[string]catalogue.Result{}
	for dec := json.NewDecoder(strings.NewReader(c.out)); dec.More(); {
		var r catalogue.Result
		if err := dec.Decode(&r); err != nil {
			t.Fatalf("%v in %s%s", err, c.out, c.msg)
		}
		all[r.Name] = r
	}
	return all
}

// TestScenariosExit: the exit code says whether all results were as expected. An unexpected
// violation counts as much as a missing one.
func TestScenariosExit(t *testing.T) {
	clean := []string{"DetectConflicts=false", "serializable", "violated, anomaly: LostUpdate", "satisfied"}
	docker := []string{"{kind: embedded}", "{kind: docker, image: 'postgres:12.3', containers: [{name: n1, port: 5432, dsn: 'postgres://{addr}/x'}]}",
		"badger", "postgres", "DetectConflicts=false", "serializable"}
	dir := shelf(t, map[string][]string{
		"lost": nil, "control": clean,
		"found":    {"violated, anomaly: LostUpdate", "satisfied"},
		"missed":   {"DetectConflicts=false", "serializable"},
		"vacuous":  append([]string{"sessions: 8", "sessions: 1"}, clean...),
		"thrice":   {"DetectConflicts=false", "serializable", "seed: 1", "seed: 5\ntries: 3"},
		"docker":   docker,
		"nowhere":  {"badger", "badger\ndsn: /proc/isohound"},
		"retrying": {"LostUpdate", "LostUpdate", "seed: 1", "seed: 7\ntries: 3"},
	})
	// A docker command that answers, but can do nothing.
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte("#!/bin/sh\n[ \"$1\" = ps ] && exit\n[ \"$1\" = version ] && [ -z \"$NONE\" ] && echo 1 && exit\necho no such thing >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for _, tc := range []struct {
		names  string
		none   string
		code   int
		status catalogue.Status // of the first
		says   string
	}{
		{"lost control", "", 0, catalogue.Met, "2 of 2 as expected"},
		{"found lost", "", 1, catalogue.Unmet, "✗ NOT AS EXPECTED  found: si was violated: LostUpdate"},
		{"missed lost", "", 1, catalogue.Unmet, "✗ NOT AS EXPECTED  missed: si was satisfied, expected violated: LostUpdate"},
		{"vacuous lost", "", 2, catalogue.Undecided, "? undecided        vacuous: si was vacuous"},
		{"vacuous found", "", 1, catalogue.Undecided, "1 NOT as expected, 1 undecided"},
		{"docker lost", "", 69, catalogue.Failed, "the target could not be started: docker pull: no such thing"},
		{"docker lost", "1", 0, catalogue.NotRun, "not run          docker: needs docker"},
		{"docker", "1", 69, catalogue.NotRun, "0 of 1 as expected, 1 not run"},
		{"docker found", "", 1, catalogue.Failed, ""},
		{"nowhere", "", 65, catalogue.Failed, "! failed"},
		{"thrice", "", 1, catalogue.Unmet, "3 tries"},
		{"retrying", "", 0, catalogue.Met, ""},
	} {
		t.Run(tc.names+tc.none, func(t *testing.T) {
			t.Setenv("NONE", tc.none)
			args := append([]string{"scenarios", "run", "--dir", dir, "--out", filepath.Join(t.TempDir(), "out"), "--quiet"}, strings.Fields(tc.names)...)
			c := isohound(t, args...)
			if c.code != tc.code || !strings.Contains(c.out, tc.says) {
				t.Errorf("exit code %d, want %d and %q\n%s%s", c.code, tc.code, tc.says, c.out, c.msg)
			}
			first := strings.Fields(tc.names)[0]
			args[5] = filepath.Join(t.TempDir(), "json")
			c = isohound(t, append(args, "--json")...)
			if got := statuses(t, c)[first]; c.code != tc.code || got.Status != tc.status {
				t.Errorf("exit code %d, %+v", c.code, got)
			}
		})
	}
}

// TestScenariosUsage: mistakes are reported before anything runs.
func TestScenariosUsage(t *testing.T) {
	dir := shelf(t, map[string][]string{"lost": nil})
	broken := shelf(t, map[string][]string{"a": {"badger", "bager"}, "b": {"sessions", "sesions"}})
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"bogus"}, 64, `unknown command "bogus" of scenarios`},
		{[]string{"run"}, 64, "expected the names of scenarios, or all"},
		{[]string{"run", "nope", "--dir", dir}, 64, `there is no scenario "nope"`},
		{[]string{"run", "[", "--dir", dir}, 64, `"[" is no pattern`},
		{[]string{"run", "lost", "--dir", dir, "--target", "cloud"}, 64, "expected embedded, local or docker"},
		{[]string{"run", "lost", "--dir", dir, "--target", "docker"}, 64, "none of these scenarios has a target of kind docker"},
		{[]string{"run", "lost", "--dir", dir, "--jobs", "0"}, 64, "--jobs must be at least 1"},
		{[]string{"run", "lost", "--dir", dir, "--out", full}, 74, "is not empty"},
		{[]string{"show"}, 64, "the name of a scenario"},
		{[]string{"show", "los", "--dir", dir}, 64, "similar: lost"},
		{[]string{"table"}, 64, "the folder of a run of scenarios"},
		{[]string{"table", dir}, 65, "is not the folder of a run of scenarios"},
		{[]string{"table", dir, "--format", "pdf"}, 64, "expected markdown or html"},
		{[]string{"--dir", "/nowhere"}, 65, "/nowhere"},
		{[]string{"--dir", full}, 65, "there are no scenarios"},
		{[]string{"--dir", broken}, 65, "a.yaml:6: unknown driver \"bager\""},
		{[]string{"--dir", broken}, 65, "; did you mean \"badger\"?"},
		{[]string{"--dir", broken}, 65, "b.yaml:9: unknown key \"sesions\""},
		{[]string{"--dir", dir}, 0, "lost  embedded  badger  si violated: LostUpdate  1s    ready"},
		{[]string{"show", "lost", "--dir", dir}, 0, "isohound run --driver badger --isolation DetectConflicts=false --workload mini --sessions 8 --txns 200 --keys 10 --seed 1 --check si"},
		{[]string{"show", "figure5/13-lost-update"}, 0, "isohound check 13-lost-update.txt --level ser,si,sser --engine polygraph --certify"},
		{[]string{"--target", "docker", "--json"}, 0, `"name":"table2-galera-lost-update"`},
	} {
		c := isohound(t, append([]string{"scenarios"}, tc.args...)...)
		if c.code != tc.code || !strings.Contains(c.out+c.msg, tc.want) {
			t.Errorf("scenarios %v: exit code %d, want %d and %q\n%s%s", tc.args, c.code, tc.code, tc.want, c.out, c.msg)
		}
	}
}

// TestScenariosResults: the shipped histories have the expected verdicts with both engines, and
// saved results can be drawn again.
func TestScenariosResults(t *testing.T) {
	out, summary := filepath.Join(t.TempDir(), "out"), write(t, "summary.md", "# Before\n")
	c := isohound(t, "scenarios", "run", "badger-lost-update", "figure5/1*", "--jobs", "2", "--out", out, "--summary", summary, "--quiet")
	if c.code != 0 {
		t.Fatalf("exit code %d\n%s%s", c.code, c.out, c.msg)
	}
	for _, f := range []string{"scenarios.json", "scenarios.md", "scenarios.html", "badger-lost-update/report.html", "figure5/13-lost-update/history.txt"} {
		if st, err := os.Stat(filepath.Join(out, f)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
	b, err := os.ReadFile(summary)
	if err != nil || !strings.HasPrefix(string(b), "# Before\n# Scenarios: 11 of 11 as expected") {
		t.Errorf("%s, %v", b, err)
	}
	for _, args := range [][]string{{out}, {out, "--format", "html"}} {
		c := isohound(t, append([]string{"scenarios", "table"}, args...)...)
		if c.code != 0 || !strings.Contains(c.out, "lost update") || !strings.Contains(c.out, out+"/badger-lost-update/report.html") {
			t.Errorf("exit code %d\n%s", c.code, c.out)
		}
	}
}

// serversFolder is where servers create their folders, for any user.
func serversFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "isohound-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("TMPDIR", dir)
	return dir
}

// TestScenariosLocal: scenarios share one start of a server, which is stopped and leaves
// nothing. PostgreSQL may be of an exact version.
func TestScenariosLocal(t *testing.T) {
	mariadb := []string{"{kind: embedded}", "{kind: local, start: mariadb}", "badger", "mariadb", "DetectConflicts=false", "'repeatable read, innodb_snapshot_isolation=OFF'"}
	exact := []string{"{kind: embedded}", "{kind: local, start: postgres@15.3}", "badger", "postgres", "DetectConflicts=false", "read committed"}
	dir := shelf(t, map[string][]string{"exact": exact, "lost": mariadb, "same": append([]string{"seed: 1", "seed: 2\ndsn: '{1}?wait_timeout=600'"}, mariadb...)})
	tmp := serversFolder(t)
	c := isohound(t, "scenarios", "run", "all", "--dir", dir, "--out", filepath.Join(t.TempDir(), "out"))
	if c.code != 0 || strings.Count(c.msg, "starting mariadb") != 1 || !strings.Contains(c.msg, "starting postgres@15.3") {
		t.Errorf("exit code %d\n%s%s", c.code, c.out, c.msg)
	}
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestScenariosInterrupted: an interrupt ends the run, stops the server, and is reported;
// scenarios that did not run are listed.
func TestScenariosInterrupted(t *testing.T) {
	dir := shelf(t, map[string][]string{"a-long": {"{kind: embedded}", "{kind: local, start: mariadb}", "badger", "mariadb", "DetectConflicts=false", "read committed", "txns: 200", "duration: 10m"}, "b-never": nil})
	tmp := serversFolder(t)
	out := filepath.Join(t.TempDir(), "out")
	cmd := command(t, "scenarios", "run", "all", "--dir", dir, "--out", out, "--json")
	done := make(chan call, 1)
	go func() { done <- finish(t, cmd) }()
	for {
		if st, err := os.Stat(filepath.Join(out, "a-long", "history.jsonl.zst")); err == nil && st.Size() > 0 {
			break
		}
		select {
		case c := <-done:
			t.Fatalf("it ended: %+v", c)
		case <-time.After(20 * time.Millisecond):
		}
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	c := <-done
	all := statuses(t, c)
	if c.code != int(exitInterrupted) || all["a-long"].Status != catalogue.NotRun || all["b-never"].Reason != "interrupted" {
		t.Errorf("exit code %d, %+v\n%s", c.code, all, c.msg)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(out, "scenarios.json")); err != nil {
		t.Error(err)
	}
}

// TestScenariosKeep: a target is kept until the interrupt, which is then not a failure.
func TestScenariosKeep(t *testing.T) {
	dir := shelf(t, map[string][]string{"lost": {"{kind: embedded}", "{kind: local, start: mariadb}", "badger", "mariadb", "DetectConflicts=false", "read committed"}})
	tmp := serversFolder(t)
	cmd := command(t, "scenarios", "run", "lost", "--dir", dir, "--out", filepath.Join(t.TempDir(), "out"), "--keep")
	msg, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kept := false
	for lines := bufio.NewScanner(msg); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "still running: servers at mariadb://") {
			kept = true
			_ = cmd.Process.Signal(syscall.SIGINT)
		}
	}
	if err := cmd.Wait(); err != nil || !kept {
		t.Errorf("%v, kept %v", err, kept)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestScenariosShipped: the shipped scenarios can be loaded, are complete, and are found by name
// and kind.
func TestScenariosShipped(t *testing.T) {
	c, err := catalogue.Load(os.DirFS("../scenarios"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[catalogue.Kind]int{}
	for _, s := range c.Scenarios {
		kinds[s.Target.Kind]++
		if s.Title == "" || s.About == "" || s.Expected() == "" {
			t.Errorf("%s: title, story or expectation is missing", s.Name)
		}
		if s.Target.Kind == catalogue.Docker && s.NeverRun == "" {
			t.Errorf("%s: nobody has run it, and it does not say so", s.Name)
		}
		if strings.HasPrefix(s.Name, "figure5/") && !strings.HasSuffix(s.Name, "-clean") && !s.MustFail() {
			t.Errorf("%s must be violated", s.Name)
		}
	}
	if kinds[catalogue.Embedded] < 50 || kinds[catalogue.Docker] < 4 {
		t.Errorf("%v", kinds)
	}
	for _, pattern := range []string{"figure5/*", "all", "table2-*"} {
		if list, err := c.Select([]string{pattern}); err != nil || len(list) == 0 {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	if list, err := c.Select([]string{"all"}, catalogue.Docker); err != nil || len(list) != kinds[catalogue.Docker] {
		t.Errorf("%d, %v", len(list), err)
	}
	if _, err := c.Select([]string{"lost"}); err == nil || !strings.Contains(err.Error(), "similar: ") {
		t.Error(err)
	}
}
