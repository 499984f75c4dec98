package fromfile

import (
	"math/rand"
	"strconv"

	"github.com/isohound/isohound/generator/dist"
	"github.com/isohound/isohound/history/schema"
)

// call is a generator as it is written: name(arguments).
type call struct {
	name name
	args []argument
}

type argument struct {
	token token
	call  *call
}

// call reads a generator.
func (p *parser) call() *call {
	c := &call{name: p.name("a generator, such as uniform(1, 100)")}
	p.expect("(")
	if p.accept(")") {
		return c
	}
	p.list(func() {
		t := p.peek()
		if t.kind == word && p.ahead(1).is("(") {
			c.args = append(c.args, argument{t, p.call()})
			return
		}
		if t.is("-") && p.ahead(1).kind == number {
			p.pos++
			n := p.peek()
			t = token{kind: number, text: "-" + n.text, n: -n.n, at: t.at}
		}
		if t.kind != number && t.kind != decimal && t.kind != text && t.kind != word {
			p.unexpected("a number, a text or the name of a parameter")
		}
		p.pos++
		c.args = append(c.args, argument{token: t})
	})
	p.expect(")")
	return c
}

// generators lists the generators with their arguments, for messages.
var generators = map[string]string{
	"uniform":     "uniform(FROM, TO)",
	"zipfian":     "zipfian(FROM, TO) or zipfian(FROM, TO, SKEW)",
	"hotspot":     "hotspot(FROM, TO) or hotspot(FROM, TO, SHARE)",
	"exponential": "exponential(FROM, TO) or exponential(FROM, TO, SHARE)",
	"latest":      "latest(FROM, TO) or latest(FROM, TO, SKEW)",
	"unique":      "unique()",
	"sequence":    "sequence(FROM)",
	"recent":      "recent(SEQUENCE, HOW_MANY)",
	"choice":      "choice(VALUE, …), numbers or texts",
	"text":        "text('prefix', GENERATOR)",
	"range":       "range(FROM, TO), in rows only",
}

// draw is a compiled generator.
type draw struct {
	kind   string
	typ    schema.Type
	lo     int64
	dist   *dist.Spec // of uniform, zipfian, hotspot, exponential and latest
	values []any      // of choice
	prefix string     // of text
	inner  *draw      // of text
	// number is, of a sequence, its number in the workload, and of recent that of its sequence. window
	// is how many of the latest numbers recent draws from.
	number int
	window int64
	// loop is, of range, its number in its INSERT.
	loop, size int64
}

// fresh is a value that is unique in the run, and drawn for each attempt of a transaction: a number,
// or a text with that number.
type fresh struct {
	text   bool
	prefix string
}

// unique reports whether no two draws are the same.
func (d *draw) unique() bool {
	return d.kind == "unique" || d.kind == "sequence" || d.inner != nil && d.inner.unique()
}

// state is what the generators of one session need.
type state struct {
	rng              *rand.Rand
	worker, sessions int64
	dists            map[*draw]dist.Distribution
	drawn            []int64 // by sequence, how many numbers have been drawn
	loops            []int64 // the values of ranges
}

// next draws a value.
func (d *draw) next(s *state) any {
	switch d.kind {
	case "unique":
		return fresh{}
	case "sequence":
		n := s.drawn[d.number]
		s.drawn[d.number]++
		return d.lo + n*s.sessions + s.worker
	case "recent":
		// Numbers of this time may not be inserted yet, or never be.
		return max(d.lo, d.lo+(s.drawn[d.number]+1)*s.sessions-1-s.rng.Int63n(d.window))
	case "choice":
		return d.values[s.rng.Intn(len(d.values))]
	case "range":
		return s.loops[d.loop]
	case "text":
		v := d.inner.next(s)
		if _, ok := v.(fresh); ok {
			return fresh{true, d.prefix}
		}
		return d.prefix + strconv.FormatInt(v.(int64), 10)
	}
	g := s.dists[d]
	if g == nil {
		g = d.dist.New()
		s.dists[d] = g
	}
	return d.lo + g.Next(s.rng)
}

// draw compiles a generator. rows says that it is one of initial rows.
func (c *compiler) draw(where *phrase, g *call, rows *insertion) *draw {
	name, usage := g.name.text, generators[g.name.text]
	if usage == "" {
		c.fail(where, g.name.at, "there is no generator %s%s", name, suggestion(name, keys(generators)))
		return nil
	}
	wrong := func(at int) *draw {
		c.fail(where, at, "write %s", usage)
		return nil
	}
	num := func(n int) (int64, bool) {
		if n >= len(g.args) || g.args[n].call != nil {
			return 0, false
		}
		t := g.args[n].token
		if t.kind == word {
			if p, ok := c.params[t.text]; ok {
				return p, true
			}
			c.fail(where, t.at, "there is no parameter %s under params%s", t.text, suggestion(t.text, keys(c.params)))
			return 1, true
		}
		return t.n, t.kind == number
	}
	d := &draw{kind: name, typ: schema.Int}
	switch name {
	case "unique":
		if len(g.args) > 0 {
			return wrong(g.name.at)
		}
		if rows != nil {
			c.fail(where, g.name.at, "initial rows count with range(FROM, TO); unique() is for transactions")
		}
	case "sequence":
		lo, ok := num(0)
		if !ok || len(g.args) != 1 {
			return wrong(g.name.at)
		}
		if rows != nil {
			c.fail(where, g.name.at, "initial rows count with range(FROM, TO); sequence is for transactions")
		}
		d.lo, d.number = lo, c.sequences
		c.sequences++
	case "recent":
		if len(g.args) != 2 || g.args[0].token.kind != word || rows != nil {
			return wrong(g.name.at)
		}
		of := c.found(g.args[0].token.text)
		if of == nil || of.kind != "sequence" {
			c.fail(where, g.args[0].token.at, "recent draws from a sequence that stands before it under draw; %s is none", g.args[0].token.text)
			return nil
		}
		window, ok := num(1)
		if !ok || window < 1 {
			return wrong(g.args[1].token.at)
		}
		d.lo, d.number, d.window = of.lo, of.number, window
	case "choice":
		for _, a := range g.args {
			var v any = a.token.n
			if a.token.kind == text {
				v, d.typ = a.token.text, schema.Text
			} else if a.token.kind != number {
				return wrong(a.token.at)
			}
			d.values = append(d.values, v)
		}
		for _, v := range d.values {
			if _, isText := v.(string); isText != (d.typ == schema.Text) {
				return wrong(g.name.at)
			}
		}
		if len(d.values) == 0 {
			return wrong(g.name.at)
		}
	case "text":
		if len(g.args) != 2 || g.args[0].token.kind != text || g.args[1].call == nil {
			return wrong(g.name.at)
		}
		d.typ, d.prefix = schema.Text, g.args[0].token.text
		if d.inner = c.draw(where, g.args[1].call, rows); d.inner == nil {
			return nil
		}
		if d.inner.typ != schema.Int {
			return wrong(g.args[1].token.at)
		}
	default: // of a range of numbers
		lo, ok := num(0)
		hi, ok2 := num(1)
		if !ok || !ok2 || len(g.args) > 3 || len(g.args) == 3 && (name == "uniform" || name == "range") {
			return wrong(g.name.at)
		}
		if hi < lo || hi-lo >= 1<<40 || hi-lo < 0 {
			c.fail(where, g.name.at, "%s has no numbers from %d to %d", name, lo, hi)
			return nil
		}
		d.lo, d.size = lo, hi-lo+1
		if name == "range" {
			if rows == nil {
				c.fail(where, g.name.at, "range is for initial rows; transactions draw with uniform(FROM, TO) and others")
				return nil
			}
			d.loop = int64(len(rows.ranges))
			rows.ranges = append(rows.ranges, d)
			return d
		}
		skew := 0.0
		if len(g.args) == 3 {
			t := g.args[2].token
			var err error
			if skew, err = strconv.ParseFloat(t.text, 64); err != nil || g.args[2].call != nil {
				return wrong(t.at)
			}
		}
		if (name == "zipfian" || name == "latest") && d.size > maxZipf {
			c.fail(where, g.name.at, "%s draws from %d numbers at most", name, int64(maxZipf))
			return nil
		}
		var err error
		if d.dist, err = dist.Parse(name, d.size, skew); err != nil {
			c.fail(where, g.name.at, "%v", err)
			return nil
		}
	}
	return d
}

// maxZipf bounds the numbers whose weights dist sums.
const maxZipf = 100_000_000
