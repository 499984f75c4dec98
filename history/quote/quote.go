// Package quote spells texts as JSON strings and reads them back, so that different texts stay
// different. encoding/json replaces invalid UTF-8, including a lone surrogate, by U+FFFD, which
// can make two keys equal.
//
// A lone surrogate, such as \ud800, is kept as the three bytes that UTF-8 would use for it if it
// were allowed.
//
// A text of other bytes is spelled in hexadecimal, after U+FFFF, which is no character: the bytes 80 ff are
// "\uffff80ff". A text that is itself such a spelling, behind any number of U+FFFF, is spelled with one U+FFFF more.
// So each sequence of bytes has a spelling, no two have the same, and every JSON string is the spelling of one.
package quote

import (
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// Append appends s as a JSON string in canonical spelling: two texts give the same string exactly if they are equal.
// Unquote returns s.
func Append(b []byte, s string) []byte {
	b = append(b, '"')
	if !Valid(s) {
		b = hex.AppendEncode(append(b, mark...), []byte(s))
		return append(b, '"')
	}
	if _, marks := marked(s); marks > 0 {
		b = append(b, mark...)
	}
	plain := 0 // everything before it was appended
	for i := 0; i < len(s); {
		c, n := s[i], 1
		if c >= utf8.RuneSelf {
			if isLone(s[i:]) {
				n = loneSize
			} else if r, size := utf8.DecodeRuneInString(s[i:]); r == lineSeparator || r == paragraphSeparator {
				n = size
			} else if size > 1 {
				i += size
				continue
			}
		} else if c >= 0x20 && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[plain:i]...)
		b = appendEscape(b, s[i:i+n])
		i += n
		plain = i
	}
	b = append(b, s[plain:]...)
	return append(b, '"')
}

// appendEscape appends the escape of a character.
func appendEscape(b []byte, s string) []byte {
	r := rune(s[0])
	switch {
	case len(s) == loneSize:
		r = rune(s[0]&0xf)<<12 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f)
	case r == '"', r == '\\':
		return append(b, '\\', s[0])
	case r == '\n':
		return append(b, `\n`...)
	case r == '\t':
		return append(b, `\t`...)
	case r == '\r':
		return append(b, `\r`...)
	}
	const hex = "0123456789abcdef"
	return append(b, '\\', 'u', hex[r>>12], hex[r>>8&0xf], hex[r>>4&0xf], hex[r&0xf])
}

// loneSize is the length of a lone surrogate, and of the separators below.
const loneSize = 3

// Some readers end a line at these.
const lineSeparator, paragraphSeparator = '\u2028', '\u2029'

// isLone reports whether s begins with a lone surrogate.
func isLone(s string) bool {
	return len(s) >= loneSize && s[0] == 0xed && s[1] >= 0xa0 && s[1] <= 0xbf && s[2] >= 0x80 && s[2] <= 0xbf
}

// AppendLone appends a surrogate that has no other half.
func AppendLone(b []byte, r rune) []byte {
	return append(b, 0xed, byte(0x80|r>>6&0x3f), byte(0x80|r&0x3f))
}

// mark is what the spelling of a text begins with that is not Valid. It is no escape: older files have U+FFFF as it is.
const mark = "\uffff"

// marked reports whether s is n marks, at least one, and bytes in lower-case hexadecimal that are not Valid. Otherwise n is 0.
func marked(s string) (bytes string, n int) {
	if !strings.HasPrefix(s, mark) {
		return "", 0
	}
	digits := strings.TrimLeft(s, mark)
	b, err := hex.DecodeString(digits)
	if err != nil || Valid(string(b)) || hex.EncodeToString(b) != digits {
		return "", 0
	}
	return string(b), (len(s) - len(digits)) / len(mark)
}

// Decoded returns the text that Append spells as s, where s is the content of a JSON string, without its escapes.
func Decoded(s string) string {
	switch bytes, marks := marked(s); marks {
	case 0:
		return s
	case 1:
		return bytes
	default:
		return s[len(mark):]
	}
}

// Valid reports whether s is UTF-8 except for lone surrogates, so that its spelling needs no hexadecimal digits.
func Valid(s string) bool {
	if utf8.ValidString(s) {
		return true
	}
	high := false // the previous character was a high surrogate
	for s != "" {
		n := loneSize
		if !isLone(s) {
			var r rune
			if r, n = utf8.DecodeRuneInString(s); r == utf8.RuneError && n == 1 {
				return false
			}
			high = false
		} else if low := s[1] >= 0xb0; low && high {
			return false // the two would be read as one character
		} else {
			high = !low
		}
		s = s[n:]
	}
	return true
}

var errQuotes = errors.New("a JSON string is not in quotes")

// Text is a string that stays itself in JSON.
type Text string

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) { return Append(nil, string(t)), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	s, err := Unquote(b)
	*t = Text(s)
	return err
}

// Texts are strings that stay themselves in JSON.
type Texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *Texts) UnmarshalJSON(b []byte) error {
	var list []Text
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	*t = (*t)[:0]
	for _, text := range list {
		*t = append(*t, string(text))
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (t Texts) MarshalJSON() ([]byte, error) {
	if t == nil {
		return []byte("null"), nil
	}
	b := []byte{'['}
	for i, text := range t {
		if i > 0 {
			b = append(b, ',')
		}
		b = Append(b, text)
	}
	return append(b, ']'), nil
}

// Unquote reads a JSON string.
func Unquote(raw []byte) (string, error) {
	s, err := unescaped(raw)
	return Decoded(s), err
}

func unescaped(raw []byte) (string, error) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", errQuotes
	}
	if !utf8.Valid(raw) {
		return "", errors.New("a string is not valid UTF-8")
	}
	if text := raw[1 : len(raw)-1]; !slices.ContainsFunc(text, isSpecial) {
		return string(text), nil
	}
	if !strings.Contains(string(raw), `\u`) {
		var s string
		err := json.Unmarshal(raw, &s)
		return s, errors.Wrap(err, "string")
	}
	var out []byte
	for in := raw[1 : len(raw)-1]; len(in) > 0; {
		n := 0 // up to the next escape of a surrogate
		for n < len(in) && surrogate(in[n:]) == 0 {
			if in[n] == '\\' {
				n++ // the escaped character starts no escape
			}
			n++
		}
		var s string
		if err := json.Unmarshal(append(append([]byte{'"'}, in[:min(n, len(in))]...), '"'), &s); err != nil {
			return "", errors.Wrap(err, "string")
		}
		out = append(out, s...)
		if in = in[min(n, len(in)):]; len(in) == 0 {
			break
		}
		r := surrogate(in)
		in = in[escapeSize:]
		if pair := utf16.DecodeRune(r, surrogate(in)); pair != utf8.RuneError {
			out = utf8.AppendRune(out, pair)
			in = in[escapeSize:]
		} else {
			out = AppendLone(out, r)
		}
	}
	return string(out), nil
}

// isSpecial reports whether a byte may not stand for itself in a JSON string.
func isSpecial(c byte) bool { return c < 0x20 || c == '"' || c == '\\' }

const escapeSize = len(`\ud800`)

// surrogate returns the surrogate that b begins with as an escape, or 0.
func surrogate(b []byte) rune {
	if len(b) < escapeSize || b[0] != '\\' || b[1] != 'u' || b[2]|0x20 != 'd' {
		return 0
	}
	r, err := strconv.ParseUint(string(b[2:escapeSize]), 16, 16)
	if err != nil || !utf16.IsSurrogate(rune(r)) {
		return 0
	}
	return rune(r)
}
