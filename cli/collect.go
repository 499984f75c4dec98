package cli

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// Targets of the garbage collector while histories are judged. gcPercentFirst applies until the
// first collection, whose base is 4 MB.
const gcPercent, gcPercentSmall, gcPercentFirst = 80, 400, 3200

// collect sets the target of the garbage collector. Before its first collection a process has
// little garbage and will probably end soon, so the first collection is delayed. restore
// restores the previous target.
func collect(percent int) (restore func()) {
	if collected() {
		before := debug.SetGCPercent(percent)
		return func() { debug.SetGCPercent(before) }
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

// collected reports whether a garbage collection has happened in this process.
func collected() bool {
	var s debug.GCStats
	debug.ReadGCStats(&s)
	return s.NumGC > 0
}
