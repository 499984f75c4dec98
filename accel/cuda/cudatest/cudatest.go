// Package cudatest makes a stand-in for the CUDA driver, for tests on machines
// without a GPU: a library whose device is the CPU. It runs the kernels' own
// source, compiled as C, with fibers as threads; memory that is touched outside of
// what was allocated ends the process. What it cannot show is that the PTX, which
// it only looks for names in, does the same as the source.
package cudatest

import (
	"embed"
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

// Driver is a stand-in. Each has a device of its own.
type Driver struct {
	Path      string // of the library
	configure func(options string)
	leaks     func() int64
}

var build = sync.OnceValues(func() (library, output []byte) {
	dir, err := os.MkdirTemp("", "cudatest")
	if err != nil {
		return nil, []byte(err.Error())
	}
	defer os.RemoveAll(dir)
	for _, from := range []embed.FS{sources, kernels.Sources} {
		if err := os.CopyFS(dir, from); err != nil {
			return nil, []byte(err.Error())
		}
	}
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	cmd := exec.Command(cc, "-x", "c", "-std=gnu11", "-O2", "-Wall", "-Wno-unknown-pragmas", "-DISOHOUND_CPU", "-Ifake",
		"-shared", "-fPIC", "-fvisibility=hidden", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error",
		"-o", "libcuda.so.1", "-I.", "fake/driver.c", "-lpthread")
	cmd.Dir = dir
	output, err = cmd.CombinedOutput()
	if err != nil {
		return nil, append(output, err.Error()...)
	}
	library, err = os.ReadFile(filepath.Join(dir, "libcuda.so.1"))
	if err != nil {
		return nil, []byte(err.Error())
	}
	return library, output
})

// New makes a stand-in, which does as its options say: see fake/driver.c. It skips the
// test where there is no C compiler or the driver is linked in.
func New(t testing.TB, options string) *Driver {
	t.Helper()
	if driver.Binding != "purego" {
		t.Skipf("the stand-in for a GPU is opened at run time, which the binding %s does not", driver.Binding)
	}
	library, output := build()
	if library == nil {
		if _, err := exec.LookPath("cc"); err != nil {
			t.Skipf("the stand-in for a GPU needs a C compiler: %v", err)
		}
		t.Fatalf("building the stand-in for a GPU: %s", output)
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

// Leaked returns the bytes of the device's memory that were still allocated when
// the device was given back.
func (d *Driver) Leaked() int64 { return d.leaks() }
