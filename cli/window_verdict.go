//go:build !front && !embedded

package cli

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/rounds"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/remote"
	"github.com/isohound/isohound/results"
)

// windowVerdict is what a judge found.
type windowVerdict struct {
	Tested bool `json:"tested"`
	// State is what later windows have to know; nil says that this window changed nothing.
	State    *rounds.State     `json:"state,omitempty"`
	Outcomes []results.Outcome `json:"outcomes"`
	// Parts are the sub-histories of counterexamples.
	Parts []verdictPart `json:"parts,omitempty"`
}

// verdictPart is the sub-history of an anomaly of an outcome.
type verdictPart struct {
	Outcome int    `json:"outcome"`
	Anomaly int    `json:"anomaly"`
	History string `json:"history"`
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
	if err := v.join(); err != nil {
		return errors.Wrap(err, "the verdict of "+r.Judge)
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

// part takes the sub-histories out of an outcome, which JSON has not.
func (v *windowVerdict) part(outcome int) error {
	for n := range v.Outcomes[outcome].Anomalies {
		c := v.Outcomes[outcome].Anomalies[n].Counterexample
		if c == nil || c.Sub == nil {
			continue
		}
		var b bytes.Buffer
		if err := native.WritePlain(&b, c.Sub, ""); err != nil {
			return err
		}
		v.Parts = append(v.Parts, verdictPart{outcome, n, b.String()})
	}
	return nil
}

// join puts the sub-histories back.
func (v *windowVerdict) join() error {
	for _, part := range v.Parts {
		if part.Outcome >= len(v.Outcomes) || part.Anomaly >= len(v.Outcomes[part.Outcome].Anomalies) {
			return errors.Errorf("a sub-history belongs to no anomaly")
		}
		c := v.Outcomes[part.Outcome].Anomalies[part.Anomaly].Counterexample
		if c == nil {
			return errors.Errorf("a sub-history belongs to no counterexample")
		}
		src, err := native.NewReader(bytes.NewReader([]byte(part.History)), "counterexample", int64(len(part.History)))
		if err != nil {
			return err
		}
		if c.Sub, err = history.Load(context.Background(), src); err != nil {
			return err
		}
	}
	return nil
}
