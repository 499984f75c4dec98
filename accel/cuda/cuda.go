// Package cuda stores closures on an NVIDIA GPU: a row of bits for every vertex in the device's
// memory. Only the graph, the queries and their answers are transferred. docs/cuda.md describes
// it for users.
//
// Building needs no part of CUDA, and running it needs only the driver: the kernels are embedded
// as PTX, which the driver compiles for the device it finds.
package cuda

import (
	"os"
	"strconv"
	"sync/atomic"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/cuda/driver"
	"github.com/pkg/errors"
)

// Environment variables that supply defaults for a Config.
const (
	// LibraryVariable names the driver's library.
	LibraryVariable = "ISOHOUND_CUDA_LIBRARY"
	// DeviceVariable sets the number of the device, from 0.
	DeviceVariable = "ISOHOUND_CUDA_DEVICE"
)

// Config says which GPU is used, and what happens if it cannot be used. The zero value is valid.
type Config struct {
	// Library is the driver's library. If empty, the environment variable is used, else
	// libcuda.so.1.
	Library string
	// Device is the number of the device. If 0, the environment variable is used, else the first
	// device.
	Device int
	// Squaring computes closures by squaring the matrix until it no longer changes, as Cobra
	// does (section 5 of its paper). It is for comparisons.
	Squaring bool
	// Fallback computes what the device cannot, because its memory is too small or it was lost.
	// Without a fallback these are errors.
	Fallback accel.Backend
	// Warn, if set, gets a line when Fallback takes over. Any goroutine may call it.
	Warn func(line string)
}

// Device describes a GPU.
type Device struct {
	Name    string // the product name
	Binding string // how the driver is called: purego or mumax
	// Driver is the version of CUDA that the driver knows: 1000*major + 10*minor.
	Driver          int
	Major, Minor    int   // compute capability
	Multiprocessors int   // that run blocks of threads
	Memory          int64 // bytes
	// Bandwidth is the peak memory bandwidth in bytes per second, computed from the memory clock
	// and the bus width; 0 if the driver does not report them.
	Bandwidth float64
}

// Backend computes closures on one GPU.
type Backend struct {
	cfg    Config
	dev    *device
	warned atomic.Bool // the user was warned that the device is lost
}

// Open finds a GPU, compiles the kernels for it, and tests them on small random graphs. The
// error is one line that says what to do.
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

// find opens the GPU that the configuration and the environment select.
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

// Device returns the description of the GPU.
func (b *Backend) Device() Device { return b.dev.facts }

// Close releases the device. Closures must have been closed before.
func (b *Backend) Close() { b.dev.close() }
