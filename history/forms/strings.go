package forms

import (
	"unicode/utf16"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// str reads the rest of a string into text. Invalid UTF-8 is refused, since
// what replaces it would make different texts equal.
func (s *Scanner) str() error {
	s.text = s.text[:0]
	for {
		c, err := s.more()
		switch {
		case err != nil:
			return err
		case c == '"':
			if !utf8.Valid(s.text) {
				return errors.New("a string is not valid UTF-8")
			}
			return nil
		case len(s.text) >= MaxToken:
			return errors.Errorf("a string is longer than %d MiB", MaxToken>>20)
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		default:
			s.text = append(s.text, c)
		}
	}
}

var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', '"': '"', '\\': '\\', '/': '/'}

func (s *Scanner) escape() error {
	c, err := s.more()
	if err != nil {
		return err
	}
	if plain, ok := escapes[c]; ok {
		s.text = append(s.text, plain)
		return nil
	}
	if c != 'u' {
		return errors.Errorf("unknown escape \\%c in a string", c)
	}
	r, err := s.hex()
	if err != nil {
		return err
	}
	if utf16.IsSurrogate(r) {
		// The other half must follow as an escape of its own.
		var low rune
		if c, err = s.more(); err == nil && c == '\\' {
			if c, err = s.more(); err == nil && c == 'u' {
				low, err = s.hex()
			}
		}
		if err != nil {
			return err
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return errors.New("half a surrogate pair in a string")
		}
	}
	s.text = utf8.AppendRune(s.text, r)
	return nil
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
