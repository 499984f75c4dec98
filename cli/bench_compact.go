//go:build !front

package cli

import (
	"encoding/json"
	"fmt"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/bench"
)

// benchCompact runs bench closure --compact.
func (a *app) benchCompact(b *closing, r *bench.Recorder) error {
	drop, err := newFolder(&b.out, "bench")
	if err != nil {
		return err
	}
	defer drop()
	c := &bench.Compact{Histories: r, Timeout: b.timeout, MaxMemory: b.most, Seed: b.seed, Repeat: b.repeat, Progress: r.Progress}
	if err = b.refusal(benchError(c.Measure(a.work, b.specs))); err != nil && len(c.Points) == 0 {
		return err
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
