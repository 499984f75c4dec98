// Package cuda keeps closures on a GPU of NVIDIA's: a row of bits for every vertex
// in the device's memory. What crosses the bus is the graph, the questions and
// their answers. docs/cuda.md describes it for users.
//
// No part of CUDA is needed to build or run it, except a driver: the kernels are
// embedded as PTX, which the driver compiles for the device it finds.
package cuda

import (
	"os"
	"strconv"
	"sync/atomic"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/cuda/driver"
	"github.com/pkg/errors"
)

// Environment variables that stand in for what a Config leaves open.
const (
	// LibraryVariable names the driver's library.
	LibraryVariable = "ISOHOUND_CUDA_LIBRARY"
	// DeviceVariable is the number of the device, from 0.
	DeviceVariable = "ISOHOUND_CUDA_DEVICE"
)

// Config says which GPU is used and what happens when it cannot be. The zero
// value is good.
type Config struct {
	// Library is the driver's library; empty is what the environment says, else
	// libcuda.so.1.
	Library string
	// Device is the number of the device; 0 is what the environment says, else the
	// first one.
	Device int
	// Squaring computes closures by squaring the matrix until it stays as it is,
	// the way Cobra does (section 5 of its paper), to be compared with.
	Squaring bool
	// Fallback computes what the device cannot, because its memory is too small
	// or it got lost. Without one these are errors.
	Fallback accel.Backend
	// Warn, if set, is told in a line when Fallback takes over. It may be called
	// by any goroutine.
	Warn func(line string)
}

// Device is what is known of a GPU.
type Device struct {
	Name    string // as its maker calls it
	Binding string // how the driver is called: purego or mumax
	// Driver is the version of CUDA that the driver knows: 1000*major + 10*minor.
	Driver          int
	Major, Minor    int   // compute capability
	Multiprocessors int   // that run blocks of threads
	Memory          int64 // bytes
	// Bandwidth is how many bytes per second the memory can move at most, from
	// its clock and the width of its bus; 0 if the driver does not tell.
	Bandwidth float64
}

// Backend computes closures on one GPU.
type Backend struct {
	cfg    Config
	dev    *device
	warned atomic.Bool // that the device is lost
}

// Open finds a GPU, compiles the kernels for it, and has it prove itself on small
// random graphs. The error is one line that says what to do.
func Open(cfg Config) (*Backend, error) {
	b, err := find(cfg)
	if err != nil {
		return nil, remedy(err)
	}
	if err := b.prove(); err != nil {
		b.Close()
		return nil, remedy(err)
	}
	return b, nil
}

// find opens the GPU that a configuration and the environment name.
func find(cfg Config) (*Backend, error) {
	if cfg.Library == "" {
		cfg.Library = os.Getenv(LibraryVariable)
	}
	if text := os.Getenv(DeviceVariable); cfg.Device == 0 && text != "" {
		i, err := strconv.Atoi(text)
		if err != nil || i < 0 {
			return nil, errors.Errorf("%s is %q; it must be the number of a device, from 0", DeviceVariable, text)
		}
		cfg.Device = i
	}
	lib, err := driver.Open(cfg.Library)
	if err != nil {
		return nil, err
	}
	d, err := openDevice(lib, cfg.Device)
	if err != nil {
		return nil, err
	}
	return &Backend{cfg: cfg, dev: d}, nil
}

// Name returns cuda.
func (b *Backend) Name() string { return "cuda" }

// Device returns what is known of the GPU.
func (b *Backend) Device() Device { return b.dev.facts }

// Close gives the device back. Closures must have been closed before.
func (b *Backend) Close() { b.dev.close() }
