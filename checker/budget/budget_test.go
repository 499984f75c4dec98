package budget_test

import (
	"testing"

	"github.com/isohound/isohound/checker/budget"
)

func TestLeft(t *testing.T) {
	if left, limited := budget.Left(t.Context()); left != 0 || limited {
		t.Errorf("without a limit %d bytes are left, %v", left, limited)
	}
	const limit = 1 << 40
	ctx, stop := budget.Memory(t.Context(), limit)
	defer stop()
	left, limited := budget.Left(ctx)
	if !limited || left <= 0 || left >= limit {
		t.Errorf("of %d bytes %d are left, %v", int64(limit), left, limited)
	}
	ctx, stop = budget.Memory(ctx, 1)
	defer stop()
	if left, limited := budget.Left(ctx); left != 0 || !limited {
		t.Errorf("of one byte %d are left, %v", left, limited)
	}
}
