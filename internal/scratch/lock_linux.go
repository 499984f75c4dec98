package scratch

import (
	"os"
	"syscall"
)

// lock locks a folder. It returns nil if another process has locked it, or if it cannot be locked. The end of the process
// ends the lock; processes that it starts do not get it.
func lock(path string) *os.File {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		f.Close()
		return nil
	}
	return f
}

// mounted reports whether a folder is not on the disk of its parent: something was mounted over it, which the lock does not
// cover.
func mounted(path, parent string) bool {
	var a, b syscall.Stat_t
	return syscall.Lstat(path, &a) != nil || syscall.Lstat(parent, &b) != nil || a.Dev != b.Dev
}
