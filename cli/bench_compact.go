//go:build !front

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/bench"
)

// benchCompact runs bench closure --compact.
func (a *app) benchCompact(b *closing, r *bench.Recorder) error {
	if b.out == "" {
		b.out = filepath.Join("runs", time.Now().Format("bench-20060102-150405"))
	}
	// Create the folder first, so that a failure does not come after minutes of measuring.
	if err := os.MkdirAll(b.out, 0o777); err != nil {
		return withCode(exitIO, errors.Wrap(err, "--out"))
	}
	c := &bench.Compact{Histories: r, Timeout: b.timeout, MaxMemory: b.most, Seed: b.seed, Repeat: b.repeat, Progress: r.Progress}
	err := c.Measure(a.work, b.specs)
	var failed *bench.CheckError
	if errors.As(err, &failed) {
		err = withCode(exitCode(failed.ExitCode), err)
	}
	report, serr := c.Save(b.out, b.repeatLine(), b.about())
	for i := range c.Points {
		if b.asJSON && serr == nil {
			serr = json.NewEncoder(a.out).Encode(&c.Points[i])
		}
	}
	if serr != nil {
		serr = withCode(exitIO, errors.Wrap(serr, "cannot write the results"))
	} else if !b.asJSON {
		fmt.Fprintf(a.out, "report: %s\n", report)
	}
	return a.disagree(c.Wrong, firstError(err, serr))
}
