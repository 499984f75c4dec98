package scans_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/internal/randhist"
)

// TestMiniAgainstOracle compares the linear engine, the polygraph engine and the trial of every
// execution on mini-transactions with scans. The linear engine may refuse a history; the two other
// verdicts are then compared. ISOHOUND_HISTORIES sets four times how many histories per level.
func TestMiniAgainstOracle(t *testing.T) {
	n := randhist.Count(t, 6_000) / 4
	for _, lvl := range level.All() {
		if !lvl.Search() {
			continue
		}
		t.Run(lvl.String(), func(t *testing.T) {
			t.Parallel()
			seed := randhist.Seed(t, rand.Uint64())
			rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
			count, refused := map[verdict.Verdict]int{}, map[string]int{}
			twice := map[verdict.Verdict]int{} // of those with a statement that has a row twice
			byScans, classes := 0, 0           // violated, but satisfied without scans; histories with class reads
			for range n {
				r := newMini(rng, lvl)
				h := r.history(t)
				x := expand(t, h)
				if x.Count().Committed == 0 {
					continue // nothing to judge
				}
				allowed := r.allowed(lvl)
				for _, engine := range []checker.Engine{checker.Linear, checker.Polygraph} {
					got, err := checker.Check(t.Context(), x, lvl, checker.Options{Engine: engine, Certify: true})
					if err != nil {
						t.Fatalf("seed %d, %s, %s: %v\n%s", seed, lvl, engine, err, r.text(t))
					}
					if got.Verdict == verdict.Unknown && engine == checker.Linear {
						refused[strings.Fields(got.Reason)[len(strings.Fields("the linear engine does not apply:"))]]++
						continue
					}
					if allowed != (got.Verdict == verdict.Satisfied) || got.Verdict == verdict.Unknown {
						t.Fatalf("seed %d, %s: the %s engine says %s %s, oracle says allowed=%v\n%s", seed, lvl, engine, got.Verdict, got.Reason, allowed, r.text(t))
					}
					if err := certify.Result(t.Context(), x, got); err != nil {
						t.Fatalf("seed %d, %s, %s: proof of %s: %v\n%s", seed, lvl, engine, got.Verdict, err, r.text(t))
					}
					if engine != checker.Linear {
						continue
					}
					count[got.Verdict]++
					if r.twice() {
						twice[got.Verdict]++
					}
					for _, op := range x.AllOps() {
						if op.Kind == history.ReadNot {
							classes++
							break
						}
					}
					if got.Verdict == verdict.Violated {
						if bare, err := checker.Check(t.Context(), h, lvl, checker.Options{}); err != nil {
							t.Fatal(err)
						} else if bare.Verdict == verdict.Satisfied {
							byScans++
						}
					}
				}
				lazy, rest := settle(t, h, rng.IntN(2), lvl)
				opt := checker.Options{Certify: true}
				if rest != nil {
					opt.Agree = rest.Decide
				}
				if later, err := checker.Check(t.Context(), lazy, lvl, opt); err != nil || allowed != (later.Verdict == verdict.Satisfied) {
					t.Fatalf("seed %d, %s: oracle says allowed=%v, but on demand: %+v, %v\n%s", seed, lvl, allowed, later, err, r.text(t))
				}
			}
			t.Logf("seed %d: %v, %d violated by scans alone, %d with class reads; refused: %v", seed, count, byScans, classes, refused)
			if n >= 1000 && (twice[verdict.Violated] < n/100 || n >= 5000 && twice[verdict.Satisfied] == 0) { // what is satisfied did not commit
				t.Errorf("%v with a row twice", twice)
			}
			judged := count[verdict.Satisfied] + count[verdict.Violated]
			if (judged < n/2 || count[verdict.Satisfied] < n/10 || byScans < n/40 || classes < n/10) && !randhist.Few(t) {
				t.Errorf("%v of %d histories, %d violated by scans alone, %d with class reads", count, n, byScans, classes)
			}
		})
	}
}

// newMini runs transactions one after another, some of them on an older state than the latest one,
// and changes some results. Their changes of a row follow a read of it, and their values are unique.
func newMini(rng *rand.Rand, lvl level.Level) *run {
	r := &run{}
	free := rng.Perm(40) // values
	value := func() []any {
		v := free[0]
		free = free[1:]
		return []any{int64(v)}
	}
	deleted := map[any]bool{} // absence is a value, too
	for i := range r.initial {
		r.initial[i] = map[any]schema.Row{}
	}
	rows := 1 + rng.IntN(3)
	for n := range rows {
		k := keyOf(0, n)
		if deleted[k] = rng.IntN(3) == 0; !deleted[k] {
			r.initial[0][k] = schema.Row{Key: []any{k}, Groups: [][]any{value()}}
		}
	}
	states := []state{r.initial}
	n := 3 + rng.IntN(3)
	stale := 1 + rng.IntN(3)
	for i := range n {
		x := transaction{session: int64(rng.IntN(n)), status: history.Committed, begin: history.NoTime, end: history.NoTime}
		if rng.IntN(10) == 0 {
			x.status = []history.Status{history.Unknown, history.Aborted}[rng.IntN(2)]
		}
		if lvl.RealTime() && x.status == history.Committed {
			x.begin, x.end = int64(10*i+10-rng.IntN(12)), int64(10*i+10+rng.IntN(12))
		}
		latest := states[len(states)-1]
		view, after := states[max(0, len(states)-1-rng.IntN(stale))].clone(), latest.clone()
		do := func(s statement) {
			view.apply(&s)
			after.apply(&s)
			x.statements = append(x.statements, s)
		}
		for range 1 + rng.IntN(2) {
			if rng.IntN(3) == 0 {
				s := statement{kind: "scan"}
				s.miniScan(rng, view)
				do(s)
				continue
			}
			k := keyOf(0, rng.IntN(rows))
			old, exists := view[0][k]
			get := statement{kind: "get", key: k, row: schema.Row{Key: []any{k}, Groups: old.Groups}, found: exists}
			if exists {
				get.row.Groups = [][]any{old.Groups[0]}
			}
			do(get)
			switch {
			case rng.IntN(5) == 0:
			case exists && rng.IntN(5) == 0 && !deleted[k]:
				deleted[k] = rng.IntN(20) > 0
				do(statement{kind: "delete", key: k})
			default:
				do(statement{kind: "insert", key: k, row: schema.Row{Key: []any{k}, Groups: [][]any{value()}}})
			}
		}
		r.txns = append(r.txns, x)
		if x.status == history.Committed || x.status == history.Unknown && rng.IntN(2) == 0 {
			states = append(states, after)
		}
	}
	if lvl.RealTime() {
		r.apart()
	}
	return r
}

// miniScan makes s a scan of the first table.
func (s *statement) miniScan(rng *rand.Rand, view state) {
	low := rng.IntN(40)
	switch rng.IntN(5) {
	case 0:
	case 1:
		s.where.Where = []schema.Condition{{Column: "k", Op: "<", Value: int64(1 + rng.IntN(3))}}
	case 2:
		s.where.Where = []schema.Condition{{Column: "v", Op: []string{"<", ">"}[rng.IntN(2)], Value: int64(low)}}
	default:
		s.where.Where = []schema.Condition{{Column: "v", Op: ">=", Value: int64(low)}, {Column: "v", Op: "<", Value: int64(low + 2 + rng.IntN(20))}}
	}
	s.rows = view.selects(s)
	if n := len(s.rows); n > 0 && rng.IntN(12) == 0 {
		s.rows = s.rows[1:]
	} else if n > 0 && rng.IntN(20) == 0 {
		s.rows = append(s.rows, s.rows[rng.IntN(n)])
	}
}
