package main

import (
	"context"
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
	New: func(c workloads.Common, _ workloads.Values) (generator.Workload, error) {
		return generator.Keys(c.Keys, func(rng *rand.Rand) generator.Program { return two(c.Keys, rng) }), nil
	},
}

// two draws a transaction on two of n keys. The values that it writes are unique in the run, so a read names its writer.
func two(n int64, rng *rand.Rand) generator.Program {
	first, more, writes := rng.Int63n(n), 1+rng.Int63n(max(n-1, 1)), 1+rng.Intn(2)
	keys := []string{strconv.FormatInt(first, 10), strconv.FormatInt((first+more)%n, 10)}
	return generator.ProgramFunc(func(ctx context.Context, tx *generator.Tx) error {
		for _, k := range keys {
			if _, _, err := tx.Read(ctx, k); err != nil {
				return err
			}
		}
		for _, k := range keys[:writes] {
			if _, err := tx.Update(ctx, k, tx.Fresh()); err != nil {
				return err
			}
		}
		return nil
	})
}
