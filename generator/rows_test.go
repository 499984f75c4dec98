package generator_test

import (
	"context"
	"iter"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/internal/modeldb"
)

// users has two groups and a column that may be null.
var users = &schema.Table{Name: "users", Key: schema.Ints("id"), Groups: []schema.Group{
	{Name: "age", Columns: []schema.Column{{Name: "age", Type: schema.Int, Null: true}}},
	{Name: "name", Columns: schema.Texts("name")},
}}

// rowWork runs one transaction on users.
type rowWork struct {
	f func(ctx context.Context, tx *generator.Tx) error
}

func (rowWork) Initial() iter.Seq2[string, int64] { return func(func(string, int64) bool) {} }

func (rowWork) Schema() schema.Schema { return schema.Schema{users} }

func (rowWork) Rows() iter.Seq2[*schema.Table, schema.Row] {
	return func(yield func(*schema.Table, schema.Row) bool) {
		for i, age := range []any{int64(20), nil, int64(40)} {
			if !yield(users, schema.Row{Key: []any{int64(i)}, Groups: [][]any{{age}, {"n"}}}) {
				return
			}
		}
	}
}

func (w rowWork) Plan(int, *rand.Rand) generator.Plan { return w }

func (w rowWork) Next() generator.Program { return w }

func (w rowWork) Run(ctx context.Context, tx *generator.Tx) error { return w.f(ctx, tx) }

// TestRowsOfConditions: a count is recorded with its number and without operations, a deletion with
// the absence of each group of the rows that it removed.
func TestRowsOfConditions(t *testing.T) {
	where := []schema.Condition{schema.In("age", int64(20), int64(30))}
	w := rowWork{func(ctx context.Context, tx *generator.Tx) error {
		if n, err := tx.Count(ctx, users, []schema.Condition{schema.IsNotNull("age")}); err != nil || n != 2 {
			t.Errorf("%d rows (%v)", n, err)
		}
		if keys, err := tx.DeleteWhere(ctx, users, where); err != nil || !reflect.DeepEqual(keys, [][]any{{int64(0)}}) {
			t.Errorf("deleted %v (%v)", keys, err)
		}
		_, err := tx.Scan(ctx, users, schema.Where(schema.IsNull("age")), "age")
		if _, bad := tx.Count(ctx, users, []schema.Condition{schema.Is("name", int64(1))}); drivers.AsError(bad).Class != drivers.Fatal {
			t.Errorf("a text is compared with a number: %v", bad)
		}
		return err
	}}
	ctx := context.Background()
	db, err := modeldb.Driver{}.Open(ctx, drivers.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.(drivers.TableDB).CreateTables(ctx, w.Schema(), w.Rows()); err != nil {
		t.Fatal(err)
	}
	var out buffer
	log, err := native.NewLog(&out, false)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := generator.NewRecorder(log, history.Header{}, w)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := generator.NewRunner(generator.Config{Sessions: 1, Txns: 1}, db, w, rec).Run(ctx, ctx); err != nil {
		t.Fatal(err)
	}
	src, err := native.NewReader(strings.NewReader(out.b.String()), "h", int64(out.b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.Load(ctx, src)
	if err != nil {
		t.Fatal(err)
	}
	want := []history.Predicate{
		{Statement: &history.Statement{Kind: history.ScanCount, Table: "users", Predicate: schema.Where(schema.IsNotNull("age"))}, Count: 2},
		{Statement: &history.Statement{Kind: history.ScanDelete, Table: "users", Predicate: schema.Where(where...), Groups: []string{"age", "name"}}, Ops: [2]int{0, 2}, Number: 1},
		{Statement: &history.Statement{Kind: history.ScanRead, Table: "users", Predicate: schema.Where(schema.IsNull("age")), Groups: []string{"age"}}, Ops: [2]int{2, 3}, Number: 2},
	}
	var got []history.Predicate
	for i := range h.Txns {
		got = append(got, h.Predicates(i)...)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nnot %+v", got, want)
	}
	if !strings.Contains(out.b.String(), `"ops":[["w",["users(0).age",0],null],["w",["users(0).name",1],null],["r",["users(1).age",2],"NULL"]],"line":3,`) {
		t.Error(out.b.String())
	}
}
