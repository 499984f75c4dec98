package fromfile

import (
	"context"
	"math/rand"
	"strconv"

	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/generator/dist"
	"github.com/isohound/isohound/history/schema"
)

// Plan implements generator.Workload.
func (w *workload) Plan(worker int, stream *rand.Rand) generator.Plan {
	return &plan{w, &state{
		rng: stream, worker: int64(worker), sessions: w.sessions,
		dists: map[*draw]dist.Distribution{}, drawn: make([]int64, w.sequences),
	}}
}

type plan struct {
	w     *workload
	state *state
}

// Next plans a transaction: it draws what does not have to be new for each attempt.
func (p *plan) Next() generator.Program {
	t := p.w.named[p.w.mix.Draw(p.state.rng)]
	draws := make([]any, len(t.draws))
	for i, d := range t.draws {
		draws[i] = d.next(p.state)
	}
	return &program{t, draws}
}

// program is a planned transaction.
type program struct {
	t     *transaction
	draws []any
}

// Run does the statements. A statement that uses a value which was not found is skipped.
func (p *program) Run(ctx context.Context, tx *generator.Tx) error {
	v := &env{draws: make([]any, len(p.draws)), results: make([]result, len(p.t.as))}
	for i, d := range p.draws {
		if f, ok := d.(fresh); ok {
			if d = tx.Fresh(); f.text {
				d = f.prefix + strconv.FormatInt(d.(int64), 10)
			}
		}
		v.draws[i] = d
	}
	first := true
	for _, s := range p.t.steps {
		if !s.wanted(v, tx) {
			continue
		}
		if !first && p.t.think > 0 {
			if err := tx.Pause(ctx, p.t.think); err != nil {
				return err
			}
		}
		first = false
		if err := s.run(ctx, tx, v); err != nil {
			return err
		}
	}
	return nil
}

// wanted reports whether the conditions of if hold.
func (s *step) wanted(v *env, tx *generator.Tx) bool {
	for _, g := range s.guards {
		left, ok := v.of(g.left, tx)
		right, ok2 := v.of(g.right, tx)
		c := schema.Condition{Op: g.op, Value: right}
		if !ok || !ok2 || !c.Holds(left) {
			return false
		}
	}
	return true
}

// run does a statement.
func (s *step) run(ctx context.Context, tx *generator.Tx, v *env) error {
	if s.verb == rollsBack {
		return generator.ErrRollback
	}
	t := s.table.Table
	key, ok := v.all(s.key, tx)
	where, ok2 := v.conditions(s.where, tx)
	if !ok || !ok2 {
		return nil
	}
	var err error
	switch s.verb {
	case selects:
		var rows []schema.Row
		if s.key != nil {
			row, found, rerr := tx.Row(ctx, t, key, s.names()...)
			if err = rerr; found {
				rows = []schema.Row{row}
			}
		} else {
			rows, err = tx.Scan(ctx, t, schema.Predicate{Where: where, Order: s.order, Limit: s.limit}, s.names()...)
		}
		s.keep(v, len(rows), rows)
	case counts:
		var n int
		n, err = tx.Count(ctx, t, where)
		s.keep(v, n, nil)
	case inserts:
		err = s.insert(ctx, tx, v, key)
	case updates:
		exprs, ok := v.exprs(s.sets, tx)
		if !ok {
			return nil
		}
		if s.key != nil {
			_, _, err = tx.Set(ctx, t, key, t.Groups[s.group].Name, exprs...)
		} else {
			_, err = tx.SetWhere(ctx, t, where, t.Groups[s.group].Name, exprs...)
		}
	case deletes:
		if s.key != nil {
			_, err = tx.DeleteRow(ctx, t, key)
		} else {
			_, err = tx.DeleteWhere(ctx, t, where)
		}
	}
	return err
}

func (s *step) insert(ctx context.Context, tx *generator.Tx, v *env, key []any) error {
	row := schema.Row{Key: key}
	for _, g := range s.values {
		values, ok := v.all(g, tx)
		if !ok {
			return nil
		}
		row.Groups = append(row.Groups, values)
	}
	if !s.upsert {
		return tx.InsertRow(ctx, s.table.Table, row)
	}
	exprs, ok := v.exprs(s.sets, tx)
	if !ok {
		return nil
	}
	_, _, err := tx.Upsert(ctx, s.table.Table, row, exprs...)
	return err
}

// keep keeps what a statement has read.
func (s *step) keep(v *env, n int, rows []schema.Row) {
	if s.result < 0 {
		return
	}
	r := result{done: true, rows: int64(n)}
	if len(rows) > 0 {
		r.row = rows[0]
	}
	v.results[s.result] = r
}

// names are the names of the groups that SELECT reads.
func (s *step) names() (out []string) {
	for _, g := range s.groups {
		out = append(out, s.table.Groups[g].Name)
	}
	return out
}

func (v *env) conditions(where []test, tx *generator.Tx) ([]schema.Condition, bool) {
	var out []schema.Condition
	for _, w := range where {
		values, ok := v.all(w.values, tx)
		if !ok {
			return nil, false
		}
		c := schema.Condition{Column: w.column, Op: w.op}
		switch {
		case w.op == "in" || w.op == "between":
			c.Value = values
		case len(values) == 1:
			c.Value = values[0]
		}
		out = append(out, c)
	}
	return out, true
}

func (v *env) exprs(sets []assign, tx *generator.Tx) ([]schema.Expr, bool) {
	var out []schema.Expr
	for _, a := range sets {
		x, ok := any(nil), true
		if a.stamp {
			x = tx.Fresh()
		} else if x, ok = v.of(a.value, tx); !ok {
			return nil, false
		}
		if n, isInt := x.(int64); isInt && a.minus {
			x = -n
		}
		out = append(out, schema.Expr{Kind: a.kind, Value: x})
	}
	return out, true
}
