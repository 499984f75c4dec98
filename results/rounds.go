package results

import (
	"fmt"

	"github.com/isohound/isohound/checker/fences"
)

// Rounds says how a history was judged in rounds that end at fences.
type Rounds struct {
	// Size is how many transactions were added in each round.
	Size int `json:"size"`
	fences.Stats
	// Certified says that independent code verified the execution of each round. That the whole history then has an execution
	// is proved in package checker/fences, and not by the executions.
	Certified bool `json:"certified"`
}

// Text describes the rounds in words.
func (r *Rounds) Text() string {
	text := fmt.Sprintf("rounds: %d of %s transactions, with %s fences; %s transactions were removed, and at most %s judged at once",
		r.Rounds, Thousands(r.Size), Thousands(r.Fences), Thousands(r.Removed), Thousands(r.Most))
	if r.Certified {
		text += "; the execution of each round was verified"
	}
	return text
}
