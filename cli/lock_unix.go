//go:build unix && !front

package cli

import (
	"os"
	"syscall"
)

// locks: files can be locked.
const locks = true

// lockFile keeps other processes out until this one ends or closes the file. It returns errBusy if another one has it.
func lockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return errBusy
	}
	return err
}
