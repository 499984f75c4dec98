// Package plain is shared by workloads on plain keys: its transactions are lists of reads and
// writes, fixed before they run.
package plain

import (
	"context"
	"iter"
	"math/rand"
	"strconv"
	"time"

	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/generator/dist"
)

// Key is the name of key n.
func Key(n int64) string { return "k" + strconv.FormatInt(n, 10) }

// Initial yields n keys with the value 0, which no transaction writes.
func Initial(n int64) iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for k := range n {
			if !yield(Key(k), 0) {
				return
			}
		}
	}
}

// Step is one operation on one key.
type Step struct {
	Key   string
	Write bool
	// Value is the value to write; 0 means a unique value drawn when the step runs.
	Value int64
}

// Txn is a transaction of steps. It implements generator.Program.
type Txn struct {
	Steps []Step
	// Above is added to unique values, so that they are larger than all others.
	Above int64
	// Inserts says that keys may not exist: if an update finds no key, the key is inserted.
	Inserts bool
	// Think is the time to wait between two steps.
	Think time.Duration
}

// Run executes the steps in order.
func (t *Txn) Run(ctx context.Context, tx *generator.Tx) error {
	for n, s := range t.Steps {
		if n > 0 && t.Think > 0 {
			if err := tx.Pause(ctx, t.Think); err != nil {
				return err
			}
		}
		if err := t.do(ctx, tx, s); err != nil {
			return err
		}
	}
	return nil
}

func (t *Txn) do(ctx context.Context, tx *generator.Tx, s Step) error {
	if !s.Write {
		_, _, err := tx.Read(ctx, s.Key)
		return err
	}
	value := s.Value
	if value == 0 {
		value = t.Above + tx.Fresh()
	}
	found, err := tx.Update(ctx, s.Key, value)
	if err != nil || found || !t.Inserts {
		return err
	}
	return tx.Insert(ctx, s.Key, value)
}

// tries bounds how often a key that was already drawn is drawn again. Under a skewed
// distribution over few keys, the rarest may take very long to be drawn.
const tries = 16

// Distinct draws count different keys out of n; n must be at least count. If the distribution
// keeps drawing keys that are taken, the next higher free key is used.
func Distinct(d dist.Distribution, rng *rand.Rand, count int, n int64) []int64 {
	taken := make(map[int64]bool, count)
	out := make([]int64, 0, count)
	for len(out) < count {
		k := d.Next(rng)
		for i := 0; taken[k] && i < tries; i++ {
			k = d.Next(rng)
		}
		for taken[k] {
			k = (k + 1) % n
		}
		taken[k] = true
		out = append(out, k)
	}
	return out
}
