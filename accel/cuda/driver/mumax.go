//go:build mumax

package driver

import (
	"fmt"
	"unsafe"

	"github.com/mumax/3/cuda/cu"
)

// Binding says how the driver is called.
const Binding = "mumax"

// DefaultLibrary is empty: with this binding the linker finds the driver.
const DefaultLibrary = ""

// Open returns the driver that the program is linked with.
func Open(path string) (Driver, error) {
	if path != "" {
		return nil, fmt.Errorf("%w: %s cannot be opened: with the build tag mumax the driver is linked in", ErrNoLibrary, path)
	}
	return linked{}, nil
}

// linked is the driver called through mumax, which panics if a call fails.
type linked struct{}

// guard turns the panic of a call into its error.
func guard(call string, f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case cu.Result:
			err = &Error{Call: call, Code: Code(r), Name: r.String()}
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

func (linked) Init() (version int, err error) {
	err = guard("cuInit", func() {
		cu.Init(0)
		version = cu.Version()
	})
	return
}

func (linked) DeviceCount() (n int, err error) {
	err = guard("cuDeviceGetCount", func() { n = cu.DeviceGetCount() })
	return
}

func (linked) DeviceName(device int) (name string, err error) {
	err = guard("cuDeviceGetName", func() { name = cu.DeviceGet(device).Name() })
	return
}

func (linked) DeviceMemory(device int) (n int64, err error) {
	err = guard("cuDeviceTotalMem", func() { n = cu.DeviceGet(device).TotalMem() })
	return
}

func (linked) Attribute(device int, a Attribute) (n int, err error) {
	err = guard("cuDeviceGetAttribute", func() { n = cu.DeviceGet(device).Attribute(cu.DeviceAttribute(a)) })
	return
}

// Retain creates a new context, because this binding does not support primary contexts.
func (linked) Retain(device int) (c Context, err error) {
	err = guard("cuCtxCreate", func() { c = Context(cu.CtxCreate(cu.CTX_SCHED_AUTO, cu.DeviceGet(device))) })
	return
}

func (linked) Release(_ int, c Context) error {
	return guard("cuCtxDestroy", func() {
		x := cu.Context(c)
		x.Destroy()
	})
}

func (linked) SetCurrent(c Context) error {
	return guard("cuCtxSetCurrent", func() { cu.Context(c).SetCurrent() })
}

func (linked) Load(ptx string) (m Module, err error) {
	err = guard("cuModuleLoadData", func() { m = Module(cu.ModuleLoadData(ptx)) })
	return
}

func (linked) Function(m Module, name string) (f Function, err error) {
	err = guard("cuModuleGetFunction", func() { f = Function(cu.Module(m).GetFunction(name)) })
	return
}

func (linked) FreeMemory() (free int64, err error) {
	err = guard("cuMemGetInfo", func() { free, _ = cu.MemGetInfo() })
	return
}

func (linked) Alloc(n int64) (p Ptr, err error) {
	err = guard("cuMemAlloc", func() { p = Ptr(cu.MemAlloc(n)) })
	return
}

func (linked) Free(p Ptr) error {
	return guard("cuMemFree", func() { cu.MemFree(cu.DevicePtr(p)) })
}

func (linked) Upload(to Ptr, from unsafe.Pointer, n int64) error {
	return guard("cuMemcpyHtoD", func() { cu.MemcpyHtoD(cu.DevicePtr(to), from, n) })
}

func (linked) Download(to unsafe.Pointer, from Ptr, n int64) error {
	return guard("cuMemcpyDtoH", func() { cu.MemcpyDtoH(to, cu.DevicePtr(from), n) })
}

func (linked) Fill(p Ptr, value byte, n int64) error {
	return guard("cuMemsetD8", func() { cu.MemsetD8(cu.DevicePtr(p), value, n) })
}

func (linked) Launch(f Function, x, y, threads int, args []uint64) error {
	at := make([]unsafe.Pointer, len(args))
	for i := range args {
		at[i] = unsafe.Pointer(&args[i])
	}
	return guard("cuLaunchKernel", func() {
		cu.LaunchKernel(cu.Function(f), x, y, 1, threads, 1, 1, 0, 0, at)
	})
}

func (linked) Synchronize() error {
	return guard("cuCtxSynchronize", cu.CtxSynchronize)
}
