package cli

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/results"
)

// TestMetrics: a run serves what it does and its verdicts.
func TestMetrics(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run := beside(t, "run", "--sessions", "4", "--check", "ser", "--duration", "1h", "--cut-every", "500ms", "--seed", "7", "--out", dir, "--no-progress", "--metrics", "127.0.0.1:0")
	waitForSize(t, filepath.Join(dir, results.WindowVerdicts), 1)
	address := regexp.MustCompile(`metrics at (\S+)`).FindStringSubmatch(run.msg.String())
	if address == nil {
		t.Fatal(run.msg.String())
	}
	get := func() string {
		t.Helper()
		return metricsAt(t, address[1])
	}
	value := func(text, name string) float64 {
		t.Helper()
		m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no %s in\n%s", name, text)
		}
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	text := get()
	const committed, windows = `isohound_transactions_total{outcome="committed"}`, `isohound_verdicts_total{level="ser",verdict="satisfied"}`
	first := value(text, committed)
	if first < 1 || value(text, windows) < 1 || value(text, `isohound_latency_seconds{quantile="0.99"}`) <= 0 || !strings.Contains(text, `seed="7"`) {
		t.Error(text)
	}
	value(text, "isohound_checker_lag_seconds")
	time.Sleep(50 * time.Millisecond)
	if second := value(get(), committed); second <= first {
		t.Errorf("%v transactions, and then %v", first, second)
	}
	run.Process.Signal(os.Interrupt)
	run.Wait()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if c := isohound(t, "run", "--metrics", l.Addr().String(), "--out", filepath.Join(t.TempDir(), "run")); c.code != int(exitUsage) || !strings.Contains(c.msg, "--metrics") {
		t.Errorf("%d: %s", c.code, c.msg)
	}
}

func metricsAt(t *testing.T, address string) string {
	t.Helper()
	r, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%d, %v", r.StatusCode, err)
	}
	return string(b)
}

// TestHuntMetrics: a night serves what its runs came to.
func TestHuntMetrics(t *testing.T) {
	plan := write(t, "plan.yaml", "name: served\ntargets: [{name: simulated, driver: sim, isolations: [snapshot isolation]}]\nworkloads: [{workload: mini, txns: 200}]\nbudget: {time: 10m, run: 20s}\n")
	run := beside(t, "hunt", plan, "--out", filepath.Join(t.TempDir(), "night"), "--metrics", "127.0.0.1:0")
	over := regexp.MustCompile(`(?m)^isohound_hunt_runs_total\{faults="none",isolation="snapshot isolation",status="satisfied",target="simulated",workload="mini"\} [1-9]`)
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if address := regexp.MustCompile(`metrics at (\S+)`).FindStringSubmatch(run.msg.String()); address != nil {
			text := metricsAt(t, address[1])
			if over.MatchString(text) && strings.Contains(text, "isohound_hunt_commits_total{") && strings.Contains(text, "isohound_hunt_run_begun_seconds{") && strings.Contains(text, `plan="served"`) {
				break
			}
			if time.Since(begun) > 2*time.Minute {
				t.Fatal(text)
			}
		} else if time.Since(begun) > 2*time.Minute {
			t.Fatal(run.msg.String())
		}
	}
	run.Process.Signal(os.Interrupt)
	run.Wait()
}
