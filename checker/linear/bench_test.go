package linear_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/linear"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
)

// BenchmarkMini checks mini-transactions of 20 sessions in memory, one million and two million of
// them, and compares the verdicts. Histories simulated at snapshot isolation have write skew, so
// SER and SSER also search for a short cycle.
func BenchmarkMini(b *testing.B) {
	for _, txns := range []int{1_000_000, 2_000_000} {
		for _, snapshot := range []bool{false, true} {
			h := synth.Mini(synth.MiniConfig{Sessions: 20, Txns: txns, Keys: 200, Seed: 1, Snapshot: snapshot})
			for _, lvl := range []level.Level{level.SER, level.SI, level.SSER, level.StrongSI} {
				want := verdict.Satisfied
				if snapshot && !lvl.Snapshot() {
					want = verdict.Violated
				}
				from := "sser"
				if snapshot {
					from = "si"
				}
				b.Run(fmt.Sprintf("%s-of-%s/txns=%d", lvl, from, txns), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						r, err := linear.Engine{}.Judge(context.Background(), h, lvl, engine.Options{})
						if err != nil {
							b.Fatal(err)
						}
						if r.Verdict != want {
							b.Fatalf("%s, want %s", r.Verdict, want)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(txns), "ns/txn")
				})
			}
		}
	}
}

// BenchmarkSparse checks the same history with values that do not come from a counter, so versions
// are found by hashing.
func BenchmarkSparse(b *testing.B) {
	const txns = 1_000_000
	src := synth.Mini(synth.MiniConfig{Sessions: 20, Txns: txns, Keys: 200, Seed: 1})
	build := history.NewBuilder(src.Header, src.Symbols, txns)
	for i := range src.Txns {
		rec := src.Record(i)
		rec.Ops = slices.Clone(rec.Ops)
		for n := range rec.Ops {
			rec.Ops[n].Value *= 1_000_003
		}
		if err := build.Add(&rec); err != nil {
			b.Fatal(err)
		}
	}
	h := build.Done(true, nil)
	for _, lvl := range []level.Level{level.SER, level.SI, level.SSER} {
		b.Run(lvl.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := linear.Engine{}.Judge(context.Background(), h, lvl, engine.Options{})
				if err != nil || r.Verdict != verdict.Satisfied {
					b.Fatal(r, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/txns, "ns/txn")
		})
	}
}
