package native

import (
	"strconv"

	"github.com/isohound/isohound/history"
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
				b = appendString(append(b, `,"item":`...), string(s.Item))
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
