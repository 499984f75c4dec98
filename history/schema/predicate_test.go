package schema_test

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/history/schema"
)

var people = &schema.Table{
	Name:   "people",
	Key:    schema.Ints("id"),
	Groups: []schema.Group{{Name: "n", Columns: schema.Texts("name")}, {Name: "a", Columns: schema.Ints("age", "height")}},
}

func person(id int64, name string, age, height int64) schema.Row {
	return schema.Row{Key: []any{id}, Groups: [][]any{{name}, {age, height}}}
}

// ids runs a predicate over rows and returns the primary keys of what it selects.
func ids(p schema.Predicate, rows ...schema.Row) []int64 {
	var found []schema.Row
	for _, r := range rows {
		if p.Matches(people, r) {
			found = append(found, r)
		}
	}
	out := []int64{}
	for _, r := range p.Arrange(people, found) {
		out = append(out, r.Key[0].(int64))
	}
	return out
}

// TestPredicates: conditions on the primary key and on groups, numbers and texts,
// order and limit.
func TestPredicates(t *testing.T) {
	rows := []schema.Row{
		person(4, "b", 30, 2), person(1, "", 10, 1), person(3, "B", math.MinInt64, 1), person(2, "ba", 20, 2), person(5, "\xff", math.MaxInt64, 0),
	}
	for _, c := range []struct {
		p    schema.Predicate
		want []int64
	}{
		{schema.Predicate{}, []int64{1, 2, 3, 4, 5}},
		{schema.Where(schema.Is("age", int64(20))), []int64{2}},
		{schema.Where(schema.Not("age", int64(20))), []int64{1, 3, 4, 5}},
		{schema.Where(schema.Below("age", int64(20))), []int64{1, 3}},
		{schema.Where(schema.AtMost("age", int64(20))), []int64{1, 2, 3}},
		{schema.Where(schema.Above("age", int64(20))), []int64{4, 5}},
		{schema.Where(schema.AtLeast("age", int64(20))), []int64{2, 4, 5}},
		{schema.Where(schema.AtLeast("age", int64(20)), schema.Is("height", int64(2)), schema.Not("id", int64(4))), []int64{2}},
		{schema.Where(schema.Is("name", "b")), []int64{4}},
		{schema.Where(schema.Below("name", "b")), []int64{1, 3}},
		{schema.Where(schema.AtLeast("name", "b")), []int64{2, 4, 5}},
		{schema.Where(schema.Above("id", int64(9))), []int64{}},
		{schema.Predicate{}.By("height", "-age"), []int64{5, 1, 3, 4, 2}},
		{schema.Predicate{}.By("-name"), []int64{5, 2, 4, 3, 1}},
		{schema.Predicate{}.By("height").First(2), []int64{5, 1}},
		{schema.Predicate{}.First(9), []int64{1, 2, 3, 4, 5}},
	} {
		if err := c.p.Check(people); err != nil {
			t.Errorf("%+v: %v", c.p, err)
		}
		if got := ids(c.p, slices.Clone(rows)...); !slices.Equal(got, c.want) {
			t.Errorf("%+v selects %v, not %v", c.p, got, c.want)
		}
	}
	// Conditions on a group that was not read are not fulfilled.
	part := schema.Row{Key: []any{int64(1)}, Groups: [][]any{nil, {int64(1), int64(1)}}}
	if schema.Where(schema.Not("name", "x")).Matches(people, part) || !schema.Where(schema.Is("age", int64(1))).Matches(people, part) {
		t.Error("a row of which a group was not read")
	}
}

func TestBadPredicates(t *testing.T) {
	for _, p := range []schema.Predicate{
		schema.Where(schema.Is("weight", int64(1))),
		schema.Where(schema.Is("age", "1")),
		schema.Where(schema.Is("name", int64(1))),
		schema.Where(schema.Is("age", 1)),
		schema.Where(schema.Is("age", nil)),
		schema.Where(schema.Condition{Column: "age", Op: "~", Value: int64(1)}),
		schema.Predicate{}.By("-weight"),
	} {
		if err := p.Check(people); err == nil {
			t.Errorf("%+v is taken", p)
		} else {
			t.Log(err)
		}
	}
}

// TestConditionInFiles: [column, comparison, constant] and nothing else.
func TestConditionInFiles(t *testing.T) {
	for text, want := range map[string]schema.Condition{
		`["a","<",-9223372036854775808]`: schema.Below("a", int64(math.MinInt64)),
		` [ "a" , "=" , "\u00e9" ] `:     schema.Is("a", "é"),
	} {
		var c schema.Condition
		if err := json.Unmarshal([]byte(text), &c); err != nil || !reflect.DeepEqual(c, want) {
			t.Errorf("%s is %+v, %v", text, c, err)
		}
	}
	for _, c := range []schema.Condition{schema.Is("a", "\x80"), schema.Is("a", "\ufffd"), schema.In("a", "\x80", "\xed\xa0\x80", int64(1)), schema.IsNull("a")} {
		var back schema.Condition
		if text, err := json.Marshal(c); err != nil || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(back, c) {
			t.Errorf("%q is %s, then %q, %v", c, text, back, err)
		}
	}
	for _, text := range []string{`[]`, `["a","="]`, `["a","=",1,2]`, `{"a":1}`, `[1,"=",1]`, `["a",2,1]`, `["a","=",null]`, `["a","=",1.5]`, `["a","=",1e2]`, `["a","=",true]`, `["a","=",9223372036854775808]`, `["a","=",[1]]`} {
		var c schema.Condition
		if err := json.Unmarshal([]byte(text), &c); err == nil {
			t.Errorf("%s is %+v", text, c)
		}
	}
}

// TestSchemaInFiles: a schema comes back as it was.
func TestSchemaInFiles(t *testing.T) {
	s := schema.Schema{people, {Name: "t", Key: []schema.Column{{Name: "a", Type: schema.Text, Size: 3}}, Groups: []schema.Group{{Columns: schema.Ints("b")}}, Indexes: []schema.Index{schema.IndexOn("b", "a"), {Columns: []string{"b"}, Kind: schema.Gin}}}}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back schema.Schema
	if err := json.Unmarshal(raw, &back); err != nil || back.Check() != nil || !reflect.DeepEqual(back, s) {
		t.Errorf("%s: %v, %v", raw, err, back.Check())
	}
	if !strings.Contains(string(raw), `"indexes":[["b","a"],{"columns":["b"],"kind":"gin"}]`) {
		t.Errorf("indexes in %s", raw)
	}
	for _, index := range []schema.Index{{Columns: []string{"b"}}, {Columns: []string{"b"}, Kind: "tree"}, {Kind: schema.Gin}, {Columns: []string{"a", "b"}, Kind: schema.Hash}, schema.IndexOn("x")} {
		s[1].Indexes = []schema.Index{index}
		if s.Check() == nil {
			t.Errorf("the index %+v is taken", index)
		}
	}
	if _, err := json.Marshal(schema.Column{Name: "x"}); err == nil {
		t.Error("a column without a type was written")
	}
}
