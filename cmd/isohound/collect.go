package main

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// Targets of the garbage collector while histories are judged; the last one
// is that until the first collection, which waits for as many times 4 MB.
const gcPercent, gcPercentSmall, gcPercentFirst = 80, 400, 3200

// collect sets the target of the garbage collector. Until its first collection a
// process has little to collect and is likely done soon, so that waits.
// restore sets the target that there was.
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

// collected reports whether garbage has been collected in this process.
func collected() bool {
	var s debug.GCStats
	debug.ReadGCStats(&s)
	return s.NumGC > 0
}
