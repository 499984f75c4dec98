package quote_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/isohound/isohound/history/quote"
)

// TestStrings: valid UTF-8 is read as by encoding/json.
func TestStrings(t *testing.T) {
	for _, s := range []string{"", "a", `a"b\`, "<&>", "é\n\x01", "\u2028\ufffd", "😀", `\ud800`, `\\ud800`} {
		other, _ := json.Marshal(s)
		for _, raw := range [][]byte{other, quote.Append(nil, s)} {
			var want string
			if err := json.Unmarshal(raw, &want); err != nil || want != s {
				t.Errorf("%s is %q, want %q (%v)", raw, want, s, err)
			}
			if got, err := quote.Unquote(raw); err != nil || got != s || !quote.Valid(s) {
				t.Errorf("%s is %q, want %q (%v)", raw, got, s, err)
			}
		}
	}
	for s, want := range map[string]string{"<é>": `"<é>"`, "\x7f\x00\n\"\\": `"\u007f\u0000\n\"\\"`, "\x80\xff": "\"\uffff80ff\"", "é\xff": "\"\uffffc3a9ff\"", "\uffff": "\"\uffff\"", "\uffff80": "\"\uffff\uffff80\"", "\uffff41": "\"\uffff41\"", "\uffff8F": "\"\uffff8F\"", "\ufffd": "\"\ufffd\"", "\u2028\u2029": `"\u2028\u2029"`} {
		if got := string(quote.Append(nil, s)); got != want {
			t.Errorf("%q is %s, want %s", s, got, want)
		}
	}
	for raw, want := range map[string]string{`"\ud83d\ude00"`: "😀", `"\uD83D\uDE00\/\u0041"`: "😀/A", `"\u00e9\t"`: "é\t"} {
		if got, err := quote.Unquote([]byte(raw)); err != nil || got != want {
			t.Errorf("%s is %q, want %q (%v)", raw, got, want, err)
		}
	}
}

// TestLone: each half of a surrogate pair is a separate text.
func TestLone(t *testing.T) {
	seen := map[string]string{}
	for _, raw := range []string{`"\ud800"`, `"\udc00"`, `"\udfff"`, `"\udbff"`, `"\ufffd"`, `"\udc00\ud800"`, `"\ud800\ud800\udc00"`, `"\ud800\ud800"`, `"\ud800\\udc00"`, `"a\ud800b"`, `"\ud800A"`, `"\ud800é"`} {
		s, err := quote.Unquote([]byte(raw))
		if err != nil || !quote.Valid(s) {
			t.Errorf("%s: %v", raw, err)
		}
		if other, dup := seen[s]; dup {
			t.Errorf("%s and %s are both %q", raw, other, s)
		}
		seen[s] = raw
		back, err := quote.Unquote(quote.Append(nil, s))
		if err != nil || back != s {
			t.Errorf("%s is written as %s: %v", raw, quote.Append(nil, s), err)
		}
	}
}

// TestBytes: every sequence of bytes comes back from its spelling, and every JSON string from what it spells, also
// those that look like the spelling of another one. So no two become one.
func TestBytes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	parts := []string{"\x80", "\xff", "\xc3", "\xa9", "\xed\xa0\x80", "\xed\xb0\x80", "\ufffd", "\uffff", "80", "ff", "f", "FF", "é", "e\u0301", "\x00", `\`, `"`, "😀", "\uffff80"}
	seen := map[string]string{}
	for range 50_000 {
		var s string
		for range rnd.IntN(5) {
			s += parts[rnd.IntN(len(parts))]
		}
		raw := quote.Append(nil, s)
		if other, known := seen[string(raw)]; known && other != s {
			t.Fatalf("%q and %q are both %s", s, other, raw)
		}
		seen[string(raw)] = s
		if back, err := quote.Unquote(raw); err != nil || back != s {
			t.Fatalf("%q is %s, then %q (%v)", s, raw, back, err)
		}
		var text quote.Text
		if out, err := json.Marshal(quote.Text(s)); err != nil || json.Unmarshal(out, &text) != nil || string(text) != s {
			t.Fatalf("%q is %s, then %q (%v)", s, out, text, err)
		}
		if !quote.Valid(s) {
			continue
		}
		// What an escape or a plain character of a file says is kept, too.
		file, _ := json.Marshal(s)
		read, err := quote.Unquote(file)
		if err != nil {
			t.Fatal(err)
		}
		var want, got string
		if json.Unmarshal(file, &want) != nil || json.Unmarshal(quote.Append(nil, read), &got) != nil || got != want {
			t.Fatalf("%s is %q, and is written as %q", file, read, got)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, raw := range []string{``, `"`, `a`, `"a`, `"\ud8"`, `"\x"`, `"\ud800\"`, `"\u12"`, "\"\xff\"", "\"\xed\xa0\x80\"", "\"\n\"", `"a"b"`} {
		if s, err := quote.Unquote([]byte(raw)); err == nil {
			t.Errorf("%q is %q", raw, s)
		}
	}
	for _, s := range []string{"\xff", "\xed\xa0", "\xed\xa0\x80\xed\xb0\x80", "a\xc0"} {
		if quote.Valid(s) {
			t.Errorf("%q is valid", s)
		}
	}
}

// FuzzUnquote: what encoding/json reads is read the same, and stays the same when it is written
// and read.
func FuzzUnquote(f *testing.F) {
	for _, s := range []string{`"\uffff80"`, `"a"`, `"\ud800"`, `"\ud83d\ude00\udc00x\\u"`, "\"\xff\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := quote.Unquote(raw)
		var want string
		if jerr := json.Unmarshal(raw, &want); utf8.Valid(raw) && len(raw) > 0 && raw[0] == '"' && raw[len(raw)-1] == '"' && (err == nil) != (jerr == nil) {
			t.Fatalf("%q: %v, and %v", raw, err, jerr)
		}
		if err != nil {
			return
		}
		if utf8.ValidString(s) && s != want && !strings.HasPrefix(want, "\uffff") {
			t.Fatalf("%q is %q, want %q", raw, s, want)
		}
		if back, err := quote.Unquote(quote.Append(nil, s)); err != nil || back != s {
			t.Fatalf("%q is %q, then %q (%v)", raw, s, back, err)
		}
	})
}
