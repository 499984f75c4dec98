//go:build !front

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/results/pages"
	"github.com/isohound/isohound/workloads/fromfile"
)

// reproOf prepares the reproduction folder of a run.
func reproOf(c *results.Config, attach []string) *results.Repro {
	return &results.Repro{Program: program(), Command: c.Command, DSN: c.DSN, Attach: attach, WorkloadWord: commandLine(c.Workload)}
}

// keepWorkload writes the file of the workload into the folder of the run, so that the run can be repeated when
// the file has changed.
func (s *settings) keepWorkload(dir string) error {
	if s.workloadFile == nil {
		return nil
	}
	return withCode(exitIO, errors.WithStack(os.WriteFile(filepath.Join(dir, results.WorkloadFile), s.workloadFile, 0o644)))
}

// sameWorkload fails if the file of the workload has changed since the run in dir began.
func (s *settings) sameWorkload(dir string) error {
	if s.workloadFile == nil {
		return nil
	}
	path := filepath.Join(dir, results.WorkloadFile)
	kept, err := results.ReadFile(path)
	if err != nil {
		return withCode(exitIO, errors.Wrap(err, "--resume"))
	}
	if !bytes.Equal(kept, s.workloadFile) {
		return usage("--resume: --workload %s has changed since the run began; --workload file=%s is what it was", s.workload, path)
	}
	return nil
}

// keptWorkload returns a workload, or the file that the run in dir has kept of it if the workload was read from what is no regular
// file any more, such as a pipe.
func keptWorkload(dir, workload string) string {
	path, described := strings.CutPrefix(workload, fromfile.Kind+"=")
	if !described || regular(path) && !descriptor(path) || !regular(filepath.Join(dir, results.WorkloadFile)) {
		return workload
	}
	return fromfile.Kind + "=" + filepath.Join(dir, results.WorkloadFile)
}

// descriptor reports whether a path names an open file of the process that uses it, which another process does not have.
func descriptor(path string) bool {
	path = filepath.Clean(path)
	return path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
}

func regular(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// save writes the results of a run. It tries everything, and returns the first error.
func (a *app) save(dir string, run *results.Run, p *results.Repro, o *runOptions) (report string, err error) {
	var errs [3]error
	if run.Violated() {
		var missing []string
		missing, errs[1] = results.SaveRepro(dir, run, p)
		for _, m := range missing {
			fmt.Fprintf(a.msg, "isohound: --attach: %s\n", m)
		}
	}
	report, errs[0] = results.Save(dir, run, pages.Draw)
	errs[2] = appendSummary(o.summary, func() string { return results.RunSummary(run, run.Violated()) })
	for _, e := range errs {
		if e != nil {
			return report, withCode(exitIO, errors.Wrap(e, "cannot write the results"))
		}
	}
	return report, nil
}
