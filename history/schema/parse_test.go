package schema_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/isohound/isohound/history/schema"
)

var shapes = schema.Schema{
	{Name: "one", Key: schema.Ints("k"), Groups: []schema.Group{{Columns: schema.Ints("v")}}},
	{Name: "two", Key: schema.Texts("k"), Groups: []schema.Group{{Name: "a", Columns: schema.Texts("x")}, {Name: "b", Columns: schema.Ints("y")}}},
	{Name: "mix", Key: []schema.Column{{Name: "k", Type: schema.Int}, {Name: "l", Type: schema.Text}},
		Groups: []schema.Group{{Name: "a", Columns: []schema.Column{{Name: "x", Type: schema.Text}, {Name: "y", Type: schema.Int}}}}},
}

// parsesBack checks that the name and the content of a row's group are read back as they were.
func parsesBack(t *testing.T, table *schema.Table, key []any, g int, values []any) {
	t.Helper()
	name := table.Item(key, g)
	p, ok := shapes.ParseItem(name)
	if !ok || p.Table != table || !reflect.DeepEqual(p.Key, key) || p.Group != g {
		t.Fatalf("item %q: %+v, %v", name, p, ok)
	}
	if other, _ := shapes.ParseItem(table.Item(key, len(table.Groups)-1)); other.Row != p.Row {
		t.Fatalf("item %q: rows %q and %q", name, p.Row, other.Row)
	}
	text, number, isNumber := schema.Content(values)
	if back, ok := table.Groups[g].ParseContent(text, number, isNumber); !ok || !reflect.DeepEqual(back, values) {
		t.Fatalf("content %q, %d: %#v, %v", text, number, back, ok)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(int64(0), "", "")
	f.Add(int64(math.MinInt64), "')", "a','b")
	f.Add(int64(-1), "it''s (1).a", "\xff\n,")
	f.Fuzz(func(t *testing.T, n int64, s, r string) {
		parsesBack(t, shapes[0], []any{n}, 0, []any{n})
		parsesBack(t, shapes[1], []any{s}, 0, []any{r})
		parsesBack(t, shapes[1], []any{s}, 1, []any{n})
		parsesBack(t, shapes[2], []any{n, s}, 0, []any{r, n})
		// Any text is either refused or is exactly the name that the place has.
		for _, name := range []string{s, r, "one(" + s, "two(" + s + ").a", "mix(" + s + ")." + r} {
			if p, ok := shapes.ParseItem(name); ok && p.Table.Item(p.Key, p.Group) != name {
				t.Fatalf("%q is taken for %q", name, p.Table.Item(p.Key, p.Group))
			}
		}
		g := &shapes[2].Groups[0]
		if v, ok := g.ParseContent(s, 0, false); ok {
			if text, _, _ := schema.Content(v); text != s {
				t.Fatalf("%q is taken for %q", s, text)
			}
		}
	})
}

func TestParseRefuses(t *testing.T) {
	for _, name := range []string{"", "one", "one(", "one(1", "one(1).", "one(1)x", "one(1).a", "one(01)", "one(-0)", "one(+1)", "one(1,2)", "one('1')",
		"one(9223372036854775808)", "two('a')", "two(a).a", "two('a').c", "two('a'').a", "mix(1).a", "mix('a',1).a", "none(1)"} {
		if p, ok := shapes.ParseItem(name); ok {
			t.Errorf("%q is taken for %+v", name, p)
		}
	}
	if _, ok := shapes[0].Groups[0].ParseContent("1", 0, false); ok {
		t.Error("a text is taken for an integer")
	}
	if _, ok := shapes[1].Groups[0].ParseContent("", 1, true); ok {
		t.Error("an integer is taken for a text")
	}
}
