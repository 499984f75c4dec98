package native

import (
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
	return append(b, '}')
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

// predicates reads what appendPredicates wrote, after its opening bracket.
func (p *recordParser) predicates(s *cursor) []history.Predicate {
	var out []history.Predicate
	for s.ok && !s.optional(`]`) {
		if len(out) > 0 {
			s.literal(`,`)
		}
		var x history.Predicate
		s.literal(`{"kind":`)
		x.Kind = p.word(s)
		s.literal(`,"table":`)
		x.Table = p.word(s)
		if s.optional(`,"where":[`) {
			for s.ok && !s.optional(`]`) {
				if len(x.Where) > 0 {
					s.literal(`,`)
				}
				var c schema.Condition
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
						list = append(list, constant(s))
					}
					c.Value = list
					s.literal(`]`)
				default:
					s.literal(`,`)
					c.Value = constant(s)
					s.literal(`]`)
				}
				x.Where = append(x.Where, c)
			}
		}
		if s.optional(`,"count":`) {
			x.Count = int(s.int())
		}
		if s.optional(`,"order":[`) {
			x.Order = p.words(s)
		}
		if s.optional(`,"limit":`) {
			x.Limit = int(s.int())
		}
		if s.optional(`,"groups":[`) {
			x.Groups = p.words(s)
		}
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

func constant(s *cursor) any {
	if len(s.rest) > 0 && s.rest[0] == '"' {
		return string(s.text())
	}
	return s.int()
}

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

// maxWords bounds how many strings are cached: names of tables and columns, of which there are
// few.
const maxWords = 10_000

// word reads a string, and returns the cached copy if it was read before.
func (p *recordParser) word(s *cursor) string {
	b := s.text()
	if w, ok := p.seen[string(b)]; ok { // the compiler avoids the copy
		return w
	}
	w := string(b)
	if len(p.seen) < maxWords {
		if p.seen == nil {
			p.seen = map[string]string{}
		}
		p.seen[w] = w
	}
	return w
}
