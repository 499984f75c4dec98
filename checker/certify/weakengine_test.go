package certify_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/checker/weak"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// judgeWeak judges h with the engine. It returns nil if the engine refuses.
func judgeWeak(t *testing.T, h *history.History, lvl level.Level) *verdict.Result {
	t.Helper()
	r, err := weak.Engine{}.Judge(t.Context(), h, lvl, engine.Options{Proof: true})
	if errors.As(err, new(*engine.Refusal)) {
		return nil
	} else if err != nil {
		t.Fatal(err)
	}
	return r
}

// anyWeak makes a random history for weak levels.
func anyWeak(rng *rand.Rand) *history.History {
	switch rng.IntN(6) {
	case 0:
		return randhist.New(rng)
	case 1:
		return randhist.WithClassReads(rng, weakHistory(rng))
	case 2:
		return randhist.WithoutValues(rng, weakHistory(rng))
	case 3:
		return randhist.Damage(rng, randhist.Of(rng, 3, 8, 3), 2)
	}
	return weakHistory(rng)
}

// TestWeakEngine checks that the proofs of the weak engine hold, and that its verdicts are right.
func TestWeakEngine(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 8))
	verdicts := map[level.Level][3]int{}
	for range randhist.Count(t, 20_000) / 5 {
		h := anyWeak(rng)
		for _, lvl := range weakLevels {
			r := judgeWeak(t, h, lvl)
			if r == nil {
				continue
			}
			v := verdicts[lvl]
			v[r.Verdict]++
			verdicts[lvl] = v
			if err := certify.Result(t.Context(), h, r); err != nil {
				t.Fatalf("seed %d, %s %s: %v\n%+v %+v\n%s", seed, lvl, r.Verdict, err, r.Witness, r.Anomalies, dsl.Format(h))
			}
			if allowed, decided := certify.Judge(h, lvl, 1_000_000); h.Closed && r.Verdict != verdict.Unknown && decided && allowed != (r.Verdict == verdict.Satisfied) {
				t.Fatalf("seed %d, %s: %s, but the trial of all executions says %v\n%s", seed, lvl, r.Verdict, allowed, dsl.Format(h))
			}
		}
	}
	t.Log(verdicts)
	for _, lvl := range weakLevels {
		if v := verdicts[lvl]; (v[verdict.Satisfied] < 100 || v[verdict.Violated] < 50) && !randhist.Few(t) {
			t.Errorf("%s: satisfied %d, violated %d", lvl, v[verdict.Satisfied], v[verdict.Violated])
		}
	}
}

// TestTamperedCycles damages the cycles that the weak engine finds in every way that can matter. Nearly all of
// them must be refused; now and then another edge happens to show the same. None of them may be accepted as
// a proof about a history that the level allows.
func TestTamperedCycles(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 9))
	refused, accepted, borrowed := map[string]int{}, map[string]int{}, 0
	for range randhist.Count(t, 6_000) {
		h := weakHistory(rng)
		lvl := weakLevels[rng.IntN(len(weakLevels))]
		r := judgeWeak(t, h, lvl)
		if r == nil || r.Verdict != verdict.Violated {
			continue
		}
		other := randhist.Damage(rng, h, 1)
		allowed, decided := certify.Judge(other, lvl, 1_000_000)
		for n := range r.Anomalies {
			proves := func(h *history.History, a verdict.Anomaly) bool {
				return certify.Result(t.Context(), h, &verdict.Result{Level: lvl, Verdict: verdict.Violated, Anomalies: []verdict.Anomaly{a}}) == nil
			}
			if borrowed++; allowed && decided && proves(other, r.Anomalies[n]) {
				t.Fatalf("seed %d, %s: accepted %+v of\n%sfor\n%s", seed, lvl, r.Anomalies[n], dsl.Format(h), dsl.Format(other))
			}
			try := func(what string, change func(a *verdict.Anomaly)) {
				a := r.Anomalies[n]
				a.Cycle, a.Context, a.Forced = slices.Clone(a.Cycle), slices.Clone(a.Context), maps.Clone(a.Forced)
				change(&a)
				if proves(h, a) {
					accepted[what]++
				} else {
					refused[what]++
				}
			}
			a := &r.Anomalies[n]
			somebody := int32(rng.IntN(len(h.Txns)))
			for i, e := range a.Cycle {
				try("an edge missing", func(a *verdict.Anomaly) { a.Cycle = slices.Delete(a.Cycle, i, i+1) })
				if somebody != e.To {
					try("an edge to elsewhere", func(a *verdict.Anomaly) { a.Cycle[i].To = somebody })
				}
				if e.Kind != verdict.SO && h.KeyCount() > 1 {
					try("an edge on another key", func(a *verdict.Anomaly) { a.Cycle[i].Key = history.Key((int(e.Key) + 1) % h.KeyCount()) })
				}
				if e.Kind != verdict.SO {
					try("an edge on another value", func(a *verdict.Anomaly) { a.Cycle[i].Value++ })
					try("an edge of another kind", func(a *verdict.Anomaly) { a.Cycle[i].Kind = verdict.SO })
				}
				if ref, forced := a.Forced[i]; forced {
					try("no reason", func(a *verdict.Anomaly) { delete(a.Forced, i) })
					if h.Txns[ref.Txn].OpCount() == 1 {
						continue
					}
					try("another reason", func(a *verdict.Anomaly) {
						a.Forced[i] = verdict.OpRef{Txn: ref.Txn, Op: (ref.Op + 1) % h.Txns[ref.Txn].OpCount()}
					})
				}
			}
			if len(a.Forced) == 1 {
				for i := range a.Context {
					try("a step missing", func(a *verdict.Anomaly) { a.Context = slices.Delete(a.Context, i, i+1) })
				}
			}
		}
	}
	t.Logf("%d borrowed; refused %v, accepted %v", borrowed, refused, accepted)
	for what, n := range refused {
		// Another read of the transaction may force the same edge.
		if (n < 20 || accepted[what] > n/5 && what != "another reason") && !randhist.Few(t) {
			t.Errorf("%s: %d refused, %d accepted", what, n, accepted[what])
		}
	}
	if (len(refused) < 8 || borrowed < 100) && !randhist.Few(t) {
		t.Errorf("%d ways, %d borrowed", len(refused), borrowed)
	}
}
