package single

import (
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/history"
)

// TestLarge compares the answers about a large transaction with those of a scan.
func TestLarge(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		sym := history.NewSymbols()
		b := history.NewBuilder(history.Header{}, sym, 2)
		for i := range 2 {
			rec := history.Record{ID: int64(i), Session: int64(i), Begin: history.NoTime, End: history.NoTime, Due: history.NoTime, Status: history.Committed}
			for range large + rng.IntN(100) {
				op := history.Op{Kind: history.Read, Key: sym.Key(string(rune('a' + rng.IntN(4)))), Value: sym.Int(rng.Int64N(6))}
				if rng.IntN(2) == 0 {
					op.Kind = history.Write
				}
				rec.Ops = append(rec.Ops, op)
			}
			if err := b.Add(&rec); err != nil {
				t.Fatal(err)
			}
		}
		c := NewCollector(b.Done(true, nil))
		for range 20 {
			i := int32(rng.IntN(2))
			ops := c.h.Ops(&c.h.Txns[i])
			j := rng.IntN(len(ops))
			if got, want := c.lastWrite(i, j, ops[j].Key), LastWrite(ops[:j], ops[j].Key); got != want {
				t.Errorf("the last write before %d is %d, not %d", j, got, want)
			}
			want := -1
			for k, op := range ops[:j] {
				if op.Kind == history.Write && op.Key == ops[j].Key && op.Value == ops[j].Value {
					want = k
				}
			}
			if got := c.lastOfValue(i, j, ops[j]); got != want {
				t.Errorf("the last write of the value before %d is %d, not %d", j, got, want)
			}
			if ops[j].Kind == history.Read {
				if got, want := c.writtenLater(i, j), writtenLater(ops, j); got != want {
					t.Errorf("what %d read is written in %d, not %d", j, got, want)
				}
			}
		}
	}
}
