package results

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/verdict"
)

// WindowsFolder is the subfolder of a run's folder with the histories of its windows, if the run was
// cut into windows.
const WindowsFolder = "windows"

// WindowFile is the name of window n, from 1, relative to the run's folder.
func WindowFile(n int, plain bool) string {
	name := fmt.Sprintf("%06d.jsonl", n)
	if !plain {
		name += ".zst"
	}
	return filepath.Join(WindowsFolder, name)
}

// WindowFiles lists the windows that are left of the run in dir, in order. It returns none if dir is not
// the folder of a run that was cut into windows.
func WindowFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(dir, WindowsFolder))
	if os.IsNotExist(err) || err != nil && !isFolder(dir) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Wrap(err, "the windows of the run")
	}
	var files []string
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".zst"); strings.HasSuffix(name, ".jsonl") {
			files = append(files, filepath.Join(dir, WindowsFolder, e.Name()))
		}
	}
	slices.Sort(files)
	return files, nil
}

func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// Windows says how the windows of a run came out at a level.
type Windows struct {
	Satisfied int `json:"satisfied"`
	Violated  int `json:"violated"`
	Unknown   int `json:"unknown"`
	// First is the file of the first violated window, or of the first unknown one if none is violated.
	First string `json:"first,omitempty"`
}

// Total is the number of windows.
func (w *Windows) Total() int { return w.Satisfied + w.Violated + w.Unknown }

// Text describes the windows in words.
func (w *Windows) Text() string {
	text := fmt.Sprintf("%d windows: %d satisfied, %d violated, %d unknown", w.Total(), w.Satisfied, w.Violated, w.Unknown)
	if w.First != "" {
		text += "; the first one is " + w.First
	}
	return text
}

// AddWindow adds the outcome of the next window to that of the run. The run is violated if a window is,
// and satisfied if all are. Anomalies are those of the first violated window.
func (o *Outcome) AddWindow(w *Outcome) {
	first := o.Windows == nil
	if first {
		path := o.Path
		*o = *w
		o.Path, o.Windows = path, &Windows{}
	} else {
		o.Txns += w.Txns
		o.Committed += w.Committed
		o.Aborted += w.Aborted
		o.UnknownOutcome += w.UnknownOutcome
		o.Ops += w.Ops
		o.Sessions = max(o.Sessions, w.Sessions)
		o.ParseSeconds += w.ParseSeconds
		o.CheckSeconds += w.CheckSeconds
		o.PeakRSSMB = max(o.PeakRSSMB, w.PeakRSSMB)
		o.Certified = o.Certified && w.Certified
		for name, seconds := range w.Stages {
			o.Stages[name] += seconds
		}
	}
	worse := first
	switch w.Verdict {
	case verdict.Violated:
		o.Windows.Violated++
		worse = worse || o.Verdict != verdict.Violated
	case verdict.Satisfied:
		o.Windows.Satisfied++
	default:
		o.Windows.Unknown++
		worse = worse || o.Verdict == verdict.Satisfied
	}
	if !worse || w.Verdict == verdict.Satisfied {
		return
	}
	o.Verdict, o.Reason, o.FollowsFrom, o.Engine = w.Verdict, w.Reason, w.FollowsFrom, w.Engine
	o.Standing, o.Anomalies, o.Windows.First = w.Standing, w.Anomalies, w.Path
}
