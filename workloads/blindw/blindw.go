// Package blindw is BlindW, the microbenchmark of the Cobra paper, with the variants of the Vbox
// paper: read-only and write-only transactions on a set of keys, or on ranges of rows.
package blindw

import (
	"iter"
	"math/rand"
	"slices"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/generator/dist"
	"github.com/isohound/isohound/workloads"
	"github.com/isohound/isohound/workloads/plain"
)

func init() {
	workloads.Register(workloads.Spec{
		Name:    "blindw",
		Summary: "BlindW: read-only and write-only transactions, on keys or on ranges of rows",
		Source:  "Cobra paper, section 6 (RM, RW); Vbox paper, section 5.2 (RH, WR, WH, Pred)",
		Needs:   []drivers.Capability{drivers.Transactions},
		Engines: []string{"polygraph"},
		// Both papers have 10k keys, or rows.
		Defaults: workloads.Common{Keys: 10_000},
		Params: []workloads.Param{
			{Name: "variant", Default: "RW", Help: "RM, RW, RH, WR and WH differ in reads; Pred reads and updates ranges of rows, and needs a database with predicates"},
			{Name: "operations", Default: "8", Help: "operations of a transaction", Least: 1},
			{Name: "reads", Default: workloads.ByPreset, Help: "share of the transactions that only read, the others only write; RM 90%, RH 80%, RW, WR and Pred 50%, WH 20%"},
			{Name: "rows", Default: "4", Help: "Pred: how many rows a range holds on average, fewer than --keys", Least: 1},
			{Name: "order", Default: "ascending", Help: "order of a transaction's keys: ascending, in which writers do not deadlock, or drawn; Pred draws its ranges"},
			{Name: "think", Default: "0", Help: "wait between the operations of a transaction, 1ms say; makes transactions overlap longer", Plain: "0"},
		},
		New: New,
	})
}

// variants has the parameters that each variant sets.
var variants = map[string]workloads.Values{
	"RM":   {"reads": "90%"},
	"RW":   {"reads": "50%"},
	"RH":   {"reads": "80%"},
	"WR":   {"reads": "50%"},
	"WH":   {"reads": "20%"},
	"Pred": {"reads": "50%"},
}

// maxOperations bounds the size of a transaction, because databases do.
const maxOperations = 10_000

// shared are the settings of all variants.
type shared struct {
	common     workloads.Common
	operations int
	reads      float64 // percent
	think      time.Duration
}

// Idle implements generator.Idle.
func (w *shared) Idle() string {
	switch w.reads {
	case 0:
		return "no transaction reads (reads=0)"
	case 100:
		return "no transaction writes (reads=100%)"
	}
	return ""
}

// New makes the workload.
func New(c workloads.Common, v workloads.Values) (generator.Workload, error) {
	variant, err := v.OneOf("variant", "RM", "RW", "RH", "WR", "WH", "Pred")
	if err != nil {
		return nil, err
	}
	v.Adopt(variants[variant])
	w := &shared{common: c}
	n, err := v.Int("operations", 1)
	if err != nil {
		return nil, err
	}
	if n > maxOperations {
		return nil, errors.Errorf("-p operations=%d: expected at most %d", n, maxOperations)
	}
	w.operations = int(n)
	if w.reads, err = v.Percent("reads"); err != nil {
		return nil, err
	}
	if w.think, err = v.Duration("think"); err != nil {
		return nil, err
	}
	rows, err := v.Int("rows", 1)
	if err != nil {
		return nil, err
	}
	order, err := v.OneOf("order", "ascending", "drawn")
	if err != nil {
		return nil, err
	}
	if variant == "Pred" {
		return newRanges(w, rows)
	}
	return newKeys(w, order == "ascending")
}

// keys is BlindW on keys.
type keys struct {
	shared
	dist      *dist.Spec
	ascending bool
}

func newKeys(s *shared, ascending bool) (generator.Workload, error) {
	if n := int64(s.operations); s.common.Keys < n {
		return nil, errors.Errorf("-p operations=%d: the keys of a transaction differ, so that --keys must be at least %d", n, n)
	}
	d, err := dist.Parse(s.common.Dist, s.common.Keys, s.common.Skew)
	return &keys{*s, d, ascending}, err
}

// Initial implements generator.Workload.
func (w *keys) Initial() iter.Seq2[string, int64] { return plain.Initial(w.common.Keys) }

// Plan implements generator.Workload.
func (w *keys) Plan(_ int, stream *rand.Rand) generator.Plan {
	return &plan{w, stream, w.dist.New()}
}

type plan struct {
	w    *keys
	rng  *rand.Rand
	keys dist.Distribution
}

func (p *plan) Next() generator.Program {
	w := p.w
	writes := p.rng.Float64()*100 >= w.reads
	drawn := plain.Distinct(p.keys, p.rng, w.operations, w.common.Keys)
	if w.ascending {
		slices.Sort(drawn)
	}
	t := &plain.Txn{Think: w.think}
	for _, n := range drawn {
		t.Steps = append(t.Steps, plain.Step{Key: plain.Key(n), Write: writes})
	}
	return t
}
