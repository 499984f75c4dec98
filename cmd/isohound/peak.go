package main

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"syscall"
)

// resetPeak has the kernel forget the peak so far, where it can, so that each
// of several files is told its own.
func resetPeak() {
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// peakRSS returns the most memory that the process has held, in MiB.
func peakRSS() float64 {
	if b, err := os.ReadFile("/proc/self/status"); err == nil {
		if _, rest, ok := bytes.Cut(b, []byte("VmHWM:")); ok {
			if f := bytes.Fields(rest); len(f) > 0 {
				if kb, err := strconv.ParseFloat(string(f[0]), 64); err == nil {
					return kb / 1024
				}
			}
		}
	}
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" { // bytes there, KiB elsewhere
		return float64(u.Maxrss) / (1 << 20)
	}
	return float64(u.Maxrss) / 1024
}
