package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/accel/cuda"
	"github.com/isohound/isohound/accel/cuda/cudatest"
	"github.com/isohound/isohound/bench"
)

// small limits the memory that a benchmark of closures uses for its bandwidth.
var small = []string{"bench", "closure", "--max-memory", "64MiB"}

func closureLines(t *testing.T, c call) []bench.ClosureMeasurement {
	t.Helper()
	var all []bench.ClosureMeasurement
	for dec := json.NewDecoder(strings.NewReader(c.out)); dec.More(); {
		var m bench.ClosureMeasurement
		if err := dec.Decode(&m); err != nil {
			t.Fatalf("%v in %s%s", err, c.out, c.msg)
		}
		all = append(all, m)
	}
	return all
}

// TestBenchClosure: every backend, including a GPU, answers on every graph, all agree, and
// existing recordings are reused.
func TestBenchClosure(t *testing.T) {
	t.Setenv(cuda.LibraryVariable, cudatest.New(t, "").Path)
	kept := filepath.Join(t.TempDir(), "h")
	args := append(slices.Clone(small), "--workloads", "BlindW-WR,TPC-C", "--sizes", "300", "--sessions", "1,n", "--level", "si", "--infer", "--repeat", "2", "--histories", kept, "--json")
	c := isohound(t, args...)
	if c.code != 0 {
		t.Fatalf("exit code %d\n%s", c.code, c.msg)
	}
	count := map[string]int{}
	for _, m := range closureLines(t, c) {
		count[m.Backend]++
		if m.Status != bench.StatusDone || m.Vertices < 2*290 || m.Txns*2 != m.Vertices || m.Edges < m.Txns || m.LongestPath < 2 ||
			m.ClosureSeconds <= 0 || m.QuestionSeconds <= 0 || m.InsertSeconds <= 0 || m.Questions != 1_000_000 || m.InsertedEdges != 100 ||
			m.Held <= 0 || m.Bound <= 0 || m.Share <= 0 || m.Moved <= 0 || m.Bandwidth <= 0 || m.OfBandwidth <= 0 || m.Speedup <= 0 || m.BothSpeedup <= 0 {
			t.Errorf("%+v", m)
		}
		if wide := m.Backend == "chains"; wide && (m.Chains < 1 || m.Sessions == 1 && m.Chains != 1) || m.Sessions == 0 && m.Level != "si-noso" {
			t.Errorf("%+v", m)
		}
	}
	for _, name := range bench.ClosureBackendNames {
		if want := 2 * 2; count[name] != want && name != bench.BitsetTwo { // workloads, sessions
			t.Errorf("%s: %d graphs, want %d", name, count[name], want)
		}
	}
	files, err := os.ReadDir(kept)
	if err != nil || len(files) != 2*2 || strings.Count(c.msg, "recorded ") != 2*2 {
		t.Errorf("%v, %d histories\n%s", err, len(files), c.msg)
	}
	args = slices.DeleteFunc(args, func(a string) bool { return a == "--json" })
	c = isohound(t, append(args, "--backends", "bitset,chains")...)
	if c.code != 0 || strings.Contains(c.msg, "recorded") || strings.Count(c.out, "TPC-C") != 2+1 || strings.Count(c.out, "| bitset ") != 4 ||
		!strings.Contains(c.out, "Bytes moved: ") || !strings.Contains(c.out, "isohound bench closure --workloads BlindW-WR,TPC-C --sizes 300") {
		t.Errorf("exit code %d\n%s%s", c.code, c.out, c.msg)
	}
}

// TestBenchClosureNoFigures: what cannot be measured is reported, and the rest is measured.
func TestBenchClosureNoFigures(t *testing.T) {
	t.Setenv(cuda.LibraryVariable, "/nowhere/libcuda.so.1")
	bad, good := write(t, "bad.txt", lostUpdate), write(t, "good.txt", fine)
	for _, tc := range []struct {
		args   []string
		code   int
		status string // of the last measurement
		want   string
	}{
		{[]string{good, "--backends", "bitset,cuda"}, 0, bench.StatusUnavailable, "no GPU: "},
		{[]string{bad, "--infer", "--backends", "chains"}, 0, bench.StatusCyclic, "a cycle"},
		{[]string{good, "--backends", "chains", "--timeout", "1ns"}, 2, bench.StatusTimeout, "not done in 1ns"},
		{[]string{good, "--backends", "bitset", "--max-memory", "8B"}, 0, bench.StatusSkipped, "the limit is 8 B"},
	} {
		c := isohound(t, append(append(slices.Clone(small), "--json", "--quiet"), tc.args...)...)
		ms := closureLines(t, c)
		if c.code != tc.code || len(ms) == 0 || ms[len(ms)-1].Status != tc.status || !strings.Contains(ms[len(ms)-1].Reason, tc.want) {
			t.Errorf("%v: exit code %d, %+v\n%s", tc.args, c.code, ms, c.msg)
		}
		c = isohound(t, append(append(slices.Clone(small), "--quiet"), tc.args...)...)
		if c.code != tc.code || !strings.Contains(c.out, tc.want) {
			t.Errorf("%v: exit code %d\n%s%s", tc.args, c.code, c.out, c.msg)
		}
	}
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--level", "lin"}, 64, "lin has no known graph"},
		{[]string{"--level", "rc"}, 64, "rc has no known graph"},
		{[]string{"--level", "sser"}, 64, "--sessions n leaves out session order"},
		{[]string{"--sizes", "many"}, 64, "such as 50k"},
		{[]string{"--sessions", "0"}, 64, "from 1 to 10000, or n"},
		{[]string{"--workloads", "nothing"}, 64, "known are BlindW-WR"},
		{[]string{"--backends", "abacus"}, 64, "known are chains, bitset"},
		{[]string{"--backends", "chains, bitset,chains"}, 64, "--backends: chains stands there twice"},
		{[]string{"--workloads", "BlindW-WH,BlindW-WH"}, 64, "--workloads: BlindW-WH stands there twice"},
		{[]string{"--sizes", "2k,2k"}, 64, "--sizes: 2k stands there twice"},
		{[]string{"--sessions", "24,n,24"}, 64, "--sessions: 24 stands there twice"},
		{[]string{"--repeat", "0"}, 64, "--repeat"},
		{[]string{"--out", "x"}, 64, "--out goes with --compact"},
		{[]string{"--compact", "--level", "ser"}, 64, "take sser or strong-si"},
		{[]string{"--compact", "--backends", "bitset"}, 64, "--compact cannot be combined with"},
		{[]string{"--compact", "--out", "/proc/isohound"}, 74, "--out"},
		{[]string{"--histories", "/proc/isohound"}, 74, "--histories"},
		{[]string{"/nowhere"}, 65, "/nowhere"},
		{[]string{write(t, "thin.txt", "s1 T1: r(x,7)\n")}, 70, "wrong by themselves"},
	} {
		if c := isohound(t, append(slices.Clone(small), tc.args...)...); c.code != tc.code || !strings.Contains(c.msg, tc.want) {
			t.Errorf("%v: exit code %d, want %d and %q\n%s", tc.args, c.code, tc.code, tc.want, c.msg)
		}
	}
}

// TestBenchCompact: every algorithm constructs and updates the closure of every graph, or
// reports why not. Table, picture and report are written.
func TestBenchCompact(t *testing.T) {
	out := filepath.Join(t.TempDir(), "c")
	c := isohound(t, append(slices.Clone(small), "--compact", "--sizes", "200", "--repeat", "1", "--timeout", "1m", "--out", out, "--json")...)
	if c.code != 0 {
		t.Fatalf("exit code %d\n%s", c.code, c.msg)
	}
	count := map[string]int{}
	for dec := json.NewDecoder(strings.NewReader(c.out)); dec.More(); {
		var p bench.CompactPoint
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		count[p.Part]++
		if p.Status != bench.StatusDone || p.Seconds < 0 || p.Bytes <= 0 || !p.Intervals || p.Part == "update" && p.Added != p.Inferred {
			t.Errorf("%+v", p)
		}
	}
	if count["construct"] != 5*8 || count["update"] != 5*9 || len(table(t, filepath.Join(out, "compact.csv"))) != 5*17 {
		t.Errorf("%v", count)
	}
	for name, begin := range map[string]string{"compact.png": "\x89PNG", "compact.svg": "<?xml", "compact.md": "# Compact and full closures"} {
		if b, err := os.ReadFile(filepath.Join(out, name)); err != nil || !strings.HasPrefix(string(b), begin) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c = isohound(t, append(slices.Clone(small), "--compact", "--sizes", "200", "--workloads", "BlindW-WH", "--timeout", "1ns", "--quiet", "--out", out)...)
	if c.code != int(exitIO) || !strings.Contains(c.msg, "results are not overwritten") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
	out = filepath.Join(t.TempDir(), "d")
	c = isohound(t, append(slices.Clone(small), "--compact", "--sizes", "200", "--workloads", "BlindW-WH", "--timeout", "1ns", "--quiet", "--out", out)...)
	report, err := os.ReadFile(filepath.Join(out, "compact.md"))
	if c.code != 0 || err != nil || strings.Count(string(report), "timeout: ") != 17 || strings.Count(string(report), "not even constructed") != 9 {
		t.Errorf("exit code %d, %v\n%s%s", c.code, err, report, c.msg)
	}
}
