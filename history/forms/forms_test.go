package forms_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isohound/isohound/history/forms"
)

// tokens spells out what the scanner sees, or its error.
func tokens(text string, json bool) string {
	s := forms.NewScanner(strings.NewReader(text), json)
	var out []string
	for {
		kind, err := s.Next()
		switch {
		case err != nil:
			line, at := s.Place()
			return strings.Join(append(out, fmt.Sprintf("error at %d/%d: %v", line, at, err)), " ")
		case kind == forms.End:
			return strings.Join(out, " ")
		case kind == forms.Vector:
			out = append(out, "[")
		case kind == forms.Map:
			out = append(out, "{")
		case kind == forms.Set:
			out = append(out, "#{")
		case kind == forms.Close:
			out = append(out, "end")
		case kind == forms.Nil:
			out = append(out, "nil")
		default:
			out = append(out, fmt.Sprintf("%c<%s>", "  wns:"[kind], s.Text()))
		}
	}
}

func TestTokens(t *testing.T) {
	for _, tc := range []struct {
		text string
		json bool
		want string
	}{
		{`{:a -1, :b "x\n\u00e9\"" :c nil :d true :e \] :f 5N}`, false, "{ :<a> n<-1> :<b> s<x\né\"> :<c> nil :<d> w<true> :<e> w<]> :<f> n<5N> end"},
		{"; note\n#jepsen.history.Op{:v #{1} :i #inst \"2020\"} #_ [1 [2]] #_ #_ 1 2 (3)", false, "{ :<v> #{ n<1> end :<i> s<2020> end [ n<3> end"},
		{`{"a":[1,-2.5e3,null],"b":{"c":"\ud83d\ude00\/"}}`, true, "{ s<a> [ n<1> n<-2.5e3> nil end s<b> { s<c> s<😀/> end end"},
		{`[null nil]`, false, "[ w<null> nil end"},
		{`[nil]`, true, `[ error at 0/1: unexpected "nil"`},
		{"[1\n}", false, "[ n<1> error at 2/3: unexpected '}' instead of ']'"},
		{"]", false, "error at 0/0: unexpected ']'"},
		{"{:a", false, "{ :<a> error at 0/3: the file ends in the middle of a form; it was cut off"},
		{`"abc`, false, "error at 0/4: the file ends in the middle of a form; it was cut off"},
		{`"\x"`, true, "error at 0/0: unknown escape \\x in a string"},
		{`["\ud83dx" "\ud83d\ud83d\ude00" "\ude00é" "\ud83d\n" "\ud83d\u0041"]`, true, "[ s<\xed\xa0\xbdx> s<\xed\xa0\xbd😀> s<\xed\xb8\x80é> s<\xed\xa0\xbd\n> s<\xed\xa0\xbdA> end"},
		{"\"\xed\xa0\xbd\"", true, "error at 0/0: a string is not valid UTF-8"},
		{"\"\\ud83d\xff\"", true, "error at 0/0: a string is not valid UTF-8"},
		{"\"\xff\\ud83d\"", true, "error at 0/0: a string is not valid UTF-8"},
		{"\"\xff\"", true, "error at 0/0: a string is not valid UTF-8"},
		{"[#_]", false, "[ error at 0/3: a form is missing here"},
		{": 1", false, "error at 0/0: a keyword has no name"},
		{"\x01", false, "error at 0/0: unexpected byte 0x01"},
		{strings.Repeat("[", 65), false, strings.Repeat("[ ", 64) + "error at 0/64: forms are nested more than 64 deep"},
		{strings.Repeat("#_", 65), false, "error at 0/128: forms are nested more than 64 deep"},
		{strings.Repeat("7", 2<<20), false, "error at 0/0: a token is longer than 1 MiB"},
		{`"` + strings.Repeat("7", 2<<20) + `"`, false, "error at 0/0: a string is longer than 1 MiB"},
	} {
		if got := tokens(tc.text, tc.json); got != tc.want {
			t.Errorf("%.80q: got\n%.300s\nwant\n%.300s", tc.text, got, tc.want)
		}
	}
}

// FuzzScan: any input ends in tokens or an error, and Skip stops where the
// form does.
func FuzzScan(f *testing.F) {
	f.Add([]byte(`{:a [1 "b" #_ c] #tag (d)} ; e`), false)
	f.Add([]byte(`[{"a":"\u0041","b":[null,true,-1.5e3]}]`), true)
	f.Add([]byte(`["\ud800\ud83d\ude00" "\udc00é"]`), true)
	f.Fuzz(func(t *testing.T, data []byte, json bool) {
		s := forms.NewScanner(strings.NewReader(string(data)), json)
		for {
			depth := s.Depth()
			kind, err := s.Next()
			if err != nil || kind == forms.End {
				return
			}
			if kind == forms.Close {
				continue
			}
			if err := s.Skip(kind); err != nil {
				return
			}
			if s.Depth() != depth {
				t.Fatalf("depth %d after a form at depth %d", s.Depth(), depth)
			}
		}
	})
}
