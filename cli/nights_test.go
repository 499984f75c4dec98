//go:build !front

package cli

import (
	"database/sql"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/isohound/isohound/hunt"
)

// planted is a plan with a clean cell and one whose defect any run finds.
const planted = `
targets:
  - {name: clean, driver: sim, isolations: [snapshot isolation]}
  - {name: planted, dsn: "sim://?off=first-committer-wins&rate=1", isolations: [snapshot isolation]}
workloads:
  - {workload: mini, keys: 3..8, txns: 300}
budget: {run: 1m}
repeats: 1
shrink: {runs: 0}
`

// nightCases are the cases of a hunt's JUnit file, by name, each with the kind of its problem.
func nightCases(t *testing.T, dir string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, hunt.JUnitFile))
	if err != nil {
		t.Fatal(err)
	}
	type problem struct {
		Type string `xml:"type,attr"`
	}
	var suite struct {
		Cases []struct {
			Class   string   `xml:"classname,attr"`
			Failure *problem `xml:"failure"`
			Error   *problem `xml:"error"`
			Skipped *problem `xml:"skipped"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal(b, &suite); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, c := range suite.Cases {
		what := ""
		switch {
		case c.Failure != nil:
			what = "failure: " + c.Failure.Type
		case c.Error != nil:
			what = "error: " + c.Error.Type
		case c.Skipped != nil:
			what = "skipped"
		}
		out[strings.TrimPrefix(c.Class, "isohound.hunt.")] = what
	}
	return out
}

// TestNights: a hunt from outside. A planted defect is found, repeated, and fails the night unless it is expected; the second
// night says that nothing is new; an expected violation that is missing fails.
func TestNights(t *testing.T) {
	path, dir := write(t, "p.yaml", planted), t.TempDir()
	told := make(chan []byte, 1)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		told <- b
	}))
	defer hook.Close()
	ci := filepath.Join(t.TempDir(), "ci.md")
	done := isohound(t, "hunt", path, "--out", dir, "--summary", ci, "--webhook", hook.URL+"/secret")
	if done.code != int(exitViolated) {
		t.Fatalf("exit code %d\n%s%s", done.code, done.out, done.msg)
	}
	var msg nightMessage
	if err := json.Unmarshal(<-told, &msg); err != nil || msg.ExitCode != 1 || !msg.Over || msg.Plan != "p" || msg.Cells["satisfied"] != 1 || !slices.ContainsFunc(msg.Violations, func(v nightViolation) bool { return v.Name == "LostUpdate" }) || !strings.Contains(msg.Text, "LostUpdate") || msg.Commits == 0 {
		t.Errorf("webhook: %v, %+v", err, msg)
	}
	if got := fmt.Sprint(nightCases(t, dir)); got != "map[clean: planted:failure: violated, unexpected]" {
		t.Errorf("JUnit: %s", got)
	}
	page, err := os.ReadFile(filepath.Join(dir, hunt.PageFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 cell is violated", "LostUpdate", "1 of 1 with the same seed; 1 of 1 with parameters near", `href="runs/1/`, "This is the first night"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%q is not in the page", want)
		}
	}
	text, err := os.ReadFile(ci)
	if err != nil || !strings.Contains(string(text), "### isohound hunt p: 1 cell is violated") {
		t.Errorf("summary: %v\n%s", err, text)
	}
	links := regexp.MustCompile(`\[run \d+\]\(([^)]+)\)`).FindAllStringSubmatch(string(text), -1)
	for _, l := range links { // they lead from where the file is
		if _, err := os.Stat(filepath.Join(filepath.Dir(ci), filepath.FromSlash(l[1]))); err != nil {
			t.Error(err)
		}
	}
	if len(links) == 0 {
		t.Errorf("no links in\n%s", text)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "runs", "1")); err != nil || len(left) != 3 {
		t.Errorf("folders that are kept: %v, %v", left, err)
	}

	expect := strings.Replace(planted, "repeats: 1", "repeats: 0\nexpect:\n  - {target: planted, verdict: violated, anomaly: LostUpdate}\n", 1)
	path = write(t, "p.yaml", expect)
	hook.Close()
	if done = isohound(t, "hunt", path, "--out", dir, "--resume", "--webhook", hook.URL+"/secret"); done.code != 0 || !strings.Contains(done.msg, "the webhook was not told") || strings.Contains(done.msg, "secret") {
		t.Errorf("an expected violation: exit code %d\n%s%s", done.code, done.out, done.msg)
	}
	if page, err = os.ReadFile(filepath.Join(dir, hunt.PageFile)); err != nil || !strings.Contains(string(page), "All as expected") || strings.Contains(string(page), "New: LostUpdate") {
		t.Errorf("the second night: %v", err)
	}
	// Two nights and two targets side by side.
	if done = isohound(t, "hunt", "compare", dir); done.code != 0 || !strings.Contains(done.out, "Both showed it: night 1 (") || !strings.Contains(done.out, "in 1 of 1 run (") {
		t.Errorf("two nights: exit code %d\n%s%s", done.code, done.out, done.msg)
	}
	if page, err = os.ReadFile(filepath.Join(dir, hunt.ComparisonFile)); err != nil || !strings.Contains(string(page), `href="runs/1/`) || !strings.Contains(string(page), "Both showed it") {
		t.Errorf("the page of two nights: %v\n%s", err, page)
	}
	var versus hunt.Comparison
	done = isohound(t, "hunt", "compare", dir, "--targets", "clean,planted", "--json")
	if err := json.Unmarshal([]byte(done.out), &versus); err != nil || done.code != 0 || versus.Sides[0].Name != "clean" || !slices.ContainsFunc(versus.Findings, func(d *hunt.Difference) bool {
		return d.Name == "LostUpdate" && d.K == [2]int{0, 2} && d.N == [2]int{2, 2} && !d.Differs && strings.Contains(d.Sentence, "This may be luck")
	}) {
		t.Errorf("two targets: exit code %d, %v\n%s%s", done.code, err, done.out, done.msg)
	}
	for _, c := range []struct {
		args string
		code exitCode
		want string
	}{
		{"", exitUsage, "needs the folder of a hunt"},
		{path, exitUsage, "is a file; hunt compare needs the folder"},
		{t.TempDir(), exitData, "holds no hunt"},
		{dir + " --nights 1", exitUsage, "takes two nights"},
		{dir + " --nights 1,9", exitData, "there is no night 9"},
		{dir + " --nights 1,x", exitUsage, "expected numbers of nights"},
		{dir + " --nights 2,2", exitUsage, "are the same"},
		{dir + " --targets clean", exitUsage, "takes two targets"},
		{dir + " --targets clean,plantd", exitData, `did you mean "planted"?`},
		{dir + " --targets clean,planted --nights 1,2", exitUsage, "takes one night"},
	} {
		if done := isohound(t, append([]string{"hunt", "compare"}, strings.Fields(c.args)...)...); done.code != int(c.code) || !strings.Contains(done.out+done.msg, c.want) {
			t.Errorf("hunt compare %s: exit code %d, want %d and %q\n%s%s", c.args, done.code, c.code, c.want, done.out, done.msg)
		}
	}
	path = write(t, "p.yaml", strings.Replace(expect, "target: planted", "target: clean", 1))
	if done = isohound(t, "hunt", path, "--out", t.TempDir()); done.code != int(exitViolated) || !strings.Contains(done.out, "1 expected violation is missing") {
		t.Errorf("a missing violation: exit code %d\n%s%s", done.code, done.out, done.msg)
	}
	for _, c := range []struct {
		args []string
		code exitCode
		want string
	}{
		{[]string{path, "--list"}, 0, "1. clean / snapshot isolation / mini  (new)"},
		{[]string{path, "--report"}, exitData, "holds no hunt"},
		{[]string{path, "--webhook", "chat.example.com"}, exitUsage, "expected an address such as https://"},
		{[]string{"--init"}, 0, "targets:"},
		{[]string{"--init", "--dsn", "what://x"}, exitUsage, "no driver takes what://x;"},
		{[]string{"--init", "--dsn", "what://me:S3cret/@x"}, exitUsage, "no driver takes xxxxx;"},
		{[]string{"--init", "--dsn", "redis://:S3cr#et@h"}, exitUsage, "must be percent-encoded"},
		{[]string{"--init", path}, exitIO, "is not overwritten"},
		{[]string{"--init", "--dsn", "postgres://me@h/d"}, 0, "driver: postgres\n"},
		{[]string{"--init", "--dsn", "postgresql://me@h/d"}, 0, "driver: postgres\n"},
		{[]string{"--init", "--dsn", "cockroach://me@h/d"}, 0, "driver: cockroach\n"},
		{[]string{"--init", "--dsn", "mysql://me@h/d"}, 0, "driver: mariadb\n"},
		{[]string{"--init", "--dsn", "mongodb://h/d"}, 0, "driver: mongo\n"},
		{[]string{"--init", "--dsn", "sim://?off=undo"}, 0, "driver: sim\n"},
		// The third of a cluster's three nodes can be killed, and no fourth one.
		{[]string{write(t, "on.yaml", "targets: [{name: g, server: galera, isolations: [serializable]}]\nworkloads: [{workload: mini}]\nfaults: [1s kill on 3, 1s kill on 4]\n"), "--list"}, 0, "there is no endpoint 4\n1 cell, "},
		{[]string{"--schema"}, 0, `"$schema"`},
		{[]string{"--schema", "--list"}, exitUsage, "do not go together"},
		{[]string{"--list", "--metrics", ":9090"}, exitUsage, "for a night that goes on"},
		{nil, exitUsage, "hunt needs a plan"},
		{[]string{"no-such.yaml"}, exitData, "no-such.yaml"},
		{[]string{write(t, "q.yaml", "target: []\n")}, exitData, `did you mean "targets"?`},
		{[]string{write(t, "q.yaml", strings.Replace(planted, "txns: 300", "sessions: 0..3", 1))}, exitData, "q.yaml:6: sessions must be from 1"},
		{[]string{write(t, "q.yaml", strings.Replace(planted, "first-committer-wins", "first", 1))}, exitData, "q.yaml:"},
	} {
		done := isohound(t, append([]string{"hunt"}, c.args...)...)
		if done.code != int(c.code) || !strings.Contains(done.out+done.msg, c.want) {
			t.Errorf("hunt %q: exit code %d, want %d and %q\n%s%s", c.args, done.code, c.code, c.want, done.out, done.msg)
		}
	}
}

// TestNightsReportUnset: the page is made again without the environment variable of a DSN.
func TestNightsReportUnset(t *testing.T) {
	path, dir := write(t, "p.yaml", strings.Replace(planted, `"sim://?off=first-committer-wins&rate=1"`, `"${HUNT_DSN}"`, 1)), filepath.Join(t.TempDir(), "h")
	c := command(t, "hunt", path, "--out", dir)
	c.Env = append(c.Env, "HUNT_DSN=sim://?off=first-committer-wins&rate=1")
	if done := finish(t, c); done.code != 1 {
		t.Fatalf("exit code %d\n%s%s", done.code, done.out, done.msg)
	}
	was := nightCases(t, dir)
	if done := finish(t, command(t, "hunt", path, "--out", dir, "--report")); done.code != 0 {
		t.Errorf("exit code %d\n%s%s", done.code, done.out, done.msg)
	}
	if is := nightCases(t, dir); !maps.Equal(is, was) || is["planted"] != "failure: violated, unexpected" {
		t.Errorf("%v, and before %v", is, was)
	}
}

// TestNightsShrunk: a violation is shrunk as a workload, through a kill of the hunt. The page, the summary and the console say
// what is smaller, and the scenario that the hunt writes is of that workload, finds the anomaly, and goes on finding it.
func TestNightsShrunk(t *testing.T) {
	text := strings.Replace(planted, "shrink: {runs: 0}", "shrink: {runs: 3, tries: 1}", 1)
	text = strings.Replace(text, "  - {name: clean, driver: sim, isolations: [snapshot isolation]}\n", "", 1)
	path, dir := write(t, "p.yaml", text), filepath.Join(t.TempDir(), "h")
	c := command(t, "hunt", path, "--out", dir)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	// It is killed when it has begun to shrink: run 1 and two repetitions come before.
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if found, _ := filepath.Glob(filepath.Join(dir, "runs", "1", "00004-*")); len(found) == 1 {
			break
		}
		if time.Since(begun) > 2*time.Minute {
			t.Fatal("nothing is shrunk")
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	done := isohound(t, "hunt", path, "--out", dir, "--resume")
	if done.code != int(exitViolated) || !strings.Contains(done.msg, "going on with night 1") || !strings.Contains(done.out, "Smallest workload") || !strings.Contains(done.out, "isohound run --driver sim") {
		t.Fatalf("exit code %d\n%s%s", done.code, done.out, done.msg)
	}
	for _, name := range []string{hunt.PageFile, hunt.SummaryFile} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(b), "txns 300 → ") || !strings.Contains(string(b), "scenarios/found-planted-snapshot-isolation-lostupdate.yaml") {
			t.Errorf("%s: %v\n%s", name, err, b)
		}
	}
	scenario, err := os.ReadFile(filepath.Join(dir, hunt.ScenarioFolder, "found-planted-snapshot-isolation-lostupdate.yaml"))
	if err != nil || strings.Contains(string(scenario), "txns: 300\n") || !strings.Contains(string(scenario), "anomaly: LostUpdate\n") {
		t.Errorf("%v\n%s", err, scenario)
	}
	if done := isohound(t, "scenarios", "run", "all", "--dir", filepath.Join(dir, hunt.ScenarioFolder), "--out", filepath.Join(t.TempDir(), "again")); done.code != 0 {
		t.Errorf("exit code %d\n%s%s", done.code, done.out, done.msg)
	}
}

// TestNightsKilled: a hunt is killed while it records, and once more, and goes on. The runs that were cut off are in the index
// as that, and their cells have whole runs at the end; no verdict is lost.
func TestNightsKilled(t *testing.T) {
	path, dir := write(t, "p.yaml", strings.Replace(planted, "txns: 300", "run: 5m", 1)), filepath.Join(t.TempDir(), "h")
	for kills := range 2 {
		c := command(t, "hunt", path, "--out", dir, "--resume")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		// It is killed when a run has recorded something.
		for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
			found, _ := filepath.Glob(filepath.Join(dir, "runs", "1", fmt.Sprintf("%05d-*", kills+1), "history.jsonl.zst"))
			if len(found) == 1 {
				if st, err := os.Stat(found[0]); err == nil && st.Size() > 10<<10 {
					break
				}
			}
			if time.Since(begun) > 2*time.Minute {
				t.Fatalf("run %d was not recorded", kills+1)
			}
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
	}
	path = write(t, "p.yaml", planted) // with shorter runs
	done := isohound(t, "hunt", path, "--out", dir, "--resume")
	if done.code != int(exitViolated) || !strings.Contains(done.msg, "going on with night 1") {
		t.Fatalf("exit code %d\n%s%s", done.code, done.out, done.msg)
	}
	if got := fmt.Sprint(nightCases(t, dir)); got != "map[clean: planted:failure: violated, unexpected]" {
		t.Errorf("JUnit: %s", got)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, hunt.IndexFile))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var nights, early, open int
	if err := db.QueryRow("SELECT (SELECT count(*) FROM nights), (SELECT count(*) FROM runs WHERE early <> ''), (SELECT count(*) FROM runs WHERE state NOT IN ('judged', 'lost'))").Scan(&nights, &early, &open); err != nil {
		t.Fatal(err)
	}
	if nights != 1 || early == 0 || open != 0 {
		t.Errorf("%d nights, %d runs that ended early, %d that are not judged", nights, early, open)
	}
	page, err := os.ReadFile(filepath.Join(dir, hunt.PageFile))
	if err != nil || !strings.Contains(string(page), "the run ended early: isohound was killed") {
		t.Errorf("the page does not show what was cut off: %v", err)
	}
}

// TestNightsPassword: a hunt on a DSN with a password, which is in no file of its folder.
func TestNightsPassword(t *testing.T) {
	dsn := strings.Replace(postgresDSN(t), "://isohound@", "://isohound:hush-hush@", 1)
	if !strings.Contains(dsn, "hush-hush") {
		t.Fatalf("no place for a password in %s", dsn)
	}
	dir := filepath.Join(t.TempDir(), "h")
	c := command(t, "hunt", write(t, "p.yaml", `
targets: [{name: pg, dsn: "${HUNT_DSN}", isolations: [read committed]}]
workloads: [{workload: mini, keys: 5, sessions: 5, txns: 60}]
levels: [si]
budget: {run: 1m}
repeats: 0
keep: all
`), "--out", dir)
	c.Env = append(c.Env, "HUNT_DSN="+dsn)
	done := finish(t, c)
	if done.code != 0 || !strings.Contains(done.out, "violated, not promised") && !strings.Contains(done.out, "satisfied") {
		t.Fatalf("exit code %d\n%s%s", done.code, done.out, done.msg)
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), "hush-hush") {
			t.Errorf("%s has the password", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(done.out+done.msg, "hush-hush") {
		t.Errorf("the password is printed\n%s%s", done.out, done.msg)
	}
}

// TestNightsAway: a server that is away when the night begins has its runs when it is back. A hunt that waits for a server says so,
// and ends when it is interrupted.
func TestNightsAway(t *testing.T) {
	server, err := url.Parse(postgresDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer door.Close()
	var back atomic.Bool
	go forward(door, server.Host, &back)
	away := *server
	away.Host = door.Addr().String()
	text := "targets: [{name: pg, dsn: \"" + away.String() + "\", isolations: [read committed]}]\nworkloads: [{workload: mini, keys: 5, sessions: 5, txns: 60}]\nlevels: [si]\nexpect: [{verdict: any}]\nrepeats: 0\n"
	dir := filepath.Join(t.TempDir(), "h")
	c := command(t, "hunt", write(t, "p.yaml", text+"budget: {run: 1m, time: 8h}\n"), "--out", dir)
	msg := said(t, c)
	msg.waits(t, "nothing else is to be done; waiting until ")
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != int(exitUnavailable) || !strings.Contains(msg.String(), "the night is not over") || !strings.Contains(msg.String(), "pg: a run failed; its next run begins in 5s or later") {
		t.Errorf("exit code %d\n%s", code, msg)
	}
	// A night whose end comes before the end of the pause does not wait for it.
	if done := isohound(t, "hunt", write(t, "p.yaml", text+"budget: {run: 1s, time: 4s}\n"), "--out", filepath.Join(t.TempDir(), "short")); done.code != int(exitUnavailable) || !strings.Contains(done.msg, "the night is over: no ") {
		t.Errorf("exit code %d\n%s%s", done.code, done.out, done.msg)
	}
	// The same night, now with a run for each cell and an end. The server comes back.
	c = command(t, "hunt", write(t, "p.yaml", text+"budget: {run: 1m}\n"), "--out", dir, "--resume")
	msg = said(t, c)
	msg.waits(t, "going on with night 1")
	back.Store(true)
	err = c.Wait()
	if got := fmt.Sprint(nightCases(t, dir)); err != nil || got != "map[pg:]" {
		t.Errorf("%v, %s\n%s", err, got, msg)
	}
	for _, name := range []string{hunt.PageFile, hunt.SummaryFile} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(b), "pg could not be tested from ") || !strings.Contains(string(b), "Then it was tested again.") {
			t.Errorf("%s: %v\n%s", name, err, b)
		}
	}
}

// forward connects what comes in at a door with a server, if that is back, and hangs up otherwise.
func forward(door net.Listener, server string, back *atomic.Bool) {
	for {
		in, err := door.Accept()
		if err != nil {
			return
		}
		if !back.Load() {
			in.Close()
			continue
		}
		out, err := net.Dial("tcp", server)
		if err != nil {
			in.Close()
			continue
		}
		for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
			go func() {
				_, _ = io.Copy(way[0], way[1])
				way[0].Close()
				way[1].Close()
			}()
		}
	}
}

// speech is what a command prints as messages.
type speech struct {
	mu  sync.Mutex
	all strings.Builder
}

func (s *speech) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(b)
}

func (s *speech) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// said starts a command.
func said(t *testing.T, c *exec.Cmd) *speech {
	t.Helper()
	s := &speech{}
	c.Stdout, c.Stderr = s, s
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	return s
}

// waits waits until something was printed.
func (s *speech) waits(t *testing.T, text string) {
	t.Helper()
	for begun := time.Now(); !strings.Contains(s.String(), text); time.Sleep(20 * time.Millisecond) {
		if time.Since(begun) > 2*time.Minute {
			t.Fatalf("%q was not printed:\n%s", text, s)
		}
	}
}
