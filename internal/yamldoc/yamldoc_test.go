package yamldoc

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func parse(text string) *Document {
	return Parse("f.yaml", []byte(text), "it is empty", "there is more")
}

func TestProblems(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "f.yaml: it is empty",
		"n: 1\n---\nb: 2\n":       "f.yaml: there is more",
		"a: [1\n":                 "f.yaml:1: did not find expected ',' or ']'",
		"n: 1\nlist: word\n":      "f.yaml:2: \"word\" cannot stand here: expected a list",
		"n: some\nother: 1\n":     "f.yaml:1: \"some\" cannot stand here: expected a whole number\nf.yaml:2: unknown key \"other\"",
		"n: 1\nlist: [a]\nn: 2\n": "f.yaml:3: mapping key \"n\" already defined at line 1",
	} {
		d := parse(text)
		if d.Root != nil {
			var v struct {
				N    int
				List []string
			}
			d.Decoded(decodeStrictly(text, &v))
		}
		if got := fmt.Sprint(d.Err()); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
	if err := parse("n: 1\n").Err(); err != nil {
		t.Error(err)
	}
}

func TestLine(t *testing.T) {
	d := parse("a:\n  - x\n  - k: 1\n    l:\n      deep\nb: one\nc: &c {d: 1}\ne: *c\n")
	for _, c := range []struct {
		path []any
		want int
	}{
		{nil, 0}, {[]any{"a"}, 1}, {[]any{"a", 0}, 2}, {[]any{"a", 1}, 3}, {[]any{"a", 1, "l"}, 5}, {[]any{"a", 1, "none"}, 3},
		{[]any{"a", 7}, 1}, {[]any{"b", 0}, 6}, {[]any{"none"}, 0}, {[]any{"e", "d"}, 7},
	} {
		if got := d.Line(c.path...); got != c.want {
			t.Errorf("%v: line %d, not %d", c.path, got, c.want)
		}
	}
	if got := (&Document{}).Line("a"); got != 0 {
		t.Errorf("without a document: line %d", got)
	}
}

// TestUndecoded: a value that could not be decoded has one problem.
func TestUndecoded(t *testing.T) {
	const text = "n: some\nlist: [a]\n"
	d := parse(text)
	var v struct {
		N    int
		List []string
	}
	d.Decoded(d.Root.Decode(&v))
	d.At([]any{"n"}, "n is missing")
	d.At([]any{"list"}, "too short")
	d.At([]any{"list"}, "too short")
	if got := fmt.Sprint(d.Err()); got != "f.yaml:1: \"some\" cannot stand here: expected a whole number\nf.yaml:2: too short" {
		t.Error(got)
	}
}

func decodeStrictly(text string, v any) error {
	dec := yaml.NewDecoder(strings.NewReader(text))
	dec.KnownFields(true)
	return dec.Decode(v)
}
