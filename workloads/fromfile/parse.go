package fromfile

import (
	"fmt"
	"slices"
	"strings"
)

// verb is what a statement does.
type verb int

const (
	selects verb = iota
	counts
	inserts
	updates
	deletes
	rollsBack
)

// statement is a statement as it is written.
type statement struct {
	verb    verb
	at      int
	table   name
	columns []name  // of SELECT and INSERT; none is *
	values  []value // of INSERT
	sets    []setting
	upsert  bool   // INSERT with ON CONFLICT DO UPDATE SET
	target  []name // columns behind ON CONFLICT
	where   []condition
	order   []name // with a leading minus for DESC
	limit   int
}

type name struct {
	text string
	at   int
}

// setting is column = value, or, with by, column = column by value.
type setting struct {
	column name
	by     string // "", + or -
	value  value
}

// condition is column, comparison, constants. Of a condition of if the left side is a value.
type condition struct {
	column name
	left   value
	op     string // as in schema.Condition
	values []value
}

// value is a constant, a placeholder, or a sum. If call is set, it is a generator.
type value struct {
	at    int
	null  bool
	text  *string
	terms []term
	call  *call
}

type term struct {
	minus bool
	n     int64
	ref   string // "" for a number
	at    int
}

// parser reads a statement. Its methods panic with a mistake.
type parser struct {
	tokens []token
	pos    int
	// calls says that values may be generators.
	calls bool
}

// parse calls read on the tokens of s, and returns its mistake.
func parse(s string, calls bool, read func(p *parser)) (m *mistake) {
	defer func() {
		if r := recover(); r != nil {
			found, ok := r.(mistake)
			if !ok {
				panic(r)
			}
			m = &found
		}
	}()
	p := &parser{tokens: lex(s), calls: calls}
	read(p)
	if p.accept(";"); p.peek().kind != end {
		p.unexpected("the end of the statement")
	}
	return nil
}

func (p *parser) peek() token { return p.tokens[p.pos] }

func (p *parser) ahead(n int) token { return p.tokens[min(p.pos+n, len(p.tokens)-1)] }

func (p *parser) take() token {
	t := p.peek()
	if t.kind != end {
		p.pos++
	}
	return t
}

// accept takes the next tokens if they are these.
func (p *parser) accept(words ...string) bool {
	for i, w := range words {
		if !p.ahead(i).is(w) {
			return false
		}
	}
	p.pos += len(words)
	return true
}

func (p *parser) expect(words ...string) {
	for _, w := range words {
		if !p.accept(w) {
			p.unexpected(w)
		}
	}
}

func fail(at int, format string, args ...any) { panic(mistake{at, fmt.Sprintf(format, args...)}) }

// refusals say what to write instead of what cannot be recorded.
var refusals = map[string]string{
	"JOIN":      "joins are not recorded row by row; read one table, keep its row with as: r, and read the other with :r.COLUMN",
	"INNER":     "joins are not recorded row by row; read one table, keep its row with as: r, and read the other with :r.COLUMN",
	"LEFT":      "joins are not recorded row by row; read one table, keep its row with as: r, and read the other with :r.COLUMN",
	"OR":        "conditions are joined by AND only; write IN (…) for several values of a column, or two statements",
	"NOT":       "NOT is not supported; write <>, or IS NOT NULL",
	"EXISTS":    "a subquery's rows would not be recorded; write it as a statement of its own with as: r, and use if: :r.rows > 0",
	"GROUP":     "groups are computed in the database, and the history would not show which rows were read; read the rows",
	"HAVING":    "groups are computed in the database, and the history would not show which rows were read; read the rows",
	"DISTINCT":  "DISTINCT hides which rows were read; read the rows",
	"UNION":     "UNION hides which rows were read; write two statements",
	"OFFSET":    "OFFSET hides which rows were read; write a condition",
	"FOR":       "locks of rows are not recorded; leave it out, or update the row",
	"RETURNING": "RETURNING is not needed; what an update of old values leaves is recorded",
	"AS":        "columns keep their names; the result of a statement is named by the key as:",
	"LIKE":      "LIKE compares a column with a text",
}

// unexpected fails at the next token. If it is a refused word, it says what to write instead.
func (p *parser) unexpected(wanted string) {
	t := p.peek()
	if t.kind == word {
		if why, ok := refusals[strings.ToUpper(t.text)]; ok {
			fail(t.at, "%s", why)
		}
	}
	fail(t.at, "expected %s, not %s", wanted, t.shown())
}

func (p *parser) name(what string) name {
	t := p.peek()
	if t.is("(") && p.ahead(1).is("SELECT") {
		fail(t.at, "a subquery's rows would not be recorded; write it as a statement of its own with as: r, and use :r.COLUMN")
	}
	if t.kind != word {
		p.unexpected(what)
	}
	p.pos++
	return name{t.text, t.at}
}

// list reads what read reads, with commas between.
func (p *parser) list(read func()) {
	read()
	for p.accept(",") {
		read()
	}
}

func (p *parser) names(what string) (out []name) {
	p.list(func() { out = append(out, p.name(what)) })
	return out
}

// statement reads a statement.
func (p *parser) statement() statement {
	s := statement{at: p.peek().at}
	switch {
	case p.accept("SELECT"):
		p.selected(&s)
	case p.accept("INSERT"):
		p.insert(&s)
	case p.accept("UPDATE"):
		s.verb = updates
		s.table = p.name("a table")
		p.expect("SET")
		p.list(func() { s.sets = append(s.sets, p.setting()) })
		if p.peek().is("FROM") {
			fail(p.peek().at, "an update from another table would not show what it read; read that table with as: r, and use :r.COLUMN")
		}
		p.where(&s)
	case p.accept("DELETE"):
		s.verb = deletes
		p.expect("FROM")
		s.table = p.name("a table")
		p.where(&s)
	case p.accept("ROLLBACK"):
		s.verb = rollsBack
	case p.peek().is("BEGIN"), p.peek().is("START"), p.peek().is("COMMIT"):
		fail(s.at, "a transaction begins and commits by itself; leave %s out", strings.ToUpper(p.peek().text))
	case p.peek().is("WITH"):
		fail(s.at, "WITH is not recorded; write each query as a statement of its own with as: r")
	case p.peek().is("SET"):
		fail(s.at, "settings of the session are the driver's; isolation is --isolation")
	default:
		p.unexpected("SELECT, INSERT, UPDATE, DELETE or ROLLBACK")
	}
	return s
}

func (p *parser) selected(s *statement) {
	switch {
	case p.peek().is("DISTINCT"):
		p.unexpected("a column")
	case p.accept("*"):
	case p.peek().is("COUNT") && p.ahead(1).is("("):
		if !p.accept("COUNT", "(", "*", ")") {
			fail(p.ahead(2).at, "only COUNT(*) is recorded, as a count; to count fewer rows, write a condition")
		}
		s.verb = counts
	default:
		p.list(func() {
			if p.ahead(1).is("(") && p.peek().kind == word {
				fail(p.peek().at, "%s(…) is computed in the database, and the history would not show what was read; read the columns", strings.ToUpper(p.peek().text))
			}
			s.columns = append(s.columns, p.name("a column, * or COUNT(*)"))
			if t := p.peek(); t.is(".") {
				fail(t.at, "a statement has one table, so columns stand without it")
			} else if t.kind == symbol && !t.is(",") {
				fail(t.at, "an expression over columns would not show what was read; read the column, and compute with :r.COLUMN")
			}
		})
	}
	p.expect("FROM")
	s.table = p.name("a table")
	if p.peek().is(",") {
		fail(p.peek().at, "%s", refusals["JOIN"])
	}
	p.where(s)
	if p.accept("ORDER") {
		p.expect("BY")
		p.list(func() {
			c := p.name("a column")
			if p.accept("DESC") {
				c.text = "-" + c.text
			} else {
				p.accept("ASC")
			}
			s.order = append(s.order, c)
		})
	}
	if p.accept("LIMIT") {
		t := p.take()
		if t.kind != number || t.n < 1 || t.n > 1<<30 {
			fail(t.at, "LIMIT is a number of rows, at least 1")
		}
		s.limit = int(t.n)
	}
}

func (p *parser) insert(s *statement) {
	s.verb = inserts
	p.expect("INTO")
	s.table = p.name("a table")
	if !p.peek().is("(") {
		fail(p.peek().at, "INSERT names its columns: INSERT INTO %s (…) VALUES (…)", s.table.text)
	}
	p.expect("(")
	s.columns = p.names("a column")
	p.expect(")")
	if p.peek().is("SELECT") {
		fail(p.peek().at, "INSERT … SELECT would not show what it read; read the rows with as: r, and insert :r.COLUMN")
	}
	p.expect("VALUES", "(")
	p.list(func() { s.values = append(s.values, p.value()) })
	p.expect(")")
	if p.peek().is(",") {
		fail(p.peek().at, "an INSERT adds one row; write a statement for each")
	}
	if p.accept("ON") {
		if !p.accept("CONFLICT") {
			fail(p.peek().at, "write ON CONFLICT DO UPDATE SET …")
		}
		if p.accept("(") {
			s.target = p.names("a column")
			p.expect(")")
		}
		if !p.accept("DO", "UPDATE", "SET") {
			fail(p.peek().at, "write ON CONFLICT DO UPDATE SET …; whether DO NOTHING inserted the row would not be recorded")
		}
		s.upsert = true
		p.list(func() { s.sets = append(s.sets, p.setting()) })
	}
}

func (p *parser) setting() setting {
	s := setting{column: p.name("a column")}
	p.expect("=")
	if t := p.peek(); t.kind == word && t.text == s.column.text && !p.ahead(1).is("(") {
		p.pos++
		if p.peek().is("||") {
			fail(p.peek().at, "a text that grows does not fit into its column in the end; set a text, or add to a number")
		}
		for _, by := range []string{"+", "-"} {
			if p.accept(by) {
				s.by, s.value = by, p.term()
				if c := p.peek(); c.is("+") || c.is("-") || c.is("*") {
					fail(c.at, "write %s = %s %s VALUE with one value", s.column.text, s.column.text, by)
				}
				return s
			}
		}
		fail(p.peek().at, "a column depends on its old value as in %s = %s + VALUE, with + or -", s.column.text, s.column.text)
	}
	s.value = p.value()
	return s
}

// term reads one number, text or placeholder.
func (p *parser) term() value {
	t := p.peek()
	if t.kind == text {
		p.pos++
		return value{at: t.at, text: &t.text}
	}
	return value{at: t.at, terms: []term{p.one()}}
}

func (p *parser) one() term {
	t := p.peek()
	switch {
	case t.is("-") && p.ahead(1).kind == number:
		p.pos += 2
		return term{n: -p.ahead(-1).n, at: t.at}
	case t.kind == number:
		p.pos++
		return term{n: t.n, at: t.at}
	case t.kind == ref:
		p.pos++
		return term{ref: t.text, at: t.at}
	case t.kind == decimal:
		fail(t.at, "columns hold integers and texts, not %s", t.text)
	case t.is("(") && p.ahead(1).is("SELECT"):
		fail(t.at, "a subquery's rows would not be recorded; write it as a statement of its own with as: r, and use :r.COLUMN")
	case t.kind == word && p.ahead(1).is("("):
		fail(t.at, "%s(…) would be computed in the database; draw the value: a generator under draw, and its placeholder here", t.text)
	case t.kind == word:
		fail(t.at, "%s is a column here, and what the statement read of it would not be recorded; read it before with as: r and write :r.%s, or write COLUMN = COLUMN + VALUE", t.text, t.text)
	}
	p.unexpected("a number, a text in single quotes or a placeholder")
	return term{}
}

// value reads a value.
func (p *parser) value() value {
	t := p.peek()
	switch {
	case p.accept("NULL"):
		return value{at: t.at, null: true}
	case t.kind == text:
		p.pos++
		return value{at: t.at, text: &t.text}
	case p.calls && t.kind == word && p.ahead(1).is("("):
		return value{at: t.at, call: p.call()}
	}
	v := value{at: t.at, terms: []term{p.one()}}
	for {
		c := p.peek()
		switch {
		case c.is("+"), c.is("-"):
			p.pos++
			next := p.one()
			next.minus = c.is("-")
			v.terms = append(v.terms, next)
			continue
		case c.is("*"), c.is("/"), c.is("%"), c.is("||"):
			fail(c.at, "values are added and subtracted only: :r.price + 1")
		}
		return v
	}
}

func (p *parser) where(s *statement) {
	if !p.accept("WHERE") {
		return
	}
	p.conditions(func() {
		if t := p.peek(); t.is("NOT") || t.is("EXISTS") {
			p.unexpected("a condition")
		}
		c := condition{column: p.name("a column")}
		if t := p.peek(); t.is("(") {
			fail(c.column.at, "a condition compares a column, not %s(…), with values", c.column.text)
		} else if t.is("+") || t.is("-") || t.is("*") || t.is("/") || t.is("||") {
			fail(t.at, "a condition compares a column with a value; compute on the side of the value")
		}
		p.comparison(&c)
		s.where = append(s.where, c)
	})
}

// conditions reads conditions with AND between them.
func (p *parser) conditions(read func()) {
	read()
	for p.accept("AND") {
		read()
	}
	if t := p.peek(); t.is("OR") {
		fail(t.at, "%s", refusals["OR"])
	}
}

var operators = []string{"=", "<>", "!=", "<", "<=", ">", ">="}

func (p *parser) comparison(c *condition) {
	t := p.peek()
	switch {
	case t.kind == symbol && slices.Contains(operators, t.text):
		p.pos++
		if c.op = t.text; c.op == "!=" {
			c.op = "<>"
		}
		c.values = []value{p.value()}
		if c.values[0].null {
			fail(c.values[0].at, "nothing is equal to NULL; write IS NULL or IS NOT NULL")
		}
	case p.accept("IN"):
		c.op = "in"
		p.expect("(")
		if p.peek().is("SELECT") {
			fail(p.peek().at, "a subquery's rows would not be recorded; write it as a statement of its own with as: r, and use :r.COLUMN")
		}
		p.list(func() { c.values = append(c.values, p.value()) })
		p.expect(")")
	case p.accept("BETWEEN"):
		c.op = "between"
		c.values = append(c.values, p.value())
		p.expect("AND")
		c.values = append(c.values, p.value())
	case p.accept("LIKE"):
		c.op = "like-prefix"
		t := p.take()
		prefix, ok := strings.CutSuffix(t.text, "%")
		if t.kind != text || !ok || strings.ContainsAny(prefix, "%_\\") {
			fail(t.at, "LIKE compares with the beginning of a text only: LIKE 'abc%%'")
		}
		c.values = []value{{at: t.at, text: &prefix}}
	case p.accept("IS", "NULL"):
		c.op = "is-null"
	case p.accept("IS", "NOT", "NULL"):
		c.op = "is-not-null"
	default:
		p.unexpected("a comparison (" + strings.Join(operators, " ") + ", IN, BETWEEN, LIKE, IS NULL)")
	}
}

// guards reads the conditions of if.
func (p *parser) guards() (out []condition) {
	p.conditions(func() {
		if t := p.peek(); t.kind == word {
			fail(t.at, "if compares values that the transaction has: :r.rows, :r.COLUMN or placeholders")
		}
		c := condition{left: p.value()}
		t := p.take()
		if t.kind != symbol || !slices.Contains(operators, t.text) {
			fail(t.at, "expected a comparison (%s), not %s", strings.Join(operators, " "), t.shown())
		}
		if c.op = t.text; c.op == "!=" {
			c.op = "<>"
		}
		if c.values = []value{p.value()}; c.values[0].null || c.left.null {
			fail(t.at, "a null is not compared: a statement or an if that uses the null of a row is skipped")
		}
		out = append(out, c)
	})
	return out
}
