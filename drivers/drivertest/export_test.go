package drivertest

import "time"

// LongWait sets when a call counts as one that never returns; 0 is as usual.
func LongWait(d time.Duration) { shorterWait.Store(int64(d)) }
