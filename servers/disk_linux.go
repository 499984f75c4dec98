package servers

import (
	"fmt"
	"syscall"

	"github.com/pkg/errors"
)

// diskSize is the size of a server's own disk, in bytes. It takes memory only as far as it is used.
const diskSize = 2 << 30

// ownDisk puts the server's folder on a file system of its own, in memory.
func (f *folder) ownDisk() error {
	if err := syscall.Mount("tmpfs", f.dir, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, fmt.Sprintf("size=%d,mode=0700", diskSize)); err != nil {
		return errors.Wrap(err, "the server cannot have a disk of its own, which only root can make")
	}
	f.disk = true
	return nil
}

// Fill leaves the server's own disk no free space, until empty is called.
func (f *folder) Fill() (empty func() error, err error) {
	resize := func(size uint64) error {
		return syscall.Mount("", f.dir, "", syscall.MS_REMOUNT|syscall.MS_NOSUID|syscall.MS_NODEV, fmt.Sprintf("size=%d", size))
	}
	for range 100 { // what is used grows meanwhile
		var s syscall.Statfs_t
		if err = syscall.Statfs(f.dir, &s); err != nil {
			break
		}
		if err = resize((s.Blocks - s.Bfree) * uint64(s.Bsize)); err == nil {
			return func() error { return errors.WithStack(resize(diskSize)) }, nil
		}
	}
	return nil, errors.Wrap(err, "the server's disk cannot be filled")
}

// dropDisk gives the disk back.
func (f *folder) dropDisk() {
	if f.disk {
		_ = syscall.Unmount(f.dir, syscall.MNT_DETACH)
	}
}
