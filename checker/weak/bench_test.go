package weak_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

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
	for _, sessions := range []int{1, 10, 100, 1000} {
		bench(b, general(200_000, sessions, 10_000, 0.2), fmt.Sprintf("sessions=%d", sessions))
	}
}

// BenchmarkGrowth judges up to four million transactions.
func BenchmarkGrowth(b *testing.B) {
	for _, txns := range []int{500_000, 1_000_000, 2_000_000, 4_000_000} {
		bench(b, general(txns, 20, 10_000, 0.2), fmt.Sprintf("txns=%d", txns))
	}
}

func bench(b *testing.B, h *history.History, name string) {
	for _, lvl := range (weak.Engine{}).Levels() {
		b.Run(name+"/"+lvl.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := weak.Engine{}.Judge(context.Background(), h, lvl, engine.Options{})
				if err != nil || r.Verdict != verdict.Satisfied {
					b.Fatal(r, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(h.Txns)), "ns/txn")
		})
	}
}

// general makes a history of transactions of four reads and four blind writes. Each session has a copy of
// the data, and before a transaction, with the given probability, catches up with another session. Of the
// versions that it has, a key's latest one is read. So the history is causally consistent.
func general(txns, sessions, keys int, sync float64) *history.History {
	type version struct {
		value   history.Value
		session int
		number  int32
	}
	rng := rand.New(rand.NewPCG(1, 2))
	sym := history.NewSymbols()
	sym.DefaultInitial = sym.Int(0)
	for k := range keys {
		sym.Key(strconv.Itoa(k))
	}
	b := history.NewBuilder(history.Header{}, sym, txns)
	versions := make([][]version, keys)
	has := make([][]int32, sessions) // by session: how many transactions it has of each session
	for s := range has {
		has[s] = make([]int32, sessions)
	}
	for i := range txns {
		s := rng.IntN(sessions)
		mine := has[s]
		if sync < 1 && rng.Float64() < sync {
			for n, number := range has[rng.IntN(sessions)] {
				mine[n] = max(mine[n], number)
			}
		}
		rec := history.Record{ID: int64(i), Session: int64(s), Begin: history.NoTime, End: history.NoTime, Due: history.NoTime, Status: history.Committed}
		for range 4 {
			k := rng.IntN(keys)
			op := history.Op{Kind: history.Read, Key: history.Key(k), Value: sym.Int(0)}
			for n := len(versions[k]) - 1; n >= 0; n-- {
				if v := versions[k][n]; sync == 1 || v.number <= mine[v.session] {
					op.Value = v.value
					break
				}
			}
			rec.Ops = append(rec.Ops, op)
		}
		mine[s]++
		for n := range 4 {
			k := rng.IntN(keys)
			v := version{sym.Int(int64(4*i + n + 1)), s, mine[s]}
			versions[k] = append(versions[k], v)
			rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: history.Key(k), Value: v.value})
		}
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	return b.Done(true, nil)
}
