package cli

import (
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/internal/randhist"
	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/servers"
)

// kills is how often a process is killed: ISOHOUND_KILLS, or the usual number.
func kills(t *testing.T, usual int) int {
	t.Helper()
	text := os.Getenv("ISOHOUND_KILLS")
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("ISOHOUND_KILLS: %q is no number of kills", text)
	}
	return n
}

// survives makes a run in windows while kill ends processes at random moments.
// All windows are judged once, and as by one process: no transaction is lost, and there is no false alarm.
func survives(t *testing.T, kill func(), args ...string) {
	t.Helper()
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 4))
	dir := filepath.Join(t.TempDir(), "run")
	run, msg, wait := begin(t, append([]string{"run", "--sessions", "8", "--seed", "1", "--check", "ser", "--duration", "2h", "--patience", "1m", "--out", dir, "--json", "--no-progress"}, args...)...)
	t.Cleanup(func() { run.Process.Kill() }) // if the test ends early
	waitForSize(t, filepath.Join(dir, results.WindowVerdicts), 1)
	for range kills(t, 2) {
		time.Sleep(time.Duration(rng.IntN(1000)) * time.Millisecond)
		kill()
	}
	time.Sleep(time.Second)
	if err := run.Process.Signal(os.Interrupt); err != nil {
		t.Fatalf("%v: %s", err, msg)
	}
	c := wait()
	if c.code != int(exitInterrupted) {
		t.Fatalf("seed %d: exit code %d: %s%s", seed, c.code, c.out, c.msg)
	}
	got := sameAsOne(t, c, dir, "ser")
	files, err := results.WindowFiles(dir)
	if err != nil || got[0].Verdict != verdict.Satisfied || !got[0].Certified || got[0].Windows.Total() != len(files) {
		t.Errorf("seed %d: %v, %d windows on disk: %s%s", seed, err, len(files), c.out, c.msg)
	}
	t.Logf("seed %d: %d kills, %s, %d transactions", seed, kills(t, 2), got[0].Windows.Text(), got[0].Txns)
}

// TestKilledAgain kills judges, the NATS server, and the database again and again. TestWindowsResumed does that with the
// process of the run.
func TestKilledAgain(t *testing.T) {
	elsewhere := []string{"--rate", "1500", "--cut-every", "200ms", "--publish"}
	t.Run("judge", func(t *testing.T) {
		_, url := startNATS(t, "--listen", "127.0.0.1:0", "--store", t.TempDir())
		quickly(t, url)
		judge := beside(t, "judge", "--from", url)
		survives(t, func() {
			judge.kill()
			judge = beside(t, "judge", "--from", url)
		}, append(elsewhere, url)...)
	})
	t.Run("NATS server", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		server := []string{"--listen", l.Addr().String(), "--store", t.TempDir()}
		var running *exec.Cmd
		var url string
		running, url = startNATS(t, server...)
		quickly(t, url)
		for range 2 {
			beside(t, "judge", "--from", url)
		}
		survives(t, func() {
			running.Process.Kill()
			running.Wait()
			running, _ = startNATS(t, server...)
		}, append(elsewhere, url)...)
	})
	t.Run("database", func(t *testing.T) {
		pg, err := servers.StartPostgres()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pg.Stop)
		survives(t, func() {
			pg.Kill()
			if err := again(pg.Start); err != nil {
				t.Fatal(err)
			}
		}, "--driver", "postgres", "--dsn", pg.DSN(), "--isolation", "serializable", "--rate", "1500", "--cut-every", "200ms")
	})
}
