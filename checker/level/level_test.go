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
	for name, want := range map[string]Level{
		"read-committed": RC, "Read Committed": RC, "read_atomic": RA, "causal": CC, "serializable": SER, "serializability": SER,
		"snapshot isolation": SI, "strict serializability": SSER, "monotonic-reads": MR, "read uncommitted": RU,
	} {
		if got, err := Parse(name); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for name, want := range map[string]string{"serialisable": "did you mean ser?", "read-comitted": "did you mean rc?", "repeatable read": "is not the same everywhere", "xyzzy": "unknown level"} {
		if _, err := Parse(name); err == nil || !strings.Contains(err.Error(), want) {
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
