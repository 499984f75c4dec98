package cli

import (
	"bufio"
	"bytes"
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/servers"
)

// begin starts the command and waits until it has announced its run.
func begin(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer, func() call) {
	t.Helper()
	c := command(t, args...)
	var out bytes.Buffer
	c.Stdout = &out
	pipe, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	msg := &bytes.Buffer{}
	r := bufio.NewReader(pipe)
	line, err := r.ReadString('\n')
	msg.WriteString(line)
	if err != nil {
		t.Fatalf("%v: %s", err, msg)
	}
	read := make(chan struct{})
	go func() {
		msg.ReadFrom(r)
		close(read)
	}()
	return c, msg, func() call {
		<-read
		c.Wait()
		return call{c.ProcessState.ExitCode(), out.String(), msg.String()}
	}
}

func load(t *testing.T, path string) *history.History {
	t.Helper()
	h, err := file.Load(context.Background(), path, file.Auto, nil)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestServerKilled kills the server during a run and starts it again: sessions reconnect,
// unanswered commits are resolved or stay unknown, and no violation is reported, except for what
// MariaDB's readers saw before the crash.
func TestServerKilled(t *testing.T) {
	for _, tc := range []struct {
		name  string
		start func() (server, error)
	}{
		{"postgres", func() (server, error) { return servers.StartPostgres() }},
		{"mariadb", func() (server, error) { return servers.StartMariaDB() }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, out := killed(t, tc.name, tc.start, "", 0, "--keys", "50", "--check", "ser,sser")
			t.Log(c.msg)
			violated := false
			for _, o := range c.outcomes(t) {
				violated = violated || o.Verdict == verdict.Violated
				if !o.Certified || o.Verdict != verdict.Satisfied && (tc.name != "mariadb" || o.Verdict != verdict.Violated) {
					t.Errorf("%s: %s, %s %v", o.Level, o.Verdict, o.Reason, o.Anomalies)
				}
				if o.Sessions <= 20 {
					t.Errorf("%d sessions; nobody reconnected", o.Sessions)
				}
			}
			if tc.name == "mariadb" {
				withoutReaders(t, load(t, filepath.Join(out, "history.jsonl.zst")))
			}
			if !violated && c.code != 0 {
				t.Errorf("exit code %d: %s", c.code, c.out)
			}
		})
	}
}

type server interface {
	DSN() string
	Kill()
	Start() error
	Stop()
}

// TestLostCommits: PostgreSQL with asynchronous commit loses commits in a crash that it has confirmed. The
// connections break with it, so that no session sees the loss: the final read does.
func TestLostCommits(t *testing.T) {
	lose := func() (server, error) {
		return servers.StartPostgres(servers.Set("wal_writer_delay", "10s"), servers.Set("wal_writer_flush_after", "1GB"))
	}
	for try := 1; ; try++ {
		c, out := killed(t, "postgres", lose, "?synchronous_commit=off", 2*time.Second, "--keys", "100000", "--rate", "1000", "--check", "ser")
		all := c.outcomes(t)
		found := strings.Contains(c.out, `"LostWrite"`)
		if len(all) != 1 || try == 3 && !found {
			t.Fatalf("exit code %d: %s%s", c.code, c.out, c.msg)
		}
		if all[0].Verdict != verdict.Violated || !found {
			continue // the log happened to reach the disk, or later transactions met what was lost, which has other names
		}
		if c.code != 1 || !all[0].Certified {
			t.Errorf("exit code %d, %v: %s", c.code, all[0].Anomalies, c.msg)
		}
		b, err := os.ReadFile(filepath.Join(out, "summary.md"))
		if text := string(b); err != nil || all[0].Promised != nil || strings.Contains(text, "bug to report") || !strings.Contains(text, "If it crashed, it may have lost commits, as documented, since synchronous\\_commit is off.") {
			t.Errorf("%v, promised %v: %s", err, all[0].Promised, text)
		}
		return
	}
}

// killed makes a run during which, some time after it has begun, the server is killed and started again. In rare cases InnoDB
// refuses its own log after a kill ("Data structure corruption"). Then the test is repeated with
// a fresh server.
func killed(t *testing.T, driver string, start func() (server, error), query string, after time.Duration, flags ...string) (c call, out string) {
	t.Helper()
	for try := 1; ; try++ {
		s, err := start()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Stop)
		out = filepath.Join(t.TempDir(), "run")
		program, _, wait := begin(t, append([]string{"run", "--driver", driver, "--dsn", s.DSN() + query, "--isolation", "serializable",
			"--duration", "8s", "--out", out, "--json", "--no-progress"}, flags...)...)
		waitForSize(t, filepath.Join(out, "history.jsonl.zst"), 64<<10)
		time.Sleep(after)
		s.Kill()
		time.Sleep(300 * time.Millisecond)
		if err = again(s.Start); err == nil {
			return wait(), out
		}
		if try == 3 || !strings.Contains(err.Error(), "Data structure corruption") {
			t.Fatal(err)
		}
		t.Logf("try %d: %v", try, err)
		program.Process.Kill()
		wait()
	}
}

// withoutReaders checks the history without committed read-only transactions. InnoDB shows a
// commit to others before it is durable. A crash may undo what read-only transactions have seen,
// but not what an acknowledged writing transaction has seen, because its commit comes later in
// the log (docs/drivers.md).
func withoutReaders(t *testing.T, h *history.History) {
	t.Helper()
	b := history.NewBuilder(h.Header, h.Symbols, len(h.Txns))
	for i := range h.Txns {
		rec := h.Record(i)
		wrote := slices.ContainsFunc(rec.Ops, func(op history.Op) bool { return op.Kind != history.Read })
		if !wrote && rec.Status == history.Committed {
			continue
		}
		if err := b.Add(&rec); err != nil {
			t.Fatal(err)
		}
	}
	rest := b.Done(h.Closed, nil)
	for _, lvl := range []level.Level{level.SER, level.SSER} {
		r, err := checker.Check(t.Context(), rest, lvl, checker.Options{Certify: true})
		if err != nil || r.Verdict != verdict.Satisfied || !r.Certified {
			t.Errorf("%s, of %d of %d transactions: %v, %v", lvl, len(rest.Txns), len(h.Txns), r, err)
		}
	}
}

// again restarts a killed server; its old processes may still block the start for a moment.
func again(start func() error) error {
	deadline := time.Now().Add(20 * time.Second)
	for {
		err := start()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// TestServerLost kills the server permanently: the run ends with 69, and the recorded part can
// be judged.
func TestServerLost(t *testing.T) {
	pg, err := servers.StartPostgres()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pg.Stop)
	out := filepath.Join(t.TempDir(), "run")
	_, _, wait := begin(t, "run", "--driver", "postgres", "--dsn", pg.DSN(), "--duration", "60s", "--out", out, "--no-progress")
	waitForSize(t, filepath.Join(out, "history.jsonl.zst"), 32<<10)
	pg.Kill()
	c := wait()
	t.Log(c.msg)
	if c.code != 69 || !strings.Contains(c.msg, "cannot connect") || !strings.Contains(c.out, "ser satisfied") {
		t.Errorf("exit code %d, want 69\n%s%s", c.code, c.out, c.msg)
	}
	h := load(t, filepath.Join(out, "history.jsonl.zst"))
	if !h.Closed || h.Count().Committed < 20 {
		t.Errorf("closed %v, %+v", h.Closed, h.Count())
	}
	if c := isohound(t, "check", filepath.Join(out, "history.jsonl.zst"), "--level", "ser,sser", "--certify"); c.code != 0 {
		t.Errorf("check: exit code %d\n%s%s", c.code, c.out, c.msg)
	}
}

// TestConnectionCutAtCommit cuts connections just before and just after the server receives a
// COMMIT. On PostgreSQL txid_status resolves each outcome; on MariaDB they stay unknown. No
// violation is reported.
func TestConnectionCutAtCommit(t *testing.T) {
	for _, tc := range []struct {
		name, dsn, word string
		settles         bool
	}{
		{"postgres", postgresDSN(t), "commit", true},
		{"mariadb", mariadbDSN(t), "COMMIT", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u, err := url.Parse(tc.dsn)
			if err != nil {
				t.Fatal(err)
			}
			proxy := newCutter(t, u.Host, tc.word, 40)
			u.Host = proxy.addr()
			if tc.name == "postgres" {
				u.RawQuery = "sslmode=disable"
			}
			out := filepath.Join(t.TempDir(), "run")
			c := isohound(t, "run", "--driver", tc.name, "--dsn", u.String(), "--isolation", "serializable", "--check", "ser,sser",
				"--txns", "200", "--out", out, "--json", "--no-progress", "--call-timeout", "3s", "-p", "rollback=0")
			t.Log(c.msg)
			if c.code != 0 {
				t.Errorf("exit code %d\n%s", c.code, c.out)
			}
			if proxy.cutBefore < 10 || proxy.cutAfter < 10 {
				t.Fatalf("only %d and %d connections were cut", proxy.cutBefore, proxy.cutAfter)
			}
			h := load(t, filepath.Join(out, "history.jsonl.zst"))
			n := h.Count()
			t.Logf("%d cut before, %d after the commit: %+v", proxy.cutBefore, proxy.cutAfter, n)
			if tc.settles {
				// Read-only transactions have no id to ask for.
				for i := range h.Txns {
					if tx := &h.Txns[i]; tx.Status == history.Unknown && writes(h, tx) {
						t.Errorf("transaction %d (database %d) was not settled", tx.ID, h.DBTxn(i))
					}
				}
			} else if n.Unknown != proxy.cutBefore+proxy.cutAfter {
				t.Errorf("%d unknown, want %d", n.Unknown, proxy.cutBefore+proxy.cutAfter)
			}
		})
	}
}

func writes(h *history.History, t *history.Txn) bool {
	for _, op := range h.Ops(t) {
		if op.Kind == history.Write {
			return true
		}
	}
	return false
}

// TestInterrupt sends Ctrl-C: the run ends, its history is closed and judged.
func TestInterrupt(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	c, _, wait := begin(t, "run", "--duration", "60s", "--out", out, "--no-progress")
	waitForSize(t, filepath.Join(out, "history.jsonl.zst"), 16<<10)
	c.Process.Signal(os.Interrupt)
	done := wait()
	if done.code != 130 || !strings.Contains(done.out, "ser satisfied") {
		t.Errorf("exit code %d, want 130\n%s%s", done.code, done.out, done.msg)
	}
	if h := load(t, filepath.Join(out, "history.jsonl.zst")); !h.Closed {
		t.Error("the history is not closed")
	}
	if _, err := os.Stat(filepath.Join(out, "report.html")); err != nil {
		t.Error(err)
	}
}

// TestInterruptRead sends Ctrl-C to a check that waits for its input.
func TestInterruptRead(t *testing.T) {
	c := command(t, "check", "-", "--level", "ser")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := in.Write([]byte("{\"isohound\":1,\"initial\":0}\n" + strings.Repeat(" ", 100) + "\n")); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(300*time.Millisecond, func() { c.Process.Signal(os.Interrupt) })
	begun := time.Now()
	if got := finish(t, c); got.code != 130 || time.Since(begun) > 5*time.Second {
		t.Errorf("exit code %d after %s: %s", got.code, time.Since(begun), got.msg)
	}
	// A time limit ends the same wait in unknown.
	c = command(t, "check", "-", "--level", "ser", "--timeout", "200ms")
	in2, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in2.Close()
	if got := finish(t, c); got.code != 2 {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.msg)
	}
}

// TestKilled kills isohound itself: every finished transaction is on disk, unanswered commits
// count as unknown, and the history is judged correctly.
func TestKilled(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
	}{
		{"badger", []string{"--driver", "badger"}},
		{"postgres", []string{"--driver", "postgres", "--dsn", postgresDSN(t)}},
		{"postgres plain", []string{"--driver", "postgres", "--dsn", postgresDSN(t), "--plain"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "run")
			c, _, wait := begin(t, append([]string{"run", "--duration", "60s", "--out", out, "--no-progress"}, tc.args...)...)
			path := filepath.Join(out, "history.jsonl.zst")
			if strings.Contains(tc.name, "plain") {
				path = strings.TrimSuffix(path, ".zst")
			}
			waitForSize(t, path, 32<<10)
			c.Process.Signal(syscall.SIGKILL)
			wait()
			h := load(t, path)
			if n := h.Count(); h.Closed || n.Committed < 20 || n.Unknown > 20 {
				t.Errorf("closed %v, %+v", h.Closed, n)
			}
			checked := isohound(t, "check", path, "--level", "ser", "--certify")
			t.Log(checked.out)
			if checked.code != 0 || !strings.Contains(checked.out, "no closing line") {
				t.Errorf("exit code %d\n%s%s", checked.code, checked.out, checked.msg)
			}
			// report judges what exists. It is satisfied, and the run ended early.
			if r := isohound(t, "report", out); r.code != int(exitInterrupted) || !strings.Contains(r.out, "ser satisfied") {
				t.Errorf("report: exit code %d: %s%s", r.code, r.out, r.msg)
			}
		})
	}
}

// waitForSize waits until a history that is being recorded has that many bytes.
func waitForSize(t *testing.T, path string, bytes int64) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for time.Now().Before(deadline) {
		if info, err := os.Stat(path); err == nil && info.Size() >= bytes {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s did not reach %d bytes", path, bytes)
}

// TestDiskFull limits the history to 256 KiB: the run ends with 74, and the recorded part is
// judged.
func TestDiskFull(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	c := command(t, "run", "--duration", "20s", "--out", out, "--no-progress", "--plain")
	limited := exec.Command("sh", "-c", `ulimit -f 512; exec "$@"`, "sh")
	limited.Args = append(limited.Args, c.Args...)
	limited.Args[4] = c.Path
	limited.Env, limited.Dir = c.Env, c.Dir
	got := finish(t, limited)
	t.Log(got.msg)
	if got.code != 74 || !strings.Contains(got.msg, "cannot write the history") || !strings.Contains(got.out, "ser satisfied") {
		t.Errorf("exit code %d, want 74\n%s", got.code, got.out)
	}
	h := load(t, filepath.Join(out, "history.jsonl"))
	if n := h.Count(); n.Committed < 20 || n.Unknown > 20 {
		t.Errorf("%+v", n)
	}
	if got := isohound(t, "gen", "--history", "/dev/full", "--no-progress"); got.code != 74 {
		t.Errorf("gen to a full device: exit code %d: %s", got.code, got.msg)
	}
}

// TestPipe sends a history from one process to another while it is recorded.
func TestPipe(t *testing.T) {
	gen := command(t, "gen", "--history", "-", "--no-progress", "--isolation", "DetectConflicts=false")
	check := command(t, "check", "-", "--level", "si", "--json")
	pipe, err := gen.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	check.Stdin = pipe
	if err := gen.Start(); err != nil {
		t.Fatal(err)
	}
	got := finish(t, check)
	gen.Wait()
	if o := got.outcomes(t); got.code != 1 || len(o) != 1 || o[0].Verdict != verdict.Violated || o[0].Path != "-" {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.msg)
	}
	if gen.ProcessState.ExitCode() != 0 {
		t.Errorf("gen: %v", gen.ProcessState)
	}
}
