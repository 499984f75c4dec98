//go:build unix

package memory

import (
	"runtime"
	"syscall"
)

// usage returns the peak that getrusage reports, in bytes, or 0.
func usage() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" { // bytes there, KiB elsewhere
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}
