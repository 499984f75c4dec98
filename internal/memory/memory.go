// Package memory returns the current and the peak memory of the process, and how much more it
// can get.
package memory

import (
	"bytes"
	"io/fs"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
)

// system is the root of the system's files.
var system = os.DirFS("/")

// Resident returns the current memory of the process, in bytes.
func Resident() int64 {
	if b, err := os.ReadFile("/proc/self/statm"); err == nil { // called every few milliseconds, so fs.FS is avoided
		if f := bytes.Fields(b); len(f) > 1 {
			if pages, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
				return pages * int64(os.Getpagesize())
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}

// InUse returns the memory of the heap that was in use at the latest garbage collection, in bytes. It is 0 before the first one.
func InUse() int64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// ResetPeak resets the peak, if the kernel supports it, so that each of several tasks gets its
// own peak.
func ResetPeak() {
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// Peak returns the peak memory of the process, in bytes; 0 if the system does not report it.
func Peak() int64 {
	if n := field(system, "proc/self/status", "VmHWM:"); n > 0 {
		return n << 10
	}
	return usage()
}

// field returns the figure that follows a name in a file, or 0.
func field(system fs.FS, path, name string) int64 {
	b, err := fs.ReadFile(system, path)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(b) {
		if f := bytes.Fields(line); len(f) > 1 && string(f[0]) == name {
			n, _ := strconv.ParseInt(string(f[1]), 10, 64)
			return n
		}
	}
	return 0
}
