package catalogue

import "github.com/isohound/isohound/results"

// refuted are the weakest levels that the anomalies of an outcome refute.
func refuted(o *results.Outcome) []string { return nil }
