package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/bench"
	"github.com/isohound/isohound/checker/verdict"
)

// TestBenchTargets: every target is measured at each level, with the right verdict.
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

// TestBenchWeak: every row is measured at each level, with the right verdict, and stronger levels are refused.
func TestBenchWeak(t *testing.T) {
	c := isohound(t, "bench", "checker", "--weak", "--scale", "0.0005", "--json")
	seen := map[string]int{}
	dec := json.NewDecoder(strings.NewReader(c.out))
	for dec.More() {
		var m bench.Measurement
		if err := dec.Decode(&m); err != nil {
			t.Fatal(err, c.msg)
		}
		want := verdict.Satisfied
		if strings.Contains(m.History, "old read") {
			want = verdict.Violated
		}
		if m.Verdict != want || m.Txns == 0 || m.Contestant != "weak" {
			t.Errorf("%+v, want %s", m, want)
		}
		seen[m.History]++
	}
	for _, row := range bench.WeakRows(1, 1) {
		if seen[row.Name] != 3 {
			t.Errorf("%s: %d measurements, want 3", row.Name, seen[row.Name])
		}
	}
	if c.code != 0 {
		t.Errorf("exit code %d\n%s", c.code, c.msg)
	}
	if c := isohound(t, "bench", "checker", "--weak", "--level", "rc,si"); c.code != int(exitUsage) {
		t.Errorf("exit code %d\n%s", c.code, c.msg)
	}
}

// TestBenchFiles: if contestants agree, no verdict is wrong. The table has a row for each check.
// TestBenchVersions: every history is satisfied, with the claim and without.
func TestBenchVersions(t *testing.T) {
	c := isohound(t, "bench", "versions", "--scale", "0.002", "--certify", "--json", "--quiet")
	lines := strings.Split(strings.TrimSpace(c.out), "\n")
	if c.code != 0 || len(lines) != 21 || strings.Count(c.out, `"verdict":"satisfied"`) != 21 || strings.Count(c.out, `"contestant":"hint"`) != 7 {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	dir := t.TempDir()
	c = isohound(t, "bench", "versions", "--shares", "--scale", "0.01", "--certify", "--json", "--quiet", "--out", dir)
	if lines := strings.Count(c.out, `"verdict":"satisfied"`); c.code != 0 || lines != 36 {
		t.Errorf("exit code %d, %d lines: %s%s", c.code, lines, c.out, c.msg)
	}
	for _, name := range []string{"shares.csv", "shares.png", "shares.svg"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c := isohound(t, "bench", "versions", "--out", dir); c.code != int(exitUsage) || !strings.Contains(c.msg, "--shares") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
	if c := isohound(t, "bench", "versions", "--scale", "0"); c.code != int(exitUsage) || !strings.Contains(c.msg, "--scale") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
}

func TestBenchFiles(t *testing.T) {
	bad, good := write(t, "bad.txt", lostUpdate), write(t, "good.txt", fine)
	c := isohound(t, "bench", "checker", bad, good, "--level", "ser,sser", "--quiet")
	if rows := strings.Count(c.out, "\n"); c.code != 0 || rows != 9 || strings.Count(c.out, "violated") != 4 {
		t.Errorf("exit code %d, %d rows\n%s%s", c.code, rows, c.out, c.msg)
	}
}

// TestBenchGrowth: the table can be parsed, and every plot is written.
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
	c = isohound(t, "bench", "checker", "--growth", "--scale", "0.02", "--points", "1", "--out", out)
	again, err := os.ReadFile(filepath.Join(out, "growth.md"))
	if c.code != int(exitIO) || strings.Count(c.msg, "\n") != 1 || !strings.Contains(c.msg, out+" is not empty; results are not overwritten") || err != nil || !bytes.Equal(again, report) {
		t.Errorf("exit code %d, %v: %s%s", c.code, err, c.out, c.msg)
	}
}

// TestBenchGrowthOpen: axes along which nothing was decided are no success; one contestant that decides them is enough.
func TestBenchGrowthOpen(t *testing.T) {
	for contestants, code := range map[string]exitCode{"polygraph": exitUnknown, "polygraph,weak": exitSatisfied} {
		c := isohound(t, "bench", "checker", "--growth", "--scale", "0.02", "--points", "1", "--level", "rc", "--contestants", contestants, "-q", "--out", filepath.Join(t.TempDir(), "g"))
		if c.code != int(code) || !strings.Contains(c.out, "report: ") {
			t.Errorf("%s: exit code %d, want %d: %s%s", contestants, c.code, code, c.out, c.msg)
		}
	}
}

// TestBenchDoubling: every shape is measured at four sizes, each compared with half the size.
// After an undecided size, larger ones are not measured.
func TestBenchDoubling(t *testing.T) {
	steps := func(args ...string) (map[string][]bench.Step, call) {
		c := isohound(t, append([]string{"bench", "checker", "--doubling", "--scale", "0.00025", "--level", "ser", "--json"}, args...)...)
		all := map[string][]bench.Step{}
		dec := json.NewDecoder(strings.NewReader(c.out))
		for dec.More() {
			var s bench.Step
			if err := dec.Decode(&s); err != nil {
				t.Fatal(err, c.msg)
			}
			all[s.History] = append(all[s.History], s)
		}
		return all, c
	}
	all, c := steps("--timeout", "1m")
	if c.code != 0 || len(all) != len(bench.Shapes(false, 1)) {
		t.Errorf("exit code %d, %d shapes\n%s", c.code, len(all), c.msg)
	}
	for name, list := range all {
		if len(list) != 4 {
			t.Fatalf("%s: %d sizes", name, len(list))
		}
		for n, s := range list {
			if s.Verdict != verdict.Satisfied || s.Txns == 0 || n > 0 && (s.Size < 2*list[n-1].Size || s.TimeTimes <= 0 || s.MemoryTimes <= 0) {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
	all, c = steps("--timeout", "1ns")
	if c.code != int(exitUnknown) {
		t.Errorf("exit code %d\n%s", c.code, c.msg)
	}
	for name, list := range all {
		if len(list) != 4 || list[0].WallSeconds == 0 || list[1].WallSeconds != 0 || !strings.Contains(list[3].Reason, "not measured") || list[3].TimeTimes != 0 {
			t.Errorf("%s: %+v", name, list)
		}
	}
	if c := isohound(t, "bench", "checker", "--doubling", "--scale", "0.00025", "--level", "ser", "--timeout", "1ns", "-q"); strings.Count(c.out, "unknown after") != len(all) || strings.Count(c.out, "not measured") != 3*len(all) {
		t.Errorf("%s%s", c.out, c.msg)
	}
}

// TestBenchAgainst: another isohound judges the same histories.
func TestBenchAgainst(t *testing.T) {
	other := write(t, "other", "#!/bin/sh\nexec \""+command(t).Path+"\" \"$@\"\n")
	if err := os.Chmod(other, 0o755); err != nil {
		t.Fatal(err)
	}
	c := isohound(t, "bench", "checker", write(t, "good.txt", fine), "--level", "ser", "--contestants", "linear", "--against", other, "--repeat", "2", "-q")
	if rows := strings.Count(c.out, "\n"); c.code != 0 || rows != 3 || strings.Count(c.out, "linear (other)") != 1 || strings.Count(c.out, "satisfied") != 2 {
		t.Errorf("exit code %d\n%s%s", c.code, c.out, c.msg)
	}
}

// TestBenchExplain: generated histories are violated and explained; of given files only violated
// ones count.
func TestBenchExplain(t *testing.T) {
	c := isohound(t, "bench", "explain", "--count", "4", "--json", "-q")
	var all []bench.Explaining
	dec := json.NewDecoder(strings.NewReader(c.out))
	for dec.More() {
		var x bench.Explaining
		if err := dec.Decode(&x); err != nil {
			t.Fatal(err, c.msg)
		}
		all = append(all, x)
	}
	if c.code != 0 || len(all) != 2 {
		t.Fatalf("exit code %d, %d levels\n%s", c.code, len(all), c.msg)
	}
	for _, x := range all {
		if x.Files != 4 || x.Violated != 4 || x.Check.Median <= 0 || x.Explained.Median <= 0 || x.Explained.Max < x.Explained.Median || x.Txns.Median < 2 || x.Minimal == 0 {
			t.Errorf("%+v", x)
		}
	}
	c = isohound(t, "bench", "explain", write(t, "bad.txt", lostUpdate), write(t, "good.txt", fine), "--level", "sser", "-q")
	if c.code != 0 || !strings.Contains(c.out, "1 of 2") {
		t.Errorf("exit code %d\n%s%s", c.code, c.out, c.msg)
	}
}

// TestBenchExplainMistakes: a file that cannot be read is an error, also beside a violated one, and histories are made only for levels
// that they violate. Without a violated history there are no times.
func TestBenchExplainMistakes(t *testing.T) {
	bad := write(t, "bad.txt", lostUpdate)
	for _, tc := range []struct {
		code exitCode
		args []string
	}{
		{exitData, []string{bad, "/nowhere"}},
		{exitData, []string{"/nowhere"}},
		{exitUsage, []string{bad, "-"}},
		{exitUsage, []string{"--level", "rc"}},
		{exitUsage, []string{"--level", "sser"}},
	} {
		c := isohound(t, append([]string{"bench", "explain"}, tc.args...)...)
		if c.code != int(tc.code) || strings.Count(c.msg, "\n") != 1 || strings.Contains(c.msg, "contestant") || c.out != "" {
			t.Errorf("%v: exit code %d, want %d: %s%s", tc.args, c.code, tc.code, c.out, c.msg)
		}
	}
	if c := isohound(t, "bench", "explain", write(t, "good.txt", fine), "-q"); c.code != 0 || !strings.Contains(c.out, "0 of 1") || strings.Contains(c.out, "0.0") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
}

// TestBenchReasons: tables say why there is no verdict, and do not count transactions that no check counted.
func TestBenchReasons(t *testing.T) {
	good := write(t, "good.txt", fine)
	for want, args := range map[string][]string{
		"does not judge level rc":    {good, "--level", "rc"},
		"not counted":                {good, "--max-memory", "1"},
		"it does not judge level rc": {"--doubling", "--level", "rc", "--scale", "0.0001"},
	} {
		if c := isohound(t, append([]string{"bench", "checker", "-q"}, args...)...); c.code != int(exitUnknown) || !strings.Contains(c.out, want) {
			t.Errorf("%v: exit code %d, want %q: %s%s", args, c.code, want, c.out, c.msg)
		}
	}
}

// TestBenchMistakes: each mistake has its exit code and a message with the remedy.
func TestBenchMistakes(t *testing.T) {
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"bench"}, 64, "isohound bench --help"},
		{[]string{"bench", "closures"}, 64, `there is no benchmark "closures"; there are abort-rate, checker, closure`},
		{[]string{"bench", "checker", "--quick", "--scale", "0.5"}, 64, "--quick is --scale 0.02"},
		{[]string{"bench", "checker", "--growth", "--quick", "--points", "2"}, 64, "--growth --quick is --growth --points 3"},
		{[]string{"bench", "checker", "-"}, 64, "standard input can be read once"},
		{[]string{"bench", "checker", "--contestants", "nobody"}, 64, "known are polygraph"},
		{[]string{"bench", "checker", "--growth", "x"}, 64, "or files"},
		{[]string{"bench", "checker", "--growth", "--doubling"}, 64, "give one of --growth, --doubling, --scans and --weak"},
		{[]string{"bench", "checker", "--doubling", "x"}, 64, "or files"},
		{[]string{"bench", "checker", "--against", "/nowhere"}, 64, "--against"},
		{[]string{"bench", "checker", write(t, "fine.txt", fine), "--against", "/bin/false"}, 64, "/bin/false printed no verdict (exit status 1); is it an isohound?"},
		{[]string{"bench", "checker", write(t, "fine.txt", fine), "--level", "cc"}, 2, "does not judge level cc"},
		{[]string{"bench", "closure", write(t, "untimed.txt", "s1 T1: w(x,1)\ns2 T2: r(x,1)\n"), "--level", "sser", "--max-memory", "64MiB"}, 64, "needs the begin and end"},
		{[]string{"bench", "checker", "--max-memory", "much"}, 64, "--max-memory"},
		{[]string{"bench", "checker", "--scale", "0"}, 64, "--scale"},
		{[]string{"bench", "checker", "--out", "x"}, 64, "--growth"},
		{[]string{"bench", "checker", "--points", "2"}, 64, "--growth"},
		{[]string{"bench", "checker", "--quick", "x"}, 64, "either those or files"},
		{[]string{"bench", "checker", "--seed", "2", "x"}, 64, "either those or files"},
		{[]string{"bench", "checker", "--level", "sser"}, 64, "give files"},
		{[]string{"bench", "checker", "/nowhere"}, 65, "/nowhere"},
		{[]string{"bench", "checker", "--growth", "--out", "/proc/isohound"}, 74, "--out"},
		{[]string{"bench", "checker", write(t, "fine.txt", fine), "--contestants", "paper, polygraph,paper"}, 64, "--contestants: paper stands there twice"},
	} {
		args := append(tc.args, "--contestants", "polygraph")
		if slices.Contains(tc.args, "--contestants") || len(tc.args) == 1 || tc.args[1] != "checker" {
			args = tc.args
		}
		if c := isohound(t, args...); c.code != tc.code || !strings.Contains(c.msg, tc.want) {
			t.Errorf("%v: exit code %d, want %d and %q\n%s", tc.args, c.code, tc.code, tc.want, c.msg)
		}
	}
}

// TestBaseline: the baseline engine finds a violation without a counterexample, so another
// engine's is shown. With --certify the verdict is then unknown.
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
