package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/results"
)

// process is a command that runs beside a test.
type process struct {
	*exec.Cmd
	out, msg safeBuffer
}

// safeBuffer may be read while the process writes.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (p *process) kill() {
	p.Process.Kill()
	p.Wait()
}

// beside starts the command, which is killed at the end of the test.
func beside(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{Cmd: command(t, args...)}
	p.Stdout, p.Stderr = &p.out, &p.msg
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%v: %s%s", args, p.out.String(), p.msg.String())
		}
	})
	return p
}

// startNATS starts isohound nats and returns its URL.
func startNATS(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	c := command(t, append([]string{"nats"}, args...)...)
	c.Stderr = &bytes.Buffer{}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, c.Stderr)
	}
	return c, strings.TrimSpace(line)
}

// waitFor waits until something holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("there is no %s", what)
		}
	}
}

// quickly makes the server give a silent judge's window to another one after a second, and returns how
// often windows were given.
func quickly(t *testing.T, url string) (given func() uint64) {
	t.Helper()
	if c := isohound(t, "judge", "--from", url, "--idle", "1ms"); c.code != 0 { // makes the stores
		t.Fatal(c.msg)
	}
	nc, js := streams(t, url)
	t.Cleanup(nc.Close)
	ctx := context.Background()
	if err := js.DeleteConsumer(ctx, "isohound-windows", "judges"); err != nil {
		t.Fatal(err)
	}
	cons, err := js.CreateConsumer(ctx, "isohound-windows", jetstream.ConsumerConfig{Durable: "judges", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return func() uint64 {
		info, err := cons.Info(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return info.Delivered.Consumer
	}
}

func streams(t *testing.T, url string) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return nc, js
}

// verdictsOf are the verdicts in windows.jsonl, by window and level.
func verdictsOf(t *testing.T, dir string) map[string]verdict.Verdict {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, results.WindowVerdicts))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string]verdict.Verdict{}
	for dec := json.NewDecoder(f); dec.More(); {
		var o results.Outcome
		if err := dec.Decode(&o); err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(o.Path) + " " + o.Level
		if _, twice := all[name]; twice {
			t.Errorf("%s was counted twice", name)
		}
		all[name] = o.Verdict
	}
	return all
}

// sameAsOne fails unless one process gives the run in dir the same verdicts.
func sameAsOne(t *testing.T, c call, dir, levels string, flags ...string) []results.Outcome {
	t.Helper()
	got := c.outcomes(t)
	one := isohound(t, append([]string{"check", dir, "--level", levels, "--certify", "--json", "--no-progress"}, flags...)...)
	want := one.outcomes(t)
	if len(got) != len(want) || len(want) == 0 {
		t.Fatalf("%d and %d verdicts: %s%s\n%s%s", len(got), len(want), c.out, c.msg, one.out, one.msg)
	}
	for i := range want {
		g, w := &got[i], &want[i]
		for _, windows := range []*results.Windows{g.Windows, w.Windows} {
			for n := range windows.Spans {
				windows.Spans[n].CheckSeconds = 0
			}
		}
		if g.Level != w.Level || g.Verdict != w.Verdict || !reflect.DeepEqual(g.Windows, w.Windows) || g.Txns != w.Txns || g.UnknownOutcome != w.UnknownOutcome || g.Certified != w.Certified || len(g.Anomalies) != len(w.Anomalies) {
			t.Errorf("elsewhere %+v %+v\nin one process %+v %+v", g, g.Windows, w, w.Windows)
		}
	}
	if n := len(verdictsOf(t, dir)); n != got[0].Windows.Total()*(strings.Count(levels, ",")+1) {
		t.Errorf("%d verdicts on %d windows", n, got[0].Windows.Total())
	}
	return got
}

// TestPublish: four judges, one of which is killed while it has a window, give the verdicts of one process.
func TestPublish(t *testing.T) {
	_, url := startNATS(t, "--listen", "127.0.0.1:0", "--store", t.TempDir())
	given := quickly(t, url)
	var judges []*process
	for range 4 {
		judges = append(judges, beside(t, "judge", "--from", url))
	}
	for _, tc := range []struct {
		name, levels string
		code         int
		args         []string
	}{
		{"satisfied", "ser,si", 0, []string{"--sessions", "8", "--txns", "4000", "--rate", "8000", "--cut-every", "700txns"}},
		// Transactions of unknown outcome are carried over, so that judges need the windows before.
		{"unknown outcomes", "ser,si", 0, []string{"--driver", "mariadb", "--dsn", mariadbDSN(t), "--isolation", "serializable", "--sessions", "8", "--duration", "3s", "--cut-every", "200ms", "--call-timeout", "3s",
			"--fault", "300ms latency 3ms 2ms for 2s; 500ms cut every 500ms"}},
		{"violated", "ser,si", 1, []string{"--driver", "sim", "--dsn", "sim://?off=durability", "--sessions", "8", "--txns", "600", "--cut-every", "500txns", "--on-violation", "continue"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var all []results.Outcome
			var dir string
			for again := 1; ; again++ {
				before := given()
				dir = filepath.Join(t.TempDir(), "run")
				_, _, wait := begin(t, append([]string{"run", "--seed", "1", "--check", tc.levels, "--publish", url, "--out", dir, "--json", "--no-progress"}, tc.args...)...)
				if tc.name == "satisfied" { // it has a window, or asks for one and gets it, or has just not asked yet
					waitFor(t, "verdict", func() bool { return strings.Contains(judges[0].out.String(), "satisfied") })
					judges[0].Process.Signal(syscall.SIGSTOP)
				}
				c := wait()
				if c.code != tc.code || !strings.Contains(c.msg, "judged here: 0") {
					t.Fatalf("exit code %d: %s%s", c.code, c.out, c.msg)
				}
				all = sameAsOne(t, c, dir, tc.levels)
				n := all[0].Windows.Total()
				if n < 4 {
					t.Errorf("%d windows", n)
				}
				if tc.name != "satisfied" || given() > before+uint64(n) { // a window of the stopped judge was given to another one
					break
				}
				if again == 5 {
					t.Fatalf("no window was given twice: %d of %d", given()-before, n)
				}
				judges[0].Process.Signal(syscall.SIGCONT)
			}
			switch tc.name {
			case "satisfied":
				judges[0].kill()
			case "unknown outcomes":
				if all[0].UnknownOutcome == 0 {
					t.Error("no outcome is unknown")
				}
			case "violated":
				for _, f := range []string{"report.html", "repro/README.md", "repro/minimal.txt"} {
					if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
						t.Error(err)
					}
				}
				if all[0].Standing == nil || all[0].Anomalies[0].Counterexample == nil {
					t.Errorf("the violation is not explained: %+v", all[0])
				}
				violatedPages(t, dir, all[0].Windows)
			}
		})
	}
	if judges[1].Process.Signal(os.Interrupt); judges[1].Wait() != nil {
		t.Errorf("an interrupted judge: %v: %s", judges[1].ProcessState, judges[1].msg.String())
	}
}

// TestPublishRestart: the server is killed and started again during a run.
func TestPublishRestart(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	args := []string{"--listen", l.Addr().String(), "--store", t.TempDir()}
	server, url := startNATS(t, args...)
	quickly(t, url)
	for range 2 {
		beside(t, "judge", "--from", url)
	}
	dir := filepath.Join(t.TempDir(), "run")
	_, _, wait := begin(t, "run", "--sessions", "4", "--duration", "5s", "--rate", "3000", "--seed", "1", "--cut-every", "200ms", "--check", "ser", "--publish", url, "--out", dir, "--json", "--no-progress")
	waitForSize(t, filepath.Join(dir, results.WindowVerdicts), 1)
	server.Process.Kill()
	server.Wait()
	time.Sleep(500 * time.Millisecond)
	startNATS(t, args...)
	c := wait()
	if c.code != 0 || !strings.Contains(c.msg, "is lost") || !strings.Contains(c.msg, "again") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	sameAsOne(t, c, dir, "ser")
	var there, here int
	for line := range strings.Lines(c.msg) {
		if at := strings.Index(line, "judged by 2 judges: "); at >= 0 {
			fmt.Sscanf(line[at:], "judged by 2 judges: %d windows; judged here: %d", &there, &here)
		}
	}
	if there < 5 {
		t.Errorf("%d windows were judged elsewhere, %d here: %s", there, here, c.msg)
	}
}

// TestPublishNobody: a run without judges judges itself.
func TestPublishNobody(t *testing.T) {
	_, url := startNATS(t, "--listen", "127.0.0.1:0", "--store", t.TempDir())
	dir := filepath.Join(t.TempDir(), "run")
	c := isohound(t, "run", "--sessions", "8", "--txns", "200", "--seed", "1", "--cut-every", "400txns", "--check", "ser", "--publish", url, "--out", dir, "--json", "--no-progress")
	if c.code != 0 || !strings.Contains(c.msg, "000001.jsonl.zst is judged here: no judge was heard of for 10s") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	sameAsOne(t, c, dir, "ser")
	nc, js := streams(t, url)
	defer nc.Close()
	// Objects leave notes that they were deleted. Of the run itself it stays known that it has ended.
	for name, left := range map[string]uint64{"isohound-windows": 0, "KV_isohound": 1} {
		s, err := js.Stream(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		if n := s.CachedInfo().State.Msgs; n != left {
			t.Errorf("%s has %d messages, want %d", name, n, left)
		}
	}
}

// TestPublishFull: JetStream has no space, for windows or for verdicts. The run judges its windows itself.
func TestPublishFull(t *testing.T) {
	for _, of := range []string{"windows", "verdicts"} {
		t.Run(of, func(t *testing.T) {
			args := []string{"--listen", "127.0.0.1:0", "--store", t.TempDir()}
			if of == "windows" {
				args = append(args, "--max-store", "10KB")
			}
			_, url := startNATS(t, args...)
			if of == "verdicts" { // a bucket that exists is used as it is
				nc, js := streams(t, url)
				defer nc.Close()
				if _, err := js.CreateKeyValue(context.Background(), jetstream.KeyValueConfig{Bucket: "isohound", MaxBytes: 300}); err != nil {
					t.Fatal(err)
				}
			}
			judge := beside(t, "judge", "--from", url)
			waitFor(t, "judge", func() bool { return judge.msg.String() != "" })
			dir := filepath.Join(t.TempDir(), "run")
			c := isohound(t, "run", "--sessions", "8", "--txns", "1000", "--seed", "1", "--plain", "--cut-every", "2000txns", "--check", "ser", "--publish", url, "--out", dir, "--json", "--no-progress")
			if c.code != 0 || !strings.Contains(c.msg, "is judged here: NATS server") || !strings.Contains(c.msg, "give JetStream more space") {
				t.Errorf("exit code %d: %s%s%s", c.code, c.out, c.msg, judge.msg.String())
			}
			sameAsOne(t, c, dir, "ser")
		})
	}
}
