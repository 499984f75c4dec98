package sat

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
)

// atMost is a theory: at most limit variables are true. Final adds the held clauses one at a time,
// when the assignment violates them. A sparing theory decides only variables that make clauses
// true, so some variables may stay unassigned.
type atMost struct {
	s       *Solver
	limit   int
	trues   []Lit
	held    [][]Lit
	known   [][]Lit // not held, or no longer
	sparing bool
	spared  bool // the last search left variables unassigned
	rng     *rand.Rand
}

func (a *atMost) Assert(l Lit) []Lit {
	if !l.Positive() {
		return nil
	}
	if len(a.trues) == a.limit {
		conflict := []Lit{l.Not()}
		for _, t := range a.trues {
			conflict = append(conflict, t.Not())
		}
		return conflict
	}
	a.trues = append(a.trues, l)
	return nil
}

func (a *atMost) Retract(l Lit) {
	if l.Positive() {
		if a.trues[len(a.trues)-1] != l {
			panic("retracted out of order")
		}
		a.trues = a.trues[:len(a.trues)-1]
	}
}

func (a *atMost) Decide() Lit {
	v := a.s.Unassigned()
	if v < 0 {
		return None
	}
	if !a.sparing {
		return Pos(v) ^ Lit(a.rng.IntN(2))
	}
	for _, c := range a.known {
		if satisfied(a.s, c) {
			continue
		}
		for _, i := range a.rng.Perm(len(c)) {
			if !a.s.False(c[i]) {
				return c[i]
			}
		}
	}
	a.spared = true
	return None
}

func (a *atMost) Final() (bool, error) {
	for i, c := range a.held {
		if !satisfied(a.s, c) {
			a.held = append(a.held[:i:i], a.held[i+1:]...)
			a.known = append(a.known, c)
			a.s.Add(c...)
			return true, nil
		}
	}
	return false, nil
}

func satisfied(s *Solver, c []Lit) bool {
	for _, l := range c {
		if s.True(l) {
			return true
		}
	}
	return false
}

// TestAgainstTrial compares with the trial of every assignment: random clauses, some added at
// first, some only after the search has violated them.
func TestAgainstTrial(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	count := map[bool]int{}
	spared, paused := 0, 0
	for n := range 20_000 {
		vars := 3 + rng.IntN(10)
		th := &atMost{limit: rng.IntN(vars + 1), sparing: n%2 == 0, rng: rng}
		s := New(th)
		s.Chronological = []int32{0, 1, Chronological}[n%3]
		th.s = s
		for range vars {
			s.NewVar()
		}
		var clauses [][]Lit
		for range rng.IntN(5 * vars) {
			var c []Lit
			for range 1 + rng.IntN(4) {
				c = append(c, Lit(rng.IntN(2*vars)))
			}
			clauses = append(clauses, c)
			if rng.IntN(2) == 0 {
				s.Add(c...)
				th.known = append(th.known, c)
			} else {
				th.held = append(th.held, c)
			}
		}
		want := false
	assignments:
		for bits := range 1 << vars {
			trues := 0
			for v := range vars {
				trues += bits >> v & 1
			}
			if trues > th.limit {
				continue
			}
			for _, c := range clauses {
				ok := false
				for _, l := range c {
					ok = ok || (bits>>l.Var()&1 == 1) == l.Positive()
				}
				if !ok {
					continue assignments
				}
			}
			want = true
			break
		}
		s.PauseAt = 1 + int64(n%3)
		got, err := s.Solve(context.Background())
		for errors.Is(err, ErrPaused) { // the search continues as if it had not been paused
			paused++
			s.PauseAt++
			got, err = s.Solve(context.Background())
		}
		if err != nil || got != want {
			t.Fatalf("problem %d: %v, %v, want %v", n, got, err, want)
		}
		count[got]++
		if !got {
			continue
		}
		if th.spared {
			spared++
		}
		for _, c := range clauses {
			if !satisfied(s, c) {
				t.Fatalf("problem %d: the assignment violates %v", n, c)
			}
		}
	}
	if count[true] < 2000 || count[false] < 2000 || spared < 1000 || paused < 1000 {
		t.Errorf("one-sided: %v, %d with variables left, %d pauses", count, spared, paused)
	}
}

// TestPigeons has a refutation that needs many conflicts, with restarts and deleted clauses, and
// one that is interrupted.
func TestPigeons(t *testing.T) {
	build := func(holes int) *Solver {
		th := &atMost{limit: 1 << 30, rng: rand.New(rand.NewPCG(3, 4))}
		s := New(th)
		th.s = s
		at := func(p, h int) Lit { return Pos(int32(p*holes + h)) }
		for range (holes + 1) * holes {
			s.NewVar()
		}
		for p := range holes + 1 {
			var c []Lit
			for h := range holes {
				c = append(c, at(p, h))
			}
			s.Add(c...)
			for q := range p {
				for h := range holes {
					s.Add(at(p, h).Not(), at(q, h).Not())
				}
			}
		}
		return s
	}
	s := build(7)
	s.maxLearnts = 50
	if got, err := s.Solve(context.Background()); got || err != nil || s.Stats.Restarts == 0 {
		t.Errorf("%v, %v, %+v", got, err, s.Stats)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := build(10).Solve(ctx); err == nil {
		t.Error("not broken off")
	}
}
