package cuda

import (
	"fmt"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/cuda/driver"
	"github.com/isohound/isohound/accel/cuda/kernels"
	"github.com/pkg/errors"
)

// advice says what to do about an error of the driver.
var advice = map[driver.Code]string{
	driver.OutOfMemory:           "other programs hold the GPU's memory: see nvidia-smi",
	driver.StubLibrary:           "this libcuda is the toolkit's stub for linking: name the driver's own in " + LibraryVariable,
	driver.NoDevice:              "the driver finds no GPU: see nvidia-smi, and what CUDA_VISIBLE_DEVICES says",
	driver.InvalidDevice:         "the driver refuses the GPU: see nvidia-smi",
	driver.InvalidPTX:            "the driver cannot compile the kernels: " + newer,
	driver.UnsupportedPTXVersion: "the driver is too old for the kernels: " + newer,
	driver.NoBinaryForDevice:     "the driver cannot compile the kernels for this GPU: " + newer,
	driver.JITCompilerNotFound:   "the driver's compiler is missing: install libnvidia-ptxjitcompiler of the driver's version",
	driver.NotFound:              "the driver lost a kernel on compiling: " + newer,
	driver.SystemNotReady:        "the GPU is not ready: see whether nvidia-fabricmanager and nvidia-persistenced run",
	driver.DriverMismatch:        "the driver's library and kernel module are of different versions: restart the machine",
	driver.Unknown:               "see whether nvidia-smi works and the module nvidia_uvm is loaded",
}

const newer = "install one of CUDA " + kernels.MinCUDA + " or later"

// remedy formats one line that says why a GPU cannot be used and what to do.
func remedy(err error) error {
	if errors.Is(err, driver.ErrNoLibrary) {
		return fmt.Errorf("no GPU: %w; install NVIDIA's driver, or name its libcuda.so in %s", err, LibraryVariable)
	}
	m := (*accel.MemoryError)(nil)
	if errors.As(err, &m) {
		return fmt.Errorf("no GPU: %d MiB are needed of its memory at least, and %d MiB are free; %s", m.Need>>20, m.Limit>>20, advice[driver.OutOfMemory])
	}
	e := (*driver.Error)(nil)
	if !errors.As(err, &e) {
		return fmt.Errorf("no GPU: %w", err)
	}
	if todo := advice[e.Code]; todo != "" {
		return fmt.Errorf("no GPU: %w; %s", err, todo)
	}
	return fmt.Errorf("no GPU: %w", err)
}
