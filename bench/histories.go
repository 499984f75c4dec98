package bench

import (
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/history/fit"
)

// folder holds the histories during the measurement.
type folder struct{ path string }

func newFolder() (*folder, error) {
	path, err := os.MkdirTemp("", "isohound-bench-")
	return &folder{path}, errors.WithStack(err)
}

func (f *folder) remove() { os.RemoveAll(f.path) }

// make writes a valid history for a level, in dbcop's binary format, which is the fastest to
// read, and returns its path. It overwrites the previous history.
func (f *folder) make(cfg synth.GeneralConfig, lvl level.Level) (string, error) {
	cfg.Snapshot = lvl.Snapshot()
	path := filepath.Join(f.path, "history.bincode")
	err := write(path, synth.General(cfg), file.Dbcop)
	debug.FreeOSMemory() // the check may need the memory
	return path, err
}

func write(path string, h *history.History, format file.Format) error {
	if format != file.Native {
		var err error
		if h, _, _, err = fit.To(h, file.Carries(format)); err != nil {
			return err
		}
	}
	out, err := os.Create(path)
	if err != nil {
		return errors.WithStack(err)
	}
	err = file.Write(out, h, format)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return errors.WithStack(err)
}

// scaled returns n times scale, at least 1.
func scaled(n int, scale float64) int { return max(1, int(float64(n)*scale+0.5)) }
