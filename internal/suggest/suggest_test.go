package suggest

import "testing"

func TestClosest(t *testing.T) {
	known := []string{"targets", "levels", "params", "all", "as", "T"}
	for word, want := range map[string]string{
		"tagets": "targets", "levles": "levels", "parameters": "params", "at": "as", "tt": "T", "LEVEL": "levels", "al": "all",
		"x": "", "xyzzy": "", "": "",
	} {
		if got := Closest(word, known); got != want {
			t.Errorf("%q: %q, not %q", word, got, want)
		}
	}
}

func TestMeant(t *testing.T) {
	if got := Meant("smi", []string{"mini", "sim"}); got != `; did you mean "sim"?` {
		t.Error(got)
	}
	if got := Meant("xyzzy", []string{"mini", "sim"}); got != "" {
		t.Error(got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"smi", "sim", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"same", "same", 0}} {
		if got := Distance(c.a, c.b); got != c.want || Distance(c.b, c.a) != got {
			t.Errorf("%q and %q: %d, not %d", c.a, c.b, got, c.want)
		}
	}
}
