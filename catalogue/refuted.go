package catalogue

import (
	"slices"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/results"
)

// refuted returns the weakest of the levels of snapshot isolation and serializability that the history of
// an outcome violates; nil if there was no time to find out. Weaker levels are left out, because which of
// them a run violates is a matter of chance.
func refuted(o *results.Outcome) []string {
	if o.Standing == nil {
		return nil
	}
	var list []level.Level
	for _, name := range slices.Concat(o.Standing.Not, o.Standing.AlsoNot) {
		if l, err := level.Parse(name); err == nil && (l.Search() || l == level.LIN) {
			list = append(list, l)
		}
	}
	return checker.Names(level.Weakest(list))
}
