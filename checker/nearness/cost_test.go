package nearness_test

import (
	"context"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/nearness"
	"github.com/isohound/isohound/drivers"
	_ "github.com/isohound/isohound/drivers/sim"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/internal/replay"
	"github.com/isohound/isohound/workloads"
	_ "github.com/isohound/isohound/workloads/mini"
)

// BenchmarkCost compares the time to measure a run of 20,000 transactions with the time to judge it with its proof.
func BenchmarkCost(b *testing.B) {
	w, err := replay.New("mini", workloads.Common{Sessions: 20, Keys: 200})
	if err != nil {
		b.Fatal(err)
	}
	d, err := drivers.Find("sim")
	if err != nil {
		b.Fatal(err)
	}
	raw, err := replay.Record(d, drivers.Config{Isolation: "serializable snapshot isolation"}, w, generator.Config{Sessions: 20, Txns: 1000, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	h, err := replay.Load(raw)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("measure", func(b *testing.B) {
		for b.Loop() {
			nearness.Measure(h)
		}
	})
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			if _, err := replay.Load(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("judge", func(b *testing.B) {
		for b.Loop() {
			if _, err := checker.Check(context.Background(), h, level.SER, checker.Options{Certify: true}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
