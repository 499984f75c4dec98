package polygraph_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
)

// BenchmarkGeneral checks valid histories of the shapes of the VeriStrong
// paper's Figure 12, and shapes that are hard for this engine: many sessions,
// hot keys.
func BenchmarkGeneral(b *testing.B) {
	dup := func(c synth.GeneralConfig) synth.GeneralConfig {
		c.Duplicates, c.Theta, c.Values, c.Seed = 0.5, 0.5, 100, 1
		return c
	}
	for _, tc := range []struct {
		name string
		cfg  synth.GeneralConfig
	}{
		{"RH-100k", dup(synth.GeneralConfig{Sessions: 20, Txns: 100_000, Ops: 20, Keys: 50_000, Reads: 0.95})},
		{"BL-100k", dup(synth.GeneralConfig{Sessions: 20, Txns: 100_000, Ops: 20, Keys: 50_000, Reads: 0.5})},
		{"WH-100k", dup(synth.GeneralConfig{Sessions: 20, Txns: 100_000, Ops: 20, Keys: 50_000, Reads: 0.3})},
		{"sessions-1000", dup(synth.GeneralConfig{Sessions: 1000, Txns: 20_000, Ops: 10, Keys: 10_000, Reads: 0.5})},
		{"sessions-5000", dup(synth.GeneralConfig{Sessions: 5000, Txns: 5_000, Ops: 10, Keys: 5_000, Reads: 0.5})},
		{"hot", dup(synth.GeneralConfig{Sessions: 20, Txns: 100_000, Ops: 4, Keys: 10, Reads: 0.5})},
		{"million", dup(synth.GeneralConfig{Sessions: 20, Txns: 1_000_000, Ops: 8, Keys: 500_000, Reads: 0.5})},
	} {
		for _, snapshot := range []bool{false, true} {
			tc.cfg.Snapshot = snapshot
			lvl := level.SER
			if snapshot {
				lvl = level.SI
			}
			b.Run(fmt.Sprintf("%s/%s", tc.name, lvl), func(b *testing.B) {
				h := synth.General(tc.cfg)
				for b.Loop() {
					r, err := polygraph.Engine{}.Judge(context.Background(), h, lvl, engine.Options{})
					if err != nil || r.Verdict != verdict.Satisfied {
						b.Fatal(r, err)
					}
					b.ReportMetric(float64(r.Search.Conflicts), "conflicts")
					for _, s := range r.Stages {
						b.ReportMetric(s.Took.Seconds(), s.Name+"-s")
					}
				}
			})
		}
	}
}
