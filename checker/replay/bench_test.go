package replay_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/replay"
	"github.com/isohound/isohound/history"
)

// BenchmarkMisfits replays histories in which every third transaction reads what was overwritten ("stale"), or only reads,
// what nobody wrote ("thin air"): for the latter a place is looked for.
func BenchmarkMisfits(b *testing.B) {
	for _, txns := range []int{10_000, 100_000} {
		for _, thin := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/%s", txns, map[bool]string{false: "stale", true: "thin air"}[thin]), func(b *testing.B) {
				sym := history.NewSymbols()
				sym.DefaultInitial = sym.Int(0)
				x := sym.Key("x")
				builder := history.NewBuilder(history.Header{}, sym, txns)
				before, last := sym.Int(0), sym.Int(0)
				for i := range txns {
					rec := history.Record{ID: int64(i + 1), Session: int64(i % 20), Begin: history.NoTime, End: history.NoTime, Due: history.NoTime, Status: history.Committed,
						Claim: history.Claim{Commit: int64(i + 1)}}
					read := last
					if i%3 == 2 {
						read = before
					}
					before, last = last, sym.Int(int64(i+1))
					rec.Ops = []history.Op{{Kind: history.Read, Key: x, Value: read}, {Kind: history.Write, Key: x, Value: last}}
					if thin && i%3 == 2 {
						rec.Ops[0].Value, rec.Ops, rec.Claim = last, rec.Ops[:1], history.Claim{}
						last = before
					}
					if err := builder.Add(&rec); err != nil {
						b.Fatal(err)
					}
				}
				h := builder.Done(true, nil)
				for b.Loop() {
					var misfit *replay.Misfit
					if _, err := (replay.Engine{}).Judge(b.Context(), h, level.SER, engine.Options{}); !errors.As(err, &misfit) || misfit.Claim.Misfits != txns/3 {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
