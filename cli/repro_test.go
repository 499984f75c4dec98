package cli

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/results"
)

// violated runs a workload that loses updates and returns the run's folder.
func violated(t *testing.T, args ...string) (dir string, c call) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	c = isohound(t, append([]string{"run", "--isolation", "DetectConflicts=false", "--check", "si,ser", "--seed", "7", "--out", dir, "--no-progress"}, args...)...)
	if c.code != 1 {
		t.Fatalf("exit code %d\n%s%s", c.code, c.out, c.msg)
	}
	return dir, c
}

// TestReproduction: the instructions in the README of a reproduction folder work, wherever the
// folder is, with the described results.
func TestReproduction(t *testing.T) {
	log := write(t, "server.log", "the server's log")
	dir, _ := violated(t, "--attach", log)
	// The folder is self-contained.
	folder := filepath.Join(t.TempDir(), "sent")
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(dir, results.ReproFolder))); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	checks, histories := 0, 0
	most := 10 // transactions of the first minimal history; rarer kinds of anomalies have longer cycles
	for _, line := range strings.Split(string(readme), "\n") {
		args, ok := strings.CutPrefix(line, "    isohound check ")
		if !ok {
			continue
		}
		checks++
		words := append([]string{"check", "--json"}, strings.Fields(args)...)
		c := command(t, words...)
		c.Dir = folder
		done := finish(t, c)
		if done.code != 1 || strings.Contains(done.out, `"verdict":"satisfied"`) || !strings.Contains(done.out, `"certified":true`) {
			t.Errorf("%s: exit code %d\n%s%s", line, done.code, done.out, done.msg)
		}
		if strings.HasPrefix(args, "history") {
			histories++
		} else {
			if n := done.outcomes(t)[0].Txns; n > most {
				t.Errorf("%s: a minimal history of %d transactions", line, n)
			}
			most = 64
		}
	}
	if checks < 2 || histories != 1 || !strings.Contains(string(readme), "## LostUpdate, which snapshot isolation and serializability forbid") {
		t.Errorf("%d checks, %d of the whole history, in\n%s", checks, histories, readme)
	}
	if b, err := os.ReadFile(filepath.Join(folder, "logs", "server.log")); err != nil || string(b) != "the server's log" {
		t.Errorf("%q, %v", b, err)
	}
	// Every file that the README lists exists.
	for _, line := range strings.Split(string(readme), "\n") {
		if names, _, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(names, "- `") {
			for _, name := range strings.Split(strings.Trim(strings.TrimPrefix(names, "- "), "`"), "`, `") {
				if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
					t.Errorf("listed: %v", err)
				}
			}
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	again := exec.Command("./repeat.sh", "--out", filepath.Join(t.TempDir(), "again"), "--quiet")
	again.Dir, again.Env = folder, append(os.Environ(), "ISOHOUND="+self, "ISOHOUND_MAIN=1")
	if done := finish(t, again); done.code != 1 || !strings.Contains(done.out, "LostUpdate") {
		t.Errorf("repeat.sh: exit code %d\n%s%s", done.code, done.out, done.msg)
	}
}

// TestRepeatUntil: repeat.sh runs until the exit code is that of a violation, or of an error.
func TestRepeatUntil(t *testing.T) {
	dir, _ := violated(t)
	program := write(t, "program", "#!/bin/sh\necho \"$@\" >> \"$RUNS\"\ncase $(wc -l < \"$RUNS\") in 1) exit 0 ;; 2) exit 2 ;; 3) exit 3 ;; *) exit $LAST ;; esac\n")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args       string
		last       string
		code, runs int
	}{{"--until violated --keys 5", "1", 1, 4}, {"--until violated", "69", 69, 4}, {"--keys 5", "1", 0, 1}, {"--until satisfied", "1", 64, 0}, {"--until", "1", 64, 0}} {
		runs := filepath.Join(t.TempDir(), "runs")
		c := exec.Command(filepath.Join(dir, results.ReproFolder, "repeat.sh"), strings.Fields(tc.args)...)
		c.Env = append(os.Environ(), "ISOHOUND="+program, "RUNS="+runs, "LAST="+tc.last)
		done := finish(t, c)
		b, _ := os.ReadFile(runs)
		if done.code != tc.code || strings.Count(string(b), "\n") != tc.runs || strings.Contains(string(b), "until") || tc.runs > 0 && strings.Contains(string(b), "--keys 5") != strings.Contains(tc.args, "--keys 5") {
			t.Errorf("%s: exit code %d\n%s%s", tc.args, done.code, b, done.msg)
		}
	}
}

// TestNoPassword: no file in a run's folder contains the password of a DSN, and the script takes
// the DSN from the environment.
func TestNoPassword(t *testing.T) {
	dsn := strings.Replace(postgresDSN(t), "://isohound@", "://isohound:hush-hush@", 1)
	if !strings.Contains(dsn, "hush-hush") {
		t.Fatalf("no place for a password in %s", dsn)
	}
	dir := filepath.Join(t.TempDir(), "run")
	c := isohound(t, "run", "--driver", "postgres", "--dsn", dsn, "--isolation", "read committed", "--check", "si", "--txns", "200", "--keys", "10", "--seed", "1", "--out", dir)
	if c.code != 1 {
		t.Fatalf("exit code %d\n%s%s", c.code, c.out, c.msg)
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
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	repeat := func(dsn string, args ...string) call {
		c := exec.Command(filepath.Join(dir, results.ReproFolder, "repeat.sh"), append(args, "--out", filepath.Join(t.TempDir(), "again"))...)
		c.Env = append(os.Environ(), "ISOHOUND_DSN="+dsn, "ISOHOUND="+self, "ISOHOUND_MAIN=1")
		return finish(t, c)
	}
	for _, args := range [][]string{{"--quiet"}, {"--until", "violated", "--quiet"}} {
		if done := repeat("", args...); done.code != int(exitUsage) || !strings.Contains(done.msg, "ISOHOUND_DSN") || strings.Count(done.msg, "\n") != 1 {
			t.Errorf("without a DSN, %q: exit code %d\n%s", args, done.code, done.msg)
		}
	}
	for _, done := range []call{repeat(dsn, "--quiet"), repeat("", "-q", "--dsn", dsn), repeat("", "--dsn="+dsn, "-q")} {
		if done.code != 1 || !strings.Contains(done.out, "si violated") {
			t.Errorf("with the DSN: exit code %d\n%s%s", done.code, done.out, done.msg)
		}
	}
}

// TestNoReproduction: a satisfied run has no reproduction, and missing files are named.
func TestNoReproduction(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c := isohound(t, "run", "--txns", "100", "--check", "ser", "--out", dir, "--attach", "/nowhere/log")
	if _, err := os.Stat(filepath.Join(dir, results.ReproFolder)); c.code != 0 || !os.IsNotExist(err) {
		t.Errorf("exit code %d, %v", c.code, err)
	}
	_, c = violated(t, "--attach", "/nowhere/log")
	if !strings.Contains(c.msg, "--attach: open /nowhere/log: no such file") || !strings.Contains(c.msg, "report: ") {
		t.Errorf("%s", c.msg)
	}
}

// TestSummaryFlag: run and check append to one file; an empty name writes no summary.
func TestSummaryFlag(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary")
	dir, _ := violated(t, "--summary", path)
	c := isohound(t, "check", write(t, "bad.txt", lostUpdate), write(t, "broken.txt", "nonsense"), "--level", "si", "--summary", path)
	b, err := os.ReadFile(path)
	if err != nil || c.code != 1 {
		t.Fatalf("exit code %d, %v", c.code, err)
	}
	for _, want := range []string{"### isohound: violated, not promised on Badger", "isohound run --driver badger", "### isohound check: 1 violated, 1 not judged", "`repro/`"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %q in\n%s", want, b)
		}
	}
	saved, err := os.ReadFile(filepath.Join(dir, "summary.md"))
	if err != nil || !strings.HasPrefix(string(b), string(saved)) {
		t.Errorf("%v: the folder has another summary\n%s", err, saved)
	}
	if c := isohound(t, "check", write(t, "good.txt", fine), "--level", "si", "--summary", ""); c.code != 0 {
		t.Errorf("an empty name: exit code %d\n%s", c.code, c.msg)
	}
	if c := isohound(t, "check", write(t, "good.txt", fine), "--level", "si", "--summary", "/nowhere/s"); c.code != 74 || !strings.Contains(c.msg, "--summary: open /nowhere/s") {
		t.Errorf("exit code %d\n%s", c.code, c.msg)
	}
}

// TestReportOfSeveral: a table of runs, as a page, as Markdown and as JSON.
func TestReportOfSeveral(t *testing.T) {
	dir, _ := violated(t)
	top := filepath.Dir(dir)
	page := filepath.Join(top, "index.html")
	if c := isohound(t, "report", top); c.code != 0 || c.out != page+"\n" {
		t.Fatalf("exit code %d\n%s%s", c.code, c.out, c.msg)
	}
	html, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(html), `href="run/report.html"`) {
		t.Errorf("%v\n%s", err, html)
	}
	if c := isohound(t, "report", top); c.code != 0 {
		t.Errorf("our own page is not drawn again: %s", c.msg)
	}
	if c := isohound(t, "report", dir); c.code != 0 || c.out != filepath.Join(dir, "report.html")+"\n" {
		t.Errorf("one run: exit code %d\n%s%s", c.code, c.out, c.msg)
	}
	c := isohound(t, "report", dir, "--json")
	var x results.Index
	if err := json.Unmarshal([]byte(c.out), &x); err != nil || x.Runs != 1 || x.Counts["violated"] != 1 || len(x.Rows) != 2 || x.Rows[0].Seed != 7 {
		t.Errorf("%v: %s", err, c.out)
	}
	out := filepath.Join(top, "table.md")
	if c := isohound(t, "report", dir, top, "--markdown", "--out", out); c.code != 0 {
		t.Errorf("exit code %d\n%s", c.code, c.msg)
	}
	if b, _ := os.ReadFile(out); !strings.Contains(string(b), "### isohound: 1 run: 1 violated") || !strings.Contains(string(b), "(run/report.html)") {
		t.Errorf("%s", b)
	}
	none := command(t, "report", t.TempDir(), t.TempDir())
	none.Dir = top
	if c := finish(t, none); c.code != 65 || c.out != "" || c.msg != "isohound: none of the 2 folders is that of a run, and there is no run below them\n" {
		t.Errorf("exit code %d\n%s%s", c.code, c.out, c.msg)
	}
	if b, err := os.ReadFile(page); err != nil || !bytes.Equal(b, html) {
		t.Errorf("%v: an index of nothing took the place of\n%s", err, html)
	}
	if c := isohound(t, "report", t.TempDir(), dir, "--markdown"); c.code != 0 || !strings.Contains(c.out, "1 violated (1 not promised), 1 broken") {
		t.Errorf("exit code %d\n%s%s", c.code, c.out, c.msg)
	}
	if err := os.WriteFile(page, []byte("someone's page"), 0o644); err != nil {
		t.Fatal(err)
	}
	if c := isohound(t, "report", top); c.code != 74 || !strings.Contains(c.msg, "is no index of runs; name a file with --out") {
		t.Errorf("exit code %d\n%s%s", c.code, c.out, c.msg)
	}
	if c := isohound(t, "report", dir, "--markdown", "--json"); c.code != 64 {
		t.Errorf("exit code %d", c.code)
	}
	if c := isohound(t, "report", "/nowhere"); c.code != 65 || !strings.Contains(c.msg, "/nowhere: no such file") {
		t.Errorf("exit code %d\n%s", c.code, c.msg)
	}
}
