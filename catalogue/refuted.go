package catalogue

import "github.com/isohound/isohound/results"

// refuted returns the weakest levels that the history of an outcome violates; nil if there was
// no time to find out.
func refuted(o *results.Outcome) []string {
	if o.Standing == nil {
		return nil
	}
	return o.Standing.Not
}
