package dsl_test

import (
	"strings"
	"testing"

	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

func TestParse(t *testing.T) {
	h := dsl.MustParse(`
# a comment
initial nil
initial x=5 y="a b"     # and another
open
s1: r(x,5) w(x,6)
s2 T9 [3,9]: r(x,6) n(y,nil) abort
s-1 [?,4]: w(z,word) w(z,"7") unknown
s1 T2: commit
`)
	if h.Closed || h.DefaultInitial != history.Absent || h.Initial(h.Key("x")) != 5 || h.ValueText(h.Initial(h.Key("y"))) != `"a b"` {
		t.Errorf("closed %v, initial values %v, %v", h.Closed, h.Initial(h.Key("x")), h.Initial(h.Key("y")))
	}
	want := `initial nil
initial x=5
initial y="a b"
open
s1 T1: r(x,5) w(x,6)
s2 T9 [3,9]: r(x,6) n(y,nil) abort
s-1 T3 [?,4]: w(z,word) w(z,"7") unknown
s1 T2:
`
	if got := dsl.Format(h); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRoundTrip(t *testing.T) {
	h := synth.Mini(synth.MiniConfig{Sessions: 4, Txns: 200, Keys: 6, Seed: 9, Snapshot: true})
	text := dsl.Format(h)
	again, err := dsl.Parse(text, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := dsl.Format(again); got != text {
		t.Error("a history is not the same after Format and Parse")
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"s1 r(x,0)":                 "f:1: expected a colon",
		"\ns1: r(x)":                "f:2: expected a comma after the key",
		"s1: r(x,)":                 "f:1: expected a value",
		"s1: q(x,1)":                "f:1: expected r(key,value)",
		"s1: r(x,1) abort more":     "f:1: nothing may follow here",
		"x":                         "f:1: expected a session",
		"sx: r(x,1)":                "f:1: expected a number for the session",
		"s1 [1 2]: r(x,1)":          "f:1: expected a comma in the interval",
		"s1 [2,1]: r(x,1)":          "f:1: transaction 1 ends at 1",
		"s1 T1: r(x,1)\ns2 T1:":     "f:2: transaction id 1 occurs twice",
		`s1: r(x,"abc)`:             "f:1: the text",
		"s1: r(x,1) w(x,2":          "f:1: expected ) after the value",
		"s99999999999999999999: r(": "f:1: expected a number",
	} {
		_, err := dsl.Parse(text, "f")
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzParse: whatever is read survives being written and read again.
func FuzzParse(f *testing.F) {
	f.Add("initial nil\nopen\ns1 T3 [1,?]: r(x,0) w(y,\"a b\") abort\n")
	f.Add("s1: n(k,word) unknown # c")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := dsl.Parse(text, "")
		if err != nil {
			return
		}
		once := dsl.Format(h)
		again, err := dsl.Parse(once, "")
		if err != nil {
			t.Fatalf("%q was written as %q, which is not read: %v", text, once, err)
		}
		if twice := dsl.Format(again); twice != once {
			t.Fatalf("%q, then %q", once, twice)
		}
	})
}
