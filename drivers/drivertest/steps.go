package drivertest

import (
	"context"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strings"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history/schema"
)

// constants are values that a column may be compared with: some that rows have, some between them.
func constants(c schema.Column) (out []any) {
	if c.Type == schema.Int {
		return []any{int64(-1 << 62), int64(-5), int64(0), int64(1), int64(7), int64(20)}
	}
	for _, name := range names {
		out = append(out, name)
	}
	return append(out, "x;y", "[a]", "ü")
}

// indexes makes tables with indexes of each kind but btree. A driver either has the kind, and
// evaluates conditions as before, or refuses it.
func indexes(t T, d drivers.Driver, dsn string) {
	for _, kind := range schema.IndexKinds[1:] {
		table := accountsCalled("accounts", schema.Index{Columns: []string{"balance"}, Kind: kind}, schema.Index{Columns: []string{"note"}, Kind: kind})
		m := &model{rows: map[*schema.Table]map[string]schema.Row{table: {}}}
		m.fill(table)
		db := Open(t, d, dsn, "")
		err := db.(drivers.TableDB).CreateTables(context.Background(), schema.Schema{table}, m.all)
		need := drivers.Capability(kind + " indexes")
		if slices.Contains(d.Info().Can, need) {
			if err != nil {
				t.Fatalf("indexes of kind %s: %v", kind, err)
			}
			s, err := db.Connect(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			m.conditions(t, s, table, "balance", "note")
			s.Close()
		} else if err == nil || !strings.Contains(err.Error(), string(need)) {
			t.Errorf("indexes of kind %s, which it does not have: %v", kind, err)
		}
	}
}

// conditions evaluates every comparison on columns of a table like accounts, in one transaction.
func (m *model) conditions(t T, s drivers.Session, table *schema.Table, columns ...string) {
	ctx := context.Background()
	tx, err := s.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	x := tx.(drivers.TableTx)
	check := func(c schema.Condition) {
		t.Helper()
		p := schema.Where(c)
		if p.Check(table) != nil {
			return
		}
		want := m.selected(table, p)
		n, err := x.CountWhere(ctx, table, p.Where)
		if err != nil || n != len(want) {
			t.Errorf("%v: it counted %d rows, not %d (%v)", c, n, len(want), err)
		}
		got, err := x.Scan(ctx, table, p, table.All())
		if err != nil || len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%v (%v)\nselects %v\nshould  %v", c, err, got, want)
		}
	}
	for _, name := range columns {
		values := constants(column(table, name))
		for _, op := range schema.Comparisons {
			check(schema.Condition{Column: name, Op: op})
			for i, v := range values {
				check(schema.Condition{Column: name, Op: op, Value: v})
				check(schema.Condition{Column: name, Op: op, Value: []any{v, values[(i+2)%len(values)]}})
			}
		}
		check(schema.In(name))
		check(schema.In(name, values...))
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}

func column(t *schema.Table, name string) schema.Column {
	g, i, _ := t.Column(name)
	if g < 0 {
		return t.Key[i]
	}
	return t.Groups[g].Columns[i]
}

// selected returns the rows that a predicate selects, in its order.
func (m *model) selected(t *schema.Table, p schema.Predicate) (out []schema.Row) {
	for _, r := range m.rows[t] {
		if p.Matches(t, r) {
			out = append(out, r)
		}
	}
	return p.Arrange(t, out)
}

// value is a value that a column may hold.
func value(rng *rand.Rand, c schema.Column) any {
	switch {
	case c.Null && rng.Intn(3) == 0:
		return nil
	case c.Type == schema.Text:
		return names[rng.Intn(len(names))]
	case c.Name == "since":
		return int64(rng.Intn(3))
	}
	return int64(rng.Intn(40) - 20)
}

func values(rng *rand.Rand, columns []schema.Column) []any {
	out := make([]any, len(columns))
	for i, c := range columns {
		out[i] = value(rng, c)
	}
	return out
}

// where makes up to three conditions on random columns.
func where(rng *rand.Rand, t *schema.Table) []schema.Condition {
	columns := slices.Clone(t.Key)
	for _, g := range t.Groups {
		columns = append(columns, g.Columns...)
	}
	var out []schema.Condition
	for range 1 + rng.Intn(3) {
		c := columns[rng.Intn(len(columns))]
		some := constants(c)
		rng.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		x := schema.Condition{Column: c.Name, Op: schema.Comparisons[rng.Intn(len(schema.Comparisons))], Value: some[0]}
		switch x.Op {
		case "in":
			x.Value = some[:rng.Intn(len(some))]
		case "between":
			x.Value = some[:2]
		case "is-null", "is-not-null":
			x.Value = nil
		case "like-prefix":
			if c.Type != schema.Text {
				x.Op = "="
			}
		}
		out = append(out, x)
	}
	return out
}

type answer struct {
	Rows  []schema.Row
	Keys  [][]any
	After []any
	Found bool
	Count int
}

// step does one operation on both the database and the model.
func (m *model) step(ctx context.Context, rng *rand.Rand, tx drivers.TableTx) (what string, got, want answer, err error) {
	table := accounts
	if rng.Intn(4) == 0 {
		table = empty
	}
	key := []any{int64(rng.Intn(3)), names[rng.Intn(len(names))]}
	at := fmt.Sprint(key...)
	r, there := m.rows[table][at]
	group := rng.Intn(2)
	groups := [][]int{{0}, {1}, {0, 1}}[rng.Intn(3)]
	exprs := schema.Sets(values(rng, table.Groups[group].Columns)...)
	depends := rng.Intn(2) == 0
	if depends {
		exprs = [][]schema.Expr{
			{schema.Add(int64(rng.Intn(9) - 4)), schema.Add(1)},
			{schema.Append(names[rng.Intn(len(names))]), schema.Add(-1), schema.Append("'")},
		}[group]
	}
	p := schema.Where(where(rng, table)...)
	switch rng.Intn(14) {
	case 0:
		what = fmt.Sprint("Get ", key, groups)
		row, found, e := tx.Get(ctx, table, key, groups)
		got, want, err = answer{Found: found}, answer{Found: there}, e
		if found && there {
			got.Rows, want.Rows = []schema.Row{row}, []schema.Row{only(r, groups)}
		}
	case 1, 2, 3, 4:
		if there {
			return
		}
		r = schema.Row{Key: key}
		for _, g := range table.Groups {
			r.Groups = append(r.Groups, values(rng, g.Columns))
		}
		what, err = fmt.Sprint("Insert ", r), tx.InsertRow(ctx, table, r)
		m.put(table, r)
	case 5, 6:
		what = fmt.Sprint("Set ", key, group, exprs)
		got.After, got.Found, err = tx.Set(ctx, table, key, group, exprs)
		if want.Found = there; there {
			after := schema.After(r.Groups[group], exprs)
			m.put(table, with(r, group, after))
			if depends {
				want.After = after
			} else {
				got.After = nil
			}
		}
	case 7:
		what = fmt.Sprint("Delete ", key)
		got.Found, err = tx.DeleteRow(ctx, table, key)
		want.Found = there
		delete(m.rows[table], at)
	case 8, 9:
		if rng.Intn(4) == 0 {
			p.Where = nil
		}
		if rng.Intn(2) == 0 {
			p = p.By([][]string{{"-balance"}, {"name", "-since"}, {"-key"}}[rng.Intn(3)]...)
		}
		if rng.Intn(2) == 0 {
			p = p.First(1 + rng.Intn(3))
		}
		for _, g := range p.Columns(table) {
			if !slices.Contains(groups, g) {
				groups = []int{0, 1}
			}
		}
		what = fmt.Sprint("Scan ", p, groups)
		got.Rows, err = tx.Scan(ctx, table, p, groups)
		for _, r := range m.selected(table, p) {
			want.Rows = append(want.Rows, only(r, groups))
		}
	case 10:
		what = fmt.Sprint("SetWhere ", p.Where, group, exprs)
		got.Rows, err = tx.SetWhere(ctx, table, p.Where, group, exprs)
		for _, r := range m.selected(table, p) {
			r = with(r, group, schema.After(r.Groups[group], exprs))
			m.put(table, r)
			want.Rows = append(want.Rows, only(r, []int{group}))
		}
	case 11:
		what = fmt.Sprint("CountWhere ", p.Where)
		got.Count, err = tx.CountWhere(ctx, table, p.Where)
		want.Count = len(m.selected(table, p))
	case 12:
		what = fmt.Sprint("DeleteWhere ", p.Where)
		got.Keys, err = tx.DeleteWhere(ctx, table, p.Where)
		slices.SortFunc(got.Keys, compareKeys)
		for _, r := range m.selected(table, schema.Where(p.Where...)) {
			want.Keys = append(want.Keys, r.Key)
			delete(m.rows[table], fmt.Sprint(r.Key...))
		}
	case 13:
		k := []any{int64(rng.Intn(4))}
		list, there := m.rows[lists][fmt.Sprint(k...)]
		fresh := schema.Row{Key: k, Groups: [][]any{{"0"}}}
		exprs := []schema.Expr{schema.Append([]string{" 7", "'", ";"}[rng.Intn(3)])}
		if rng.Intn(3) == 0 {
			exprs = schema.Sets("again")
		}
		what = fmt.Sprint("Upsert ", k, exprs)
		got.After, got.Found, err = tx.Upsert(ctx, lists, fresh, exprs)
		if want.Found = !there; there {
			fresh = with(list, 0, schema.After(list.Groups[0], exprs))
		}
		want.After = fresh.Groups[0]
		m.put(lists, fresh)
	}
	if len(got.Keys) == 0 {
		got.Keys = nil
	}
	return
}

func compareKeys(a, b []any) int {
	for i := range a {
		if c := schema.Compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}
