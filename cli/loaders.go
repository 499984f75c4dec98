//go:build !front

package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
)

// loadProtocol is the version of loadPlan and of what load generators say to their run.
const loadProtocol = 2

// loadPlan says a load generator what its run does.
type loadPlan struct {
	Protocol    int               `json:"protocol"`
	Version     string            `json:"version"`
	Driver      string            `json:"driver"`
	Isolation   string            `json:"isolation"`
	Schema      string            `json:"schema"` // in the database
	Server      string            `json:"server"`
	Workload    string            `json:"workload"`
	Params      map[string]string `json:"params"`
	Sessions    int               `json:"sessions"`
	Txns        int               `json:"txns"`
	Keys        int64             `json:"keys"`
	Dist        string            `json:"dist"`
	Skew        float64           `json:"skew"`
	Rate        float64           `json:"rate"`
	Seed        int64             `json:"seed"`
	Retries     int               `json:"retries"`
	CallTimeout time.Duration     `json:"call_timeout_ns"`
	Patience    time.Duration     `json:"patience_ns"`
	Claims      string            `json:"claims"`
	// Loaders is how many load generators the run waits for. The rows that their sessions insert have numbers of their own.
	Loaders int `json:"loaders"`
}

// parseLoaders reads the number of load generators that a run waits for. No text is none.
func parseLoaders(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 1000 {
		return 0, usage("--loaders %s: expected the number of load generators to wait for, from 0 to 1000", text)
	}
	return n, nil
}

// checkLoaders looks whether load generators can join the run.
func (o *runOptions) checkLoaders(s *settings, levels []level.Level) error {
	if o.loaders == "" {
		return nil
	}
	for _, lvl := range levels {
		if lvl.RealTime() {
			return usage("--check %s: it needs real time, and with --loaders there is no common clock; name levels without real time, such as ser or si", lvl)
		}
	}
	switch {
	case s.lightweight:
		return usage("--loaders: workload %s is judged with real time, and load generators have no common clock", s.workload)
	case s.info.Embedded:
		return usage("--loaders: driver %s is embedded, and other processes cannot reach its database", s.driver)
	case len(s.dsns) > 1:
		return usage("--loaders: the run has %d endpoints; give it and each load generator the same one", len(s.dsns))
	}
	return nil
}

// silentLonger is how much longer than a load generator tries to reach its run, the run waits for it.
const silentLonger = 2 * time.Second

// letJoin lets load generators join the run, whose schema exists.
func (a *app) letJoin(s *settings, o *runOptions, db drivers.DB) error {
	d, ok := db.(drivers.Attacher)
	if !ok {
		return usage("--loaders: driver %s cannot be used by several processes in one run", s.driver)
	}
	plan, err := json.Marshal(&loadPlan{
		Protocol: loadProtocol, Version: version(), Driver: s.driver, Isolation: s.level.Name, Schema: d.Schema(), Server: db.Server(),
		Workload: s.workload, Params: s.values, Sessions: s.sessions, Txns: s.txns, Keys: s.keys, Dist: s.dist, Skew: s.skew, Rate: s.rate,
		Seed: s.seed, Retries: s.retries, CallTimeout: s.callTimeout, Patience: s.patience, Claims: s.claims, Loaders: s.loaders,
	})
	if err != nil {
		return errors.WithStack(err)
	}
	nudge := func() {}
	s.fleet = generator.NewFleet(generator.FleetConfig{
		Wait: s.loaders, Sessions: s.sessions, Silence: s.patience + silentLonger, Plan: plan,
		Nudge: func() { nudge() }, Note: a.outageNote(),
	})
	publish, join, err := o.away.serve(s.fleet.Handle)
	if err != nil {
		return err
	}
	nudge = publish
	fmt.Fprintf(a.msg, "load generators join with: %s --dsn ...\n", join)
	return nil
}
