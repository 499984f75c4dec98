package main

import (
	"context"
	"iter"
	"math/rand"
	"strconv"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/workloads"
)

// swap is a workload whose transactions read two keys and overwrite one of them, or both.
var swap = workloads.Spec{
	Name: "swap", Summary: "reads two keys and overwrites one of them, or both", Source: "examples/workload",
	Needs: []drivers.Capability{drivers.Transactions}, Engines: []string{"linear"},
	New: func(c workloads.Common, _ workloads.Values) (generator.Workload, error) { return keys(c.Keys), nil },
}

type keys int64

// Initial yields the keys that exist at the beginning.
func (n keys) Initial() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for k := int64(0); k < int64(n) && yield(strconv.FormatInt(k, 10), 0); k++ {
		}
	}
}

// Plan returns the transactions of a session. They depend on the random numbers only, not on what was read.
func (n keys) Plan(_ int, rng *rand.Rand) generator.Plan { return plan{n, rng} }

type plan struct {
	n   keys
	rng *rand.Rand
}

func (p plan) Next() generator.Program {
	a := p.rng.Int63n(int64(p.n))
	b := (a + 1 + p.rng.Int63n(max(int64(p.n)-1, 1))) % int64(p.n)
	return txn{[]string{strconv.FormatInt(a, 10), strconv.FormatInt(b, 10)}, 1 + p.rng.Intn(2)}
}

// txn writes the first keys, with values that are unique in the run, so that a read names its writer.
type txn struct {
	keys   []string
	writes int
}

func (t txn) Run(ctx context.Context, tx *generator.Tx) error {
	for _, k := range t.keys {
		if _, _, err := tx.Read(ctx, k); err != nil {
			return err
		}
	}
	for _, k := range t.keys[:t.writes] {
		if _, err := tx.Update(ctx, k, tx.Fresh()); err != nil {
			return err
		}
	}
	return nil
}
