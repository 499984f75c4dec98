package cli

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/bench"
)

// table reads a benchmark's table without its header.
func table(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

// TestBenchAbortRate: every contestant runs at every point and is judged. On Badger nothing
// violates serializability; without conflict detection the benchmark reports violations.
func TestBenchAbortRate(t *testing.T) {
	for snapshot, code := range map[string]int{"serializable": 0, "DetectConflicts=false": 1} {
		var out string
		var c call
		for range 3 { // on a busy machine transactions may hardly overlap
			out = filepath.Join(t.TempDir(), "b")
			c = isohound(t, "bench", "abort-rate", "--driver", "badger", "--snapshot", snapshot, "--points", "2", "--out", out)
			if !strings.Contains(c.msg, "vacuous") {
				break
			}
		}
		if c.code != code || code == 1 && !strings.Contains(c.msg, "GT-SI: the database broke its promise") {
			t.Errorf("%s: exit code %d\n%s", snapshot, c.code, c.msg)
		}
		rows := table(t, filepath.Join(out, "abort-rate.csv"))
		if len(rows) != 2*2*4 {
			t.Errorf("%d rows", len(rows))
		}
		for _, r := range rows {
			if verdict := r[3]; r[4] == "0" || verdict != "satisfied" && (code == 0 || !strings.HasSuffix(r[2], "-SI")) {
				t.Errorf("%v", r)
			}
		}
		for _, name := range []string{"abort-rate.png", "abort-rate.svg", "abort-rate.md"} {
			if st, err := os.Stat(filepath.Join(out, name)); err != nil || st.Size() == 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestBenchVacuous: runs that are too small are told in a line that says what to change.
func TestBenchVacuous(t *testing.T) {
	c := isohound(t, "bench", "abort-rate", "--driver", "sim", "--points", "1", "--scale", "0.1", "-q", "--out", filepath.Join(t.TempDir(), "b"))
	if c.code != int(exitVacuous) || !strings.Contains(c.msg, " of 8 runs were too small to test anything; the first is sessions = 2, GT-SI: only ") || !strings.Contains(c.msg, "raise --scale") || strings.Count(c.msg, "\n") != 1 {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
}

func TestBenchEndToEnd(t *testing.T) {
	out := filepath.Join(t.TempDir(), "b")
	c := isohound(t, "bench", "end-to-end", "--driver", "badger", "--level", "ser", "--points", "2", "--scale", "0.2", "--out", out, "--json")
	var p bench.RunPoint
	if err := json.NewDecoder(strings.NewReader(c.out)).Decode(&p); err != nil || c.code != 0 || p.CheckSeconds <= 0 || p.GenerateSeconds <= 0 || p.PeakMB <= 0 {
		t.Errorf("exit code %d, %+v, %v\n%s", c.code, p, err, c.msg)
	}
	if rows := table(t, filepath.Join(out, "end-to-end-ser.csv")); len(rows) != 3*2*2 {
		t.Errorf("%d rows", len(rows))
	}
	if c := isohound(t, "bench", "end-to-end", "--driver", "badger"); c.code != int(exitUsage) || !strings.Contains(c.msg, "promises si") {
		t.Errorf("a level that the driver does not promise: exit code %d\n%s", c.code, c.msg)
	}
}

// TestBenchHarness: both a database that does nothing and a real one are measured.
func TestBenchHarness(t *testing.T) {
	for _, args := range [][]string{{"--txns", "50"}, {"--driver", "badger", "--txns", "50", "--compress"}} {
		c := isohound(t, append([]string{"bench", "harness", "--rounds", "2", "--sessions", "4", "--json"}, args...)...)
		rounds := 0
		for dec := json.NewDecoder(strings.NewReader(c.out)); dec.More(); rounds++ {
			var r bench.HarnessRound
			if err := dec.Decode(&r); err != nil || r.Recorded <= 0 || r.Unrecorded <= 0 || r.Bytes < 4*50*50 {
				t.Errorf("%+v, %v", r, err)
			}
		}
		if rounds != 2 || c.code != 0 {
			t.Errorf("%d rounds, exit code %d\n%s", rounds, c.code, c.msg)
		}
	}
}

// TestBenchServer: benchmarks start one server for all their runs, and leave nothing of it.
func TestBenchServer(t *testing.T) {
	tmp := tempForAll(t)
	t.Setenv("TMPDIR", tmp)
	for _, args := range [][]string{
		{"abort-rate", "--server", "postgres", "--points", "1", "--scale", "0.6", "--out", filepath.Join(t.TempDir(), "b")},
		{"harness", "--server", "postgres", "--rounds", "2", "--sessions", "4", "--txns", "50"},
	} {
		c := isohound(t, append([]string{"bench"}, args...)...)
		if c.code != 0 && !strings.Contains(c.msg, "vacuous") || args[0] == "harness" && !strings.HasPrefix(c.out, "PostgreSQL") {
			t.Errorf("%v: exit code %d: %s%s", args, c.code, c.out, c.msg)
		}
		if left, _ := filepath.Glob(filepath.Join(tmp, "isohound-*")); len(left) > 0 {
			t.Errorf("%v: left behind: %v", args, left)
		}
	}
	for _, args := range [][]string{{"--server", "postgres", "--dsn", "x"}, {"--server", "postgres", "--driver", "mariadb"}, {"--server", "oracle"}} {
		if c := isohound(t, append([]string{"bench", "end-to-end"}, args...)...); c.code != int(exitUsage) || !strings.Contains(c.msg, "--server") {
			t.Errorf("%v: exit code %d: %s", args, c.code, c.msg)
		}
	}
}

// TestBenchEffectiveness: each workload has its trials at each length, and finds the defect
// without conflict detection; with conflict detection none does.
func TestBenchEffectiveness(t *testing.T) {
	for isolation, found := range map[string]string{"DetectConflicts=false": "2", "serializable": "0"} {
		out := filepath.Join(t.TempDir(), "b")
		c := isohound(t, "bench", "effectiveness", "--driver", "badger", "--isolation", isolation, "--level", "ser", "--sizes", "4,8",
			"--trials", "2", "--scale", "0.2", "--duration", "5m", "--out", out)
		rows := table(t, filepath.Join(out, "effectiveness.csv"))
		if c.code != 0 || len(rows) != 1+2+2 {
			t.Fatalf("exit code %d, %d rows\n%s", c.code, len(rows), c.msg)
		}
		for _, r := range rows {
			if r[2] != "2" || r[3] != found || r[5] != "600" {
				t.Errorf("%s: %v", isolation, r)
			}
		}
		for _, name := range []string{"effectiveness.png", "effectiveness.svg", "effectiveness.md"} {
			if st, err := os.Stat(filepath.Join(out, name)); err != nil || st.Size() == 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, args := range [][]string{{"--sizes", "4,x"}, {"--sizes", "4,8,4"}, {"--workloads", "mini,mini"}, {"--workloads", "mini,tpcc"}, {"--level", "lin"}, {"--duration", "0s"}, {"--dist", "normal"}, {"--driver", "etcd", "--dsn", "http://h/"}} {
		if c := isohound(t, append([]string{"bench", "effectiveness"}, args...)...); c.code != int(exitUsage) {
			t.Errorf("%v: exit code %d\n%s", args, c.code, c.msg)
		}
	}
	// Trials that do not end in time do not count, and none at all is no result.
	c := isohound(t, "bench", "effectiveness", "--duration", "1ms", "--workloads", "mini", "--json", "--out", filepath.Join(t.TempDir(), "b"))
	if c.code != int(exitUnknown) || !strings.Contains(c.out, `"trials":0,"found":0`) || !strings.Contains(c.msg, "mini, up to 4 operations: no trial ended within 1ms; raise --duration, or lower --scale") || strings.Contains(c.msg, "0 of 0") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
}
