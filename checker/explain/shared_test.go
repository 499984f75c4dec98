package explain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/explain"
)

// TestShared: names that all have, and else the weakest phenomenon.
func TestShared(t *testing.T) {
	for _, tc := range []struct{ anomalies, want string }{
		{"Phantom G-single-predicate G-single", "Phantom G-single-predicate G-single"},
		{"Phantom G-single-predicate G-single | LostUpdate lost-update G-single", "G-single"},
		{"Phantom G-single-predicate G-single | PredicateWriteSkew write-skew G2", "G2"},
		{"PredicateWriteSkew write-skew G2 | WriteSkew write-skew G2-item", "write-skew"},
		{"G2-item | LongFork long-fork G-nonadjacent", "G2-item"},
		{"NonRepeatableReads internal | FracturedRead G-single", "G-single"},
		{"NonRepeatableReads internal | FutureRead future-read internal", "internal"},
		{"G1c-process | G-single-realtime", "G-single-realtime"},
		{"G1c-process | G-single", "G-single-process"},
		{"ThinAirRead | G0", "G0"},
		{"ThinAirRead | NonRepeatableReads internal", "internal"},
		{"Phantom G-single | Contradiction", "Contradiction"},
	} {
		var list [][]string
		for _, names := range strings.Split(tc.anomalies, "|") {
			list = append(list, strings.Fields(names))
		}
		for range list {
			if got := explain.Shared(list); strings.Join(got, " ") != tc.want {
				t.Errorf("%v: %v, want %s", list, got, tc.want)
			}
			for _, name := range explain.Shared(list) {
				if !explain.Known(name) {
					t.Errorf("%s is no name", name)
				}
			}
			list = slices.Concat(list[1:], list[:1])
		}
	}
}
