package certify

import (
	"context"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Result verifies the proof of a satisfied or violated verdict; every anomaly must hold. The proof
// covers all scans that h.Scans counts as judged: they fit the witness, or what was added to the
// history for them follows from them. An unknown verdict claims nothing and passes. The error says what
// does not hold, or is ErrScans, or the cause of ctx's end.
func Result(ctx context.Context, h *history.History, r *verdict.Result) error {
	switch r.Verdict {
	case verdict.Satisfied:
		if r.Witness == nil {
			return errors.New("satisfied without a witness")
		}
		return Witness(ctx, h, r.Level, r.Witness)
	case verdict.Violated:
		if len(r.Anomalies) == 0 {
			return errors.New("violated without an anomaly")
		}
		for n := range r.Anomalies {
			if err := wellFormed(h, &r.Anomalies[n]); err != nil {
				return errors.Wrapf(err, "anomaly %d", n+1)
			}
		}
		stop := newStop(ctx)
		if err := implied(stop, h); err != nil {
			return err
		}
		f, err := newFacts(stop, h, r.Level, r.Anomalies)
		if err != nil {
			return err
		}
		for n := range r.Anomalies {
			err := f.anomaly(&r.Anomalies[n])
			if err != nil && stop.err != nil {
				err = stop.err // also where one of several ways to show something fails for it, and the others do not show it
			}
			if err != nil {
				return errors.Wrapf(err, "anomaly %d", n+1)
			}
		}
	}
	return nil
}
