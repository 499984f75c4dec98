//go:build !front

package main

import (
	"fmt"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/results/pages"
)

// reproOf prepares the reproduction folder of a run.
func reproOf(c *results.Config, attach []string) *results.Repro {
	return &results.Repro{Command: c.Command, DSN: c.DSN, Attach: attach}
}

// minimal keeps the counterexamples of a violation. If there was no time to find one, the whole
// history is the reproduction.
func minimal(p *results.Repro, o *results.Outcome) {
	for n := range o.Anomalies {
		if c := o.Anomalies[n].Counterexample; c != nil && c.Sub != nil {
			p.Minimal(o, &o.Anomalies[n], c.Sub)
		}
	}
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
