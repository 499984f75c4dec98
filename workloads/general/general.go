// Package general is the workload of general transactions, GT in the MTC paper: read-only,
// write-only and read-modify-write transactions of many operations, as in Cobra's generator.
package general

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
		Name:    "general",
		Summary: "general transactions: read-only, write-only and read-modify-write, of many operations",
		Source:  "MTC paper, section V-A, the GT workload, which is Cobra's generator",
		Needs:   []drivers.Capability{drivers.Transactions},
		Engines: []string{"polygraph"},
		// Cobra's generator has 1000 keys by default.
		Defaults: workloads.Common{Keys: 1000},
		Params: []workloads.Param{
			{Name: "operations", Default: "20", Help: "operations of a transaction, at least 2, each on a key of its own, except that read-modify-write has two on each", Least: 2},
			{Name: "read-only", Default: "20%", Help: "share of the transactions that only read; the three shares count in proportion to their sum", Plain: "0%"},
			{Name: "write-only", Default: "40%", Help: "share of the transactions that only write", Plain: "0%"},
			{Name: "rmw", Default: "40%", Help: "share of the transactions that read and then write each of their keys", Plain: "0%"},
			{Name: "order", Default: "ascending", Help: "order of a transaction's keys: ascending, in which writers do not deadlock, or drawn"},
			{Name: "think", Default: "0", Help: "wait between the operations of a transaction, 1ms say; makes transactions overlap longer", Plain: "0"},
		},
		New: New,
	})
}

// kind is what a transaction does with each of its keys.
type kind int

const (
	readOnly kind = iota
	writeOnly
	readModifyWrite
)

type general struct {
	common     workloads.Common
	dist       *dist.Spec
	operations int
	shares     [3]float64 // by kind
	ascending  bool
	think      time.Duration
}

// maxOperations bounds the size of a transaction, because databases do.
const maxOperations = 10_000

// New makes the workload.
func New(c workloads.Common, v workloads.Values) (generator.Workload, error) {
	w := &general{common: c}
	n, err := v.Int("operations", 2)
	if err != nil {
		return nil, err
	}
	if n > maxOperations {
		return nil, errors.Errorf("-p operations=%d: expected at most %d", n, maxOperations)
	}
	w.operations = int(n)
	for k, name := range []string{"read-only", "write-only", "rmw"} {
		if w.shares[k], err = v.Percent(name); err != nil {
			return nil, err
		}
	}
	if w.shares == [3]float64{} {
		return nil, errors.New("-p read-only, write-only, rmw: all three shares are 0")
	}
	order, err := v.OneOf("order", "ascending", "drawn")
	if err != nil {
		return nil, err
	}
	w.ascending = order == "ascending"
	if w.think, err = v.Duration("think"); err != nil {
		return nil, err
	}
	for k, share := range w.shares {
		if need := w.keysOf(kind(k)); share > 0 && c.Keys < int64(need) {
			return nil, errors.Errorf("-p operations=%d: the keys of a transaction differ, so that --keys must be at least %d", n, need)
		}
	}
	w.dist, err = dist.Parse(c.Dist, c.Keys, c.Skew)
	return w, err
}

// keysOf returns how many keys a transaction touches.
func (w *general) keysOf(k kind) int {
	if k == readModifyWrite {
		return (w.operations + 1) / 2
	}
	return w.operations
}

// Idle implements generator.Idle.
func (w *general) Idle() string {
	switch {
	case w.shares[writeOnly]+w.shares[readModifyWrite] == 0:
		return "no transaction writes (write-only and rmw are 0)"
	case w.shares[readOnly]+w.shares[readModifyWrite] == 0:
		return "no transaction reads (read-only and rmw are 0)"
	}
	return ""
}

// Initial implements generator.Workload.
func (w *general) Initial() iter.Seq2[string, int64] { return plain.Initial(w.common.Keys) }

// Plan implements generator.Workload.
func (w *general) Plan(_ int, stream *rand.Rand) generator.Plan {
	return &plan{w, stream, w.dist.New()}
}

type plan struct {
	w    *general
	rng  *rand.Rand
	keys dist.Distribution
}

func (p *plan) Next() generator.Program {
	w, k := p.w, p.kind()
	keys := plain.Distinct(p.keys, p.rng, w.keysOf(k), w.common.Keys)
	if w.ascending {
		slices.Sort(keys)
	}
	t := &plain.Txn{Think: w.think}
	for _, n := range keys {
		key := plain.Key(n)
		if k != writeOnly {
			t.Steps = append(t.Steps, plain.Step{Key: key})
		}
		// With an odd number of operations, the last key is only read.
		if k != readOnly && len(t.Steps) < w.operations {
			t.Steps = append(t.Steps, plain.Step{Key: key, Write: true})
		}
	}
	return t
}

func (p *plan) kind() kind {
	s := p.w.shares
	at := p.rng.Float64() * (s[readOnly] + s[writeOnly] + s[readModifyWrite])
	switch {
	case at < s[readOnly]:
		return readOnly
	case at < s[readOnly]+s[writeOnly]:
		return writeOnly
	}
	return readModifyWrite
}
