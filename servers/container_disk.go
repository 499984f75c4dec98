package servers

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/servers/docker"
)

// ownDisk makes a disk for a container, and returns the arguments that put there what its image keeps in volumes. The disk is this
// machine's, so that the data outlives the processes of the container.
func (s *container) ownDisk(ctx context.Context, image string) (args []string, err error) {
	volumes, err := docker.Volumes(ctx, image)
	if err != nil {
		return nil, err
	}
	if len(volumes) == 0 {
		return nil, errors.Errorf("the image %s does not say where its data is (VOLUME), so that it cannot have a disk of its own", image)
	}
	if s.disk, err = newFolder("disk"); err != nil {
		return nil, err
	}
	if err := s.disk.ownDisk(); err != nil {
		return nil, err
	}
	for n, path := range volumes {
		dir := filepath.Join(s.disk.dir, strconv.Itoa(n))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, errors.WithStack(err)
		}
		args = append(args, "--volume", dir+":"+path)
	}
	return args, nil
}

// usesDisk returns an error if the server has written nothing to its disk.
func (s *container) usesDisk() error {
	used, err := filepath.Glob(filepath.Join(s.disk.dir, "*", "*"))
	if err == nil && len(used) == 0 {
		err = errors.New("the container has nothing on the disk that was made for it; does its daemon run on another machine?")
	}
	return err
}

// Fill leaves the container's own disk no free space, until empty is called.
func (s *container) Fill() (empty func() error, err error) { return s.disk.Fill() }

// Ended reports whether the container has ended. A daemon that does not answer says nothing.
func (s *container) Ended() bool {
	runs, err := docker.Running(context.Background(), s.id)
	return err == nil && !runs
}
