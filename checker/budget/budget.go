// Package budget bounds the memory of work that is told by its context to stop.
package budget

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
)

// MemoryError is the cause of a context that ended for want of memory.
type MemoryError struct{ Limit int64 }

func (e *MemoryError) Error() string {
	return "the memory for checking, " + humanize.IBytes(uint64(e.Limit)) + ", ran out"
}

// pollEvery is how often memory is looked at: well below the time in which a
// checker can double what it holds.
const pollEvery = 10 * time.Millisecond

// Memory returns a context that ends with a *MemoryError once the process
// takes more than limit bytes, and a function that ends the watch. It makes
// the garbage collector work harder before that. A limit of 0 is none.
func Memory(ctx context.Context, limit int64) (context.Context, func()) {
	if limit <= 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, limitKey{}, limit))
	before := debug.SetMemoryLimit(limit - limit/10)
	go func() {
		tick := time.NewTicker(pollEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if Resident() > limit {
					cancel(&MemoryError{Limit: limit})
					return
				}
			}
		}
	}()
	return ctx, func() {
		debug.SetMemoryLimit(before)
		cancel(nil)
	}
}

type limitKey struct{}

// Left returns how many bytes the process may take beyond those that it takes
// now, for work under a context of Memory, and whether there is a limit at all.
func Left(ctx context.Context) (bytes int64, limited bool) {
	limit, limited := ctx.Value(limitKey{}).(int64)
	if !limited {
		return 0, false
	}
	return max(0, limit-Resident()), true
}

// Resident returns the memory that the process takes now, in bytes.
func Resident() int64 {
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
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
