// Package budget bounds the memory of work that stops when its context ends.
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
	// Default: this limit is the default, a share of the free memory.
	Default bool
}

// FreeShare is the percentage of the free memory that Default lets the process take, in addition to
// what it takes already. The rest is for other processes, which may grow, too.
const FreeShare = 80

// Default returns a limit that keeps the machine or the container from running out of memory. If
// the system does not tell how much is free, there is no limit.
func Default() Limit {
	free := memory.Free()
	if free == math.MaxInt64 {
		return Limit{}
	}
	return Limit{Bytes: memory.Resident() + free/100*FreeShare, Default: true}
}

// MemoryError is the cause of a context that ended because memory ran out.
type MemoryError struct{ Limit }

func (e *MemoryError) Error() string {
	text := "the memory for checking, " + humanize.IBytes(uint64(e.Bytes)) + ", ran out"
	if e.Default {
		text += "; this is the default, most of the free memory; --max-memory sets another limit"
	}
	return text
}

// pollEvery is how often the memory is checked: well below the time in which a checker can double
// its memory.
const pollEvery = 10 * time.Millisecond

// Memory returns a context that ends with a *MemoryError when the process takes more memory than
// the limit, garbage not counted. It also returns a function that ends the watch. Near the limit
// the garbage collector works harder.
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
	// The default limit was just computed; any other may already be exceeded.
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

// watch checks the memory of the process during the work.
type watch struct {
	limit Limit
	mu    sync.Mutex
	ended bool
	// pressed: the garbage collector has been given the limit; before is its limit before that.
	// Setting it stops the program for a moment, so short work does without it.
	pressed bool
	before  int64
}

// exceeded reports whether the process takes more memory than the limit. The excess may be garbage,
// for example of an earlier check. So garbage is collected first, unless there can be little of it.
// So each collection follows much allocation, and costs little in comparison.
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

// Left returns how many bytes the process may still take, for work under a context of Memory, and
// whether a limit was set explicitly. If garbage may be more than what is left, it is collected
// first.
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

// garbage returns an upper bound on the bytes that a collection can give back to the system: what
// was allocated or freed since the last one, and free memory in the heap.
func garbage() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64()+s[1].Value.Uint64()+s[2].Value.Uint64()) - int64(s[3].Value.Uint64())
}
