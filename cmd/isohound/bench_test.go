package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/bench"
	"github.com/isohound/isohound/checker/verdict"
)

// TestBenchTargets: every target is measured at each level, and comes out right.
func TestBenchTargets(t *testing.T) {
	c := isohound(t, "bench", "checker", "--scale", "0.002", "--json", "--repeat", "2")
	seen := map[string]int{}
	dec := json.NewDecoder(strings.NewReader(c.out))
	for dec.More() {
		var m bench.Measurement
		if err := dec.Decode(&m); err != nil {
			t.Fatal(err, c.msg)
		}
		if m.Verdict != verdict.Satisfied || m.Txns == 0 || m.WallSeconds <= 0 || m.PeakMB <= 0 {
			t.Errorf("%+v", m)
		}
		seen[m.History]++
	}
	for _, target := range bench.Targets(1, 1) {
		if seen[target.Name] != 2 {
			t.Errorf("%s: %d measurements, want 2", target.Name, seen[target.Name])
		}
	}
	if c.code != 0 {
		t.Errorf("exit code %d\n%s", c.code, c.msg)
	}
}

// TestBenchFiles: contestants that agree are right whatever they say, and the
// table has a row for each check.
func TestBenchFiles(t *testing.T) {
	bad, good := write(t, "bad.txt", lostUpdate), write(t, "good.txt", fine)
	c := isohound(t, "bench", "checker", bad, good, "--level", "ser,sser", "--quiet")
	if rows := strings.Count(c.out, "\n"); c.code != 0 || rows != 9 || strings.Count(c.out, "violated") != 4 {
		t.Errorf("exit code %d, %d rows\n%s%s", c.code, rows, c.out, c.msg)
	}
}

// TestBenchGrowth: the table parses, and every plot is there.
func TestBenchGrowth(t *testing.T) {
	out := filepath.Join(t.TempDir(), "g")
	c := isohound(t, "bench", "checker", "--growth", "--scale", "0.02", "--points", "2", "--contestants", "polygraph,baseline", "--out", out)
	if c.code != 0 {
		t.Fatalf("exit code %d\n%s", c.code, c.msg)
	}
	f, err := os.Open(filepath.Join(out, "growth.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 + 6*2*2*2; len(rows) != want { // axes, levels, points, contestants
		t.Errorf("%d rows, want %d", len(rows), want)
	}
	for _, row := range rows[1:] {
		if row[4] != "satisfied" {
			t.Errorf("%v", row)
		}
	}
	for _, name := range []string{"time-ser", "time-si", "memory-ser", "memory-si"} {
		for ext, magic := range map[string]string{".png": "\x89PNG", ".svg": "<?xml"} {
			if b, err := os.ReadFile(filepath.Join(out, name+ext)); err != nil || !strings.HasPrefix(string(b), magic) {
				t.Errorf("%s: %v", name+ext, err)
			}
		}
	}
	report, err := os.ReadFile(filepath.Join(out, "growth.md"))
	if err != nil || strings.Contains(string(report), "not asked") || !strings.Contains(string(report), "time-ser.png") {
		t.Errorf("%v\n%s", err, report)
	}
}

// TestBenchMistakes: each has its exit code and a remedy.
func TestBenchMistakes(t *testing.T) {
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"bench"}, 64, "isohound bench --help"},
		{[]string{"bench", "checker", "--contestants", "nobody"}, 64, "known are polygraph"},
		{[]string{"bench", "checker", "--growth", "x"}, 64, "either that or files"},
		{[]string{"bench", "checker", "--scale", "0"}, 64, "--scale"},
		{[]string{"bench", "checker", "--out", "x"}, 64, "--growth"},
		{[]string{"bench", "checker", "--points", "2"}, 64, "--growth"},
		{[]string{"bench", "checker", "--quick", "x"}, 64, "either those or files"},
		{[]string{"bench", "checker", "--seed", "2", "x"}, 64, "either those or files"},
		{[]string{"bench", "checker", "--level", "sser"}, 64, "give files"},
		{[]string{"bench", "checker", "/nowhere"}, 65, "/nowhere"},
		{[]string{"bench", "checker", "--growth", "--out", "/proc/isohound"}, 74, "--out"},
	} {
		args := append(tc.args, "--contestants", "polygraph")
		if tc.want == "known are polygraph" || len(tc.args) == 1 {
			args = tc.args
		}
		if c := isohound(t, args...); c.code != tc.code || !strings.Contains(c.msg, tc.want) {
			t.Errorf("%v: exit code %d, want %d and %q\n%s", tc.args, c.code, tc.code, tc.want, c.msg)
		}
	}
}

// TestBaseline: the baseline engine says violated without a counterexample of its
// own, for which another engine's is shown, and nothing where a proof is wanted.
func TestBaseline(t *testing.T) {
	bad := write(t, "bad.txt", lostUpdate)
	c := isohound(t, "check", bad, "--level", "ser", "--engine", "baseline")
	if c.code != 1 || !strings.Contains(c.out, "gives no counterexample") || !strings.Contains(c.out, "LostUpdate") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	c = isohound(t, "check", bad, "--level", "ser", "--engine", "baseline", "--certify")
	if c.code != 2 || !strings.Contains(c.out, "a violation was found, but the baseline engine gives no counterexample") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	c = isohound(t, "check", write(t, "good.txt", fine), "--level", "ser,si,sser,strong-si,ser-noso,si-noso", "--engine", "baseline", "--certify")
	if c.code != 0 || strings.Count(c.out, "proof verified") != 6 {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	out := filepath.Join(t.TempDir(), "run")
	c = isohound(t, "run", "--isolation", "DetectConflicts=false", "--check", "si", "--engine", "baseline", "--certify=false", "--txns", "50", "--keys", "5",
		"--explain-timeout", "0", "--out", out, "--no-progress")
	if c.code != 1 {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	if again := isohound(t, "report", out); again.code != 0 {
		t.Errorf("exit code %d: %s", again.code, again.msg)
	}
	junit, err := os.ReadFile(filepath.Join(out, "junit.xml"))
	if err != nil || !strings.Contains(string(junit), "si is violated; the baseline engine gives no counterexample") {
		t.Errorf("%v\n%s", err, junit)
	}
}
