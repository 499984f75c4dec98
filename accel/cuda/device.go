package cuda

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/isohound/isohound/accel/cuda/driver"
	"github.com/isohound/isohound/accel/cuda/kernels"
	"github.com/pkg/errors"
)

// device is a GPU with the kernels loaded. It serves one goroutine at a time.
type device struct {
	lib   driver.Driver
	index int
	facts Device
	// threads is the number of threads per block, for every kernel.
	threads int

	mu   sync.Mutex
	ctx  driver.Context
	fn   map[string]driver.Function
	lost error // the error that made the device permanently unusable

	piece   int64   // bytes of a query: see pieceBytes
	rows    int32   // of a chunk, at most
	panel   int32   // rows of a launch, at most
	many    float64 // edges per vertex from which an insertion computes all rows anew: see many
	scratch arena
}

func openDevice(lib driver.Driver, index int) (*device, error) {
	version, err := lib.Init()
	if err != nil {
		return nil, err
	}
	n, err := lib.DeviceCount()
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, &driver.Error{Call: "cuDeviceGetCount", Code: driver.NoDevice, Name: "CUDA_ERROR_NO_DEVICE"}
	}
	if index < 0 || index >= n {
		return nil, errors.Errorf("there is no GPU %d: the CUDA driver finds %d, counted from 0; set %s", index, n, DeviceVariable)
	}
	d := &device{lib: lib, index: index, piece: pieceBytes, rows: kernels.Rows, panel: panelRows, many: many, fn: map[string]driver.Function{}}
	d.facts = Device{Binding: driver.Binding, Driver: version}
	if err := d.ask(); err != nil {
		return nil, err
	}
	if d.facts.Major < kernels.MinMajor {
		return nil, errors.Errorf("the GPU %s has compute capability %d.%d, and the kernels need %d.0 (Pascal, 2016)",
			d.facts.Name, d.facts.Major, d.facts.Minor, kernels.MinMajor)
	}
	if d.ctx, err = lib.Retain(index); err != nil {
		return nil, err
	}
	if err := d.do(d.load); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// ask asks the driver for the properties of the device.
func (d *device) ask() (err error) {
	f := &d.facts
	if f.Name, err = d.lib.DeviceName(d.index); err != nil {
		return err
	}
	if f.Memory, err = d.lib.DeviceMemory(d.index); err != nil {
		return err
	}
	var clock, width, most int
	for a, to := range map[driver.Attribute]*int{
		driver.Major: &f.Major, driver.Minor: &f.Minor, driver.Multiprocessors: &f.Multiprocessors,
		driver.MemoryClock: &clock, driver.BusWidth: &width, driver.MaxThreads: &most,
	} {
		if *to, err = d.lib.Attribute(d.index, a); err != nil {
			return err
		}
	}
	// Each clock cycle transfers two words, because GPU memory is DDR.
	f.Bandwidth = 2 * float64(clock) * 1000 * float64(width) / 8
	d.threads = min(kernels.MaxThreads, most&^31)
	return nil
}

func (d *device) load() error {
	module, err := d.lib.Load(kernels.PTX)
	if err != nil {
		return err
	}
	for name := range kernels.Arguments {
		if d.fn[name], err = d.lib.Function(module, name); err != nil {
			return err
		}
	}
	return nil
}

// do runs f with the device's context current. After an error of the driver other than lack of
// memory the device is unusable, because CUDA errors are sticky.
func (d *device) do(f func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost != nil {
		return d.lost
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := d.lib.SetCurrent(d.ctx)
	if err == nil {
		err = f()
	}
	if e := (*driver.Error)(nil); errors.As(err, &e) && e.Code != driver.OutOfMemory {
		d.lost = err
	}
	return err
}

func (d *device) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if d.ctx != 0 {
		if d.scratch.p != 0 && d.lost == nil && d.lib.SetCurrent(d.ctx) == nil {
			d.lib.Free(d.scratch.p)
		}
		d.lib.Release(d.index, d.ctx) // a failure cannot be handled
		d.ctx, d.lost = 0, errGivenBack
	}
}

// free frees memory of a device that may be lost.
func (d *device) free(p driver.Ptr) {
	d.do(func() error { return d.lib.Free(p) })
}

// launch starts a kernel and waits for it. It must be called within do.
func (d *device) launch(name string, x, y int, args ...uint64) error {
	if len(args) != kernels.Arguments[name] {
		panic("accel/cuda: wrong number of arguments for " + name)
	}
	if x == 0 || y == 0 {
		return nil
	}
	if err := d.lib.Launch(d.fn[name], x, y, d.threads, args); err != nil {
		return errors.Wrapf(err, "kernel %s", name)
	}
	return errors.Wrapf(d.lib.Synchronize(), "kernel %s", name)
}

// fetch copies from the device into a list. It must be called within do.
func fetch[T any](d *device, list []T, from driver.Ptr) error {
	if len(list) == 0 {
		return nil
	}
	return d.lib.Download(unsafe.Pointer(&list[0]), from, int64(len(list))*int64(unsafe.Sizeof(list[0])))
}
