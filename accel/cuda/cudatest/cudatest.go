//go:build linux

// Package cudatest makes a fake CUDA driver, for tests on machines without a GPU: a library
// whose device is the CPU. It runs the kernels' own source, compiled as C, or their PTX,
// translated to C instruction by instruction, with fibers as threads. An access to memory
// outside of an allocation ends the process. It cannot show how a real driver compiles the PTX,
// or how threads interleave when they run in parallel.
package cudatest

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ebitengine/purego"
	"github.com/isohound/isohound/accel/cuda/driver"
	"github.com/isohound/isohound/accel/cuda/kernels"
)

//go:embed fake
var sources embed.FS

// Driver is a fake driver. Each has its own device.
type Driver struct {
	Path      string // of the library
	configure func(options string)
	leaks     func() int64
}

// How the kernels run: from their source, or from the PTX that nvcc compiled.
type form int

const (
	source form = iota
	ptx
)

var builds [2]struct {
	once    sync.Once
	library []byte
	err     error
}

// build compiles a fake driver, once for each form.
func build(f form) ([]byte, error) {
	b := &builds[f]
	b.once.Do(func() { b.library, b.err = compile(f) })
	return b.library, b.err
}

func compile(f form) ([]byte, error) {
	dir, err := os.MkdirTemp("", "cudatest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, from := range []embed.FS{sources, kernels.Sources} {
		if err := os.CopyFS(dir, from); err != nil {
			return nil, err
		}
	}
	args := []string{"-x", "c", "-std=gnu11", "-O2", "-Wall", "-Wno-unknown-pragmas", "-Wno-unused", "-DISOHOUND_CPU", "-Ifake", "-I.",
		"-shared", "-fPIC", "-fvisibility=hidden", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error",
		"-o", "libcuda.so.1", "fake/driver.c", "-lpthread"}
	if f == ptx {
		text, err := translate(kernels.PTX)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, "ptx.c"), []byte(text), 0o644); err != nil {
			return nil, err
		}
		args = append([]string{"-DISOHOUND_PTX"}, args...)
	}
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	cmd := exec.Command(cc, args...)
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, output)
	}
	return os.ReadFile(filepath.Join(dir, "libcuda.so.1"))
}

// New makes a fake driver that runs the kernels' source. The options are described in
// fake/driver.c. New skips the test if there is no C compiler or if the driver is linked into
// the program.
func New(t testing.TB, options string) *Driver { return start(t, source, options) }

// NewPTX makes a fake driver that runs the kernels' PTX.
func NewPTX(t testing.TB, options string) *Driver { return start(t, ptx, options) }

func start(t testing.TB, f form, options string) *Driver {
	t.Helper()
	if driver.Binding != "purego" {
		t.Skipf("the stand-in for a GPU is opened at run time, which the binding %s does not", driver.Binding)
	}
	if _, err := exec.LookPath("cc"); err != nil && os.Getenv("CC") == "" {
		t.Skipf("the stand-in for a GPU needs a C compiler: %v", err)
	}
	library, err := build(f)
	if err != nil {
		t.Fatalf("building the stand-in for a GPU: %v", err)
	}
	d := &Driver{Path: filepath.Join(t.TempDir(), "libcuda.so.1")}
	if err := os.WriteFile(d.Path, library, 0o755); err != nil {
		t.Fatal(err)
	}
	handle, err := purego.Dlopen(d.Path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	purego.RegisterLibFunc(&d.configure, handle, "fake_configure")
	purego.RegisterLibFunc(&d.leaks, handle, "fake_leaks")
	d.Set(options)
	return d
}

// Set changes the options.
func (d *Driver) Set(options string) { d.configure(options) }

// Leaked returns the bytes of the device's memory that were still allocated when the device was
// released.
func (d *Driver) Leaked() int64 { return d.leaks() }
