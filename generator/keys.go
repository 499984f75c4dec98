package generator

import (
	"context"
	"iter"
	"math/rand"
	"strconv"
)

// ProgramFunc is a Program that is a function.
type ProgramFunc func(ctx context.Context, tx *Tx) error

// Run calls the function.
func (f ProgramFunc) Run(ctx context.Context, tx *Tx) error { return f(ctx, tx) }

// Keys returns a workload on n keys, "0", "1" and so on, which have the value 0 at the beginning. next draws a transaction of a
// session, from the random numbers of that session only, so that the same seed gives the same ones.
func Keys(n int64, next func(rng *rand.Rand) Program) Workload { return onKeys{n, next} }

type onKeys struct {
	n    int64
	next func(*rand.Rand) Program
}

func (w onKeys) Initial() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for k := int64(0); k < w.n && yield(strconv.FormatInt(k, 10), 0); k++ {
		}
	}
}

func (w onKeys) Plan(_ int, rng *rand.Rand) Plan { return drawn{w.next, rng} }

type drawn struct {
	next func(*rand.Rand) Program
	rng  *rand.Rand
}

func (d drawn) Next() Program { return d.next(d.rng) }
