//go:build !front

package cli

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/pkg/errors"
	"go.yaml.in/yaml/v3"

	"github.com/isohound/isohound/catalogue"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/servers"
)

// foundTries is how many runs a scenario has to show again what one run showed.
const foundTries = 10

// scenario is the run as a scenario, without what is expected of it, or nil where there is none that can repeat it: the
// database was one that is there, or the run had something that scenarios have not, such as windows.
func (s *settings) scenario(c *results.Config) *catalogue.Scenario {
	if !s.info.Embedded && s.server == "" || s.cuts.Any() || s.workloadFile != nil || s.fenceEvery > 0 {
		return nil
	}
	x := &catalogue.Scenario{
		About: "Found by isohound run.", Driver: s.driver, DSN: s.dsns, Isolation: c.Isolation, Workload: s.workload, Params: s.values,
		Sessions: s.sessions, Txns: s.txns, Keys: c.Keys, Dist: c.Dist, Skew: c.Skew, Rate: c.Rate, Duration: catalogue.Duration(s.duration),
		CallTimeout: catalogue.Duration(s.callTimeout), Retries: &s.retries, Seed: s.seed, Faults: s.faults, Tries: foundTries,
		Sources: []string{"isohound " + c.Version + ", " + c.Started.UTC().Format(time.DateOnly) + ", on " + c.Server},
		Target:  catalogue.Target{Kind: catalogue.Embedded},
	}
	if s.server != "" && !onServer(x, s.server) {
		return nil
	}
	return x
}

// keepBase puts the run as a scenario into its configuration, for the process that judges it.
func (s *settings) keepBase(c *results.Config) error {
	x := s.scenario(c)
	if x == nil {
		return nil
	}
	text, err := x.Draft()
	c.Scenario = string(text)
	return err
}

// violatedScenario is the scenario of a violated run, nil where there is none.
func violatedScenario(run *results.Run) (*catalogue.Scenario, error) {
	c := &run.Config
	if c.Scenario == "" {
		return nil, nil
	}
	x := &catalogue.Scenario{}
	if err := yaml.Unmarshal([]byte(c.Scenario), x); err != nil {
		return nil, errors.Wrap(err, "the scenario in the configuration of the run")
	}
	x.Time = catalogue.Duration(time.Duration(math.Ceil(1+2*run.Stats.Seconds)) * time.Second)
	for n := range run.Outcomes {
		o := &run.Outcomes[n]
		if o.Verdict != verdict.Violated || len(o.Anomalies) == 0 || o.Assumes != nil {
			continue
		}
		name := o.Anomalies[0].Name
		x.Expect = append(x.Expect, catalogue.Expectation{Level: o.Level, Verdict: verdict.Violated.String(), Anomaly: name})
		if x.Title == "" {
			x.Title = fmt.Sprintf("%s on %s, %s", name, c.Server, c.Isolation)
			x.Name = strings.Trim(improper.ReplaceAllString(strings.ToLower("found-"+x.Driver+"-"+name), "-"), "-")
		}
	}
	if x.Name == "" {
		return nil, nil
	}
	return x, nil
}

var improper = regexp.MustCompile(`[^a-z0-9]+`)

// onServer names the server that a scenario starts. It returns false if scenarios cannot start such a one.
func onServer(x *catalogue.Scenario, server string) bool {
	spec, err := servers.ParseSpec(server)
	if err != nil || spec.Nodes() > 1 && spec.Params != "" || spec.Value != "" || spec.Standby() || len(x.Faults) > 0 { // faults may be about the server
		return false
	}
	x.Target = catalogue.Target{Kind: catalogue.Local, Start: spec.Kind}
	switch {
	case spec.Kind == "tidb":
		x.Target.Version = spec.Version
	case spec.Kind == "dgraph":
		x.Target.Version, x.Target.Nodes = spec.Version, spec.Nodes()
	case spec.Version != "":
		x.Target.Start += "@" + spec.Version
	}
	if !catalogue.CanStart(x.Target.Start) {
		return false
	}
	x.DSN = nil
	if spec.Params != "" {
		x.DSN = spec.DSNs("{1}")
	}
	return true
}

// keepScenario adds the scenario of a violated run to its reproduction.
func keepScenario(run *results.Run, p *results.Repro) error {
	x, err := violatedScenario(run)
	if x == nil || err != nil {
		return err
	}
	if text, err := x.YAML(); err == nil { // else scenarios cannot do what the run did
		p.Scenario, p.ScenarioFile = text, filepath.Join(results.ScenarioFolder, x.Name+".yaml")
	}
	return nil
}
