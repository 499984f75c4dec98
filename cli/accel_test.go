package cli

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/isohound/isohound/accel/cuda"
	"github.com/isohound/isohound/accel/cuda/cudatest"
)

// general makes a history that only the polygraph engine can judge.
func general(t *testing.T, sessions string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "h.jsonl")
	if c := isohound(t, "synth", "general", "--sessions", sessions, "--txns", "4", "--keys", "50", "--duplicates", "50%", "-o", path); c.code != 0 {
		t.Fatal(c.msg)
	}
	return path
}

// TestAccel: every backend gives the same verdict, and the output names the backend.
func TestAccel(t *testing.T) {
	t.Setenv(cuda.LibraryVariable, filepath.Join(t.TempDir(), "no-such-library"))
	h := general(t, "100")
	for _, tc := range []struct {
		args            []string
		backend, reason string
		warning         string
	}{
		{nil, "", " chains: ", ""},
		{[]string{"--accel", "auto"}, "", " chains: ", ""},
		{[]string{"--accel", "chains"}, "chains", "requested: chains needs up to ", ""},
		{[]string{"--accel", "bitset"}, "bitset", "requested: bitset needs up to ", ""},
		{[]string{"--accel", "cuda"}, "", "cuda is not available: no GPU: ", "isohound: backend cuda is not available: no GPU: "},
	} {
		for _, lvl := range []string{"ser", "si"} {
			c := isohound(t, append([]string{"check", h, "--level", lvl, "--json", "--quiet"}, tc.args...)...)
			if c.code != 0 || strings.Count(c.msg, "\n") != strings.Count(tc.warning, "isohound: ") || !strings.HasPrefix(c.msg, tc.warning) {
				t.Errorf("%v: exit code %d, %q", tc.args, c.code, c.msg)
			}
			a := c.outcomes(t)[0].Accel
			if a == nil || tc.backend != "" && a.Backend != tc.backend || !strings.Contains(a.Reason, tc.reason) || a.Vertices < 400 || a.Edges < 300 ||
				a.Chains < 90 || a.Bytes <= 0 || a.Seconds <= 0 {
				t.Errorf("%v at %s: %+v", tc.args, lvl, a)
			}
		}
		c := isohound(t, append([]string{"check", h, "--level", "ser", "--quiet"}, tc.args...)...)
		if told := strings.Contains(c.out, "\n  reachability: "+tc.backend); told != (tc.args != nil) {
			t.Errorf("%v: people are told %q", tc.args, c.out)
		}
	}
}

// TestAccelOnDevice uses a fake GPU.
func TestAccelOnDevice(t *testing.T) {
	h := general(t, "100")
	t.Setenv(cuda.LibraryVariable, cudatest.New(t, "").Path)
	for _, lvl := range []string{"ser", "si"} {
		c := isohound(t, "check", h, "--level", lvl, "--json", "--quiet", "--accel", "cuda")
		if c.code != 0 || c.msg != "" {
			t.Fatalf("exit code %d, %q", c.code, c.msg)
		}
		if a := c.outcomes(t)[0].Accel; a == nil || a.Backend != "cuda" || !strings.HasPrefix(a.Reason, "requested: cuda (") {
			t.Errorf("at %s: %+v", lvl, a)
		}
	}
}

func TestAccelRefused(t *testing.T) {
	h := general(t, "3")
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"check", h, "--level", "ser", "--accel", "gpu"}, `unknown backend "gpu"; known are auto, chains, bitset, cuda`},
		{[]string{"check", h, "--level", "ser", "--accel", "bitset", "--engine", "linear"}, "leave out --engine linear or --accel"},
		{[]string{"check", h, "--level", "ser", "--accel", "bitset", "--engine", "baseline"}, "leave out --engine baseline or --accel"},
		{[]string{"run", "--accel", "gpu"}, `unknown backend "gpu"`},
	} {
		if c := isohound(t, tc.args...); c.code != 64 || !strings.Contains(c.msg, tc.want) {
			t.Errorf("%v: exit code %d, %q", tc.args, c.code, c.msg)
		}
	}
	// The default is accepted with every engine.
	if c := isohound(t, "check", h, "--level", "ser", "--accel", "auto", "--engine", "baseline"); c.code != 0 {
		t.Errorf("exit code %d, %s", c.code, c.msg)
	}
}

// TestAccelRepeats: the command that repeats a run includes the backend.
func TestAccelRepeats(t *testing.T) {
	// Updates are lost, so no first guess of an execution decides.
	args := []string{"run", "--isolation", "DetectConflicts=false", "--check", "ser", "--workload", "mini", "--accel", "bitset", "--engine", "polygraph",
		"--sessions", "4", "--txns", "300", "--keys", "5", "--quiet=false", "--no-progress"}
	c := isohound(t, append(args, "--json")...)
	if !strings.Contains(c.msg, "--engine polygraph --accel bitset") || len(c.outcomes(t)) != 1 {
		t.Errorf("exit code %d, %s", c.code, c.msg)
	}
	for _, o := range c.outcomes(t) {
		if o.Accel == nil || o.Accel.Backend != "bitset" {
			t.Errorf("%+v", o.Accel)
		}
	}
	// If a guess decides, users who requested a backend are told that none ran.
	if c := isohound(t, "run", "--accel", "bitset", "--engine", "polygraph", "--sessions", "4", "--txns", "30", "--keys", "20", "--no-progress"); !strings.Contains(c.out, "\n  note: "+noReachability+"\n") {
		t.Errorf("exit code %d, %s", c.code, c.out)
	}
}

// TestAccelDeviceLost: a GPU that is lost (at first, half-way, or never; the first two dozen
// launches are its self-test) is reported in one line, and the verdict is the same.
func TestAccelDeviceLost(t *testing.T) {
	h := general(t, "100")
	t.Setenv(cuda.LibraryVariable, cudatest.New(t, "").Path)
	lost := 0
	for _, n := range []int{1, 26, 28, 34, 1000} {
		t.Setenv("ISOHOUND_FAKE_CUDA", "fail=cuLaunchKernel:"+strconv.Itoa(n)+":719")
		c := isohound(t, "check", h, "--level", "si", "--json", "--quiet", "--accel", "cuda")
		if c.code != 0 || strings.Count(c.msg, "\n") > 1 {
			t.Fatalf("lost at launch %d: exit code %d, %q", n, c.code, c.msg)
		}
		if strings.Contains(c.msg, "using another backend on the CPU instead") {
			lost++
		}
	}
	if lost == 0 {
		t.Error("the device never got lost in the middle")
	}
}
