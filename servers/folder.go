package servers

import (
	"os"
	"time"

	"github.com/pkg/errors"
)

// folder is a temporary folder of a server.
type folder struct {
	dir  string
	disk bool // it is on a disk of its own
}

func newFolder(kind string) (folder, error) {
	dir, err := os.MkdirTemp("", "isohound-"+kind+"-")
	return folder{dir: dir}, errors.WithStack(err)
}

// remove deletes the folder. Processes that are ending may still create files there.
func (f *folder) remove() {
	f.dropDisk()
	for deadline := time.Now().Add(stopTimeout); os.RemoveAll(f.dir) != nil && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
}
