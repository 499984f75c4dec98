//go:build !front && !embedded

package cli

import (
	"encoding/json"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/rounds"
	"github.com/isohound/isohound/remote"
	"github.com/isohound/isohound/results"
)

// windowVerdict is what a judge found.
type windowVerdict struct {
	Tested bool `json:"tested"`
	// State is what later windows have to know; nil says that this window changed nothing.
	State    *rounds.State     `json:"state,omitempty"`
	Outcomes []results.Outcome `json:"outcomes"`
}

// count counts the verdict of a judge on window n as if it had been found here.
func (p *published) count(path string, n int, r *remote.Result) error {
	var v windowVerdict
	if err := json.Unmarshal(r.Verdict, &v); err != nil {
		return errors.Wrap(err, "the verdict of "+r.Judge)
	}
	levels := make([]level.Level, len(v.Outcomes))
	for i := range v.Outcomes {
		var err error
		if levels[i], err = level.Parse(v.Outcomes[i].Level); err != nil {
			return errors.Wrap(err, "the verdict of "+r.Judge)
		}
	}
	j := p.w.judge
	explained := j.explains()
	j.number, j.tested = n, j.tested || v.Tested
	p.mu.Lock()
	j.digest = p.uploads[n].digest
	p.mu.Unlock()
	if v.State != nil {
		j.state = rounds.Restore(*v.State)
	}
	for i := range v.Outcomes {
		o := &v.Outcomes[i]
		o.Path = path
		if !explained {
			o.Standing = nil
			for n := range o.Anomalies {
				o.Anomalies[n].Counterexample = nil
			}
		}
		if j.finish != nil {
			j.finish(nil, o)
		}
		j.add(n, levels[i], o)
	}
	return nil
}
