package drivertest

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history/schema"
)

// accounts has a primary key of two columns, two groups, and SQL keywords as names.
var accounts = &schema.Table{
	Name: "order",
	Key:  []schema.Column{{Name: "branch", Type: schema.Int}, {Name: "key", Type: schema.Text, Size: 20}},
	Groups: []schema.Group{
		{Name: "money", Columns: schema.Ints("balance", "limit")},
		{Name: "owner", Columns: []schema.Column{{Name: "name", Type: schema.Text, Size: 400}, {Name: "since", Type: schema.Int}}},
	},
	Indexes: [][]string{{"branch", "name"}, {"balance"}},
}

var lists = &schema.Table{
	Name:   "lists",
	Key:    schema.Ints("k"),
	Groups: []schema.Group{{Columns: []schema.Column{{Name: "v", Type: schema.Text, Size: 8000}}}},
}

// names are texts that databases may mangle.
var names = []string{"", "a", "A", "a ", "ü'\"\\", "x;y%_", "\n\t"}

func account(branch int64, key string, balance, limit int64, name string, since int64) schema.Row {
	return schema.Row{Key: []any{branch, key}, Groups: [][]any{{balance, limit}, {name, since}}}
}

// OpenTables opens a database with the tables of Tables.
func OpenTables(t *testing.T, d drivers.Driver, dsn string, rows iter.Seq2[*schema.Table, schema.Row]) drivers.DB {
	t.Helper()
	db := Open(t, d, dsn, "")
	if err := db.(drivers.TableDB).CreateTables(context.Background(), schema.Schema{accounts, lists}, rows); err != nil {
		t.Fatal(err)
	}
	return db
}

// Tables compares random operations on tables with a model made of maps. Some of the
// transactions are rolled back.
func Tables(t *testing.T, d drivers.Driver, dsn string) {
	m := &model{rows: map[*schema.Table]map[string]schema.Row{accounts: {}, lists: {}}}
	for i, name := range names {
		m.put(accounts, account(int64(i%2), name, int64(i)*5-10, -1<<62, name, int64(i%3)))
	}
	m.put(lists, schema.Row{Key: []any{int64(1)}, Groups: [][]any{{"1"}}})
	db := OpenTables(t, d, dsn, func(yield func(*schema.Table, schema.Row) bool) {
		for table, rows := range m.rows {
			for _, r := range rows {
				if !yield(table, r) {
					return
				}
			}
		}
	})
	seed := time.Now().UnixNano()
	rng := rand.New(rand.NewSource(seed))
	ctx := context.Background()
	s, err := db.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for n := range 120 {
		tx, err := s.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		before := m.clone()
		for range 1 + rng.Intn(8) {
			what, got, want, err := m.step(ctx, rng, tx.(drivers.TableTx))
			if err != nil {
				t.Fatalf("seed %d, transaction %d: %s: %v", seed, n, what, err)
			}
			if len(got.Rows) == 0 {
				got.Rows = nil
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, transaction %d: %s\ngave   %#v\nshould %#v", seed, n, what, got, want)
			}
		}
		if rng.Intn(4) == 0 {
			err, m = tx.Rollback(ctx), before
		} else {
			err = tx.Commit(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// model holds tables as maps, by the text of the primary key.
type model struct {
	rows map[*schema.Table]map[string]schema.Row
}

func (m *model) put(t *schema.Table, r schema.Row) { m.rows[t][fmt.Sprint(r.Key...)] = r }

func (m *model) clone() *model {
	c := &model{rows: map[*schema.Table]map[string]schema.Row{}}
	for t, rows := range m.rows {
		c.rows[t] = maps.Clone(rows)
	}
	return c
}

// with returns r with a group changed.
func with(r schema.Row, group int, values []any) schema.Row {
	r.Groups = slices.Clone(r.Groups)
	r.Groups[group] = values
	return r
}

// only returns a row with only the given groups.
func only(r schema.Row, groups []int) schema.Row {
	out := schema.Row{Key: r.Key, Groups: make([][]any, len(r.Groups))}
	for _, g := range groups {
		out.Groups[g] = r.Groups[g]
	}
	return out
}

type answer struct {
	Rows  []schema.Row
	After []any
	Found bool
}

// step does one operation on both the database and the model.
func (m *model) step(ctx context.Context, rng *rand.Rand, tx drivers.TableTx) (what string, got, want answer, err error) {
	key := []any{int64(rng.Intn(3)), names[rng.Intn(len(names))]}
	at := fmt.Sprint(key...)
	r, there := m.rows[accounts][at]
	group := rng.Intn(2)
	groups := [][]int{{0}, {1}, {0, 1}}[rng.Intn(3)]
	constants := [][]schema.Expr{
		schema.Sets(int64(rng.Intn(40)-20), int64(rng.Intn(5))),
		schema.Sets(names[rng.Intn(len(names))], int64(rng.Intn(3))),
	}[group]
	dependent := [][]schema.Expr{
		{schema.Add(int64(rng.Intn(9) - 4)), schema.Add(1)},
		{schema.Append(names[rng.Intn(len(names))]), schema.Add(-1)},
	}[group]
	exprs := constants
	depends := rng.Intn(2) == 0
	if depends {
		exprs = dependent
	}
	p := schema.Where(
		schema.Is("branch", key[0]),
		schema.Condition{Column: "balance", Op: []string{"=", "<>", "<", "<=", ">", ">="}[rng.Intn(6)], Value: int64(rng.Intn(20) - 10)})
	if rng.Intn(2) == 0 {
		p.Where = []schema.Condition{{Column: "name", Op: []string{"=", "<", ">="}[rng.Intn(3)], Value: names[rng.Intn(len(names))]}}
	}
	var selected []schema.Row
	for _, r := range m.rows[accounts] {
		if p.Matches(accounts, r) {
			selected = append(selected, r)
		}
	}
	switch rng.Intn(8) {
	case 0:
		what = fmt.Sprint("Get ", key, groups)
		row, found, e := tx.Get(ctx, accounts, key, groups)
		got, want, err = answer{Found: found}, answer{Found: there}, e
		if found && there {
			got.Rows, want.Rows = []schema.Row{row}, []schema.Row{only(r, groups)}
		}
	case 1:
		if there {
			return
		}
		r = account(key[0].(int64), key[1].(string), int64(rng.Intn(20)-10), 0, names[rng.Intn(len(names))], 1)
		what, err = fmt.Sprint("Insert ", r), tx.InsertRow(ctx, accounts, r)
		m.put(accounts, r)
	case 2, 3:
		what = fmt.Sprint("Set ", key, group, exprs)
		got.After, got.Found, err = tx.Set(ctx, accounts, key, group, exprs)
		if want.Found = there; there {
			after := schema.After(r.Groups[group], exprs)
			m.put(accounts, with(r, group, after))
			if depends {
				want.After = after
			} else {
				got.After = nil
			}
		}
	case 4:
		what = fmt.Sprint("Delete ", key)
		got.Found, err = tx.DeleteRow(ctx, accounts, key)
		want.Found = there
		delete(m.rows[accounts], at)
	case 5:
		if rng.Intn(2) == 0 {
			p = p.By([][]string{{"-balance"}, {"name", "-since"}}[rng.Intn(2)]...)
		}
		if rng.Intn(2) == 0 {
			p = p.First(1 + rng.Intn(3))
		}
		for _, g := range p.Columns(accounts) {
			if !slices.Contains(groups, g) {
				groups = []int{0, 1}
			}
		}
		what = fmt.Sprint("Scan ", p, groups)
		got.Rows, err = tx.Scan(ctx, accounts, p, groups)
		for _, r := range p.Arrange(accounts, selected) {
			want.Rows = append(want.Rows, only(r, groups))
		}
	case 6:
		what = fmt.Sprint("SetWhere ", p.Where, group, exprs)
		got.Rows, err = tx.SetWhere(ctx, accounts, p.Where, group, exprs)
		for _, r := range (schema.Predicate{}).Arrange(accounts, selected) {
			r = with(r, group, schema.After(r.Groups[group], exprs))
			m.put(accounts, r)
			want.Rows = append(want.Rows, only(r, []int{group}))
		}
	case 7:
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
	return
}
