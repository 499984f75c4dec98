package weak_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/checker/weak"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
)

// BenchmarkMini judges a million mini-transactions of 20 sessions.
func BenchmarkMini(b *testing.B) {
	const txns = 1_000_000
	bench(b, synth.Mini(synth.MiniConfig{Sessions: 20, Txns: txns, Keys: 200, Seed: 1}), "mini")
}

// BenchmarkGeneral judges a million transactions of four reads and four blind writes, of 20 sessions: of one
// copy of the data, and of a copy for each session that lags behind the others.
func BenchmarkGeneral(b *testing.B) {
	const txns = 1_000_000
	bench(b, general(txns, 20, 10_000, 1), "serial")
	bench(b, general(txns, 20, 10_000, 0.2), "causal")
}

// BenchmarkSessions judges transactions of up to 1000 sessions.
func BenchmarkSessions(b *testing.B) {
	for _, sessions := range []int{1, 10, 100, 300, 1000} {
		bench(b, general(200_000, sessions, 10_000, 0.2), fmt.Sprintf("sessions=%d", sessions))
	}
}

// BenchmarkGrowth judges up to four million transactions.
func BenchmarkGrowth(b *testing.B) {
	for _, txns := range []int{500_000, 1_000_000, 2_000_000, 4_000_000} {
		bench(b, general(txns, 20, 10_000, 0.2), fmt.Sprintf("txns=%d", txns))
	}
}

// processorTime returns the time that this process has used of the processors, garbage collection included. It is
// always 0 where the system does not tell.
var processorTime = func() time.Duration { return 0 }

func bench(b *testing.B, h *history.History, name string) {
	for _, lvl := range (weak.Engine{}).Levels() {
		b.Run(name+"/"+lvl.String(), func(b *testing.B) {
			b.ReportAllocs()
			begun := processorTime()
			for b.Loop() {
				r, err := weak.Engine{}.Judge(context.Background(), h, lvl, engine.Options{})
				if err != nil || r.Verdict != verdict.Satisfied {
					b.Fatal(r, err)
				}
			}
			b.ReportMetric((processorTime()-begun).Seconds()/float64(b.N), "cpu-s/op")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(h.Txns)), "ns/txn")
		})
	}
}

// general makes a history of transactions of four reads and four blind writes.
func general(txns, sessions, keys int, catchUp float64) *history.History {
	return synth.Causal(synth.CausalConfig{Sessions: sessions, Txns: txns, Keys: keys, Reads: 4, Writes: 4, CatchUp: catchUp, Seed: 1})
}
