package scan

import (
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/workloads"
)

// noIndex leaves the indexed column without an index.
const noIndex = "none"

// index gives the tables their index.
func (w *scan) index(v workloads.Values) error {
	kind, err := v.OneOf("index", schema.Btree, schema.Hash, schema.Gin, schema.Brin, noIndex)
	if err != nil || kind == noIndex {
		return err
	}
	w.hash = kind == schema.Hash
	for _, t := range w.tables {
		t.Indexes = []schema.Index{{Columns: []string{"a"}, Kind: kind}}
	}
	return nil
}

// Needs implements generator.Needer.
func (w *scan) Needs() []drivers.Capability { return drivers.IndexNeeds(w.tables) }

// between draws a condition that a column has one of width values. A hash index only finds single
// values.
func (p *plan) between(column string, from int64) []schema.Condition {
	w := p.w
	list := p.rng.Intn(2) == 0
	switch {
	case w.width == 1:
		return []schema.Condition{schema.Is(column, from)}
	case list || w.hash && column == "a":
		var values []any
		for v := from; v < from+w.width; v++ {
			values = append(values, v)
		}
		return []schema.Condition{schema.In(column, values...)}
	}
	return []schema.Condition{schema.Between(column, from, from+w.width-1)}
}
