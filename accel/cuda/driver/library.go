//go:build linux && (amd64 || arm64) && !mumax && !nogpu

package driver

import (
	"bytes"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Binding says how the driver is called.
const Binding = "purego"

// DefaultLibrary is the library that is opened unless the user names another.
const DefaultLibrary = "libcuda.so.1"

// library is a driver whose functions were looked up in a shared library.
type library struct {
	init, version, count, get, name, total, attribute, retain, release, setCurrent,
	load, function, info, alloc, free, upload, download, fill, launch, synchronize,
	errorName uintptr
}

// Open opens the driver's library; "" is DefaultLibrary.
func Open(path string) (Driver, error) {
	if path == "" {
		path = DefaultLibrary
	}
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoLibrary, err)
	}
	l := &library{}
	for _, f := range []struct {
		name string
		at   *uintptr
	}{
		{"cuInit", &l.init}, {"cuDriverGetVersion", &l.version},
		{"cuDeviceGetCount", &l.count}, {"cuDeviceGet", &l.get}, {"cuDeviceGetName", &l.name},
		{"cuDeviceTotalMem_v2", &l.total}, {"cuDeviceGetAttribute", &l.attribute},
		{"cuDevicePrimaryCtxRetain", &l.retain}, {"cuDevicePrimaryCtxRelease", &l.release},
		{"cuCtxSetCurrent", &l.setCurrent}, {"cuCtxSynchronize", &l.synchronize},
		{"cuModuleLoadData", &l.load}, {"cuModuleGetFunction", &l.function},
		{"cuMemGetInfo_v2", &l.info}, {"cuMemAlloc_v2", &l.alloc}, {"cuMemFree_v2", &l.free},
		{"cuMemcpyHtoD_v2", &l.upload}, {"cuMemcpyDtoH_v2", &l.download}, {"cuMemsetD8_v2", &l.fill},
		{"cuLaunchKernel", &l.launch}, {"cuGetErrorName", &l.errorName},
	} {
		if *f.at, err = purego.Dlsym(handle, f.name); err != nil {
			return nil, fmt.Errorf("%w: %s has no %s, so it is not libcuda, or it is older than CUDA 7", ErrNoLibrary, path, f.name)
		}
	}
	return l, nil
}

func (l *library) result(call string, r uintptr) error {
	code := Code(int32(r))
	if code == 0 {
		return nil
	}
	e := &Error{Call: call, Code: code}
	var name *byte
	if r, _, _ := purego.SyscallN(l.errorName, uintptr(code), uintptr(unsafe.Pointer(&name))); int32(r) == 0 && name != nil {
		e.Name = cString(name)
	}
	return e
}

// cString copies a C string.
func cString(at *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(at), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(at, n))
}

func (l *library) Init() (int, error) {
	var version int32
	r, _, _ := purego.SyscallN(l.init, 0)
	if err := l.result("cuInit", r); err != nil {
		return 0, err
	}
	r, _, _ = purego.SyscallN(l.version, uintptr(unsafe.Pointer(&version)))
	return int(version), l.result("cuDriverGetVersion", r)
}

func (l *library) DeviceCount() (int, error) {
	var n int32
	r, _, _ := purego.SyscallN(l.count, uintptr(unsafe.Pointer(&n)))
	return int(n), l.result("cuDeviceGetCount", r)
}

// device returns the driver's handle of a device.
func (l *library) device(i int) (uintptr, error) {
	var d int32
	r, _, _ := purego.SyscallN(l.get, uintptr(unsafe.Pointer(&d)), uintptr(i))
	return uintptr(d), l.result("cuDeviceGet", r)
}

func (l *library) DeviceName(device int) (string, error) {
	d, err := l.device(device)
	if err != nil {
		return "", err
	}
	name := make([]byte, 256)
	r, _, _ := purego.SyscallN(l.name, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), d)
	text, _, _ := bytes.Cut(name, []byte{0})
	return string(text), l.result("cuDeviceGetName", r)
}

func (l *library) DeviceMemory(device int) (int64, error) {
	d, err := l.device(device)
	if err != nil {
		return 0, err
	}
	var n int64
	r, _, _ := purego.SyscallN(l.total, uintptr(unsafe.Pointer(&n)), d)
	return n, l.result("cuDeviceTotalMem", r)
}

func (l *library) Attribute(device int, a Attribute) (int, error) {
	d, err := l.device(device)
	if err != nil {
		return 0, err
	}
	var n int32
	r, _, _ := purego.SyscallN(l.attribute, uintptr(unsafe.Pointer(&n)), uintptr(a), d)
	return int(n), l.result("cuDeviceGetAttribute", r)
}

func (l *library) Retain(device int) (Context, error) {
	d, err := l.device(device)
	if err != nil {
		return 0, err
	}
	var c Context
	r, _, _ := purego.SyscallN(l.retain, uintptr(unsafe.Pointer(&c)), d)
	return c, l.result("cuDevicePrimaryCtxRetain", r)
}

func (l *library) Release(device int, _ Context) error {
	d, err := l.device(device)
	if err != nil {
		return err
	}
	r, _, _ := purego.SyscallN(l.release, d)
	return l.result("cuDevicePrimaryCtxRelease", r)
}

func (l *library) SetCurrent(c Context) error {
	r, _, _ := purego.SyscallN(l.setCurrent, uintptr(c))
	return l.result("cuCtxSetCurrent", r)
}

func (l *library) Load(ptx string) (Module, error) {
	text := append([]byte(ptx), 0)
	var m Module
	r, _, _ := purego.SyscallN(l.load, uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&text[0])))
	return m, l.result("cuModuleLoadData", r)
}

func (l *library) Function(m Module, name string) (Function, error) {
	text := append([]byte(name), 0)
	var f Function
	r, _, _ := purego.SyscallN(l.function, uintptr(unsafe.Pointer(&f)), uintptr(m), uintptr(unsafe.Pointer(&text[0])))
	return f, l.result("cuModuleGetFunction", r)
}

func (l *library) FreeMemory() (int64, error) {
	var free, total int64
	r, _, _ := purego.SyscallN(l.info, uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total)))
	return free, l.result("cuMemGetInfo", r)
}

func (l *library) Alloc(n int64) (Ptr, error) {
	var p Ptr
	r, _, _ := purego.SyscallN(l.alloc, uintptr(unsafe.Pointer(&p)), uintptr(n))
	return p, l.result("cuMemAlloc", r)
}

func (l *library) Free(p Ptr) error {
	r, _, _ := purego.SyscallN(l.free, uintptr(p))
	return l.result("cuMemFree", r)
}

func (l *library) Upload(to Ptr, from unsafe.Pointer, n int64) error {
	r, _, _ := purego.SyscallN(l.upload, uintptr(to), uintptr(from), uintptr(n))
	return l.result("cuMemcpyHtoD", r)
}

func (l *library) Download(to unsafe.Pointer, from Ptr, n int64) error {
	r, _, _ := purego.SyscallN(l.download, uintptr(to), uintptr(from), uintptr(n))
	return l.result("cuMemcpyDtoH", r)
}

func (l *library) Fill(p Ptr, value byte, n int64) error {
	r, _, _ := purego.SyscallN(l.fill, uintptr(p), uintptr(value), uintptr(n))
	return l.result("cuMemsetD8", r)
}

func (l *library) Launch(f Function, x, y, threads int, args []uint64) error {
	// The driver wants an array with the address of each argument.
	var pins runtime.Pinner
	defer pins.Unpin()
	at := make([]unsafe.Pointer, len(args))
	for i := range args {
		at[i] = unsafe.Pointer(&args[i])
	}
	pins.Pin(&args[0])
	pins.Pin(&at[0])
	r, _, _ := purego.SyscallN(l.launch, uintptr(f), uintptr(x), uintptr(y), 1, uintptr(threads), 1, 1, 0, 0,
		uintptr(unsafe.Pointer(&at[0])), 0)
	return l.result("cuLaunchKernel", r)
}

func (l *library) Synchronize() error {
	r, _, _ := purego.SyscallN(l.synchronize)
	return l.result("cuCtxSynchronize", r)
}
