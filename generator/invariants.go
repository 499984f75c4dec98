package generator

import (
	"context"
	"time"

	"github.com/isohound/isohound/drivers"
)

// InvariantResult is what became of an invariant after a run.
type InvariantResult struct {
	Name string `json:"name"`
	Text string `json:"text"`
	// Problem is what does not hold, "" if all does.
	Problem string `json:"problem,omitempty"`
	// Error is why it could not be looked at.
	Error string `json:"error,omitempty"`
}

// How often, and for how long in all, invariants are looked at anew when the
// database aborts the transaction that does.
const (
	invariantTries = 5
	invariantTime  = 2 * time.Minute
)

// CheckInvariants looks at a workload's invariants, if it has any, each in a
// transaction of its own that is rolled back. The run must be over.
func CheckInvariants(ctx context.Context, db drivers.DB, w Workload) []InvariantResult {
	with, ok := w.(Invariants)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, invariantTime)
	defer cancel()
	var out []InvariantResult
	for _, inv := range with.Invariants() {
		r := InvariantResult{Name: inv.Name, Text: inv.Text}
		var err error
		for range invariantTries {
			r.Problem, err = lookAt(ctx, db, inv)
			if err == nil || drivers.AsError(err).Class == drivers.Fatal || ctx.Err() != nil {
				break
			}
		}
		if err != nil {
			r.Error = err.Error()
		}
		out = append(out, r)
	}
	return out
}

func lookAt(ctx context.Context, db drivers.DB, inv Invariant) (problem string, err error) {
	s, err := db.Connect(ctx)
	if err != nil {
		return "", err
	}
	defer s.Close()
	tx, err := s.Begin(ctx)
	if err != nil {
		return "", err
	}
	problem, err = inv.Check(ctx, tx)
	// What was read is wanted, whatever becomes of the session.
	_ = tx.Rollback(ctx)
	return problem, err
}
