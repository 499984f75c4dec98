//go:build !front

package cli

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// syncFile brings a file or a folder to the disk. Tests replace it.
var syncFile = (*os.File).Sync

// syncHistory brings a file that is complete to the disk, with its name.
func syncHistory(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0) // Windows syncs only what may be written
	if err != nil {
		return err
	}
	err = syncFile(f)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) { // a file system that has nothing to bring anywhere
		err = nil
	}
	if err := firstError(err, f.Close()); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	_ = syncFile(dir) // not all systems can sync a folder
	return dir.Close()
}
