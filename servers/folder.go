package servers

import (
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/internal/scratch"
)

// folder is a temporary folder of a server.
type folder struct {
	tmp  *scratch.Folder // nil before there is one
	dir  string
	disk bool // it is on a disk of its own
}

func newFolder(kind string) (folder, error) {
	f, err := scratch.New(kind)
	if err != nil {
		return folder{}, errors.WithStack(err)
	}
	return folder{tmp: f, dir: f.Path}, nil
}

// remove deletes the folder. Processes that are ending may still create files there.
func (f *folder) remove() {
	if f.tmp == nil {
		return
	}
	f.dropDisk()
	for deadline := time.Now().Add(stopTimeout); f.tmp.Remove() != nil && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
}
