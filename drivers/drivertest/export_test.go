package drivertest

import "time"

// LongWait is longWait, for tests.
func LongWait(d time.Duration) { longWait = d }
