package main

import (
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
)

// TestSeeds: the primary is strictly serializable; reads of the replica violate real time, for about every
// seed; a seed gives the same verdict, word by word.
func TestSeeds(t *testing.T) {
	violated := 0
	for seed := range int64(20) {
		var texts []string
		for _, stale := range []bool{false, true, true} {
			v, err := simulate(seed, stale).Check(t.Context(), level.SSER)
			if err != nil {
				t.Fatal(err)
			}
			if !stale && v.Verdict != verdict.Satisfied {
				t.Errorf("seed %d: %s", seed, v)
			}
			texts = append(texts, v.String())
			if v.Verdict == verdict.Violated {
				violated++
			}
		}
		if texts[1] != texts[2] {
			t.Errorf("seed %d: %s\n%s", seed, texts[1], texts[2])
		}
	}
	if violated < 20 {
		t.Errorf("only %d violations", violated)
	}
}
