package blindw

import (
	"context"
	"iter"
	"math/rand"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
)

// table is the table of the Vbox paper, (k, v1, v2). Each value is a separate group, because an
// update changes one of them and must not count as a write of the other.
var table = &schema.Table{
	Name:    "blindw",
	Key:     schema.Ints("k"),
	Groups:  []schema.Group{{Name: "v1", Columns: schema.Ints("v1")}, {Name: "v2", Columns: schema.Ints("v2")}},
	Indexes: []schema.Index{schema.IndexOn("v1"), schema.IndexOn("v2")},
}

// spacing is the average distance of values: large enough that two rows rarely get the same
// value.
const spacing = 1_000_000

// ranges is BlindW-Pred. Values are between 0 and domain, and each range of the given width is
// equally likely.
//
// The paper does not say what an update writes. Here it moves the rows that it finds into
// another range, by adding to the column that it selects by. So rows enter and leave ranges,
// which can cause phantoms; values stay spread over the whole domain, however long the run is;
// and rows stay different. If an update set a constant, all rows of a range would become equal,
// and no predicate could distinguish them again. In the end all rows would be equal.
type ranges struct {
	shared
	domain, width int64
}

func newRanges(s *shared, rows int64) (generator.Workload, error) {
	if rows >= s.common.Keys {
		return nil, errors.Errorf("-p rows=%d: expected fewer than --keys, %d", rows, s.common.Keys)
	}
	if s.common.Dist != "uniform" || s.common.Skew != 0 {
		return nil, errors.New("-p variant=Pred draws its ranges uniformly; --dist and --skew have no meaning")
	}
	return &ranges{*s, s.common.Keys * spacing, rows * spacing}, nil
}

// Needs implements generator.Needer.
func (w *ranges) Needs() []drivers.Capability {
	return []drivers.Capability{drivers.Tables, drivers.Predicates}
}

// Initial implements generator.Workload.
func (w *ranges) Initial() iter.Seq2[string, int64] { return func(func(string, int64) bool) {} }

// Schema implements generator.Tables.
func (w *ranges) Schema() schema.Schema { return schema.Schema{table} }

// Rows yields rows with random values, the same in every run.
func (w *ranges) Rows() iter.Seq2[*schema.Table, schema.Row] {
	return func(yield func(*schema.Table, schema.Row) bool) {
		rng := rand.New(rand.NewSource(1))
		for k := range w.common.Keys {
			row := schema.Row{Key: []any{k}, Groups: [][]any{{rng.Int63n(w.domain)}, {rng.Int63n(w.domain)}}}
			if !yield(table, row) {
				return
			}
		}
	}
}

// Plan implements generator.Workload.
func (w *ranges) Plan(_ int, stream *rand.Rand) generator.Plan { return &rangePlan{w, stream} }

type rangePlan struct {
	w   *ranges
	rng *rand.Rand
}

func (p *rangePlan) Next() generator.Program {
	w := p.w
	t := &rangeTxn{width: w.width, update: p.rng.Float64()*100 >= w.reads, think: w.think}
	for range w.operations {
		s := rangeStep{column: "v1", from: p.rng.Int63n(w.domain - w.width + 1), to: p.rng.Int63n(w.domain - w.width + 1)}
		if p.rng.Intn(2) == 1 {
			s.column = "v2"
		}
		if s.to == s.from { // avoids an update that changes nothing
			s.to = (s.from + 1) % (w.domain - w.width + 1)
		}
		t.steps = append(t.steps, s)
	}
	return t
}

// rangeStep reads the rows with a column in [from, from+width), or moves them to [to, to+width).
type rangeStep struct {
	column   string
	from, to int64
}

// rangeTxn is a transaction on ranges.
type rangeTxn struct {
	steps  []rangeStep
	width  int64
	update bool
	think  time.Duration
}

// Run reads whole rows, and updates the column that selects.
func (t *rangeTxn) Run(ctx context.Context, tx *generator.Tx) error {
	for n, s := range t.steps {
		if n > 0 && t.think > 0 {
			if err := tx.Pause(ctx, t.think); err != nil {
				return err
			}
		}
		where := []schema.Condition{schema.AtLeast(s.column, s.from), schema.Below(s.column, s.from+t.width)}
		var err error
		if t.update {
			_, err = tx.SetWhere(ctx, table, where, s.column, schema.Add(s.to-s.from))
		} else {
			_, err = tx.Scan(ctx, table, schema.Where(where...))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
