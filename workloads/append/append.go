// Package append is the workload of list appends of Elle (Kingsbury and Alvaro, "Elle: Inferring
// Isolation Anomalies from Experimental Observations", VLDB 2020, section 3): a list shows the
// whole order in which its elements were appended. isohound can judge its histories, and Elle
// can after a conversion to EDN or JSON.
package append

import (
	"context"
	"iter"
	"math/rand"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/generator/dist"
	"github.com/isohound/isohound/history/elle"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/workloads"
)

func init() {
	workloads.Register(workloads.Spec{
		Name:     elle.ListWorkload,
		Summary:  "reads of lists and appends to them, by upserts that return the new list",
		Source:   "Elle (VLDB 2020), section 3, and the list-append generator of Jepsen",
		Needs:    []drivers.Capability{drivers.Transactions, drivers.Tables},
		Defaults: workloads.Common{Keys: 10},
		Checks:   "isolation; converted to elle or elle-json, a history can be judged by Elle too",
		Engines:  []string{"linear", "polygraph"},
		Params: []workloads.Param{
			{Name: "length", Default: "4", Help: "the most operations of a transaction; with 1 or 2 they are mini-transactions", Least: 1},
			{Name: "reads", Default: "50%", Help: "share of the operations that are reads; the others append"},
			{Name: "appends", Default: "100", Help: "how many appends a key gets on average before it is retired and a fresh one comes in, from 1 to 1000"},
			{Name: "rollback", Default: "1%", Help: "share of the transactions that are rolled back at the end, so that reads of aborted appends can show", Plain: "0%"},
			{Name: "think", Default: "0", Help: "wait between the operations of a transaction, 1ms say; makes transactions overlap longer", Plain: "0"},
		},
		New: New,
	})
}

// maxAppends bounds the length of lists, and so the size of the column.
const maxAppends = 1000

type lists struct {
	common   workloads.Common
	dist     *dist.Spec
	table    *schema.Table
	length   int64
	reads    float64 // percent
	appends  int64
	rollback float64 // percent
	think    time.Duration
}

// New makes the workload.
func New(c workloads.Common, v workloads.Values) (generator.Workload, error) {
	l := &lists{common: c}
	var err error
	if l.length, err = v.Int("length", 1); err != nil {
		return nil, err
	}
	if l.reads, err = v.Percent("reads"); err != nil {
		return nil, err
	}
	if l.appends, err = v.Int("appends", 1); err != nil {
		return nil, err
	}
	if l.appends > maxAppends {
		return nil, errors.Errorf("-p appends=%d: expected at most %d", l.appends, maxAppends)
	}
	if l.rollback, err = v.Percent("rollback"); err != nil {
		return nil, err
	}
	if l.think, err = v.Duration("think"); err != nil {
		return nil, err
	}
	l.table = &schema.Table{
		Name: "lists", Key: schema.Ints("k"),
		Groups: []schema.Group{{Columns: []schema.Column{{Name: "v", Type: schema.Text, Size: l.size()}}}},
	}
	l.dist, err = dist.Parse(c.Dist, c.Keys, c.Skew)
	return l, err
}

// size is the maximum size of a list in bytes: for twice as many elements as a key gets on
// average, plus 64. A sum of independent draws does not reach this. An element takes eleven
// digits and a comma.
func (l *lists) size() int { return int(2*l.appends+64) * 12 }

// Schema implements generator.Tables.
func (l *lists) Schema() schema.Schema { return schema.Schema{l.table} }

// Rows implements generator.Tables: every list is absent at first.
func (l *lists) Rows() iter.Seq2[*schema.Table, schema.Row] {
	return func(func(*schema.Table, schema.Row) bool) {}
}

// Initial implements generator.Workload.
func (l *lists) Initial() iter.Seq2[string, int64] { return func(func(string, int64) bool) {} }

// Idle implements generator.Idle.
func (l *lists) Idle() string {
	if l.reads == 100 {
		return "all operations are reads (-p reads=100%), so that nothing is ever appended"
	}
	return ""
}

// Lag implements generator.Paced: a quarter of the lifetime of a key.
func (l *lists) Lag() int {
	if l.reads == 100 {
		return 0
	}
	return int(max(1, float64(l.common.Keys)/l.speed()/4))
}

// speed is how many keys the window moves per transaction of a session. It moves by one whenever
// all sessions together have planned as many appends, on average, as a key gets.
func (l *lists) speed() float64 {
	// A transaction has (1+length)/2 operations on average.
	each := float64(1+l.length) / 2 * (1 - l.reads/100)
	return float64(l.common.Sessions) * each / float64(l.appends)
}

// Plan draws transactions on a window of keys that moves with the number of the worker's
// transactions. So a key is retired after its appends, and a new one enters, absent until a
// transaction appends to it. All sessions move at about the same pace. A key passes through
// every position of the window, so it gets the same number of appends on average, whatever the
// distribution.
func (l *lists) Plan(_ int, stream *rand.Rand) generator.Plan {
	return &plan{l: l, rng: stream, keys: l.dist.New()}
}

type plan struct {
	l     *lists
	rng   *rand.Rand
	keys  dist.Distribution
	count int64 // transactions so far
}

func (p *plan) Next() generator.Program {
	base := int64(float64(p.count) * p.l.speed()) // the first key of the window
	p.count++
	t := &transaction{table: p.l.table, think: p.l.think}
	for range 1 + p.rng.Int63n(p.l.length) {
		t.ops = append(t.ops, operation{key: base + p.keys.Next(p.rng), read: p.rng.Float64()*100 < p.l.reads})
	}
	t.rollback = p.rng.Float64()*100 < p.l.rollback
	return t
}

// transaction reads lists and appends to them.
type transaction struct {
	table    *schema.Table
	ops      []operation
	rollback bool
	think    time.Duration
}

type operation struct {
	key  int64
	read bool
}

// Run does the operations. Elements are fresh in each attempt.
func (t *transaction) Run(ctx context.Context, tx *generator.Tx) error {
	for n, op := range t.ops {
		if n > 0 && t.think > 0 {
			if err := tx.Pause(ctx, t.think); err != nil {
				return err
			}
		}
		key := []any{op.key}
		if op.read {
			if _, _, err := tx.Row(ctx, t.table, key); err != nil {
				return err
			}
			continue
		}
		tail := elle.Tail(tx.Fresh())
		row := schema.Row{Key: key, Groups: [][]any{{tail}}}
		if _, _, err := tx.Upsert(ctx, t.table, row, schema.Append(tail)); err != nil {
			return err
		}
	}
	if t.rollback {
		return generator.ErrRollback
	}
	return nil
}
