package native

import (
	"bytes"
	"slices"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/hashed"
	"github.com/isohound/isohound/history/schema"
)

// predicateParser reads predicates. These are kept from one to the next: see word, statement, newStatement,
// constant and sameWords.
type predicateParser struct {
	seen       map[string]string
	latest     [latestWords]string
	askedTexts hashed.Texts
	asked      []asked // by number in askedTexts
	once       int32   // how many statements are not in asked
	statements []statement
	boxed      []any
	scratch    []string
	same       [][]string
}

// predicates reads what appendPredicates wrote, after its opening bracket, and appends it to out.
func (p *predicateParser) predicates(s *cursor, out []history.Predicate) []history.Predicate {
	for n := 0; s.ok && !s.optional(`]`); n++ {
		if n > 0 {
			s.literal(`,`)
		}
		var x history.Predicate
		x.Statement, x.Count, x.Number = p.statement(s)
		s.literal(`,"ops":[`)
		x.Ops[0] = int(s.int())
		s.literal(`,`)
		x.Ops[1] = int(s.int())
		s.literal(`]`)
		if s.optional(`,"implied":`) {
			x.Implied = int(s.int())
		}
		if s.optional(`,"omitted":[`) {
			x.Omitted = p.words(s)
		}
		x.Partial = s.optional(`,"partial":true`)
		s.literal(`}`)
		out = append(out, x)
	}
	return out
}

// asked is a statement that was read before, and the count that stood in its text.
type asked struct {
	*history.Statement
	count int
}

// statement has memory for conditions beside it: who reads a statement reads them, too.
type statement struct {
	history.Statement
	where [2]schema.Condition
}

// mostAsked bounds the statements that are kept to be found by their text.
const mostAsked = 1 << 16

// behindStatement is what follows the text of a statement. Nothing in a statement has this spelling, because
// quotes in texts are escaped.
var behindStatement = []byte(`,"ops":[`)

// statement reads a predicate up to its operations. Predicates with the same text share a statement and its number.
func (p *predicateParser) statement(s *cursor) (x *history.Statement, count int, number int32) {
	to := bytes.Index(s.rest, behindStatement)
	if to < 0 {
		s.fail()
		return nil, 0, 0
	}
	text, rest := s.rest[:to], s.rest[to:]
	if n, known := p.askedTexts.Find(text); known {
		s.rest = rest
		return p.asked[n].Statement, p.asked[n].count, int32(n)
	}
	x, count = p.newStatement(s)
	if len(s.rest) != len(rest) { // something in it was not understood
		s.fail()
	}
	if !s.ok {
		return x, count, 0
	}
	if len(p.asked) < mostAsked {
		p.askedTexts.Add(text)
		p.asked = append(p.asked, asked{x, count})
		return x, count, int32(len(p.asked) - 1)
	}
	p.once++
	return x, count, mostAsked + p.once
}

func (p *predicateParser) newStatement(s *cursor) (*history.Statement, int) {
	const chunk = 64
	if len(p.statements) == 0 {
		p.statements = make([]statement, min(chunk, 1+len(p.asked)))
	}
	x := &p.statements[0]
	p.statements = p.statements[1:]
	count := 0
	s.literal(`{"kind":`)
	x.Kind = p.word(s)
	s.literal(`,"table":`)
	x.Table = p.word(s)
	if s.optional(`,"where":[`) {
		where := x.where[:0]
		for s.ok && !s.optional(`]`) {
			if len(where) > 0 {
				s.literal(`,`)
			}
			where = append(where, p.condition(s))
		}
		x.Where = slices.Clip(where)
	}
	if s.optional(`,"count":`) {
		count = int(s.int())
	}
	if s.optional(`,"order":[`) {
		x.Order = p.words(s)
	}
	if s.optional(`,"limit":`) {
		if x.Limit = int(s.int()); x.Limit == 0 {
			s.fail() // the slow parser says why
		}
	}
	if s.optional(`,"groups":[`) {
		x.Groups = p.sameWords(s)
	}
	return &x.Statement, count
}

func (p *predicateParser) condition(s *cursor) (c schema.Condition) {
	s.literal(`[`)
	c.Column = p.word(s)
	s.literal(`,`)
	c.Op = p.word(s)
	switch {
	case s.optional(`]`):
	case s.optional(`,[`):
		list := []any{}
		for s.ok && !s.optional(`]`) {
			if len(list) > 0 {
				s.literal(`,`)
			}
			list = append(list, p.constant(s))
		}
		c.Value = list
		s.literal(`]`)
	default:
		s.literal(`,`)
		c.Value = p.constant(s)
		s.literal(`]`)
	}
	return c
}

// maxBoxed bounds the integers whose interface values are kept.
const maxBoxed = 1 << 16

func (p *predicateParser) constant(s *cursor) any {
	if len(s.rest) > 0 && s.rest[0] == '"' {
		return string(s.text())
	}
	n := s.int()
	if n < 0 || n >= maxBoxed {
		return n
	}
	for len(p.boxed) <= int(n) {
		p.boxed = append(p.boxed, nil)
	}
	if p.boxed[n] == nil {
		p.boxed[n] = n
	}
	return p.boxed[n]
}

// sameWords is words with the result of the call before, if that has the same strings. It must not be
// changed.
func (p *predicateParser) sameWords(s *cursor) []string {
	n := 0
	for s.ok && !s.optional(`]`) {
		if n > 0 {
			s.literal(`,`)
		}
		w := p.word(s)
		if n < len(p.scratch) {
			p.scratch[n] = w
		} else {
			p.scratch = append(p.scratch, w)
		}
		n++
	}
	now := p.scratch[:n]
	for _, before := range p.same {
		if slices.Equal(before, now) {
			return before
		}
	}
	if n == 0 {
		return nil
	}
	out := slices.Clone(now)
	if len(p.same) < maxSame {
		p.same = append(p.same, out)
	}
	return out
}

// maxSame bounds the lists of words that are kept.
const maxSame = 16

// words reads a list of strings after its opening bracket.
func (p *predicateParser) words(s *cursor) []string {
	var out []string
	for s.ok && !s.optional(`]`) {
		if len(out) > 0 {
			s.literal(`,`)
		}
		out = append(out, p.word(s))
	}
	return out
}

// wordHash tells the few names of a file apart, mostly.
func wordHash(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	return (len(b) + int(b[0]) + 7*int(b[len(b)-1])) & (latestWords - 1)
}

// latestWords is the number of strings that are looked up without hashing.
const latestWords = 32

// maxWords bounds how many strings are cached: names of tables and columns, of which there are
// few.
const maxWords = 10_000

// word reads a string, and returns the cached copy if it was read before.
func (p *predicateParser) word(s *cursor) string {
	b := s.text()
	latest := &p.latest[wordHash(b)]
	if *latest == string(b) { // the compiler avoids the copy
		return *latest
	}
	if w, ok := p.seen[string(b)]; ok {
		*latest = w
		return w
	}
	w := string(b)
	*latest = w
	if len(p.seen) < maxWords {
		if p.seen == nil {
			p.seen = map[string]string{}
		}
		p.seen[w] = w
	}
	return w
}
