// Package driver wraps the calls of the CUDA driver that accel/cuda uses, about twenty, in two
// bindings. The default one opens the driver's library at run time and needs neither cgo nor
// CUDA to build. The other one, with the build tag mumax, is github.com/mumax/3/cuda/cu: it
// needs cgo, cuda.h and libcuda, and a program built with it falls under the GPLv3.
package driver

import (
	"fmt"
	"unsafe"

	"github.com/pkg/errors"
)

// Handles returned by the driver.
type (
	Ptr      uint64 // an address in the device's memory
	Context  uintptr
	Module   uintptr
	Function uintptr
)

// Driver is the CUDA driver. A context is current for an operating-system thread: calls from
// SetCurrent on need a goroutine locked to its thread. The errors of calls are *Error.
type Driver interface {
	// Init initializes the driver and returns the supported version of CUDA, as 1000*major +
	// 10*minor.
	Init() (version int, err error)
	DeviceCount() (int, error)
	DeviceName(device int) (string, error)
	// DeviceMemory returns the total memory of a device in bytes.
	DeviceMemory(device int) (int64, error)
	Attribute(device int, a Attribute) (int, error)

	// Retain opens a context of a device; Release releases it.
	Retain(device int) (Context, error)
	Release(device int, c Context) error
	SetCurrent(c Context) error

	// Load compiles PTX for the device of the current context.
	Load(ptx string) (Module, error)
	Function(m Module, name string) (Function, error)

	// FreeMemory returns the free memory of the current device in bytes.
	FreeMemory() (int64, error)
	Alloc(bytes int64) (Ptr, error)
	Free(p Ptr) error
	Upload(to Ptr, from unsafe.Pointer, bytes int64) error
	Download(to unsafe.Pointer, from Ptr, bytes int64) error
	// Fill sets all of the bytes to a value.
	Fill(p Ptr, value byte, bytes int64) error

	// Launch starts a function on x by y blocks with that many threads each. Every argument is a
	// cell of 8 bytes, of which the function uses as many as it needs.
	Launch(f Function, x, y, threads int, args []uint64) error
	// Synchronize waits until everything launched is done.
	Synchronize() error
}

// Attribute is a property of a device, by CUDA's number for it.
type Attribute int

// The attributes that accel/cuda reads.
const (
	MaxThreads      Attribute = 1  // of a block
	Multiprocessors Attribute = 16 // that run blocks
	MemoryClock     Attribute = 36 // in kHz
	BusWidth        Attribute = 37 // of the memory, in bits
	Major           Attribute = 75 // of the compute capability
	Minor           Attribute = 76
)

// Code is a CUresult.
type Code int32

// The codes that accel/cuda handles.
const (
	InvalidValue          Code = 1
	OutOfMemory           Code = 2
	StubLibrary           Code = 34
	NoDevice              Code = 100
	InvalidDevice         Code = 101
	InvalidPTX            Code = 218
	UnsupportedPTXVersion Code = 222
	NoBinaryForDevice     Code = 209
	JITCompilerNotFound   Code = 221
	NotFound              Code = 500
	IllegalAddress        Code = 700
	LaunchFailed          Code = 719
	SystemNotReady        Code = 802
	DriverMismatch        Code = 803
	Unknown               Code = 999
)

// Error is a failed call.
type Error struct {
	Call string // the driver's name for it
	Code Code
	Name string // the driver's name for it; may be empty
}

func (e *Error) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("%s failed with error %d", e.Call, e.Code)
	}
	return fmt.Sprintf("%s failed with %s (%d)", e.Call, e.Name, e.Code)
}

// ErrNoLibrary is the cause if the driver's library is missing, or is not a CUDA driver.
var ErrNoLibrary = errors.New("no CUDA driver")
