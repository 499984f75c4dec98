//go:build !linux

package memory

// PreferHuge does nothing on this system.
func PreferHuge(int64) {}
