// Package mini is the workload of mini-transactions: all shapes of Definition 8 of the MTC
// paper, and no others, with parameters as in its section V-A.
package mini

import (
	"context"
	"iter"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/generator/dist"
	"github.com/isohound/isohound/generator/shapes"
	"github.com/isohound/isohound/workloads"
)

func init() {
	workloads.Register(workloads.Spec{
		Name:    "mini",
		Summary: "mini-transactions: one or two reads, up to two writes, each after a read of its key",
		Source:  "MTC paper, Definition 8 and section V-A",
		Needs:   []drivers.Capability{drivers.Transactions},
		Engines: []string{"linear", "polygraph"},
		Params: []workloads.Param{
			{Name: "shapes", Default: "all", Help: "weights of shapes, RxWx:3,RxRyWx:1 say; a name without a weight counts 1; all is every shape with its default weight", Weights: true, All: all()},
			{Name: "pairs", Default: "50%", Help: "share of the transactions on two keys that take neighbours, k0 and k1, k2 and k3 and so on, so that transactions meet on both; the others draw both keys"},
			{Name: "rollback", Default: "1%", Help: "share of the transactions that are rolled back at the end, so that reads of aborted writes can show", Plain: "0%"},
			{Name: "think", Default: "0", Help: "wait between the operations of a transaction, 1ms say; makes transactions overlap longer", Plain: "0"},
			{Name: "birth", Default: "0", Help: "after so many transactions of a session one new key is born, by insertion, and the oldest dies; 0 keeps the keys as they are", Plain: "0"},
			{Name: "death", Default: "tombstone", Help: "how a key dies: tombstone writes a unique last value; delete deletes the row: absence is then no unique value any more, so that the polygraph engine has to judge the history"},
		},
		New: New,
	})
}

// weight is the default weight of a shape. The shapes of the paper's examples, which read and
// write one key or read two and write one, are the most frequent.
func weight(s shapes.Shape) int {
	switch s.Name {
	case "RxWx", "RxRyWx", "RxRyWy", "RxRyWxWy", "RxRy":
		return 6
	case "Rx", "RxWxRyWy":
		return 3
	}
	return 1
}

// all is every shape with its default weight.
func all() []string {
	var out []string
	for _, s := range shapes.All() {
		out = append(out, s.Name+":"+strconv.Itoa(weight(s)))
	}
	return out
}

type mini struct {
	common   workloads.Common
	dist     *dist.Spec
	wheel    []shapes.Shape // each shape as often as its weight
	pairs    float64        // percent
	rollback float64        // percent
	think    time.Duration
	birth    int64
	deletes  bool
}

// New makes the workload.
func New(c workloads.Common, v workloads.Values) (generator.Workload, error) {
	m := &mini{common: c}
	var err error
	if m.wheel, err = wheel(v["shapes"]); err != nil {
		return nil, err
	}
	if m.pairs, err = v.Percent("pairs"); err != nil {
		return nil, err
	}
	if m.rollback, err = v.Percent("rollback"); err != nil {
		return nil, err
	}
	if m.think, err = v.Duration("think"); err != nil {
		return nil, err
	}
	if m.birth, err = v.Int("birth", 0); err != nil {
		return nil, err
	}
	death, err := v.OneOf("death", "tombstone", "delete")
	if err != nil {
		return nil, err
	}
	m.deletes = death == "delete"
	if needsTwo := slices.ContainsFunc(m.wheel, func(s shapes.Shape) bool { return s.Keys == 2 }); c.Keys < 2 && needsTwo {
		return nil, errors.New("shapes on two keys need --keys of at least 2")
	}
	m.dist, err = dist.Parse(c.Dist, c.Keys, c.Skew)
	return m, err
}

// wheel reads the weights of shapes.
func wheel(text string) ([]shapes.Shape, error) {
	var out []shapes.Shape
	add := func(s shapes.Shape, n int) {
		for range n {
			out = append(out, s)
		}
	}
	for _, part := range strings.Split(text, ",") {
		name, number, weighted := strings.Cut(strings.TrimSpace(part), ":")
		n := 1
		if weighted {
			var err error
			if n, err = strconv.Atoi(number); err != nil || n < 0 || n > 1000 {
				return nil, errors.Errorf("-p shapes: the weight of %s must be a whole number up to 1000, not %q", name, number)
			}
		}
		if name == "all" {
			for _, s := range shapes.All() {
				add(s, n*weight(s))
			}
			continue
		}
		s, ok := shapes.ByName(name)
		if !ok {
			return nil, errors.Errorf("-p shapes: there is no shape %q; the shapes are %s", name, strings.Join(Names(), ", "))
		}
		add(s, n)
	}
	if len(out) == 0 {
		return nil, errors.New("-p shapes: all weights are 0")
	}
	return out, nil
}

// Names lists the names of all shapes.
func Names() []string {
	var names []string
	for _, s := range shapes.All() {
		names = append(names, s.Name)
	}
	return names
}

func key(n int64) string { return "k" + strconv.FormatInt(n, 10) }

// Needs implements generator.Needer.
func (m *mini) Needs() []drivers.Capability {
	if m.deletes && m.birth > 0 {
		return []drivers.Capability{drivers.Deletes}
	}
	return nil
}

// Lag implements generator.Paced: the windows of any two sessions have at least three quarters
// of their keys in common.
func (m *mini) Lag() int { return int(m.birth * max(m.common.Keys/4, 1)) }

// Initial yields the keys of the first window, with the value 0.
func (m *mini) Initial() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for n := range m.common.Keys {
			if !yield(key(n), 0) {
				return
			}
		}
	}
}

// Plan draws transactions on a window of keys. The window moves by one key after each birth
// transactions of a session. All sessions move at about the same pace, so they race for the key
// that enters, which does not exist until one of them inserts it. One session kills the key that
// leaves the window.
func (m *mini) Plan(worker int, stream *rand.Rand) generator.Plan {
	return &plan{m: m, worker: int64(worker), rng: stream, keys: m.dist.New()}
}

type plan struct {
	m      *mini
	worker int64
	rng    *rand.Rand
	keys   dist.Distribution
	count  int64 // transactions so far
}

func (p *plan) Next() generator.Program {
	m, base := p.m, int64(0)
	p.count++
	if m.birth > 0 {
		base = p.count / m.birth
		if left := base - 1; p.count%m.birth == 0 && left >= 0 && left%int64(m.common.Sessions) == p.worker {
			return &kill{key: key(left), deletes: m.deletes}
		}
	}
	s := m.wheel[p.rng.Intn(len(m.wheel))]
	t := &transaction{shape: s, think: m.think}
	first := p.keys.Next(p.rng)
	t.keys[0] = key(base + first)
	// Always drawn, even if not needed, so that plans differ as little as possible.
	second := p.keys.Next(p.rng)
	for tries := 0; second == first && tries < 8; tries++ {
		second = p.keys.Next(p.rng)
	}
	if neighbour := first ^ 1; p.rng.Float64()*100 < m.pairs && neighbour < m.common.Keys {
		second = neighbour
	}
	if second == first {
		second = (first + 1) % m.common.Keys
	}
	t.keys[1] = key(base + second)
	t.rollback = p.rng.Float64()*100 < m.rollback
	return t
}

// transaction is a mini-transaction.
type transaction struct {
	shape    shapes.Shape
	keys     [2]string
	rollback bool
	think    time.Duration
}

// Run executes the operations of the shape. A write inserts a key that was found absent and
// updates one that was found. A dead key is not written any more.
func (t *transaction) Run(ctx context.Context, tx *generator.Tx) error {
	var exists, dead [2]bool
	for n, step := range t.shape.Steps {
		if n > 0 && t.think > 0 {
			if err := tx.Pause(ctx, t.think); err != nil {
				return err
			}
		}
		k := step.Slot
		if !step.Write {
			v, found, err := tx.Read(ctx, t.keys[k])
			if err != nil {
				return err
			}
			exists[k], dead[k] = found, v < 0
			continue
		}
		switch {
		case dead[k]:
		case exists[k]:
			if _, err := tx.Update(ctx, t.keys[k], tx.Fresh()); err != nil {
				return err
			}
		default:
			if err := tx.Insert(ctx, t.keys[k], tx.Fresh()); err != nil {
				return err
			}
			exists[k] = true
		}
	}
	if t.rollback {
		return generator.ErrRollback
	}
	return nil
}

// kill ends a key: it reads the key and writes its tombstone, a negative value, or deletes the
// key.
type kill struct {
	key     string
	deletes bool
}

func (k *kill) Run(ctx context.Context, tx *generator.Tx) error {
	v, found, err := tx.Read(ctx, k.key)
	if err != nil || v < 0 || k.deletes && !found {
		return err
	}
	switch {
	case k.deletes:
		_, err = tx.Delete(ctx, k.key)
	case found:
		_, err = tx.Update(ctx, k.key, -tx.Fresh())
	default:
		err = tx.Insert(ctx, k.key, -tx.Fresh())
	}
	return err
}
