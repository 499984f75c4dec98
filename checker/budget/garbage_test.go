//go:build !race

package budget_test

import (
	"context"
	"runtime/debug"
	"testing"

	"github.com/isohound/isohound/checker/budget"
	"github.com/isohound/isohound/internal/memory"
)

// The race detector keeps memory of its own beside all that is allocated, also when
// that is garbage and collected.

// TestGarbage: garbage from before does not count, neither against the limit nor
// against what is left.
func TestGarbage(t *testing.T) {
	const size = 256 << 20
	// waste leaves garbage behind, and returns a limit that is passed with it and
	// kept without it.
	waste := func() budget.Limit {
		debug.FreeOSMemory()
		limit := budget.Limit{Bytes: memory.Resident() + size/2}
		litter = make([]byte, size)
		touch(litter)
		litter = nil
		if memory.Resident() < limit.Bytes {
			t.Fatal("the garbage is gone already")
		}
		return limit
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	ctx, stop := budget.Memory(t.Context(), waste())
	if err := context.Cause(ctx); err != nil {
		t.Errorf("garbage counts: %v", err)
	}
	stop()
	limit := waste()
	limit.Bytes += size
	ctx, stop = budget.Memory(t.Context(), limit)
	defer stop()
	if left, limited := budget.Left(ctx); !limited || left < size {
		t.Errorf("%d bytes are left beside garbage, want %d", left, size)
	}
}

// touch has the system give memory for b.
func touch(b []byte) {
	for i := 0; i < len(b); i += 4 << 10 {
		b[i] = 1
	}
}

// litter is what TestGarbage throws away.
var litter []byte
