package native

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// appendPredicates appends the predicates of a transaction or intent line.
func appendPredicates(b []byte, predicates []history.Predicate) []byte {
	b = append(b, `,"preds":[`...)
	for i := range predicates {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendPredicate(b, &predicates[i])
	}
	return append(b, ']')
}

func appendPredicate(b []byte, p *history.Predicate) []byte {
	b = append(b, `{"kind":`...)
	b = appendString(b, p.Kind)
	b = append(b, `,"table":`...)
	b = appendString(b, p.Table)
	if len(p.Where) > 0 {
		b = append(b, `,"where":[`...)
		for i, c := range p.Where {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, '[')
			b = appendString(b, c.Column)
			b = append(b, ',')
			b = appendString(b, c.Op)
			if list, isList := c.Value.([]any); isList {
				b = append(b, ",["...)
				for j, v := range list {
					if j > 0 {
						b = append(b, ',')
					}
					b = appendConstant(b, v)
				}
				b = append(b, ']')
			} else if c.Value != nil {
				b = appendConstant(append(b, ','), c.Value)
			}
			b = append(b, ']')
		}
		b = append(b, ']')
	}
	if p.Count > 0 {
		b = append(b, `,"count":`...)
		b = strconv.AppendInt(b, int64(p.Count), 10)
	}
	b = appendStrings(b, `,"order":[`, p.Order)
	if p.Limit > 0 {
		b = append(b, `,"limit":`...)
		b = strconv.AppendInt(b, int64(p.Limit), 10)
	}
	b = appendStrings(b, `,"groups":[`, p.Groups)
	b = append(b, `,"ops":[`...)
	b = strconv.AppendInt(b, int64(p.Ops[0]), 10)
	b = append(b, ',')
	b = strconv.AppendInt(b, int64(p.Ops[1]), 10)
	b = append(b, ']')
	if p.Implied > 0 {
		b = append(b, `,"implied":`...)
		b = strconv.AppendInt(b, int64(p.Implied), 10)
	}
	b = appendStrings(b, `,"omitted":[`, p.Omitted)
	if p.Partial {
		b = append(b, `,"partial":true`...)
	}
	return append(appendChoices(b, p.Choices), '}')
}

// appendChoices appends choices. Only counterexamples have any, so the fast parser does not read them.
func appendChoices(b []byte, choices []history.Choice) []byte {
	if len(choices) == 0 {
		return b
	}
	open := `,"choices":[`
	for _, c := range choices {
		b = append(append(b, open...), '[')
		for i, list := range c {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, '[')
			for j, s := range list {
				if j > 0 {
					b = append(b, ',')
				}
				b = appendString(append(b, `{"kind":`...), s.Kind)
				b = appendString(append(b, `,"item":`...), s.Item)
				b = append(append(b, `,"value":`...), s.Value...)
				if s.Version != 0 {
					b = strconv.AppendInt(append(b, `,"version":`...), s.Version, 10)
				}
				b = append(b, '}')
			}
			b = append(b, ']')
		}
		b, open = append(b, ']'), ","
	}
	return append(b, ']')
}

func appendConstant(b []byte, v any) []byte {
	if n, ok := v.(int64); ok {
		return strconv.AppendInt(b, n, 10)
	}
	return appendString(b, v.(string))
}

func appendStrings(b []byte, name string, list []string) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(b, name...)
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}

// predicates reads what appendPredicates wrote, after its opening bracket, and appends it to out.
func (p *recordParser) predicates(s *cursor, out []history.Predicate) []history.Predicate {
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

// mostAsked bounds the statements that are kept to be found by their text.
const mostAsked = 1 << 16

// behindStatement is what follows the text of a statement. Nothing in a statement has this spelling, because
// quotes in texts are escaped.
var behindStatement = []byte(`,"ops":[`)

// statement reads a predicate up to its operations. Predicates with the same text share a statement and its number.
func (p *recordParser) statement(s *cursor) (x *history.Statement, count int, number int32) {
	to := bytes.Index(s.rest, behindStatement)
	if to < 0 {
		s.fail()
		return nil, 0, 0
	}
	text := s.rest[:to]
	if n, known := p.askedTexts.Find(text); known {
		s.rest = s.rest[to:]
		return p.asked[n].Statement, p.asked[n].count, int32(n)
	}
	x, count = p.newStatement(s)
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

func (p *recordParser) newStatement(s *cursor) (*history.Statement, int) {
	const chunk = 64
	if len(p.statements) == 0 {
		p.statements = make([]history.Statement, min(chunk, 1+len(p.asked)))
	}
	x := &p.statements[0]
	p.statements = p.statements[1:]
	count := 0
	s.literal(`{"kind":`)
	x.Kind = p.word(s)
	s.literal(`,"table":`)
	x.Table = p.word(s)
	if s.optional(`,"where":[`) {
		where := p.where[:0]
		for s.ok && !s.optional(`]`) {
			if len(where) > 0 {
				s.literal(`,`)
			}
			where = append(where, p.condition(s))
		}
		p.where = where
		x.Where = p.keep(where)
	}
	if s.optional(`,"count":`) {
		count = int(s.int())
	}
	if s.optional(`,"order":[`) {
		x.Order = p.words(s)
	}
	if s.optional(`,"limit":`) {
		x.Limit = int(s.int())
	}
	if s.optional(`,"groups":[`) {
		x.Groups = p.sameWords(s)
	}
	return x, count
}

func (p *recordParser) condition(s *cursor) (c schema.Condition) {
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

// keep copies conditions into memory that many predicates share.
func (p *recordParser) keep(list []schema.Condition) []schema.Condition {
	const chunk = 512
	if len(p.conditions)+len(list) > cap(p.conditions) {
		p.conditions = make([]schema.Condition, 0, max(chunk, len(list)))
	}
	from := len(p.conditions)
	p.conditions = append(p.conditions, list...)
	return p.conditions[from:len(p.conditions):len(p.conditions)]
}

// maxBoxed bounds the integers whose interface values are kept.
const maxBoxed = 1 << 16

func (p *recordParser) constant(s *cursor) any {
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
func (p *recordParser) sameWords(s *cursor) []string {
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
func (p *recordParser) words(s *cursor) []string {
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
func (p *recordParser) word(s *cursor) string {
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
