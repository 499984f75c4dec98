//go:build !front

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/randhist"
	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/servers"
)

// windowsKilled starts a run in windows, or goes on with it, and kills the process at a random moment. What is there must satisfy level.
func windowsKilled(t *testing.T, rng *rand.Rand, level, dir string, args ...string) {
	t.Helper()
	killedInWindow(t, rng, 1, level, dir, args...)
}

// killedInWindow is the same, and does not kill it before window n.
func killedInWindow(t *testing.T, rng *rand.Rand, n int, level, dir string, args ...string) {
	t.Helper()
	c, msg, wait := begin(t, args...)
	waitForSize(t, filepath.Join(dir, results.WindowsFolder, fmt.Sprintf("%06d.jsonl.zst", n)), 4<<10)
	time.Sleep(time.Duration(rng.IntN(1500)) * time.Millisecond)
	c.Process.Signal(syscall.SIGKILL)
	if got := wait(); got.code == 0 {
		t.Fatal(msg)
	}
	got := isohound(t, "check", dir, "--level", level, "--json").outcomes(t)
	files, err := results.WindowFiles(dir)
	if err != nil || len(got) != 1 || got[0].Verdict != verdict.Satisfied || got[0].Windows.Total() < len(files)-1 {
		t.Fatalf("%v, %d files: %+v", err, len(files), got)
	}
	if r := isohound(t, "report", dir); r.code != int(exitInterrupted) {
		t.Errorf("report: %s", r.msg)
	}
}

// TestWindowsResumed kills a run in windows again and again, and goes on with it in between: no transaction is
// lost, each window is judged, and there is no false alarm. ISOHOUND_KILLS is the number of kills, or ISOHOUND_HISTORIES
// 15,000 times that number.
func TestWindowsResumed(t *testing.T) {
	if !locks {
		t.Skip("files cannot be locked here")
	}
	for driver, dsn := range map[string]string{"postgres": postgresDSN(t), "mariadb": mariadbDSN(t)} {
		seed := randhist.Seed(t, rand.Uint64())
		rng := rand.New(rand.NewPCG(seed, 3))
		dir := filepath.Join(t.TempDir(), "run")
		windowsKilled(t, rng, "ser", dir, "run", "--driver", driver, "--dsn", dsn, "--isolation", "serializable", "--sessions", "8", "--duration", "1m", "--cut-every", "300ms", "--check", "ser", "--out", dir, "--no-progress")
		log, err := lockRun(dir) // another process works on the run: nothing is touched, neither here nor on the server
		if err != nil {
			t.Fatal(err)
		}
		if c := isohound(t, "run", "--resume", dir, "--dsn", dsn, "--duration", "1s", "--no-progress"); c.code != int(exitIO) || !strings.Contains(c.msg, "another process") {
			t.Errorf("exit code %d: %s", c.code, c.msg)
		}
		log.Close()
		for range kills(t, randhist.Count(t, 30_000)/15_000) {
			windowsKilled(t, rng, "ser", dir, "run", "--resume", dir, "--dsn", dsn, "--no-progress")
		}
		// The folder has the DSN, but no password.
		conf, err := os.ReadFile(filepath.Join(dir, "config.json"))
		if err != nil {
			t.Fatal(err)
		}
		secret := strings.ReplaceAll(string(conf), "isohound@", "isohound:xxxxx@")
		secret = strings.ReplaceAll(secret, "root@", "root:xxxxx@")
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(secret), 0o644); err != nil || secret == string(conf) {
			t.Fatal(err, secret)
		}
		if c := isohound(t, "run", "--resume", dir, "--no-progress"); c.code != int(exitUsage) || !strings.Contains(c.msg, "type it in place of xxxxx: ") || !strings.Contains(c.msg, " run --resume "+dir+" --dsn ") {
			t.Errorf("exit code %d: %s", c.code, c.msg)
		}
		if err := os.WriteFile(filepath.Join(dir, "config.json"), conf, 0o644); err != nil {
			t.Fatal(err)
		}
		c := isohound(t, "run", "--resume", dir, "--duration", "1s", "--json", "--no-progress")
		all := c.outcomes(t)
		files, err := results.WindowFiles(dir)
		if err != nil || c.code != 0 || len(all) != 1 || !all[0].Certified || all[0].Windows.Satisfied != len(files) {
			t.Fatalf("%s, seed %d: %v, exit code %d, %d files: %s%s", driver, seed, err, c.code, len(files), c.out, c.msg)
		}
		for _, f := range files {
			if h := load(t, f); !h.Closed {
				t.Errorf("%s is not closed", f)
			}
		}
		if n := distinct(t, files); n != all[0].Txns {
			t.Errorf("%d transactions on disk, %d judged", n, all[0].Txns)
		}
		if c := isohound(t, "run", "--resume", dir, "--dsn", dsn); c.code != 65 || !strings.Contains(c.msg, "has ended") {
			t.Errorf("exit code %d: %s", c.code, c.msg)
		}
	}
}

// TestResumedPositions: the positions that the driver tells are recorded after a kill, too.
func TestResumedPositions(t *testing.T) {
	m, err := servers.StartMariaDB(servers.Set("log_bin", "log"), servers.Set("binlog_format", "ROW"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Stop)
	dir := filepath.Join(t.TempDir(), "run")
	windowsKilled(t, rand.New(rand.NewPCG(1, 1)), "ser", dir, "run", "--driver", "mariadb", "--dsn", m.DSN(), "--isolation", "serializable", "--workload", "mini", "--check", "ser", "--sessions", "6",
		"--duration", "1m", "--cut-every", "300ms", "--keep", "all", "--out", dir, "--no-progress")
	c := isohound(t, "run", "--resume", dir, "--dsn", m.DSN(), "--duration", "2s", "--json", "--no-progress")
	o := c.outcomes(t)
	// What the kill left without an outcome has no position, so that a read of it may fit nowhere.
	if c.code != 0 || len(o) != 1 || o[0].Claim == nil || o[0].Claim.Misfits > o[0].UnknownOutcome {
		t.Fatalf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	files, err := results.WindowFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		h := load(t, path)
		for n := range h.Txns {
			if h.Txns[n].Status == history.Committed && h.Claim(n).Commit > 0 {
				h = nil
				break
			}
		}
		if h != nil {
			t.Errorf("no transaction of %s has a position", path)
		}
	}
}

// TestResumedFindsLoss: what the database lost while no process of the run was there is a violation.
func TestResumedFindsLoss(t *testing.T) {
	ctx, dsn := t.Context(), postgresDSN(t)
	dir := filepath.Join(t.TempDir(), "run")
	windowsKilled(t, rand.New(rand.NewPCG(1, 1)), "ser", dir, "run", "--driver", "postgres", "--dsn", dsn, "--sessions", "8", "--duration", "1m", "--cut-every", "5s", "--check", "ser", "--out", dir, "--no-progress")
	var conf results.Config
	b, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err == nil {
		err = json.Unmarshal(b, &conf)
	}
	if err != nil || conf.Schema == "" {
		t.Fatal(err, conf)
	}
	h := load(t, filepath.Join(dir, results.WindowFile(1, false)))
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for k := range history.Key(h.KeyCount()) { // back to the state before the first transaction
		if h.Initial(k) == history.Absent {
			continue
		}
		if _, err := c.Exec(ctx, "UPDATE "+pgx.Identifier{conf.Schema, "kv"}.Sanitize()+" SET v = $1 WHERE k = $2", int64(h.Initial(k)), h.KeyName(k)); err != nil {
			t.Fatal(err)
		}
	}
	got := isohound(t, "run", "--resume", dir, "--dsn", dsn, "--duration", "1s", "--json", "--no-progress")
	if all := got.outcomes(t); got.code != 1 || len(all) != 1 || all[0].Verdict != verdict.Violated || !all[0].Certified {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.msg)
	}
}

// TestWindowsServerKilled kills the server in a run in windows: with asynchronous commit the cut after it finds
// lost commits, and otherwise there is no violation.
func TestWindowsServerKilled(t *testing.T) {
	for _, async := range []bool{false, true} {
		pg, err := servers.StartPostgres(servers.Set("wal_writer_delay", "10s"), servers.Set("wal_writer_flush_after", "1GB"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pg.Stop)
		query := ""
		if async {
			query = "?synchronous_commit=off"
		}
		for try := 1; ; try++ {
			dir := filepath.Join(t.TempDir(), "run")
			_, _, wait := begin(t, "run", "--driver", "postgres", "--dsn", pg.DSN()+query, "--isolation", "serializable", "--keys", "3000", "--duration", "4s", "--cut-every", "700ms",
				"--check", "ser", "--out", dir, "--json", "--no-progress")
			waitForSize(t, filepath.Join(dir, results.WindowFile(2, false)), 16<<10)
			pg.Kill()
			time.Sleep(300 * time.Millisecond)
			if err := again(pg.Start); err != nil {
				t.Fatal(err)
			}
			c := wait()
			all := c.outcomes(t)
			if len(all) != 1 || !all[0].Certified && all[0].Verdict != verdict.Unknown {
				t.Fatalf("exit code %d: %s%s", c.code, c.out, c.msg)
			}
			want, v := verdict.Satisfied, all[0].Verdict
			if async {
				want = verdict.Violated
			}
			if v == want {
				break
			}
			// With asynchronous commit nothing may have been lost. A slow machine may commit too little in a run.
			if try == 3 || !async && v != verdict.Vacuous {
				t.Errorf("asynchronous commit %v: %s, %s%s", async, v, c.out, c.msg)
				break
			}
		}
	}
}

// TestLightweightResumed: a run of lightweight transactions, which has no fences, goes on wherever it was killed: after a cut, and
// with intents alone in its last window. Nothing that was recorded is lost.
func TestLightweightResumed(t *testing.T) {
	if !locks {
		t.Skip("files cannot be locked here")
	}
	dsn, dir := postgresDSN(t), filepath.Join(t.TempDir(), "run")
	flags := []string{"--dsn", dsn, "--fault", "0s latency 40ms", "--no-progress"}
	recorded := func() map[int64]int {
		files, err := results.WindowFiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		all := map[int64]int{} // transactions by id, with their operations
		for _, path := range files {
			if st, err := os.Stat(path); err != nil || st.Size() == 0 {
				continue
			}
			h := load(t, path)
			for i := range h.Txns {
				all[h.Txns[i].ID] = h.Txns[i].OpCount()
			}
		}
		return all
	}
	before := map[int64]int{}
	kept := func(kill int) {
		after := recorded()
		for id, ops := range before {
			if n, ok := after[id]; !ok || n != ops {
				t.Errorf("kill %d: transaction %d had %d operations, and has %d", kill, id, ops, n)
			}
		}
		before = after
	}
	first := []string{"run", "--driver", "postgres", "--workload", "lwt", "--isolation", "read committed", "--sessions", "8", "--keys", "2", "--cut-every", "40txns", "--check", "lin", "--seed", "4", "--out", dir}
	again := []string{"run", "--resume", dir}
	for kill := range 6 {
		if kill > 0 {
			first = again
		}
		files, _ := results.WindowFiles(dir)
		c, msg, wait := begin(t, slices.Concat(first, flags, []string{"--duration", "1m"})...)
		next := results.WindowFile(3, false)
		if kill > 0 {
			next = results.WindowFile(results.WindowNumber(files[len(files)-1])+2, false)
		}
		for until := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(filepath.Join(dir, next)); err == nil {
				break
			} else if time.Now().After(until) {
				t.Fatalf("%s: %s", next, msg)
			}
		}
		time.Sleep(time.Duration(kill*23) * time.Millisecond)
		c.Process.Signal(syscall.SIGKILL)
		if got := wait(); got.code == 0 {
			t.Fatal(msg)
		}
		kept(kill)
	}
	got := isohound(t, slices.Concat(again, flags, []string{"--duration", "300ms", "--json"})...)
	if o := got.outcomes(t); got.code != 0 || len(o) != 1 || o[0].Verdict != verdict.Satisfied {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.msg)
	}
	kept(6)
}
