package certify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

var stock = &schema.Table{Name: "s", Key: schema.Ints("w", "i"), Groups: []schema.Group{{Columns: []schema.Column{
	{Name: "n", Type: schema.Int, Null: true}, {Name: "text", Type: schema.Text}}}}}

// TestIndexes compares the rows that indexes find with the rows that fulfil the conditions, while rows
// are written, deleted and restored.
func TestIndexes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	content := func() []any {
		var n any
		if rng.IntN(5) > 0 {
			n = int64(rng.IntN(50))
		}
		return []any{n, fmt.Sprintf("%c%d", 'a'+rune(rng.IntN(4)), rng.IntN(10))}
	}
	sym := history.NewSymbols()
	b := history.NewBuilder(history.Header{Schema: schema.Schema{stock}}, sym, 0)
	var keys []history.Key
	for w := range 5 {
		for i := range 60 {
			k := sym.Key(stock.Item([]any{int64(w), int64(i)}, 0))
			if keys = append(keys, k); rng.IntN(2) == 0 {
				text, _, _ := schema.Content(content())
				sym.SetInitial(k, sym.String(text))
			}
		}
	}
	rec := history.Record{Status: history.Committed, Begin: history.NoTime, End: history.NoTime}
	for range 2000 {
		op := history.Op{Kind: history.Write, Key: keys[rng.IntN(len(keys))], Value: history.Absent}
		if rng.IntN(3) > 0 {
			text, _, _ := schema.Content(content())
			op.Value = sym.String(text)
		}
		rec.Ops = append(rec.Ops, op)
	}
	if err := b.Add(&rec); err != nil {
		t.Fatal(err)
	}
	h := b.Done(true, nil)
	x, err := newTables(newStop(t.Context()), h, map[string]bool{"s": true})
	if err != nil {
		t.Fatal(err)
	}
	g := x.byName["s"].groups[0]
	found, looked, indexed := 0, 0, map[string]bool{}
	for n, op := range rec.Ops {
		x.write(x.item(op.Key), x.written[n])
		if rng.IntN(10) == 0 {
			x.keep(rng.IntN(2) == 0)
		}
		where := conditions(rng)
		p := schema.Predicate{Where: where}
		if err := p.Check(stock); err != nil {
			t.Fatal(err)
		}
		x.plans = make([]plan, 1) // the statement is a new one
		s := x.asked(g.t, &history.Predicate{Statement: &history.Statement{Predicate: p}})
		if err := s.sortings(); err != nil {
			t.Fatal(err)
		}
		if _, o, _, _ := s.narrowest(where, false); o != nil {
			indexed[fmt.Sprint(o.columns)] = true
		}
		var got, want []int32
		err := s.each(newStop(t.Context()), false, func(row int32) error {
			looked++
			ok, err := s.finds(row)
			if ok {
				got = append(got, row)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for row, v := range g.current {
			if v == none {
				continue
			}
			c, err := x.parse(g, g.versions[v].value)
			if err != nil {
				t.Fatal(err)
			}
			if p.Matches(stock, schema.Row{Key: []any{g.t.keys[0].at(int32(row)), g.t.keys[1].at(int32(row))}, Groups: [][]any{c}}) {
				want = append(want, int32(row))
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%v: %v, not %v", where, got, want)
		}
		found += len(got)
	}
	if found < 1000 || looked > len(keys)*len(rec.Ops)*2/3 || len(indexed) < 3 {
		t.Errorf("%d rows found among %d, by the indexes %v", found, looked, indexed)
	}
}

func conditions(rng *rand.Rand) []schema.Condition {
	var out []schema.Condition
	number := func() any { return int64(rng.IntN(60)) }
	for range rng.IntN(4) {
		column := []string{"w", "i", "n", "text"}[rng.IntN(4)]
		value := number
		if column == "w" {
			value = func() any { return int64(rng.IntN(5)) }
		} else if column == "text" {
			value = func() any { return fmt.Sprintf("%c%d", 'a'+rune(rng.IntN(4)), rng.IntN(10)) }
		}
		c := schema.Condition{Column: column, Op: schema.Comparisons[rng.IntN(len(schema.Comparisons))]}
		switch c.Op {
		case "in":
			c.Value = []any{value(), value(), value()}
		case "between":
			c.Value = []any{value(), value()}
		case "is-null", "is-not-null":
		case "like-prefix":
			if column != "text" {
				continue
			}
			c.Value = string('a' + rune(rng.IntN(4)))
		default:
			c.Value = value()
		}
		out = append(out, c)
	}
	return out
}
