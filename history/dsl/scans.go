package dsl

import (
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// scanKinds are the kinds of predicates by how the notation spells them.
var scanKinds = map[string]string{
	"p(": history.ScanRead, "pw(": history.ScanUpdate, "pd(": history.ScanDelete, "pc(": history.ScanCount,
}

// scan reads a statement with conditions, if one is next, and appends it and its operations to rec.
func (p *parser) scan(s *scanner, rec *history.Record) (found bool, err error) {
	for opening, kind := range scanKinds {
		if s.prefix(opening) {
			x := history.Predicate{Statement: &history.Statement{Kind: kind}}
			if err := p.asked(s, &x); err != nil {
				return true, err
			}
			x.Ops[0] = len(rec.Ops)
			if kind == history.ScanCount {
				n, err := s.number("count")
				if err != nil {
					return true, err
				}
				x.Count, x.Partial = int(n), s.prefix(more)
				if !s.byte(')') {
					return true, errors.Errorf("expected ) after the count, at %q", shown(s.rest))
				}
			} else if err := p.rows(s, &x, rec); err != nil {
				return true, err
			}
			x.Ops[1] = len(rec.Ops)
			rec.Predicates = append(rec.Predicates, x)
			p.scans = true
			return true, nil
		}
	}
	return false, nil
}

// asked reads conditions, order and limit, up to the semicolon.
func (p *parser) asked(s *scanner, x *history.Predicate) error {
	for s.space(); !s.byte(';'); s.space() {
		switch {
		case s.prefix("by "):
			for {
				s.space()
				column := s.until(" ,;)")
				x.Order = append(x.Order, column)
				if !s.byte(',') {
					break
				}
			}
		case s.prefix("limit "):
			s.space()
			n, err := s.number("limit")
			if err != nil {
				return err
			}
			if x.Limit = int(n); n == 0 {
				return errors.New("a limit of 0 rows is not possible")
			}
		default:
			if len(x.Where) > 0 && !s.prefix("and ") {
				return errors.Errorf("expected and, by, limit or a semicolon after the conditions, at %q", shown(s.rest))
			}
			c, err := s.condition()
			if err != nil {
				return err
			}
			x.Where = append(x.Where, c)
		}
	}
	s.space()
	return x.Predicate.Check(p.plain[0])
}

// symbols are the comparisons that stand between a column and a number, long ones first.
var symbols = []string{"<=", ">=", "<>", "<", ">", "="}

func (s *scanner) condition() (c schema.Condition, err error) {
	s.space()
	c.Column = s.until(" \t<>=;()")
	s.space()
	for _, op := range symbols {
		if s.prefix(op) {
			s.space()
			n, err := s.number("condition")
			return schema.Condition{Column: c.Column, Op: op, Value: n}, err
		}
	}
	switch {
	case s.prefix("is not null"):
		return schema.IsNotNull(c.Column), nil
	case s.prefix("is null"):
		return schema.IsNull(c.Column), nil
	case s.prefix("between "):
		s.space()
		a, err := s.number("condition")
		if err != nil {
			return c, err
		}
		if s.space(); !s.prefix("and ") {
			return c, errors.Errorf("expected and between two numbers, at %q", shown(s.rest))
		}
		s.space()
		b, err := s.number("condition")
		return schema.Between(c.Column, a, b), err
	case s.prefix("in"):
		if s.space(); !s.byte('(') {
			return c, errors.Errorf("expected a list in brackets, at %q", shown(s.rest))
		}
		list := []any{}
		for s.space(); !s.byte(')'); s.space() {
			if len(list) > 0 && !s.byte(',') {
				return c, errors.Errorf("expected a comma or ) in a list, at %q", shown(s.rest))
			}
			s.space()
			n, err := s.number("condition")
			if err != nil {
				return c, err
			}
			list = append(list, n)
		}
		return schema.In(c.Column, list...), nil
	}
	return c, errors.Errorf("expected a condition such as v>10, at %q", shown(c.Column+s.rest))
}

// rows reads the rows that a statement returned or changed, up to the closing bracket.
func (p *parser) rows(s *scanner, x *history.Predicate, rec *history.Record) error {
	for n := 0; !s.byte(')'); n++ {
		if n > 0 && !s.byte(',') {
			return errors.Errorf("expected a comma or ) after a row, at %q", shown(s.rest))
		}
		s.space()
		if x.Partial {
			return errors.Errorf("nothing may follow %s, at %q", more, shown(s.rest))
		}
		if s.prefix(more) {
			x.Partial = true
			s.space()
			continue
		}
		name, err := s.key()
		if err != nil {
			return err
		}
		if err := p.row(s, x, rec, name); err != nil {
			return errors.Wrapf(err, "row %s", key(name))
		}
		s.space()
	}
	return nil
}

func (p *parser) row(s *scanner, x *history.Predicate, rec *history.Record, name string) error {
	k := p.sym.Key(name)
	valued := s.byte('=')
	if valued && s.byte('?') {
		x.Omitted = append(x.Omitted, name)
		return nil
	}
	if valued && !strings.HasPrefix(s.rest, arrow) {
		v, err := p.valueBefore(s, arrow)
		if err != nil {
			return err
		}
		if v == history.Absent {
			return errors.New("a statement with conditions finds rows that exist; it has no value")
		}
		rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: k, Value: v})
		s.space()
		if err := s.version(rec); err != nil {
			return err
		}
	}
	switch x.Kind {
	case history.ScanRead:
		if !valued {
			return errors.Errorf("expected = and its value, at %q", shown(s.rest))
		}
	case history.ScanDelete:
		rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: k, Value: history.Absent})
	case history.ScanUpdate:
		if !s.prefix(arrow) {
			return errors.Errorf("expected -> and its new value, at %q", shown(s.rest))
		}
		v, err := p.value(s)
		if err != nil {
			return err
		}
		rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: k, Value: v})
	}
	return nil
}

// more says that a statement is partial (history.Predicate.Partial).
const more = "..."

// arrow stands between the old and the new value of a row that was updated.
const arrow = "->"

// valueBefore reads a value that ends where stop begins, if it is a word.
func (p *parser) valueBefore(s *scanner, stop string) (history.Value, error) {
	end := strings.Index(s.rest, stop)
	if end < 0 || strings.HasPrefix(s.rest, `"`) || strings.ContainsAny(s.rest[:end], separators) {
		return p.value(s)
	}
	rest := s.rest[end:]
	s.rest = s.rest[:end]
	v, err := p.value(s)
	s.rest += rest
	return v, err
}

// until consumes everything up to one of the characters.
func (s *scanner) until(stops string) string {
	end := strings.IndexAny(s.rest, stops)
	if end < 0 {
		end = len(s.rest)
	}
	word := s.rest[:end]
	s.rest = s.rest[end:]
	return word
}

// Scan writes a statement with conditions of a history whose rows are its keys, such as
// p(v > 10; x=12), of the transaction t.
func Scan(h *history.History, t *history.Txn, p *history.Predicate) string {
	var b strings.Builder
	for opening, kind := range scanKinds {
		if kind == p.Kind {
			b.WriteString(opening)
		}
	}
	b.WriteString(p.Conditions())
	if len(p.Order) > 0 {
		b.WriteString(" by " + strings.Join(p.Order, ","))
	}
	if p.Limit > 0 {
		b.WriteString(" limit " + strconv.Itoa(p.Limit))
	}
	b.WriteString("; ")
	if p.Kind == history.ScanCount {
		b.WriteString(strconv.Itoa(p.Count))
		if p.Partial {
			b.WriteString(more)
		}
	} else {
		rows := scanRows(h, t, p)
		if p.Partial {
			rows = append(rows, more)
		}
		b.WriteString(strings.Join(rows, ", "))
	}
	return b.String() + ")"
}

// scanRows spells the rows that a statement returned or changed.
func scanRows(h *history.History, t *history.Txn, p *history.Predicate) []string {
	var rows []string
	first := p.Ops[0] + p.Implied
	ops := h.Ops(t)[first:p.Ops[1]]
	spell := func(v history.Value) string {
		if text := value(h, v); !strings.Contains(text, arrow) {
			return text
		}
		return h.ValueText(v)
	}
	for i := 0; i < len(ops); i++ {
		row := key(h.KeyName(ops[i].Key))
		if ops[i].Kind == history.Read {
			row += "=" + spell(ops[i].Value)
			if v := h.Version(t, first+i); v != 0 {
				row += " @" + strconv.FormatInt(history.SpellVersion(v), 10)
			}
			if p.Kind == history.ScanRead || i+1 == len(ops) || ops[i+1].Kind != history.Write || ops[i+1].Key != ops[i].Key {
				rows = append(rows, row)
				continue
			}
			i++
		} else if p.Kind == history.ScanUpdate {
			row += "="
		}
		if p.Kind == history.ScanUpdate {
			row += arrow + spell(ops[i].Value)
		}
		rows = append(rows, row)
	}
	for _, name := range p.Omitted {
		rows = append(rows, key(name)+"=?")
	}
	return rows
}
