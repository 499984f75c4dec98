// Package budget bounds the memory of work that is told by its context to stop.
package budget

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/isohound/isohound/internal/memory"
)

// Limit bounds the memory of the process.
type Limit struct {
	Bytes int64 // 0 is no limit
	// Default: nobody asked for this limit; it is part of what was free.
	Default bool
}

// FreeShare is, in percent, how much of the free memory Default lets the process
// take, beyond what it takes already. The rest is for other processes, which may
// grow too.
const FreeShare = 80

// Default returns a limit that keeps the machine, or the container, from running
// out of memory. Where the system does not tell how much is free it is none.
func Default() Limit {
	free := memory.Free()
	if free == math.MaxInt64 {
		return Limit{}
	}
	return Limit{Bytes: memory.Resident() + free/100*FreeShare, Default: true}
}

// MemoryError is the cause of a context that ended for want of memory.
type MemoryError struct{ Limit }

func (e *MemoryError) Error() string {
	text := "the memory for checking, " + humanize.IBytes(uint64(e.Bytes)) + ", ran out"
	if e.Default {
		text += "; that is the default, most of what was free, and --max-memory sets another limit"
	}
	return text
}

// pollEvery is how often memory is looked at: well below the time in which a
// checker can double what it holds.
const pollEvery = 10 * time.Millisecond

// Memory returns a context that ends with a *MemoryError once the process
// takes more memory than the limit, garbage not counted, and a function that ends
// the watch. It makes the garbage collector work harder before that.
func Memory(ctx context.Context, limit Limit) (context.Context, func()) {
	if limit.Bytes <= 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, limitKey{}, limit))
	w := &watch{limit: limit}
	stop := func() {
		w.end()
		cancel(nil)
	}
	// The default limit has just been computed; any other may be passed already.
	if !limit.Default && w.exceeded() {
		cancel(&MemoryError{limit})
		return ctx, stop
	}
	go func() {
		tick := time.NewTicker(pollEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if w.exceeded() {
					cancel(&MemoryError{limit})
					return
				}
			}
		}
	}()
	return ctx, stop
}

// watch looks at the memory of the process while work goes on.
type watch struct {
	limit Limit
	mu    sync.Mutex
	ended bool
	// pressed: the garbage collector knows of the limit; before is the one that it
	// had. To tell it stops the program for a moment, which short work does without.
	pressed bool
	before  int64
}

// exceeded reports whether the process takes more memory than the limit. What is
// over it may be garbage, of an earlier check say. That is collected first, unless
// there can be little of it: so each collection follows much allocation, and costs
// little beside it.
func (w *watch) exceeded() bool {
	resident := memory.Resident()
	if resident > w.limit.Bytes/2 {
		w.press()
	}
	if resident <= w.limit.Bytes {
		return false
	}
	if garbage() < w.limit.Bytes/16 {
		return true
	}
	debug.FreeOSMemory()
	return memory.Resident() > w.limit.Bytes
}

func (w *watch) press() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.pressed && !w.ended {
		w.pressed, w.before = true, debug.SetMemoryLimit(w.limit.Bytes-w.limit.Bytes/10)
	}
}

func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended = true; w.pressed {
		w.pressed = false
		debug.SetMemoryLimit(w.before)
	}
}

type limitKey struct{}

// Left returns how many bytes the process may take beyond those that it takes
// now, for work under a context of Memory, and whether somebody has set a limit.
// Garbage is collected first where that can double what is left.
func Left(ctx context.Context) (bytes int64, limited bool) {
	limit, _ := ctx.Value(limitKey{}).(Limit)
	if limit.Bytes == 0 || limit.Default {
		return 0, false
	}
	left := limit.Bytes - memory.Resident()
	if garbage() > max(left, limit.Bytes/16) {
		debug.FreeOSMemory()
		left = limit.Bytes - memory.Resident()
	}
	return max(0, left), true
}

// garbage returns the most that a collection can give back to the system, in bytes:
// what was allocated or freed since the last one, and what no object takes.
func garbage() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64()+s[1].Value.Uint64()+s[2].Value.Uint64()) - int64(s[3].Value.Uint64())
}
