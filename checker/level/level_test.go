package level

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, l := range All() {
		if got, err := Parse(strings.ToUpper(l.String())); err != nil || got != l {
			t.Errorf("%s: %v, %v", l, got, err)
		}
		if l.Title() == "" {
			t.Errorf("%s has no title", l)
		}
	}
	if len(All()) != len(levels)-1 {
		t.Error("All leaves a level out")
	}
	// Known levels that this build cannot check are refused by name.
	for _, name := range []string{"rc", "causal", "read-atomic"} {
		if _, err := Parse(name); err == nil || !strings.Contains(err.Error(), "cannot be checked by this build") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse("foo"); err == nil || !strings.Contains(err.Error(), "unknown level") {
		t.Error(err)
	}
	if got, err := ParseList("si, ser,si"); err != nil || !slices.Equal(got, []Level{SI, SER}) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := ParseList(""); err == nil {
		t.Error("an empty list is accepted")
	}
}
