package generator

import (
	"context"
	"time"

	"github.com/isohound/isohound/drivers"
)

// InvariantResult is the result of checking an invariant after a run.
type InvariantResult struct {
	Name string `json:"name"`
	Text string `json:"text"`
	// Problem is what is violated, "" if nothing.
	Problem string `json:"problem,omitempty"`
	// Error is why the invariant could not be checked.
	Error string `json:"error,omitempty"`
}

// How many times, and for how long in total, the check of an invariant is tried when the
// database aborts its transaction.
const (
	invariantTries = 5
	invariantTime  = 2 * time.Minute
)

// CheckInvariants checks a workload's invariants, if it has any, each in its own transaction,
// which is rolled back. The run must be over.
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
	begin := s.Begin
	if l, ok := s.(drivers.Looker); ok {
		begin = l.Look
	}
	tx, err := begin(ctx)
	if err != nil {
		return "", err
	}
	problem, err = inv.Check(ctx, tx)
	// The result is already known, so an error of the session does not matter.
	_ = tx.Rollback(ctx)
	return problem, err
}
