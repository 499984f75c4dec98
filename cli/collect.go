package cli

import (
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/isohound/isohound/internal/memory"
)

// Targets of the garbage collector while histories are judged. gcPercentFirst applies once, until the
// next collection. The least heap at which one begins is then 128 MB.
const gcPercent, gcPercentSmall, gcPercentFirst = 80, 400, 3200

// youngHeap is below how many bytes in use a process is young.
const youngHeap = 8 << 20

// Histories of hugeFile bytes and more are judged on huge pages. A history of so many bytes is assumed to need heapPerByte
// times as many of the heap. mostHuge bytes are on huge pages at most.
const hugeFile, heapPerByte, mostHuge = 4 << 20, 8, 4 << 30

var delayed atomic.Bool // a collection has been delayed

// collect sets the target of the garbage collector. A young process has little garbage and will
// probably end soon, so its next collection is delayed, once. It judges a history of size bytes: if that is large, the heap
// gets huge pages. restore restores the previous target.
func collect(percent int, size int64) (restore func()) {
	if memory.InUse() >= youngHeap || delayed.Swap(true) {
		return collectAt(percent)
	}
	if size >= hugeFile && size != math.MaxInt64 { // which is not known
		memory.PreferHuge(min(size, mostHuge/heapPerByte) * heapPerByte)
	}
	before := debug.SetGCPercent(gcPercentFirst)
	var mu sync.Mutex
	restored := false
	runtime.AddCleanup(new(*int), func(percent int) {
		mu.Lock()
		defer mu.Unlock()
		if !restored {
			debug.SetGCPercent(percent)
		}
	}, percent)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		restored = true
		debug.SetGCPercent(before)
	}
}

// collectAt sets the target at once.
func collectAt(percent int) (restore func()) {
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}
