//go:build !linux

package servers

import "github.com/pkg/errors"

func (f *folder) ownDisk() error {
	return errors.New("only on Linux a server can have a disk of its own")
}

// Fill leaves the server's own disk no free space, until empty is called. Here it fails.
func (f *folder) Fill() (empty func() error, err error) { return nil, f.ownDisk() }

func (f *folder) dropDisk() {}
