// Package forms splits streamed EDN and JSON into tokens, within limits: a token has at most
// MaxToken bytes, and forms are nested at most MaxDepth deep. The limits protect against hostile
// files, which could otherwise exhaust the memory or overflow the stack.
//
// It is lenient where that changes no meaning. In EDN a comma is white space; in JSON mode comma
// and colon are, so that {"a":1} and {"a" 1} are the same. EDN tags (#inst, #jepsen.history.Op)
// are skipped and the tagged form is read. Comments and discarded forms (#_) are left out.
package forms

import (
	"bufio"
	"io"

	"github.com/pkg/errors"
)

// Kind is what a token is.
type Kind uint8

const (
	End     Kind = iota // of the input
	Nil                 // nil, null
	Word                // true, false, an EDN symbol or character
	Number              // Text has its spelling
	String              // Text has its content
	Keyword             // Text has its name without the colon
	Vector              // [ or ( begins
	Map                 // { begins
	Set                 // #{ begins
	Close               // of the innermost of these
)

const (
	// MaxToken is the longest string, number or name, in bytes.
	MaxToken = 1 << 20
	// MaxDepth is the deepest nesting.
	MaxDepth = 64
)

// Scanner reads tokens.
type Scanner struct {
	r    *bufio.Reader
	json bool
	off  int64 // of the next byte
	line int   // of the next byte, from 1
	text []byte
	open []byte // the closing brackets still expected

	start     int64 // of the latest token
	startLine int
}

// NewScanner returns a scanner of r; json selects the dialect.
func NewScanner(r io.Reader, json bool) *Scanner {
	return &Scanner{r: bufio.NewReaderSize(r, 64<<10), json: json, line: 1}
}

// Text returns the text of the latest token, valid until the next one.
func (s *Scanner) Text() []byte { return s.text }

// Depth returns how many brackets are open.
func (s *Scanner) Depth() int { return len(s.open) }

// Offset returns how many bytes were read.
func (s *Scanner) Offset() int64 { return s.off }

// Place returns where the latest token begins: its line from 1, or 0 if the input has had only
// one line so far, and its byte.
func (s *Scanner) Place() (line int, byte int64) {
	if s.line == 1 {
		return 0, s.start
	}
	return s.startLine, s.start
}

func (s *Scanner) read() (byte, error) {
	c, err := s.r.ReadByte()
	if err != nil {
		return 0, err
	}
	s.off++
	if c == '\n' {
		s.line++
	}
	return c, nil
}

// unread gives back the byte c that was read last.
func (s *Scanner) unread(c byte) {
	_ = s.r.UnreadByte() // cannot fail after a ReadByte
	s.off--
	if c == '\n' {
		s.line--
	}
}

// more reads a byte at a place where the input must not end.
func (s *Scanner) more() (byte, error) {
	c, err := s.read()
	if err == io.EOF {
		s.start, s.startLine = s.off, s.line
		err = errors.New("the file ends in the middle of a form; it was cut off")
	}
	return c, err
}

func (s *Scanner) space(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', '\f', ',':
		return true
	case ':':
		return s.json
	}
	return false
}

// Next reads a token. At the end of the input it returns End. The input must not end inside a
// form.
func (s *Scanner) Next() (Kind, error) {
	for {
		c, err := s.read()
		if err == io.EOF {
			if len(s.open) > 0 {
				_, err = s.more()
				return End, err
			}
			return End, nil
		}
		if err != nil {
			return End, err
		}
		if s.space(c) {
			continue
		}
		s.start, s.startLine = s.off-1, s.line
		switch {
		case c == '[':
			return Vector, s.push(']')
		case c == '{':
			return Map, s.push('}')
		case c == ']' || c == '}' || c == ')' && !s.json:
			return Close, s.pop(c)
		case c == '"':
			return String, s.str()
		case s.json:
			return s.atom(c)
		case c == '(':
			return Vector, s.push(')')
		case c == ';':
			if err := s.comment(); err != nil {
				return End, err
			}
			continue
		case c == '\\':
			// The character itself may be a delimiter.
			if c, err = s.more(); err != nil {
				return End, err
			}
			s.text = append(s.text[:0], c)
			return Word, s.rest()
		case c == '#':
			kind, again, err := s.dispatch()
			if again {
				continue
			}
			return kind, err
		}
		return s.atom(c)
	}
}

func (s *Scanner) comment() error {
	for {
		if c, err := s.read(); err == io.EOF || c == '\n' {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// dispatch reads what follows #. again says that it produced no token.
func (s *Scanner) dispatch() (kind Kind, again bool, err error) {
	c, err := s.more()
	switch {
	case err != nil:
		return End, false, err
	case c == '{':
		return Set, false, s.push('}')
	case c == '_':
		if err := s.discard(); err != nil {
			return End, false, err
		}
		return End, true, nil
	case c == '#': // ##Inf, ##NaN
		s.text = append(s.text[:0], '#')
		return Word, false, s.rest()
	case delimiter(c):
		return End, false, errors.Errorf("unexpected %q behind #", c)
	}
	s.text = append(s.text[:0], c)
	if err := s.rest(); err != nil {
		return End, false, err
	}
	return End, true, nil // a tag: what it tags comes next
}

// discard reads a form and drops it.
func (s *Scanner) discard() error {
	// Discarded forms may begin with discarded forms, each a level deeper.
	if err := s.push('_'); err != nil {
		return err
	}
	kind, err := s.Next()
	if err == nil {
		err = s.Skip(kind)
	}
	s.open = s.open[:len(s.open)-1]
	return err
}

// Skip reads to the end of the form whose first token was of the given kind.
func (s *Scanner) Skip(kind Kind) error {
	switch kind {
	case Close, End:
		return errors.New("a form is missing here")
	case Vector, Map, Set:
	default:
		return nil
	}
	for depth := len(s.open) - 1; len(s.open) > depth; {
		if _, err := s.Next(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scanner) push(closing byte) error {
	if len(s.open) == MaxDepth {
		return errors.Errorf("forms are nested more than %d deep", MaxDepth)
	}
	s.open = append(s.open, closing)
	return nil
}

func (s *Scanner) pop(c byte) error {
	n := len(s.open) - 1
	if n < 0 {
		return errors.Errorf("unexpected %q", c)
	}
	if s.open[n] != c {
		if s.open[n] == '_' {
			return errors.New("a form is missing here")
		}
		return errors.Errorf("unexpected %q instead of %q", c, s.open[n])
	}
	s.open = s.open[:n]
	return nil
}
