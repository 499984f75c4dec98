package fromfile

import (
	"fmt"
	"strings"

	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/workloads"
)

// Describe says what a file that Open has read would run: its tables, how many rows they have at first, and
// for each transaction which operations are recorded. notes say what makes verdicts weaker. The file is not
// read again: it may be a pipe.
func Describe(spec workloads.Spec) (text string, notes []string, err error) {
	c, err := compile(spec.File, spec.Raw, 0, nil)
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	rows := map[string]int64{}
	for _, in := range c.rows {
		n := int64(1)
		for _, d := range in.ranges {
			n *= d.size
		}
		rows[in.table.Name] += n
	}
	for _, t := range c.schema {
		fmt.Fprintf(&b, "table %s (%s), %d rows at first\n", t.Name, c.columnList(t), rows[t.Name])
	}
	sum := 0
	for _, w := range c.weights {
		sum += w
	}
	for i, t := range c.txns {
		fmt.Fprintf(&b, "transaction %s, %.3g %% of all", t.name, 100*float64(c.weights[i])/float64(sum))
		if t.think > 0 {
			fmt.Fprintf(&b, ", %v between statements", t.think)
		}
		b.WriteString("\n")
		for n, s := range t.steps {
			fmt.Fprintf(&b, "  %d. %s\n       %s\n", n+1, s.text, s.says())
		}
	}
	return b.String(), c.notes, nil
}

// columnList lists the columns of a table: its key, and its groups.
func (c *compiler) columnList(t *schema.Table) string {
	list := func(columns []schema.Column) string {
		var out []string
		for _, k := range columns {
			word := map[schema.Type]string{schema.Int: "int", schema.Text: "text"}[k.Type]
			if c.tables[t.Name].stamps[k.Name] {
				word = stampType
			}
			if k.Null {
				word += " null"
			}
			out = append(out, k.Name+" "+word)
		}
		return strings.Join(out, ", ")
	}
	parts := []string{"key " + list(t.Key)}
	for _, g := range t.Groups {
		parts = append(parts, strings.TrimSpace(g.Name+" "+list(g.Columns)))
	}
	return strings.Join(parts, "; ")
}

// says is what the statement is recorded as.
func (s *step) says() string {
	says := ""
	if len(s.guards) > 0 {
		says = "if its condition holds: "
	}
	if s.verb == rollsBack {
		return says + "rolls back"
	}
	one := s.table.Name + " by its key"
	some := "all rows of " + s.table.Name
	if len(s.where) > 0 {
		some = "rows of " + s.table.Name + " by a condition"
	}
	columns := func(groups []int) string {
		var out []string
		for _, g := range groups {
			for _, k := range s.table.Groups[g].Columns {
				out = append(out, k.Name)
			}
		}
		return strings.Join(out, ", ")
	}
	switch s.verb {
	case selects:
		if s.key != nil {
			return says + "reads " + columns(s.groups) + " of a row of " + one
		}
		return says + "scans " + some + " and reads " + columns(s.groups)
	case counts:
		return says + "counts " + some
	case inserts:
		if s.upsert {
			return says + "inserts a row into " + s.table.Name + ", or " + s.how() + columns([]int{s.group}) + " of the row that is there"
		}
		return says + "inserts a row into " + s.table.Name
	case deletes:
		if s.key != nil {
			return says + "deletes a row of " + one
		}
		return says + "deletes " + some
	}
	if s.key != nil {
		return says + s.how() + columns([]int{s.group}) + " of a row of " + one
	}
	return says + s.how() + columns([]int{s.group}) + " of " + some
}

func (s *step) how() string {
	for _, a := range s.sets {
		if a.kind != schema.Constant {
			return "reads and writes "
		}
	}
	return "writes "
}
