//go:build !front

package cli

import (
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/results/pages"
)

// paged makes the judge explain the first violated windows of a run that was recorded before. It returns a function
// that writes the page of the latest window, if that one is violated.
func (j *windowJudge) paged() (draw func() error) {
	j.explained = results.WindowPages
	var outcomes []results.Outcome
	j.finish = func(_ *history.History, o *results.Outcome) { outcomes = append(outcomes, *o) }
	return func() error {
		latest := outcomes
		outcomes = nil
		if j.latest != j.number || j.violations > results.WindowPages {
			return nil
		}
		run, err := results.Load(j.dir)
		if err == nil {
			err = results.DrawWindow(j.dir, &run.Config, j.number, latest, pages.Draw)
		}
		return withCode(exitIO, err)
	}
}
