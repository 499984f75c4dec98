package cli

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/randhist"
	"github.com/isohound/isohound/results"
)

// done waits for a command that runs beside the test.
func (p *process) done(t *testing.T) call {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		p.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Fatalf("%v does not end: %s%s", p.Args, p.out.String(), p.msg.String())
	}
	return call{p.ProcessState.ExitCode(), p.out.String(), p.msg.String()}
}

// loaded are the windows of a run, and by how many sessions they were made.
func loaded(t *testing.T, dir string) (all []*history.History, sessions map[int64]int) {
	t.Helper()
	files, err := results.WindowFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	sessions = map[int64]int{}
	for _, path := range files {
		h := load(t, path)
		if !h.NoCommonClock || !h.Closed {
			t.Errorf("%s: no common clock %v, closed %v", path, h.NoCommonClock, h.Closed)
		}
		for i := range h.Txns {
			if h.Txns[i].Status == history.Committed {
				sessions[h.SessionName(h.Txns[i].Session)]++
			}
		}
		all = append(all, h)
	}
	return all, sessions
}

// TestJoin: two generators and four judges, each a process of its own, give the verdicts of one process, on a
// database that keeps serializability and on one that does not.
func TestJoin(t *testing.T) {
	dsn := postgresDSN(t)
	_, url := startNATS(t, "--listen", "127.0.0.1:0", "--store", t.TempDir())
	for range 4 {
		beside(t, "judge", "--from", url)
	}
	for isolation, want := range map[string]verdict.Verdict{"serializable": verdict.Satisfied, "read committed": verdict.Violated} {
		t.Run(isolation, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			run := beside(t, "run", "--driver", "postgres", "--dsn", dsn, "--isolation", isolation, "--sessions", "6", "--txns", "300", "--seed", "3", "--keys", "100",
				"--explain-timeout", "5m", "--cut-every", "1000txns", "--on-violation", "continue", "--check", "ser", "--publish", url, "--loaders", "1", "--patience", "1m", "--out", dir, "--json", "--no-progress")
			waitFor(t, "run to join", func() bool { return strings.Contains(run.msg.String(), "isohound load --join "+url+" --run ") })
			_, name, _ := strings.Cut(run.msg.String(), "--run ")
			name, _, _ = strings.Cut(name, " ")
			loader := beside(t, "load", "--join", url, "--dsn", dsn, "--patience", "1m")
			c, l := run.done(t), loader.done(t)
			if l.code != 0 || !strings.Contains(l.msg, "load generator 1 of run "+name) || !strings.Contains(l.msg, "made ") {
				t.Errorf("exit code %d: %s", l.code, l.msg)
			}
			got := sameAsOne(t, c, dir, "ser", "--explain-timeout", "5m") // anomalies do not depend on the machine's load
			if got[0].Verdict != want || !got[0].Certified || got[0].Windows.Total() < 2 {
				t.Errorf("%s, %+v: %s%s", got[0].Verdict, got[0].Windows, c.out, c.msg)
			}
			switch told := got[0].Snapshots; {
			case told != nil && told.Wrong > 0, told == nil && isolation == "serializable":
				t.Errorf("snapshots: %+v", told)
			}
			if want == verdict.Violated {
				if text := content(t, filepath.Join(dir, "repro", "minimal.txt")); !strings.Contains(text, "no_common_clock\n") {
					t.Errorf("minimal.txt:\n%s", text)
				}
			}
			_, sessions := loaded(t, dir)
			if len(sessions) < 12 {
				t.Errorf("%d sessions", len(sessions))
			}
			for _, lvl := range []string{"sser", "strong-si"} {
				code, text := 2, "needs one clock"
				if want == verdict.Violated { // without real time, too
					code, text = 1, "follows from s"
				}
				if c := isohound(t, "check", dir, "--level", lvl); c.code != code || !strings.Contains(c.out, text) {
					t.Errorf("%s: exit code %d: %s%s", lvl, c.code, c.out, c.msg)
				}
			}
			if c := isohound(t, "load", "--join", url, "--dsn", dsn, "--run", name); c.code != 69 || !strings.Contains(c.msg, "run "+name+" has ended at 2") {
				t.Errorf("exit code %d: %s", c.code, c.msg)
			}
			if c := isohound(t, "run", "--resume", dir, "--dsn", dsn); c.code != 65 {
				t.Errorf("exit code %d: %s", c.code, c.msg)
			}
		})
	}
}

// TestJoinTables: what transactions on tables write and what scans return arrives as it was, in large messages, too.
func TestJoinTables(t *testing.T) {
	dsn := postgresDSN(t)
	_, url := startNATS(t, "--listen", "127.0.0.1:0", "--store", t.TempDir())
	beside(t, "judge", "--from", url)
	for _, workload := range []string{"append", "scan", "tpcc"} {
		dir := filepath.Join(t.TempDir(), "run")
		run := beside(t, "run", "--driver", "postgres", "--dsn", dsn, "--isolation", "serializable", "--sessions", "3", "--txns", "60", "--workload", workload,
			"--cut-every", "150txns", "--check", "ser-noso,ser", "--publish", url, "--loaders", "1", "--patience", "1m", "--out", dir, "--json", "--no-progress")
		waitFor(t, "run to join", func() bool { return strings.Contains(run.msg.String(), "--run ") })
		loader := beside(t, "load", "--join", url, "--dsn", dsn, "--patience", "1m")
		c, l := run.done(t), loader.done(t)
		if all := c.outcomes(t); l.code != 0 || len(all) != 2 || all[1].Verdict != verdict.Satisfied && all[1].Verdict != verdict.Vacuous || !all[1].Certified {
			t.Errorf("%s: exit codes %d and %d: %s%s%s", workload, c.code, l.code, c.out, c.msg, l.msg)
		}
		tables, predicates := 0, 0
		all, sessions := loaded(t, dir)
		for _, h := range all {
			for i := range h.Txns {
				predicates += len(h.Record(i).Predicates)
			}
			tables += len(h.Schema)
		}
		if len(sessions) < 6 || tables == 0 || workload == "scan" && predicates == 0 {
			t.Errorf("%s: %d sessions, %d tables, %d statements with conditions", workload, len(sessions), tables, predicates)
		}
	}
}

// TestLoaderKilled: load generators are killed at random moments, and others join. No window has a false alarm, and
// the run goes on.
func TestLoaderKilled(t *testing.T) {
	dsn := postgresDSN(t)
	_, url := startNATS(t, "--listen", "127.0.0.1:0", "--store", t.TempDir())
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 6))
	dir := filepath.Join(t.TempDir(), "run")
	run := beside(t, "run", "--driver", "postgres", "--dsn", dsn, "--isolation", "serializable", "--sessions", "4", "--seed", "5", "--keys", "40", "--duration", "2h",
		"--cut-every", "300ms", "--check", "ser", "--publish", url, "--loaders", "0", "--patience", "2s", "--out", dir, "--json", "--no-progress", "--plain")
	waitFor(t, "run to join", func() bool { return strings.Contains(run.msg.String(), "--run ") })
	count := kills(t, 2)
	for n := range count {
		loader := beside(t, "load", "--join", url, "--dsn", dsn)
		waitFor(t, "load generator", func() bool { return strings.Contains(loader.msg.String(), " of run ") })
		time.Sleep(time.Duration(rng.IntN(1500)) * time.Millisecond)
		loader.kill()
		waitFor(t, "note about a lost load generator", func() bool { return strings.Count(run.msg.String(), "was not heard of") > n })
	}
	last := beside(t, "load", "--join", url, "--dsn", dsn, "--patience", "1m")
	waitFor(t, "load generator", func() bool { return strings.Contains(last.msg.String(), " of run ") })
	windows := func() int {
		files, _ := results.WindowFiles(dir)
		return len(files)
	}
	before := windows()
	waitFor(t, "window after the kills", func() bool { return windows() > before+2 })
	if err := run.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	c, l := run.done(t), last.done(t)
	if c.code != int(exitInterrupted) || l.code != 0 {
		t.Fatalf("seed %d: exit codes %d and %d: %s%s%s", seed, c.code, l.code, c.out, c.msg, l.msg)
	}
	got := sameAsOne(t, c, dir, "ser")
	_, sessions := loaded(t, dir)
	if got[0].Verdict != verdict.Satisfied || !got[0].Certified || len(sessions) < 8 {
		t.Errorf("seed %d: %s, %d sessions: %s%s", seed, got[0].Verdict, len(sessions), c.out, c.msg)
	}
	t.Logf("seed %d: %d kills, %s, %d transactions, %d of unknown outcome", seed, count, got[0].Windows.Text(), got[0].Txns, got[0].UnknownOutcome)
}

// TestJoinAway: the NATS server is away for a moment, and both go on; when it stays away, the load generator says so.
func TestJoinAway(t *testing.T) {
	dsn, store := postgresDSN(t), t.TempDir()
	server, url := startNATS(t, "--listen", "127.0.0.1:0", "--store", store)
	dir := filepath.Join(t.TempDir(), "run")
	run := beside(t, "run", "--driver", "postgres", "--dsn", dsn, "--isolation", "serializable", "--sessions", "4", "--seed", "5", "--duration", "2h",
		"--cut-every", "1s", "--check", "ser", "--publish", url, "--loaders", "1", "--patience", "12s", "--out", dir, "--json", "--no-progress")
	waitFor(t, "run to join", func() bool { return strings.Contains(run.msg.String(), "--run ") })
	loader := beside(t, "load", "--join", url, "--dsn", dsn, "--patience", "12s")
	waitFor(t, "load generator", func() bool { return strings.Contains(loader.msg.String(), " of run ") })
	waitFor(t, "second window", func() bool {
		files, _ := results.WindowFiles(dir)
		return len(files) > 1
	})
	stop := func() {
		server.Process.Kill()
		server.Wait()
	}
	stop()
	waitFor(t, "note", func() bool {
		return strings.Contains(loader.msg.String(), "its transactions wait before they commit: NATS server "+url+" is away")
	})
	server, _ = startNATS(t, "--listen", strings.TrimPrefix(url, "nats://"), "--store", store)
	waitFor(t, "answer", func() bool { return strings.Contains(loader.msg.String(), "the run answers again") })
	stop()
	l := loader.done(t)
	if l.code != 69 || !strings.Contains(l.msg, "the run did not answer for 12s: NATS server "+url+" is away") {
		t.Errorf("exit code %d: %s", l.code, l.msg)
	}
	startNATS(t, "--listen", strings.TrimPrefix(url, "nats://"), "--store", store) // so that the run ends soon
	waitFor(t, "connection", func() bool { return strings.Count(run.msg.String(), "connected to "+url+" again") == 2 })
	waitFor(t, "note", func() bool { return strings.Contains(run.msg.String(), "was not heard of") })
	if err := run.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	c := run.done(t)
	if c.code != int(exitInterrupted) || c.outcomes(t)[0].Verdict != verdict.Satisfied {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
}

// TestJoinUnusable: a load generator that cannot use its database ends before it has joined. It does not hold up the run, and does not count for
// --loaders.
func TestJoinUnusable(t *testing.T) {
	dsn := postgresDSN(t)
	_, url := startNATS(t, "--listen", "127.0.0.1:0", "--store", t.TempDir())
	dir := filepath.Join(t.TempDir(), "run")
	run := beside(t, "run", "--driver", "postgres", "--dsn", dsn, "--isolation", "serializable", "--sessions", "3", "--txns", "100", "--seed", "4", "--keys", "50",
		"--cut-every", "100txns", "--check", "ser", "--publish", url, "--loaders", "1", "--patience", "1m", "--out", dir, "--no-progress")
	waitFor(t, "run to wait", func() bool { return strings.Contains(run.msg.String(), "waiting for 1 load generator") })
	for other, code := range map[string]int{"mysql://x": 64, "postgres://127.0.0.1:1/x": 69} {
		if c := isohound(t, "load", "--join", url, "--dsn", other); c.code != code {
			t.Errorf("%s: exit code %d: %s", other, c.code, c.msg)
		}
	}
	if strings.Contains(run.msg.String(), " joins") {
		t.Errorf("one has joined: %s", run.msg.String())
	}
	begun := time.Now()
	loader := beside(t, "load", "--join", url, "--dsn", dsn, "--patience", "1m")
	c, l := run.done(t), loader.done(t)
	if c.code != 0 || l.code != 0 || strings.Contains(c.msg, "was not heard of") || strings.Count(c.msg, " joins\n") != 1 {
		t.Errorf("exit codes %d and %d: %s%s%s", c.code, l.code, c.out, c.msg, l.msg)
	}
	if !strings.Contains(c.msg, "note: Load generators (isohound load) joined this run 1 time, and this command has none: ") {
		t.Errorf("how to repeat it: %s", c.msg)
	}
	t.Log(time.Since(begun))
}

func TestJoinUsage(t *testing.T) {
	_, url := startNATS(t, "--config", write(t, "nats.conf", `authorization { token: "s3cret" }`), "--listen", "127.0.0.1:0", "--store", t.TempDir())
	with := strings.Replace(url, "://", "://s3cret@", 1)
	publish := "run --driver postgres --dsn postgres://127.0.0.1:1/x --cut-every 1s --publish nats://127.0.0.1:1 "
	for _, tc := range []struct {
		args string
		code int
		want string
	}{
		{"load", 64, "needs --join"},
		{"load --join http://h", 64, "expected a URL such as nats://"},
		{"load --join nats://127.0.0.1:1 --patience 0s", 64, "--patience must be positive"},
		{"load --join nats://127.0.0.1:1", 69, "is it running?"},
		{"load --join " + strings.Replace(url, "://", "://wrong@", 1), 69, "give --nats-creds, or a user and password"},
		{"load --join " + with, 69, "no run that may be joined is on NATS server " + url},
		{"load --run nobody --join " + with, 69, "there is no run nobody on NATS server " + url},
		{"load --run a.b --join " + with, 69, "is not the name of a run"},
		{"run --cut-every 1s --loaders 2", 64, "--loaders needs --publish"},
		{publish + "--loaders x", 64, "expected the number of load generators"},
		{publish + "--loaders 1 --check sser", 64, "--check sser: it needs real time, and with --loaders there is no common clock"},
		{publish + "--loaders 1 --check ser,strong-si", 64, "--check strong-si: it needs real time"},
		{publish + "--loaders 1 --workload lwt --check ser", 64, "no common clock"},
		{publish + "--loaders 1 --dsn postgres://127.0.0.1:2/x", 64, "2 endpoints"},
		{"run --cut-every 1s --publish nats://127.0.0.1:1 --loaders 1 --check ser", 64, "driver badger is embedded"},
	} {
		if c := isohound(t, strings.Fields(tc.args)...); c.code != tc.code || !strings.Contains(c.msg, tc.want) || strings.Contains(c.msg, "s3cret") {
			t.Errorf("%s: exit code %d: %s", tc.args, c.code, c.msg)
		}
	}
}
