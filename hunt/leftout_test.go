package hunt

import (
	"slices"
	"testing"
)

// TestTogether: what is left out for one reason is one entry, at the place of the first.
func TestTogether(t *testing.T) {
	got := Together([]LeftOut{{"a", "x"}, {"b", "y"}, {"c", "x"}, {"d", "x"}, {"e", "z"}})
	want := []LeftOut{{"3 cells, such as a", "x"}, {"b", "y"}, {"e", "z"}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Together(nil); len(got) != 0 {
		t.Error(got)
	}
}
