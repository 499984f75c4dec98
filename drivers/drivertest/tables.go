package drivertest

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"time"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history/schema"
)

// accounts has a primary key of two columns, two groups with columns that may be null, and SQL
// keywords as names.
var accounts = accountsCalled("order", schema.IndexOn("branch", "name"), schema.IndexOn("balance"), schema.IndexOn("note"))

// empty is like accounts, and has no initial rows.
var empty = accountsCalled("empty", accounts.Indexes...)

func accountsCalled(name string, indexes ...schema.Index) *schema.Table {
	return &schema.Table{
		Name: name,
		Key:  []schema.Column{{Name: "branch", Type: schema.Int}, {Name: "key", Type: schema.Text, Size: 20}},
		Groups: []schema.Group{
			{Name: "money", Columns: []schema.Column{{Name: "balance", Type: schema.Int}, {Name: "limit", Type: schema.Int, Null: true}}},
			{Name: "owner", Columns: []schema.Column{{Name: "name", Type: schema.Text, Size: 400}, {Name: "since", Type: schema.Int}, {Name: "note", Type: schema.Text, Null: true}}},
		},
		Indexes: indexes,
	}
}

var lists = &schema.Table{
	Name:   "lists",
	Key:    schema.Ints("k"),
	Groups: []schema.Group{{Columns: []schema.Column{{Name: "v", Type: schema.Text, Size: 8000}}}},
}

// names are texts that databases may mangle, or take for a pattern.
var names = []string{"", "a", "A", "a ", "[a]*?!", "ü'\"\\", "x;y%_", "x;yab", "x;!%", "\n\t"}

func account(branch int64, key string, balance int64, limit any, name string, since int64, note any) schema.Row {
	return schema.Row{Key: []any{branch, key}, Groups: [][]any{{balance, limit}, {name, since, note}}}
}

// OpenTables opens a database with the tables of Tables.
func OpenTables(t T, d drivers.Driver, dsn string, rows iter.Seq2[*schema.Table, schema.Row]) drivers.DB {
	t.Helper()
	db := Open(t, d, dsn, "")
	if err := db.(drivers.TableDB).CreateTables(context.Background(), schema.Schema{accounts, empty, lists}, rows); err != nil {
		t.Fatal(err)
	}
	return db
}

// Tables compares operations on tables with a model made of maps: every comparison of conditions
// on every column, and random operations. Some of the transactions are rolled back.
func Tables(t T, d drivers.Driver, dsn string) {
	indexes(t, d, dsn)
	m := &model{rows: map[*schema.Table]map[string]schema.Row{accounts: {}, empty: {}, lists: {}}}
	m.fill(accounts)
	m.put(lists, schema.Row{Key: []any{int64(1)}, Groups: [][]any{{"1"}}})
	db := OpenTables(t, d, dsn, m.all)
	seed := time.Now().UnixNano()
	rng := rand.New(rand.NewSource(seed))
	ctx := context.Background()
	s, err := db.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m.conditions(t, s, accounts, "branch", "key", "balance", "limit", "name", "since", "note")
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

// fill adds the initial rows of a table like accounts.
func (m *model) fill(table *schema.Table) {
	for i, name := range names {
		var limit, note any
		if i%3 > 0 {
			limit, note = int64(-1<<62), names[len(names)-1-i]
		}
		m.put(table, account(int64(i%2), name, int64(i)*5-10, limit, name, int64(i%3), note))
	}
}

// all yields all rows.
func (m *model) all(yield func(*schema.Table, schema.Row) bool) {
	for table, rows := range m.rows {
		for _, r := range rows {
			if !yield(table, r) {
				return
			}
		}
	}
}

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
