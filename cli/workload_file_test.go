//go:build !front

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/results"
)

// TestWorkloadFile: a workload in a file is checked, listed, and run; the run keeps the file, and the script of
// the reproduction uses what it kept.
func TestWorkloadFile(t *testing.T) {
	shop := shop(t)
	c := isohound(t, "workloads", "check", shop)
	if c.code != 0 || !strings.Contains(c.out, "transaction buy, 27.8 %") || !strings.Contains(c.out, "drivers: badger, bbolt, sim, sqlite") || strings.Contains(c.out, "cassandra") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	if c := isohound(t, "workloads", "file="+shop); c.code != 0 || !strings.Contains(c.out, "-p products=20") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine.yaml")
	text, err := os.ReadFile(shop)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mine, text, 0o644); err != nil {
		t.Fatal(err)
	}
	run := []string{"run", "--driver", "sim", "--isolation", "snapshot isolation", "--dsn", "sim://?rate=1&off=first-committer-wins", "--workload", "file=" + mine,
		"-p", "products=3", "--sessions", "10", "--txns", "100", "--check", "si", "--quiet"}
	out := filepath.Join(dir, "run")
	if c := isohound(t, append(run, "--out", out)...); c.code != 1 || !strings.Contains(c.out, "si violated") {
		t.Fatalf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	if kept, err := os.ReadFile(filepath.Join(out, results.WorkloadFile)); err != nil || string(kept) != string(text) {
		t.Errorf("%v: %s", err, kept)
	}
	script, err := os.ReadFile(filepath.Join(out, results.ReproFolder, "repeat.sh"))
	if err != nil || !strings.Contains(string(script), `--workload "file=$(dirname "$0")/workload.yaml"`) {
		t.Errorf("%v: %s", err, script)
	}
	if out, err := exec.Command("sh", "-n", filepath.Join(out, results.ReproFolder, "repeat.sh")).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if kept, err := os.ReadFile(filepath.Join(out, results.ReproFolder, results.WorkloadFile)); err != nil || string(kept) != string(text) {
		t.Errorf("%v: %s", err, kept)
	}
}

// TestWorkloadFileErrors: errors name the place, and the exit code is that of usage.
func TestWorkloadFileErrors(t *testing.T) {
	shop, path := shop(t), filepath.Join(t.TempDir(), "w.yaml")
	if err := os.WriteFile(path, []byte("tables: {t: {key: {id: int}, columns: {a: int}}}\ntransactions: {x: {statements: [SELECT q FROM t]}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"workloads", "check", path}, path + ":2:40: table t has no column q"},
		{[]string{"run", "--workload", "file=" + path}, path + ":2:40: table t has no column q"},
		{[]string{"run", "--workload", "file=" + path + "x"}, "no such file"},
		{[]string{"run", "--workload", "fil=" + path}, "file=FILE.yaml"},
		{[]string{"run", "--workload", "file=" + shop, "-p", "products=x"}, "-p products=x: expected a whole number"},
		{[]string{"run", "--workload", "file=" + shop, "-p", "mix=sell"}, "there is no transaction"},
		{[]string{"run", "--workload", "file=" + shop, "--driver", "etcd", "--dsn", "etcd://127.0.0.1:1"}, "etcd does not have"},
	} {
		if r := isohound(t, c.args...); r.code != 64 || !strings.Contains(r.msg, c.says) {
			t.Errorf("%v: exit code %d: %s", c.args, r.code, r.msg)
		}
	}
}

// TestWorkloadFileKept: a run that goes on does so with the file that it began with.
func TestWorkloadFileKept(t *testing.T) {
	dir := t.TempDir()
	s := &settings{workload: "file=shop.yaml", workloadFile: []byte("tables: {}\n")}
	if err := s.keepWorkload(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.sameWorkload(dir); err != nil {
		t.Error(err)
	}
	s.workloadFile = []byte("tables: {t: {}}\n")
	if err := s.sameWorkload(dir); err == nil || !strings.Contains(err.Error(), "has changed since the run began; --workload file="+dir) {
		t.Error(err)
	}
	inGo := &settings{workload: "mini"}
	if err := inGo.sameWorkload(dir); err != nil {
		t.Error(err)
	}
}
