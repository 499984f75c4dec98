package catalogue

import "github.com/isohound/isohound/results"

// refuted are the weakest levels that the history of an outcome refutes; nil
// where there was no time to find out.
func refuted(o *results.Outcome) []string {
	if o.Standing == nil {
		return nil
	}
	return o.Standing.Not
}
