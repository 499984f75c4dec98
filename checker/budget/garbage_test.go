//go:build !race

package budget_test

import (
	"context"
	"runtime/debug"
	"testing"

	"github.com/isohound/isohound/checker/budget"
	"github.com/isohound/isohound/internal/memory"
)

// The race detector allocates memory of its own for all allocations, even for garbage that was
// collected.

// TestGarbage checks that earlier garbage does not count, neither against the limit nor against
// what is left.
func TestGarbage(t *testing.T) {
	const size = 256 << 20
	// waste creates garbage, and returns a limit that is exceeded with that garbage and not without
	// it.
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

// touch makes the system allocate memory for b.
func touch(b []byte) {
	for i := 0; i < len(b); i += 4 << 10 {
		b[i] = 1
	}
}

// litter is the garbage of TestGarbage.
var litter []byte
