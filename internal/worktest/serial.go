package worktest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/isohound/isohound/drivers/schema"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
)

// Serial fails unless a history of one session, in which nothing was lost, is
// what a plain model of the tables says: every read shows what was written
// last, and every predicate read exactly the rows that fulfil it, in order.
func Serial(t testing.TB, h *history.History, w generator.Workload) {
	t.Helper()
	m := model{tables: map[string]*schema.Table{}, rows: map[string]map[string]schema.Row{}}
	for _, table := range w.(generator.Tables).Schema() {
		m.tables[table.Name], m.rows[table.Name] = table, map[string]schema.Row{}
	}
	for table, row := range w.(generator.Tables).Rows() {
		m.rows[table.Name][fmt.Sprint(row.Key)] = schema.Row{Key: row.Key, Groups: slices.Clone(row.Groups)}
	}
	for i := range h.Txns {
		tx := &h.Txns[i]
		if tx.Status != history.Committed {
			t.Fatalf("transaction %d is %v", tx.ID, tx.Status)
		}
		ops := h.Ops(tx)
		asked := h.Predicates(i)
		for at := 0; at <= len(ops); at++ {
			// A predicate is looked at where its operations begin: before, all
			// is as it was when the database did.
			for _, p := range asked {
				if p.Ops[0] == at {
					if err := m.predicate(h, p, ops); err != nil {
						t.Fatalf("transaction %d: %v", tx.ID, err)
					}
				}
			}
			if at < len(ops) {
				if err := m.do(h, ops[at]); err != nil {
					t.Fatalf("transaction %d, operation %d: %v", tx.ID, at, err)
				}
			}
		}
	}
}

// model is tables as maps, rows by their primary keys. A row is there as long
// as one of its groups is.
type model struct {
	tables map[string]*schema.Table
	rows   map[string]map[string]schema.Row
}

func (m *model) do(h *history.History, op history.Op) error {
	name := h.KeyName(op.Key)
	table, key, group, err := m.item(name)
	if err != nil {
		return err
	}
	id := fmt.Sprint(key)
	row, exists := m.rows[table.Name][id]
	if op.Kind == history.Read {
		if !exists {
			if op.Value != history.Absent {
				return fmt.Errorf("%s is read as %s and does not exist", name, h.ValueText(op.Value))
			}
			return nil
		}
		if got, want := content(h, op.Value), text(row.Groups[group]); op.Value == history.Absent || got != want {
			return fmt.Errorf("%s is read as %s and holds %s", name, got, want)
		}
		return nil
	}
	if op.Value == history.Absent {
		delete(m.rows[table.Name], id)
		return nil
	}
	if !exists {
		row = schema.Row{Key: key, Groups: make([][]any, len(table.Groups))}
		m.rows[table.Name][id] = row
	}
	row.Groups[group], err = parse(table.Groups[group].Columns, content(h, op.Value))
	return err
}

// predicate compares the rows that a predicate read returned with those that
// the model has.
func (m *model) predicate(h *history.History, rec history.Predicate, ops []history.Op) error {
	table := m.tables[rec.Table]
	p := schema.Predicate{Order: rec.Order, Limit: rec.Limit}
	for _, c := range rec.Where {
		p.Where = append(p.Where, schema.Condition{Column: c[0].(string), Op: c[1].(string), Value: c[2]})
	}
	var rows []schema.Row
	for _, r := range m.rows[rec.Table] {
		if p.Matches(table, r) {
			rows = append(rows, r)
		}
	}
	var want, got []string
	for _, r := range p.Arrange(table, rows) {
		want = append(want, fmt.Sprint(r.Key))
	}
	for _, op := range ops[rec.Ops[0]:rec.Ops[1]] {
		_, key, _, err := m.item(h.KeyName(op.Key))
		if err != nil {
			return err
		}
		if id := fmt.Sprint(key); len(got) == 0 || got[len(got)-1] != id {
			got = append(got, id)
		}
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("%+v read %v, should read %v", rec, got, want)
	}
	return nil
}

// item takes an item's name apart: table(key).group.
func (m *model) item(name string) (*schema.Table, []any, int, error) {
	tableName, rest, _ := strings.Cut(name, "(")
	table := m.tables[tableName]
	end := strings.LastIndex(rest, ")")
	if table == nil || end < 0 {
		return nil, nil, 0, fmt.Errorf("%s is no item", name)
	}
	values, err := tuple(table.Key, rest[:end])
	return table, values, table.Group(strings.TrimPrefix(rest[end+1:], ".")), err
}

// content is a value as schema.Content makes it.
func content(h *history.History, v history.Value) string {
	s := h.ValueText(v)
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return s
}

func text(values []any) string {
	s, n, number := schema.Content(values)
	if number {
		return strconv.FormatInt(n, 10)
	}
	return s
}

// parse is the way back from schema.Content.
func parse(columns []schema.Column, s string) ([]any, error) {
	if len(columns) == 1 && columns[0].Type == schema.Text {
		return []any{s}, nil
	}
	return tuple(columns, s)
}

// tuple reads 7,'BARBAR',100. Texts of workloads have neither quotes nor commas.
func tuple(columns []schema.Column, s string) ([]any, error) {
	parts := strings.Split(s, ",")
	if len(parts) != len(columns) {
		return nil, fmt.Errorf("%q has not %d values", s, len(columns))
	}
	out := make([]any, len(columns))
	for i, c := range columns {
		if c.Type == schema.Text {
			out[i] = strings.Trim(parts[i], "'")
			continue
		}
		n, err := strconv.ParseInt(parts[i], 10, 64)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}
