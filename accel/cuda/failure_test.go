//go:build linux

package cuda_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/bitset"
	"github.com/isohound/isohound/accel/cuda"
	"github.com/isohound/isohound/accel/cuda/cudatest"
	"github.com/isohound/isohound/accel/cuda/driver"
	"github.com/isohound/isohound/accel/cuda/kernels"
	"github.com/pkg/errors"
)

// TestNoGPU: whatever is missing, one line says what and what to do.
func TestNoGPU(t *testing.T) {
	switch driver.Binding {
	case "none": // the tag nogpu
		if _, err := cuda.Open(cuda.Config{}); err == nil || !strings.HasPrefix(err.Error(), "no GPU: this program was built") || strings.Contains(err.Error(), "install") {
			t.Errorf("a build without CUDA: %v", err)
		}
		return
	case "mumax":
		t.Skip("the driver is linked in")
	}
	for _, test := range []struct{ name, library, options, want string }{
		{"no library", "/nonexistent/libcuda.so.1", "", "install NVIDIA's driver"},
		{"another library", "libc.so.6", "", "libc.so.6 has no cu"},
		{"no device", "", "devices=0", "finds no GPU"},
		{"few devices", "", "", "there is no GPU 3: the CUDA driver finds 1"},
		{"old device", "", "major=5", "compute capability 5.5, and the kernels need 6.0"},
		{"old driver", "", "fail=cuModuleLoadData:1:222", "install one of CUDA 9.0 or later"},
		{"PTX refused", "", "fail=cuModuleLoadData:1:218", "cuModuleLoadData failed with CUDA_ERROR_INVALID_PTX (218)"},
		{"no compiler", "", "fail=cuModuleLoadData:1:221", "libnvidia-ptxjitcompiler"},
		{"kernel missing", "", "fail=cuModuleGetFunction:3:500", "lost a kernel"},
		{"stub", "", "fail=cuInit:1:34", "the toolkit's stub"},
		{"mixed versions", "", "fail=cuInit:1:803", "restart the machine"},
		{"unknown", "", "fail=cuInit:1:999", "nvidia_uvm"},
		{"context refused", "", "fail=cuDevicePrimaryCtxRetain:1:2", "see nvidia-smi"},
		{"full memory", "", "memory=65000000", "64 MiB are needed"},
		{"lost at once", "", "fail=cuLaunchKernel:2:719", "CUDA_ERROR_LAUNCH_FAILED (719)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := cuda.Config{Library: test.library}
			if cfg.Library == "" {
				cfg.Library = cudatest.New(t, test.options).Path
			}
			if test.name == "few devices" {
				t.Setenv(cuda.DeviceVariable, "3")
			}
			b, err := cuda.Open(cfg)
			if err == nil {
				b.Close()
				t.Fatal("there is a GPU")
			}
			t.Log(err)
			if line := err.Error(); !strings.HasPrefix(line, "no GPU: ") || !strings.Contains(line, test.want) || strings.Contains(line, "\n") {
				t.Errorf("%q does not say %q in one line", line, test.want)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv(cuda.LibraryVariable, cudatest.New(t, "devices=2 version=12080").Path)
	t.Setenv(cuda.DeviceVariable, "1")
	b := open(t, cuda.Config{})
	want := cuda.Device{Name: "Fake 1", Binding: "purego", Driver: 12080, Major: 7, Minor: 5, Multiprocessors: 4, Memory: 1 << 30, Bandwidth: 64e9}
	if b.Device() != want {
		t.Errorf("the device is %+v, want %+v", b.Device(), want)
	}
	t.Setenv(cuda.DeviceVariable, "first")
	if _, err := cuda.Open(cuda.Config{}); err == nil || !strings.Contains(err.Error(), cuda.DeviceVariable) {
		t.Errorf("a device that is no number: %v", err)
	}
}

// TestWrongResults: a device that computes one bit wrong is detected, in every kernel.
func TestWrongResults(t *testing.T) {
	for name := range kernels.Arguments {
		_, err := cuda.Open(cuda.Config{Library: cudatest.New(t, "wrong="+name).Path})
		if err == nil || !strings.Contains(err.Error(), "the GPU gives wrong results") {
			t.Errorf("%s computes wrong bits: %v", name, err)
		}
	}
}

// TestLittleMemory: the matrix does not fit, so the CPU computes it.
func TestLittleMemory(t *testing.T) {
	var warned []string
	cfg := cuda.Config{Library: cudatest.New(t, "memory=80000000").Path}
	alone := open(t, cfg)
	g, _ := shape{far: 100, sources: 100, vertices: 20000}.graph(rand.New(rand.NewPCG(1, 1)))
	var m *accel.MemoryError
	if _, err := alone.Closure(t.Context(), g, accel.Options{}); !errors.As(err, &m) || m.Need <= m.Limit {
		t.Errorf("without a fallback: %v", err)
	}
	if free, err := alone.FreeMemory(); err != nil || free != 80000000 || free >= alone.DeviceMemory(g) {
		t.Errorf("%d bytes are free of 80000000, and the closure takes %d: %v", free, alone.DeviceMemory(g), err)
	}
	alone.Close()
	cfg.Fallback = bitset.Backend{}
	cfg.Warn = func(line string) { warned = append(warned, line) }
	c, err := open(t, cfg).Closure(t.Context(), g, accel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if len(warned) != 1 || !strings.Contains(warned[0], "MiB are free; using bitset on the CPU instead") {
		t.Errorf("warned %q", warned)
	}
}

// TestJustEnoughMemory: a closure takes no more memory than announced.
func TestJustEnoughMemory(t *testing.T) {
	g, later := shape{chains: 24, far: 300, points: true, sources: 100, vertices: 5000}.graph(rand.New(rand.NewPCG(1, 1)))
	d := cudatest.New(t, "")
	need := open(t, cuda.Config{Library: d.Path}).DeviceMemory(g)
	b := open(t, cuda.Config{Library: cudatest.New(t, fmt.Sprint("memory=", need)).Path})
	c, err := b.Closure(t.Context(), g, accel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Insert(t.Context(), later); err != nil {
		t.Error(err)
	}
	ask(t, c, g, rand.New(rand.NewPCG(8, 8)))
}

// TestLostInTheMiddle: calls of every kind to the driver fail, early and late ones, in several ways, and the answers stay
// the same.
func TestLostInTheMiddle(t *testing.T) {
	d := cudatest.New(t, "")
	r := rand.New(rand.NewPCG(2, 2))
	g, _ := shape{chains: 4, far: 50, sources: 90, vertices: 500}.graph(r)
	s, err := accel.Sort(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	var later []accel.Edge
	for range 60 {
		p := 1 + r.Int32N(g.Len()-1)
		later = append(later, accel.Edge{From: s.Order[r.Int32N(p)], To: s.Order[p]})
	}
	first, rest := later[:len(later)/2], later[len(later)/2:]
	scenario := func(c accel.Closure) (all answers, changed []bool) {
		defer c.Close()
		for _, edges := range [][]accel.Edge{nil, first, rest} {
			if err := c.Insert(t.Context(), edges); err != nil {
				t.Fatal(err)
			}
			for v := range g.Len() {
				changed = append(changed, c.Changed(v) != 0)
				all.closing = append(all.closing, c.Reaches(min(v, g.Sources-1)/2, v))
			}
			// As many calls as for more questions, and a twentieth of the time, which the pairs of edges take.
			a := askOf(t, c, g, rand.New(rand.NewPCG(8, 8)), 100, 20)
			all.closing = append(all.closing, a.closing...)
			all.among = append(all.among, a.among...)
			all.cycles = append(all.cycles, a.cycles...)
		}
		return all, changed
	}
	truth, err := bitset.Backend{}.Closure(t.Context(), g, accel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, changed := scenario(truth)
	for call, codes := range map[string][]int{
		"cuCtxSetCurrent": {719}, "cuMemGetInfo": {719}, "cuMemAlloc": {2, 719}, "cuMemFree": {719}, "cuMemcpyHtoD": {719},
		"cuMemcpyDtoH": {719}, "cuMemsetD8": {719}, "cuLaunchKernel": {2, 719}, "cuCtxSynchronize": {719, 999},
	} {
		for i, code := range slices.Repeat(codes, 2) {
			for nth := 1; ; nth *= 4 {
				d.Set("")
				var warned []string
				b, err := cuda.Find(cuda.Config{Library: d.Path, Fallback: bitset.Backend{}, Warn: func(line string) { warned = append(warned, line) }})
				if err != nil {
					t.Fatal(err)
				}
				if i >= len(codes) {
					b.Again()
				}
				d.Set(fmt.Sprintf("fail=%s:%d:%d", call, nth, code))
				c, err := b.Closure(t.Context(), g, accel.Options{})
				if err != nil {
					t.Fatal(err)
				}
				got, news := scenario(c)
				if !got.equal(want) {
					t.Fatalf("call %d of %s fails with %d: answers differ", nth, call, code)
				}
				for i := range changed {
					if changed[i] && !news[i] {
						t.Fatalf("call %d of %s fails with %d: a change is not told of", nth, call, code)
					}
				}
				d.Set("")
				b.Close()
				if len(warned) == 0 && nth > 1 {
					break // there are not so many calls
				}
				if len(warned) != 1 || !strings.Contains(warned[0], fmt.Sprintf("(%d)", code)) && !strings.Contains(warned[0], fmt.Sprint("error ", code)) {
					t.Fatalf("call %d of %s fails with %d: warned %q", nth, call, code, warned)
				}
			}
		}
	}
}

// TestNeitherNor: without the device and the fallback, Reaches still answers, and all other
// calls return the reason.
func TestNeitherNor(t *testing.T) {
	d := cudatest.New(t, "")
	b := open(t, cuda.Config{Library: d.Path})
	g := accel.NewGraph(3, []accel.Edge{{From: 0, To: 1}})
	g.Intervals = []accel.Interval{{Begin: 1, End: 2}, {Begin: 1, End: 5}, {Begin: 3, End: 4}}
	c, err := b.Closure(t.Context(), g, accel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	d.Set("fail=cuMemcpyDtoH:1:719")
	got := []bool{c.Reaches(0, 1), c.Reaches(0, 2), c.Reaches(1, 2), c.Reaches(2, 2)}
	if !slices.Equal(got, []bool{true, true, false, true}) {
		t.Errorf("reaches %v", got)
	}
	if err := c.Insert(t.Context(), []accel.Edge{{From: 1, To: 2}}); err == nil || !strings.Contains(err.Error(), "GPU Fake 0") {
		t.Errorf("insert: %v", err)
	}
	if _, err := b.Closure(t.Context(), g, accel.Options{}); err == nil {
		t.Error("a lost device computed a closure")
	}
}
