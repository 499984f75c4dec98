package budget_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/budget"
	"github.com/isohound/isohound/internal/memory"
)

func TestLeft(t *testing.T) {
	if left, limited := budget.Left(t.Context()); left != 0 || limited {
		t.Errorf("without a limit %d bytes are left, %v", left, limited)
	}
	const limit = 1 << 40
	ctx, stop := budget.Memory(t.Context(), budget.Limit{Bytes: limit, Default: true})
	defer stop()
	if left, limited := budget.Left(ctx); left != 0 || limited {
		t.Errorf("under a limit that nobody set %d bytes are left, %v", left, limited)
	}
	ctx, stop = budget.Memory(t.Context(), budget.Limit{Bytes: limit})
	defer stop()
	left, limited := budget.Left(ctx)
	if !limited || left <= 0 || left >= limit {
		t.Errorf("of %d bytes %d are left, %v", int64(limit), left, limited)
	}
	ctx, stop = budget.Memory(ctx, budget.Limit{Bytes: 1})
	defer stop()
	if left, limited := budget.Left(ctx); left != 0 || !limited {
		t.Errorf("of one byte %d are left, %v", left, limited)
	}
}

// TestExceeded checks that a limit that is exceeded before the work begins ends it at once, with a
// message. The default limit says that it is the default, and is not checked that early.
func TestExceeded(t *testing.T) {
	for _, limit := range []budget.Limit{{Bytes: 1 << 20}, {Bytes: 1 << 20, Default: true}} {
		ctx, stop := budget.Memory(t.Context(), limit)
		if limit.Default {
			<-ctx.Done() // at the first check
		}
		var e *budget.MemoryError
		if !errors.As(context.Cause(ctx), &e) || !strings.Contains(e.Error(), "1.0 MiB, ran out") || strings.Contains(e.Error(), "--max-memory") != limit.Default {
			t.Errorf("%+v: %v", limit, context.Cause(ctx))
		}
		stop()
	}
}

func TestDefault(t *testing.T) {
	if l := budget.Default(); l.Bytes != 0 && (!l.Default || l.Bytes <= memory.Resident()) {
		t.Errorf("%+v", l)
	}
}
