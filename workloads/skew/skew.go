// Package skew is the workload of small patterns on predicates and insertions. They show
// anomalies that transactions on rows that exist from the beginning cannot show.
package skew

import (
	"iter"
	"math/rand"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/generator/dist"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/workloads"
)

func init() {
	workloads.Register(workloads.Spec{
		Name:    "skew",
		Summary: "write skew through count predicates, phantoms, insert races, upserts of absent keys, key churn",
		Source: "on-call doctors: Cahill, Röhm and Fekete (SIGMOD 2008); phantom: Berenson and others (SIGMOD 1995); " +
			"insert races: the serializability bug of PostgreSQL before 12.4 and 11.9 (MTC paper, Table II); upserts: a report about PostgreSQL 18.4",
		Needs:    []drivers.Capability{drivers.Transactions, drivers.Tables},
		Defaults: workloads.Common{Keys: 5},
		Checks:   "isolation, and that each shift has somebody on call, no slot is overbooked, no pair has both sides, each group keeps its tokens",
		Engines:  []string{"polygraph"},
		Params: []workloads.Param{
			{Name: "patterns", Default: "all", Help: "weights of patterns, oncall:3,phantom:1 say; a name without a weight counts 1; all is each of " + strings.Join(names(), ", "), Weights: true, All: names()},
			{Name: "doctors", Default: "4", Help: "oncall: doctors of a shift, at least 2; all are on call at first", Least: 2},
			{Name: "limit", Default: "12", Help: "phantom: what the amounts of a slot, from 1 to 3 each, may sum up to"},
			{Name: "birth", Default: "5", Help: "insert, upsert: after so many transactions of a session one new pair or key is born and the oldest is left alone"},
			{Name: "places", Default: "4", Help: "churn: places of a group, at least 2; tokens are on every other one at first", Least: 2},
			{Name: "rollback", Default: "1%", Help: "share of the transactions that are rolled back at the end", Plain: "0%"},
			{Name: "think", Default: "0", Help: "wait between what a transaction reads and what it writes, 1ms say; makes transactions overlap longer", Plain: "0"},
		},
		New: New,
	})
}

// pattern is one kind of transaction with its tables.
type pattern interface {
	tables() schema.Schema
	rows(yield func(*schema.Table, schema.Row) bool) bool
	// next plans a transaction on a group; all its random choices are made here.
	next(p *plan, group int64) generator.Program
	invariants() []generator.Invariant
	needs() []drivers.Capability
}

// kinds are the patterns, in the order of docs and help.
var kinds = []struct {
	name string
	make func(w *skew) pattern
}{
	{"oncall", newOncall},
	{"phantom", newPhantom},
	{"insert", newInsert},
	{"upsert", newUpsert},
	{"churn", newChurn},
}

func names() []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.name)
	}
	return out
}

type skew struct {
	common   workloads.Common
	dist     *dist.Spec
	patterns []pattern // those that are used
	wheel    []pattern // each as often as its weight

	doctors, limit, birth, places int64
	rollback                      float64 // percent
	think                         time.Duration
}

// New makes the workload.
func New(c workloads.Common, v workloads.Values) (generator.Workload, error) {
	w := &skew{common: c}
	var err error
	for _, p := range []struct {
		name string
		low  int64
		to   *int64
	}{{"doctors", 2, &w.doctors}, {"limit", 3, &w.limit}, {"birth", 1, &w.birth}, {"places", 2, &w.places}} {
		if *p.to, err = v.Int(p.name, p.low); err != nil {
			return nil, err
		}
		if *p.to > 1000 {
			return nil, errors.Errorf("-p %s=%d: expected at most 1000", p.name, *p.to)
		}
	}
	if w.rollback, err = v.Percent("rollback"); err != nil {
		return nil, err
	}
	if w.think, err = v.Duration("think"); err != nil {
		return nil, err
	}
	weights, err := weights(v["patterns"])
	if err != nil {
		return nil, err
	}
	if n := int64(c.Sessions) * w.birth; weights["upsert"] > 0 && n > maxRoom {
		return nil, errors.Errorf("-p birth=%d: with %d sessions up to %d appends would go to one list; at most %d make sense", w.birth, c.Sessions, n, maxRoom)
	}
	for _, k := range kinds {
		if n := weights[k.name]; n > 0 {
			p := k.make(w)
			w.patterns = append(w.patterns, p)
			for range n {
				w.wheel = append(w.wheel, p)
			}
		}
	}
	w.dist, err = dist.Parse(c.Dist, c.Keys, c.Skew)
	return w, err
}

// weights reads how often each pattern is drawn.
func weights(text string) (map[string]int, error) {
	out, sum := map[string]int{}, 0
	for _, part := range strings.Split(text, ",") {
		name, number, weighted := strings.Cut(strings.TrimSpace(part), ":")
		n := 1
		if weighted {
			var err error
			if n, err = strconv.Atoi(number); err != nil || n < 0 || n > 1000 {
				return nil, errors.Errorf("-p patterns: the weight of %s must be a whole number up to 1000, not %q", name, number)
			}
		}
		known := false
		for _, k := range kinds {
			if name == k.name || name == "all" {
				known = true
				out[k.name] += n
				sum += n
			}
		}
		if !known {
			return nil, errors.Errorf("-p patterns: there is no pattern %q; the patterns are %s", name, strings.Join(names(), ", "))
		}
	}
	if sum == 0 {
		return nil, errors.New("-p patterns: all weights are 0")
	}
	return out, nil
}

// Schema implements generator.Tables.
func (w *skew) Schema() schema.Schema {
	var out schema.Schema
	for _, p := range w.patterns {
		out = append(out, p.tables()...)
	}
	return out
}

// Rows implements generator.Tables.
func (w *skew) Rows() iter.Seq2[*schema.Table, schema.Row] {
	return func(yield func(*schema.Table, schema.Row) bool) {
		for _, p := range w.patterns {
			if !p.rows(yield) {
				return
			}
		}
	}
}

// Initial implements generator.Workload.
func (w *skew) Initial() iter.Seq2[string, int64] { return func(func(string, int64) bool) {} }

// Needs implements generator.Needer.
func (w *skew) Needs() []drivers.Capability {
	var out []drivers.Capability
	for _, p := range w.patterns {
		out = append(out, p.needs()...)
	}
	return out
}

// Invariants implements generator.Invariants.
func (w *skew) Invariants() []generator.Invariant {
	var out []generator.Invariant
	for _, p := range w.patterns {
		out = append(out, p.invariants()...)
	}
	return out
}

// Lag implements generator.Paced: a quarter of the lifetime of what is inserted.
func (w *skew) Lag() int {
	for _, p := range w.patterns {
		switch p.(type) {
		case *insert, *upsert:
			return int(max(1, w.common.Keys*w.birth/4))
		}
	}
	return 0
}

// Plan implements generator.Workload.
func (w *skew) Plan(_ int, stream *rand.Rand) generator.Plan {
	return &plan{w: w, rng: stream, groups: w.dist.New()}
}

type plan struct {
	w      *skew
	rng    *rand.Rand
	groups dist.Distribution
	count  int64 // transactions so far
}

func (p *plan) Next() generator.Program {
	kind := p.w.wheel[p.rng.Intn(len(p.w.wheel))]
	t := kind.next(p, p.groups.Next(p.rng))
	p.count++
	if p.rng.Float64()*100 < p.w.rollback {
		return rolledBack{t}
	}
	return t
}

// born returns the first group that is still alive, for patterns with new groups. All sessions
// move at about the same pace, so they race for the group that enters.
func (p *plan) born() int64 { return p.count / p.w.birth }
