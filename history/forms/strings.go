package forms

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history/quote"
)

// str reads the rest of a string into text. Invalid UTF-8 is refused, since replacing it would
// make different texts equal. An escaped lone surrogate is kept (see quote).
func (s *Scanner) str() error {
	s.text = s.text[:0]
	valid := 0 // text up to here is known to be valid
	for {
		c, err := s.more()
		switch {
		case err != nil:
			return err
		case c == '"':
			if !utf8.Valid(s.text[valid:]) {
				return errNotUTF8
			}
			if text := quote.Decoded(string(s.text)); text != string(s.text) {
				s.text = append(s.text[:0], text...)
			}
			return nil
		case len(s.text) >= MaxToken:
			return errors.Errorf("a string is longer than %d MiB", MaxToken>>20)
		case c == '\\':
			before := len(s.text)
			lone, err := s.escape()
			if err != nil {
				return err
			}
			if lone {
				if !utf8.Valid(s.text[valid:before]) {
					return errNotUTF8
				}
				valid = len(s.text)
			}
		default:
			s.text = append(s.text, c)
		}
	}
}

var errNotUTF8 = errors.New("a string is not valid UTF-8")

var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', '"': '"', '\\': '\\', '/': '/'}

// escape reads what follows a backslash, and reports whether it is a lone surrogate.
func (s *Scanner) escape() (lone bool, err error) {
	c, err := s.more()
	if err != nil {
		return false, err
	}
	if plain, ok := escapes[c]; ok {
		s.text = append(s.text, plain)
		return false, nil
	}
	if c != 'u' {
		return false, errors.Errorf("unknown escape \\%c in a string", c)
	}
	r, err := s.hex()
	if err != nil {
		return false, err
	}
	if !utf16.IsSurrogate(r) {
		s.text = utf8.AppendRune(s.text, r)
		return false, nil
	}
	// The other half may follow as its own escape.
	if next, _ := s.r.Peek(len(`\udc00`)); len(next) > 0 {
		if low, err := strconv.ParseUint(string(bytes.TrimPrefix(next, []byte(`\u`))), 16, 16); err == nil && next[0] == '\\' {
			if pair := utf16.DecodeRune(r, rune(low)); pair != utf8.RuneError {
				s.text = utf8.AppendRune(s.text, pair)
				_, err = s.r.Discard(len(next))
				s.off += int64(len(next))
				return false, err
			}
		}
	}
	s.text = quote.AppendLone(s.text, r)
	return true, nil
}

func (s *Scanner) hex() (rune, error) {
	var r rune
	for range 4 {
		c, err := s.more()
		switch {
		case err != nil:
			return 0, err
		case c >= '0' && c <= '9':
			r = r<<4 + rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 + rune(c|0x20-'a') + 10
		default:
			return 0, errors.New(`\u in a string needs four hexadecimal digits`)
		}
	}
	return r, nil
}
