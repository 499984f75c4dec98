package fromfile

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
)

// expr is a compiled value: null, a constant text, a sum, a placeholder of a text, a generator of an
// initial row, or a stamp.
type expr struct {
	typ    schema.Type
	null   bool
	konst  any // a text
	terms  []part
	draw   *draw
	stamp  bool
	broken bool // it has an error, which was told
}

func (e expr) set() bool { return e.null || e.konst != nil || e.terms != nil }

// source is where a part of a sum comes from.
type source int

const (
	ofNumber source = iota
	ofDraw
	ofRows   // how many rows a result has, or what it counted
	ofColumn // a column of the first row of a result
)

type part struct {
	minus     bool
	source    source
	n         int64
	index     int // of the generator or of the result
	group, at int // of the column
}

// value compiles a value of a statement.
func (c *compiler) value(t *transaction, text *phrase, v value) expr {
	switch {
	case v.null:
		return expr{null: true}
	case v.text != nil:
		return expr{typ: schema.Text, konst: *v.text}
	}
	e := expr{}
	for _, w := range v.terms {
		p, typ, ok := c.part(t, text, w)
		if !ok {
			return expr{broken: true}
		}
		if typ == schema.Text && len(v.terms) > 1 {
			c.fail(text, w.at, ":%s is a text, and only numbers are added", w.ref)
			return expr{broken: true}
		}
		e.typ, e.terms = typ, append(e.terms, p)
	}
	return e
}

// part finds what a placeholder stands for.
func (c *compiler) part(t *transaction, text *phrase, w term) (part, schema.Type, bool) {
	p := part{minus: w.minus, n: w.n}
	if w.ref == "" {
		return p, schema.Int, true
	}
	name, field, isField := strings.Cut(w.ref, ".")
	if !isField {
		if v, ok := c.params[name]; ok {
			p.n = v
			return p, schema.Int, true
		}
		d := c.found(name)
		if d == nil {
			if slices.Contains(t.as, name) {
				c.fail(text, w.at, "%s is what a statement has read; write :%s.rows or :%s.COLUMN", name, name, name)
			} else if !c.broken[":"+name] {
				c.broken[":"+name] = true // told once
				c.fail(text, w.at, "there is no %s under draw or params%s", name, suggestion(name, slices.Concat(keys(c.own), keys(c.shared), keys(c.params))))
			}
			return p, 0, false
		}
		if _, ok := t.index[d]; !ok {
			t.index[d] = len(t.draws)
			t.draws = append(t.draws, d)
		}
		p.source, p.index = ofDraw, t.index[d]
		return p, d.typ, true
	}
	p.index = slices.Index(t.as, name)
	if p.index < 0 {
		c.fail(text, w.at, "no statement before this one has as: %s%s", name, suggestion(name, t.as))
		return p, 0, false
	}
	if field == "rows" {
		p.source = ofRows
		return p, schema.Int, true
	}
	read := t.reads[p.index]
	if read.verb == counts {
		c.fail(text, w.at, "%s is a count; write :%s.rows", name, name)
		return p, 0, false
	}
	group, at, column, ok := c.column(text, read.table, nameAt(field, w.at))
	if !ok {
		return p, 0, false
	}
	if group >= 0 && !slices.Contains(read.groups, group) {
		c.fail(text, w.at, "the statement %s did not read column %s; name it in the SELECT", name, field)
		return p, 0, false
	}
	p.source, p.group, p.at = ofColumn, group, at
	return p, column.Type, true
}

func nameAt(text string, at int) name { return name{text, at} }

// fitting compiles a value for a column.
func (c *compiler) fitting(t *transaction, text *phrase, v value, column schema.Column) expr {
	e := c.value(t, text, v)
	c.fits(text, v.at, e, column, c.longest(t, e))
	return e
}

// fits fails unless a value is of a column's type, and at most so long.
func (c *compiler) fits(text *phrase, at int, e expr, column schema.Column, longest int) {
	switch {
	case e.broken:
	case e.null && !column.Null:
		c.fail(text, at, "column %s may not be null; its type would be %s null", column.Name, map[schema.Type]string{schema.Int: "int", schema.Text: "text"}[column.Type])
	case e.null:
	case e.typ != column.Type:
		c.fail(text, at, "column %s is %s, and the value is not", column.Name, typeName(column.Type))
	case column.Type == schema.Text && longest > size(column):
		c.fail(text, at, "column %s has at most %d bytes, and the value up to %d", column.Name, size(column), longest)
	}
}

// longest is how long a text can be, as far as that is known here.
func (c *compiler) longest(t *transaction, e expr) int {
	if s, ok := e.konst.(string); ok {
		return len(s)
	}
	if len(e.terms) == 1 && e.terms[0].source == ofDraw {
		return t.draws[e.terms[0].index].longest()
	}
	return 0
}

// longest is how many bytes the texts of a generator have at most.
func (d *draw) longest() int {
	n := 0
	for _, v := range d.values {
		if s, ok := v.(string); ok {
			n = max(n, len(s))
		}
	}
	if d.kind == "text" {
		n = len(d.prefix) + d.inner.digits()
	}
	return n
}

// digits is how many bytes the numbers of a generator have at most.
func (d *draw) digits() int {
	if d.size > 0 {
		return max(len(strconv.FormatInt(d.lo, 10)), len(strconv.FormatInt(d.lo+d.size-1, 10)))
	}
	return len(strconv.FormatInt(math.MaxInt64, 10))
}

// env is what a transaction has drawn and read.
type env struct {
	draws   []any
	results []result
}

type result struct {
	done bool
	rows int64
	row  schema.Row // the first one
}

// of returns the value of an expression, and false if it is a column of a row that was not found, or a
// null.
func (v *env) of(e expr, tx *generator.Tx) (any, bool) {
	switch {
	case e.stamp:
		return tx.Fresh(), true
	case e.null:
		return nil, true
	case e.konst != nil:
		return e.konst, true
	}
	sum := int64(0)
	for _, p := range e.terms {
		var x any = p.n
		switch p.source {
		case ofDraw:
			x = v.draws[p.index]
		case ofRows:
			if !v.results[p.index].done {
				return nil, false
			}
			x = v.results[p.index].rows
		case ofColumn:
			r := &v.results[p.index]
			if !r.done || r.rows == 0 {
				return nil, false
			}
			if p.group < 0 {
				x = r.row.Key[p.at]
			} else {
				x = r.row.Groups[p.group][p.at]
			}
			if x == nil {
				return nil, false
			}
		}
		n, isInt := x.(int64)
		switch {
		case !isInt:
			return x, true
		case p.minus:
			sum -= n
		default:
			sum += n
		}
	}
	return sum, true
}

// all returns the values of expressions.
func (v *env) all(list []expr, tx *generator.Tx) ([]any, bool) {
	out := make([]any, len(list))
	for i, e := range list {
		x, ok := v.of(e, tx)
		if !ok {
			return nil, false
		}
		out[i] = x
	}
	return out, true
}
