package polygraph

import (
	"context"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Refute writes a proof about the whole of h, without cutting a core out first;
// nil if h has an execution or if a single read is wrong.
func Refute(h *history.History, lvl level.Level, prune bool) (*verdict.Refutation, error) {
	at := make([]int32, len(h.Txns))
	for i := range at {
		at[i] = int32(i)
	}
	return refutation(context.Background(), h, lvl, at, prune)
}
