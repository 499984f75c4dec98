package bench

import (
	"context"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
)

// Target is a history of a size for which the checkers are designed.
type Target struct {
	Name   string
	Config synth.GeneralConfig
}

// targets are the sizes of Figure 12 of the VeriStrong paper, ten times as many transactions,
// and shapes that are hard for the polygraph engine: many sessions, and hot keys.
var targets = []Target{
	{"95% reads", synth.GeneralConfig{Sessions: 20, Txns: 100_000, Ops: 20, Keys: 50_000, Reads: 0.95}},
	{"50% reads", synth.GeneralConfig{Sessions: 20, Txns: 100_000, Ops: 20, Keys: 50_000, Reads: 0.5}},
	{"30% reads", synth.GeneralConfig{Sessions: 20, Txns: 100_000, Ops: 20, Keys: 50_000, Reads: 0.3}},
	{"large", synth.GeneralConfig{Sessions: 20, Txns: 1_000_000, Ops: 8, Keys: 500_000, Reads: 0.5}},
	{"many sessions", synth.GeneralConfig{Sessions: 1000, Txns: 20_000, Ops: 10, Keys: 10_000, Reads: 0.5}},
	{"each its own session", synth.GeneralConfig{Sessions: 5000, Txns: 5_000, Ops: 10, Keys: 5_000, Reads: 0.5}},
	{"ten keys", synth.GeneralConfig{Sessions: 20, Txns: 100_000, Ops: 4, Keys: 10, Reads: 0.5}},
	{"contention", synth.GeneralConfig{Sessions: 50, Txns: 10_000, Ops: 8, Keys: 200, Reads: 0.5, Duplicates: 0.8, Values: 10}},
}

// duplicated adds duplicate values as in the paper, if cfg does not set them: half of the keys
// have values from among 100, drawn by a zipfian distribution of 0.5.
func duplicated(cfg synth.GeneralConfig, seed uint64) synth.GeneralConfig {
	if cfg.Values == 0 {
		cfg.Duplicates, cfg.Values = 0.5, 100
	}
	cfg.Theta, cfg.Seed = 0.5, seed
	return cfg
}

// hotKeys is the number of keys up to which a target keeps its keys, whatever the scale.
const hotKeys = 10

// Targets returns the targets, with their numbers of transactions and keys multiplied by scale,
// and also the sessions if there are many.
func Targets(scale float64, seed uint64) []Target {
	out := make([]Target, len(targets))
	for n, t := range targets {
		cfg := duplicated(t.Config, seed)
		cfg.Txns = scaled(cfg.Txns, scale)
		if cfg.Keys > hotKeys {
			cfg.Keys = scaled(cfg.Keys, scale)
		}
		if cfg.Sessions >= 1000 {
			cfg.Sessions = scaled(cfg.Sessions, scale)
		}
		out[n] = Target{t.Name, cfg}
	}
	return out
}

// Report is the measurements and the wrong verdicts.
type Report struct {
	Measurements []Measurement
	Wrong        []string
}

// Undecided counts the measurements without a verdict.
func (r *Report) Undecided() int {
	n := 0
	for _, m := range r.Measurements {
		if m.Verdict == verdict.Unknown {
			n++
		}
	}
	return n
}

// Open counts the histories and levels at which no contestant has a verdict.
func (r *Report) Open() int {
	decided := map[[2]string]bool{}
	for _, m := range r.Measurements {
		at := [2]string{m.History, m.Level}
		decided[at] = decided[at] || m.Verdict != verdict.Unknown
	}
	n := 0
	for _, yes := range decided {
		if !yes {
			n++
		}
	}
	return n
}

func (r *Report) judge(ms []Measurement, expected verdict.Verdict) {
	r.Measurements = append(r.Measurements, ms...)
	r.Wrong = append(r.Wrong, Wrong(ms, expected)...)
}

// MeasureTargets measures each target at each level.
func (c *Checker) MeasureTargets(ctx context.Context, targets []Target, levels []level.Level, contestants []Contestant, r *Report) error {
	dir, err := newFolder()
	if err != nil {
		return err
	}
	defer dir.remove()
	for _, t := range targets {
		for _, lvl := range levels {
			path, err := dir.make(t.Config, lvl)
			if err != nil {
				return err
			}
			ms, err := c.measure(ctx, t.Name, path, lvl, contestants)
			if err != nil {
				return err
			}
			r.judge(ms, verdict.Satisfied)
		}
	}
	return nil
}

// MeasureFiles measures histories whose verdict is not known.
func (c *Checker) MeasureFiles(ctx context.Context, paths []string, levels []level.Level, contestants []Contestant, r *Report) error {
	for _, path := range paths {
		for _, lvl := range levels {
			ms, err := c.measure(ctx, path, path, lvl, contestants)
			if err != nil {
				return err
			}
			r.judge(ms, verdict.Unknown)
		}
	}
	return nil
}
