package forms

import (
	"bytes"
	"io"

	"github.com/pkg/errors"
)

func delimiter(c byte) bool {
	return c <= ' ' || bytes.IndexByte([]byte(`,()[]{}";`), c) >= 0
}

// rest reads the text of a token up to a delimiter.
func (s *Scanner) rest() error {
	for {
		c, err := s.read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if delimiter(c) || s.json && c == ':' {
			s.unread(c)
			return nil
		}
		if len(s.text) == MaxToken {
			return errors.Errorf("a token is longer than %d MiB", MaxToken>>20)
		}
		s.text = append(s.text, c)
	}
}

// atom reads a number or a name that begins with c.
func (s *Scanner) atom(c byte) (Kind, error) {
	s.text = append(s.text[:0], c)
	if err := s.rest(); err != nil {
		return End, err
	}
	digit := c
	if (c == '-' || c == '+') && len(s.text) > 1 {
		digit = s.text[1]
	}
	switch {
	case c < 0x20 || c == 0x7f:
		return End, errors.Errorf("unexpected byte %#02x", c)
	case c == ':':
		if len(s.text) == 1 {
			return End, errors.New("a keyword has no name")
		}
		s.text = append(s.text[:0], s.text[1:]...)
		return Keyword, nil
	case digit >= '0' && digit <= '9':
		return Number, nil
	case string(s.text) == "nil" && !s.json || string(s.text) == "null" && s.json:
		return Nil, nil
	case s.json && string(s.text) != "true" && string(s.text) != "false":
		return End, errors.Errorf("unexpected %.40q", s.text)
	}
	return Word, nil
}
