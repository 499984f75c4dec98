// Package register is the workload of read-write registers of Jepsen and Elle: short
// transactions of reads and unique blind writes on a small set of keys that changes all the
// time.
package register

import (
	"iter"
	"math/rand"
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
		Name:    "register",
		Summary: "read-write registers: transactions of a few reads and unique blind writes, keys that come and go",
		Source:  "Jepsen, rw-register; Elle, elle.rw-register and its generator wr-txns",
		Needs:   []drivers.Capability{drivers.Transactions},
		Engines: []string{"polygraph"},
		// wr-txns uses 10 keys at a time, each less often than the previous one.
		Defaults: workloads.Common{Keys: 10, Dist: "exponential"},
		Params: []workloads.Param{
			{Name: "min-length", Default: "1", Help: "operations of the shortest transactions; all lengths come up equally often"},
			{Name: "max-length", Default: "4", Help: "operations of the longest transactions", Least: 1},
			{Name: "reads", Default: "50%", Help: "share of the operations that read"},
			{Name: "retire", Default: "2", Help: "after so many transactions of a session the oldest key is used no more and a new one, absent at first, takes its place; 0 keeps the keys", Plain: "0"},
			{Name: "think", Default: "0", Help: "wait between the operations of a transaction, 1ms say; makes transactions overlap longer", Plain: "0"},
		},
		New: New,
	})
}

type register struct {
	dist     *dist.Spec
	min, max int64 // operations of a transaction
	reads    float64
	retire   int64
	think    time.Duration
}

// maxOperations bounds the size of a transaction, because databases do.
const maxOperations = 10_000

// New makes the workload.
func New(c workloads.Common, v workloads.Values) (generator.Workload, error) {
	w := &register{}
	var err error
	if w.min, err = v.Int("min-length", 1); err != nil {
		return nil, err
	}
	if w.max, err = v.Int("max-length", w.min); err != nil {
		return nil, err
	}
	if w.max > maxOperations {
		return nil, errors.Errorf("-p max-length=%d: expected at most %d", w.max, maxOperations)
	}
	if w.reads, err = v.Percent("reads"); err != nil {
		return nil, err
	}
	if w.retire, err = v.Int("retire", 0); err != nil {
		return nil, err
	}
	if w.think, err = v.Duration("think"); err != nil {
		return nil, err
	}
	w.dist, err = dist.Parse(c.Dist, c.Keys, c.Skew)
	return w, err
}

// Idle implements generator.Idle.
func (w *register) Idle() string {
	switch w.reads {
	case 0:
		return "no operation reads (reads=0)"
	case 100:
		return "no operation writes (reads=100%)"
	}
	return ""
}

// Initial yields nothing: registers begin absent, as Elle assumes.
func (w *register) Initial() iter.Seq2[string, int64] {
	return func(func(string, int64) bool) {}
}

// Plan draws transactions on a window of keys that moves by one key after each
// retire transactions. All sessions move at about the same pace.
func (w *register) Plan(_ int, stream *rand.Rand) generator.Plan {
	return &plan{w: w, rng: stream, keys: w.dist.New()}
}

type plan struct {
	w     *register
	rng   *rand.Rand
	keys  dist.Distribution
	count int64 // transactions so far
}

func (p *plan) Next() generator.Program {
	w, base := p.w, int64(0)
	if w.retire > 0 {
		base = p.count / w.retire
	}
	p.count++
	t := &plain.Txn{Inserts: true, Think: w.think}
	for range w.min + p.rng.Int63n(w.max-w.min+1) {
		t.Steps = append(t.Steps, plain.Step{
			Key:   plain.Key(base + p.keys.Next(p.rng)),
			Write: p.rng.Float64()*100 >= w.reads,
		})
	}
	return t
}
