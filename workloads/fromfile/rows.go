package fromfile

import (
	"iter"
	"math/rand"

	"go.yaml.in/yaml/v3"

	"github.com/isohound/isohound/generator/dist"
	"github.com/isohound/isohound/history/schema"
)

// insertion is an INSERT of initial rows: one row for each combination of the numbers of its ranges.
type insertion struct {
	table  *table
	values []expr // by column
	ranges []*draw
}

// maxRows bounds the rows of an INSERT.
const maxRows = 1_000_000

// readRow compiles an INSERT of initial rows.
func (c *compiler) readRow(n *yaml.Node) {
	text := c.scalar(n, "an INSERT of rows")
	if text == nil {
		return
	}
	var written statement
	if m := parse(text.s, true, func(p *parser) { written = p.statement() }); m != nil {
		c.fail(text, m.at, "%s", m.text)
		return
	}
	if written.verb != inserts || written.upsert {
		c.fail(text, written.at, "rows has statements of the form INSERT INTO TABLE (…) VALUES (…) only")
		return
	}
	t := c.table(text, written.table)
	if t == nil {
		return
	}
	row := &insertion{table: t}
	params := &transaction{index: map[*draw]int{}}
	values, ok := c.insertValues(text, t, &written, func(v value, column schema.Column) expr {
		e := expr{broken: true}
		if v.call == nil {
			e = c.value(params, text, v)
		} else if d := c.draw(text, v.call, row); d != nil {
			e = expr{typ: d.typ, draw: d}
		}
		longest := c.longest(params, e)
		if e.draw != nil {
			longest = e.draw.longest()
		}
		c.fits(text, v.at, e, column, longest)
		return e
	})
	if !ok {
		return
	}
	count := int64(1)
	for _, d := range row.ranges {
		if count *= min(d.size, maxRows+1); count > maxRows {
			c.fail(text, 0, "these are more than %d rows", maxRows)
			return
		}
	}
	row.values = values
	c.rows = append(c.rows, row)
	c.lookForTwins(row, text)
}

// lookForTwins fails if the rows of a table have a key twice.
func (c *compiler) lookForTwins(row *insertion, text *phrase) {
	seen := c.seen[row.table.Name]
	if seen == nil {
		seen = map[string]bool{}
		c.seen[row.table.Name] = seen
	}
	for r := range row.all(rand.New(rand.NewSource(c.seed))) {
		item := row.table.Item(r.Key, 0)
		if seen[item] {
			c.fail(text, 0, "the row %s stands twice; the key is numbered by range(FROM, TO)", item)
			return
		}
		seen[item] = true
	}
}

// all yields the rows.
func (row *insertion) all(rng *rand.Rand) iter.Seq[schema.Row] {
	return func(yield func(schema.Row) bool) {
		s := &state{rng: rng, sessions: 1, dists: map[*draw]dist.Distribution{}, loops: make([]int64, len(row.ranges))}
		var loop func(n int) bool
		loop = func(n int) bool {
			if n == len(row.ranges) {
				return yield(row.one(s))
			}
			for i := range row.ranges[n].size {
				s.loops[n] = row.ranges[n].lo + i
				if !loop(n + 1) {
					return false
				}
			}
			return true
		}
		loop(0)
	}
}

// one makes a row. Its stamps are 0.
func (row *insertion) one(s *state) schema.Row {
	none := &env{}
	values := make([]any, len(row.values))
	for i, e := range row.values {
		switch {
		case e.stamp:
			values[i] = int64(0)
		case e.draw != nil:
			values[i] = e.draw.next(s)
		default:
			values[i], _ = none.of(e, nil)
		}
	}
	at := len(row.table.Key)
	r := schema.Row{Key: values[:at:at]}
	for _, g := range row.table.Groups {
		r.Groups = append(r.Groups, values[at:at+len(g.Columns):at+len(g.Columns)])
		at += len(g.Columns)
	}
	return r
}
