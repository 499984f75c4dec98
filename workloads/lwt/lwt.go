// Package lwt is the workload of lightweight transactions: insertions if a key
// does not exist, and chains of compare-and-sets, on few keys (MTC paper,
// section IV-E).
package lwt

import (
	"context"
	"iter"
	"math/rand"
	"strconv"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/generator/dist"
	"github.com/isohound/isohound/workloads"
)

// keys is the default number of keys: few, so that sessions conflict.
const keys = 10

func init() {
	workloads.Register(workloads.Spec{
		Name:     "lwt",
		Summary:  "lightweight transactions: insert-if-not-exists and chains of compare-and-sets on few keys",
		Source:   "MTC paper, section IV-E",
		Engines:  []string{"linear"},
		Defaults: workloads.Common{Keys: keys},
		Params: []workloads.Param{
			{Name: "chain", Default: "4", Help: "statements that a session sends to one key before it draws another; after a successful compare-and-set the next one expects the new value, after a failure it reads first", Least: 1},
			{Name: "reads", Default: "10%", Help: "share of the statements that only read, besides the reads that compare-and-sets need", Plain: "0%"},
			{Name: "inserts", Default: "5%", Help: "share of the statements that insert the key if it does not exist, without having looked; besides the insertions of keys that were found absent", Plain: "0%"},
			{Name: "birth", Default: "50", Help: "after so many statements of a session one new key, which does not exist, replaces the oldest; 0 keeps the keys as they are, so that there are insertions at the beginning only", Plain: "0"},
			{Name: "as", Default: "statement", Help: "statement: single statements that commit by themselves; transaction: the same steps as transactions that read and then write, for databases without lightweight transactions and for comparison"},
		},
		New: New,
	})
}

type lwt struct {
	dist           *dist.Spec
	chain, birth   int64
	reads, inserts float64 // percent
	transactions   bool
}

// New makes the workload.
func New(c workloads.Common, v workloads.Values) (generator.Workload, error) {
	w := &lwt{}
	var err error
	if w.chain, err = v.Int("chain", 1); err != nil {
		return nil, err
	}
	if w.birth, err = v.Int("birth", 0); err != nil {
		return nil, err
	}
	if w.reads, err = v.Percent("reads"); err != nil {
		return nil, err
	}
	if w.inserts, err = v.Percent("inserts"); err != nil {
		return nil, err
	}
	as, err := v.OneOf("as", "statement", "transaction")
	if err != nil {
		return nil, err
	}
	w.transactions = as == "transaction"
	w.dist, err = dist.Parse(c.Dist, c.Keys, c.Skew)
	return w, err
}

// Needs implements generator.Needer.
func (w *lwt) Needs() []drivers.Capability {
	if w.transactions {
		return []drivers.Capability{drivers.Transactions}
	}
	return []drivers.Capability{drivers.Lightweight}
}

// Idle implements generator.Idle.
func (w *lwt) Idle() string {
	if w.reads+w.inserts >= 100 {
		return "reads and inserts leave no share to compare-and-sets"
	}
	return ""
}

// Initial yields nothing: keys are created by insertions.
func (w *lwt) Initial() iter.Seq2[string, int64] { return func(func(string, int64) bool) {} }

// Plan draws chains of statements on a window of keys, which moves by one key after each birth
// statements of a session. All sessions move at about the same pace, so they race for the
// insertion of the key that enters.
//
// A plan only draws keys and kinds. The value that a compare-and-set expects depends on what the
// session last read, when the statement is run. If the session does not know the value, the
// statement is a read.
func (w *lwt) Plan(_ int, stream *rand.Rand) generator.Plan {
	return &plan{w: w, rng: stream, keys: w.dist.New(), seen: &memory{}}
}

type plan struct {
	w     *lwt
	rng   *rand.Rand
	keys  dist.Distribution
	count int64 // statements so far
	left  int64 // statements that remain of the chain
	key   string
	seen  *memory
}

// memory is what a session last saw of the key of its chain.
type memory struct {
	key          string
	known, found bool
	value        int64
}

type kind int

const (
	write kind = iota // a compare-and-set, an insertion, or the read that must precede them
	read
	insert
)

func (p *plan) Next() generator.Program {
	w, base := p.w, int64(0)
	p.count++
	if w.birth > 0 {
		base = p.count / w.birth
	}
	if p.left == 0 {
		p.left = w.chain
		p.key = "k" + strconv.FormatInt(base+p.keys.Next(p.rng), 10)
	}
	p.left--
	s := step{key: p.key, seen: p.seen}
	switch u := p.rng.Float64() * 100; {
	case u < w.reads:
		s.kind = read
	case u < w.reads+w.inserts:
		s.kind = insert
	}
	if w.transactions {
		return s
	}
	return statement{s}
}

// step is one lightweight transaction. seen belongs to the session and is shared by all its
// steps.
type step struct {
	key  string
	kind kind
	seen *memory
}

// store executes a step.
type store interface {
	ReadOne(ctx context.Context, key string) (value int64, found bool, err error)
	InsertIfAbsent(ctx context.Context, key string, value int64) (applied bool, err error)
	CompareAndSet(ctx context.Context, key string, old, value int64) (applied bool, err error)
	Fresh() int64
}

// do sends the statement of a step. After a failure or an error, the session does not know the
// key's value.
func (s step) do(ctx context.Context, db store) error {
	m := s.seen
	if m.key != s.key {
		*m = memory{key: s.key}
	}
	if s.kind == read || s.kind == write && !m.known {
		v, found, err := db.ReadOne(ctx, s.key)
		*m = memory{key: s.key, known: err == nil, found: found, value: v}
		return err
	}
	v := db.Fresh()
	var applied bool
	var err error
	if s.kind == insert || !m.found {
		applied, err = db.InsertIfAbsent(ctx, s.key, v)
	} else {
		applied, err = db.CompareAndSet(ctx, s.key, m.value, v)
	}
	*m = memory{key: s.key, known: applied, found: applied, value: v}
	return err
}

// statement runs a step as a single statement that commits by itself.
type statement struct{ step }

// RunLightweight implements generator.LightweightProgram.
func (s statement) RunLightweight(ctx context.Context, l *generator.Light) error { return s.do(ctx, l) }

// Run runs the step as a transaction: what it writes depends on what it read.
func (s step) Run(ctx context.Context, tx *generator.Tx) error { return s.do(ctx, transaction{tx}) }

// transaction executes statements as reads and writes of a transaction.
type transaction struct{ *generator.Tx }

func (t transaction) ReadOne(ctx context.Context, key string) (int64, bool, error) {
	return t.Read(ctx, key)
}

func (t transaction) InsertIfAbsent(ctx context.Context, key string, value int64) (bool, error) {
	_, found, err := t.Read(ctx, key)
	if err != nil || found {
		return false, err
	}
	return true, t.Insert(ctx, key, value)
}

func (t transaction) CompareAndSet(ctx context.Context, key string, old, value int64) (bool, error) {
	v, found, err := t.Read(ctx, key)
	if err != nil || !found || v != old {
		return false, err
	}
	found, err = t.Update(ctx, key, value)
	return found, err
}
