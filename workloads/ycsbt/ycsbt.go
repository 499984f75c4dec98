// Package ycsbt is the workload of the VeriStrong paper: YCSB-like transactions in which some
// keys get the same values repeatedly.
package ycsbt

import (
	"iter"
	"math"
	"math/rand"
	"sort"
	"strconv"
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
		Name:     "ycsbt",
		Summary:  "YCSB-like transactions of reads and blind writes, with duplicate values on some of the keys",
		Source:   "VeriStrong paper, section 7.1",
		Needs:    []drivers.Capability{drivers.Transactions},
		Engines:  []string{"polygraph"},
		Defaults: workloads.Common{Sessions: 20, Keys: 5000},
		Params: []workloads.Param{
			{Name: "preset", Default: "BL", Help: "what decides reads and theta unless they are set: BL balanced, RH read-heavy, WH write-heavy, HD high duplication"},
			{Name: "operations", Default: "20", Help: "operations of a transaction", Least: 1},
			{Name: "reads", Default: workloads.ByPreset, Help: "share of the operations that read; BL 50%, RH 95%, WH 30%, HD 50%"},
			{Name: "duplicates", Default: "50%", Help: "share of the keys that get duplicate values; those of the other keys are unique"},
			{Name: "values", Default: "100", Help: "how many values there are for the keys with duplicates, N in the paper"},
			{Name: "theta", Default: workloads.ByPreset, Help: "skew of the duplicates: value i in proportion to 1/i^theta; HD 1.5, the others 0.5"},
			{Name: "think", Default: "0", Help: "wait between the operations of a transaction, 1ms say; makes transactions overlap longer", Plain: "0"},
		},
		New: New,
	})
}

// presets are those of the paper.
var presets = map[string]workloads.Values{
	"BL": {"reads": "50%", "theta": "0.5"},
	"RH": {"reads": "95%", "theta": "0.5"},
	"WH": {"reads": "30%", "theta": "0.5"},
	"HD": {"reads": "50%", "theta": "1.5"},
}

// Bounds of parameters: the size of a transaction that databases accept, and the size of the
// table of probabilities.
const (
	maxOperations = 10_000
	maxValues     = 1_000_000
)

type ycsbt struct {
	common     workloads.Common
	dist       *dist.Spec
	operations int64
	reads      float64 // percent
	duplicates float64 // percent
	// upTo has for each of the values 1, 2, ... the sum of the weights up to it.
	upTo  []float64
	think time.Duration
}

// New makes the workload.
func New(c workloads.Common, v workloads.Values) (generator.Workload, error) {
	w := &ycsbt{common: c}
	preset, err := v.OneOf("preset", "BL", "RH", "WH", "HD")
	if err != nil {
		return nil, err
	}
	v.Adopt(presets[preset])
	if w.operations, err = v.Int("operations", 1); err != nil {
		return nil, err
	}
	if w.operations > maxOperations {
		return nil, errors.Errorf("-p operations=%d: expected at most %d", w.operations, maxOperations)
	}
	if w.reads, err = v.Percent("reads"); err != nil {
		return nil, err
	}
	if w.duplicates, err = v.Percent("duplicates"); err != nil {
		return nil, err
	}
	n, err := v.Int("values", 1)
	if err != nil {
		return nil, err
	}
	if n > maxValues {
		return nil, errors.Errorf("-p values=%d: expected at most %d", n, maxValues)
	}
	theta, err := strconv.ParseFloat(v["theta"], 64)
	if err != nil || !(theta >= 0 && theta <= 100) {
		return nil, errors.Errorf("-p theta=%s: expected a number from 0 to 100", v["theta"])
	}
	sum := 0.0
	for i := range n {
		sum += math.Pow(float64(i+1), -theta)
		w.upTo = append(w.upTo, sum)
	}
	if w.think, err = v.Duration("think"); err != nil {
		return nil, err
	}
	w.dist, err = dist.Parse(c.Dist, c.Keys, c.Skew)
	return w, err
}

// duplicated reports whether a key gets duplicate values. Such keys are spread evenly among the
// others, so that a skewed distribution accesses both kinds.
func (w *ycsbt) duplicated(key int64) bool {
	upTo := func(k int64) int64 { return int64(math.Floor(float64(k) * w.duplicates / 100)) }
	return upTo(key+1) > upTo(key)
}

// Idle implements generator.Idle.
func (w *ycsbt) Idle() string {
	switch w.reads {
	case 0:
		return "no operation reads (reads=0)"
	case 100:
		return "no operation writes (reads=100%)"
	}
	return ""
}

// Initial implements generator.Workload.
func (w *ycsbt) Initial() iter.Seq2[string, int64] { return plain.Initial(w.common.Keys) }

// Plan implements generator.Workload. Unique values are larger than the duplicates.
func (w *ycsbt) Plan(_ int, stream *rand.Rand) generator.Plan {
	return &plan{w, stream, w.dist.New()}
}

type plan struct {
	w    *ycsbt
	rng  *rand.Rand
	keys dist.Distribution
}

func (p *plan) Next() generator.Program {
	w := p.w
	t := &plain.Txn{Above: int64(len(w.upTo)), Think: w.think}
	for range w.operations {
		n := p.keys.Next(p.rng)
		s := plain.Step{Key: plain.Key(n), Write: p.rng.Float64()*100 >= w.reads}
		if s.Write && w.duplicated(n) {
			s.Value = p.value()
		}
		t.Steps = append(t.Steps, s)
	}
	return t
}

// value draws a duplicate value. The probabilities are exact for every theta. YCSB's own
// generator is not exact, and does not support a theta above 1.
func (p *plan) value() int64 {
	upTo := p.w.upTo
	at := p.rng.Float64() * upTo[len(upTo)-1]
	return int64(sort.Search(len(upTo)-1, func(i int) bool { return upTo[i] > at })) + 1
}
