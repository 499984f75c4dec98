package certify_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/linear"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

func check(t *testing.T, h *history.History, lvl level.Level) *verdict.Result {
	t.Helper()
	r, err := linear.Engine{}.Judge(context.Background(), h, lvl, engine.Options{Proof: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := certify.Result(t.Context(), h, r); err != nil {
		t.Fatalf("%s: %v", lvl, err)
	}
	return r
}

// TestCorruptedWitness damages witnesses in every way that can matter; each
// must be refused.
func TestCorruptedWitness(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	h := synth.Mini(synth.MiniConfig{Sessions: 4, Txns: 60, Keys: 2, Seed: 2})
	for _, lvl := range []level.Level{level.SER, level.SSER, level.SI, level.StrongSI} {
		w := check(t, h, lvl).Witness
		list := func(w *verdict.Witness) *[]int32 {
			if lvl.Snapshot() {
				return &w.Points
			}
			return &w.Order
		}
		refused := func(what string, f func(s []int32) []int32) {
			t.Helper()
			bad := *w
			*list(&bad) = f(slices.Clone(*list(w)))
			if certify.Witness(t.Context(), h, lvl, &bad) == nil {
				t.Errorf("%s: a witness with %s is accepted", lvl, what)
			}
		}
		n := len(*list(w))
		refused("a transaction missing", func(s []int32) []int32 { return slices.Delete(s, n/2, n/2+1) })
		refused("a transaction twice", func(s []int32) []int32 { return append(s, s[n/2]) })
		refused("a number out of range", func(s []int32) []int32 { s[3] = 1 << 20; return s })
		refused("a negative number", func(s []int32) []int32 { s[3] = -1; return s })
		refused("the order reversed", func(s []int32) []int32 { slices.Reverse(s); return s })
		refused("everything shuffled", func(s []int32) []int32 {
			rng.Shuffle(n, func(i, j int) { s[i], s[j] = s[j], s[i] })
			return s
		})
	}
	h = dsl.MustParse("s1 [0,1]: r(x,0) w(x,1)\ns2 [0,1]: r(x,1) w(x,2) abort\ns3 [5,6]: r(x,1)\n")
	if certify.Witness(t.Context(), h, level.SER, &verdict.Witness{Order: []int32{0, 1, 2}}) == nil {
		t.Error("an aborted transaction is accepted")
	}
}

// TestOrdersBind checks that session order and real time must be kept at the levels that have them,
// and only there.
func TestOrdersBind(t *testing.T) {
	// Two sessions that share nothing; the second transaction of session 1
	// and that of session 2 began after the first had ended.
	h := dsl.MustParse("s1 [0,1]: r(x,0)\ns1 [2,3]: r(x,0)\ns2 [4,5]: r(y,0)\n")
	for _, tc := range []struct {
		lvl   level.Level
		order []int32
		ok    bool
	}{
		{level.SER, []int32{0, 1, 2}, true}, {level.SER, []int32{1, 0, 2}, false}, {level.SER, []int32{2, 0, 1}, true},
		{level.SERNoSO, []int32{1, 0, 2}, true},
		{level.SSER, []int32{0, 1, 2}, true}, {level.SSER, []int32{2, 0, 1}, false},
	} {
		if err := certify.Witness(t.Context(), h, tc.lvl, &verdict.Witness{Order: tc.order}); (err == nil) != tc.ok {
			t.Errorf("%s %v: %v", tc.lvl, tc.order, err)
		}
	}
	for _, tc := range []struct {
		lvl    level.Level
		points []int32
		ok     bool
	}{
		{level.SI, []int32{0, 1, 2, 3, 4, 5}, true}, {level.SI, []int32{4, 0, 1, 2, 3, 5}, true}, {level.SI, []int32{0, 2, 1, 3, 4, 5}, false},
		{level.SINoSO, []int32{0, 2, 1, 3, 4, 5}, true}, {level.StrongSI, []int32{4, 0, 1, 2, 3, 5}, false}, {level.SI, []int32{1, 0, 2, 3, 4, 5}, false},
	} {
		if err := certify.Witness(t.Context(), h, tc.lvl, &verdict.Witness{Points: tc.points}); (err == nil) != tc.ok {
			t.Errorf("%s %v: %v", tc.lvl, tc.points, err)
		}
	}
	lost := dsl.MustParse("s1: r(x,0) w(x,1)\ns2: r(x,0) w(x,2)\n")
	if certify.Witness(t.Context(), lost, level.SI, &verdict.Witness{Points: []int32{0, 2, 1, 3}}) == nil {
		t.Error("both writers of a lost update may commit")
	}
}

// TestCorruptedCounterexample damages each part of counterexamples; each must
// be refused.
func TestCorruptedCounterexample(t *testing.T) {
	for name, text := range map[string]string{
		"long fork":         "s1 [0,9]: r(x,0) w(x,1)\ns2 [0,9]: r(y,0) w(y,1)\ns3 [0,9]: r(x,1) r(y,0)\ns4 [0,9]: r(x,0) r(y,1)\ns5 [20,30]: r(z,0) w(z,1)\n",
		"session":           "s1 [0,2]: r(x,0) w(x,1)\ns2 [4,6]: r(x,1) w(x,2)\ns2 [7,9]: r(x,1)\ns5 [20,30]: r(z,0) w(z,1)\n",
		"lost update":       "s1 [0,2]: r(x,0) w(x,1)\ns2 [1,6]: r(x,0) w(x,2)\ns5 [20,30]: r(z,0) w(z,1)\n",
		"aborted read":      "s1 [0,2]: r(x,0) w(x,1) abort\ns2 [1,6]: r(x,1)\ns5 [20,30]: r(z,0) w(z,1)\n",
		"intermediate read": "s1 [0,2]: r(x,0) w(x,1) w(x,2)\ns2 [1,6]: r(x,1)\ns5 [20,30]: r(z,0) w(z,1)\n",
		"thin air":          "s1 [0,2]: r(x,0) w(x,1)\ns2 [1,6]: r(x,7)\ns5 [20,30]: r(z,0) w(z,1)\n",
		"unknown pulled in": "s1 [0,2]: r(x,0) w(x,1) unknown\ns2 [1,6]: r(x,0) w(x,2)\ns3 [3,4]: r(x,1)\ns5 [20,30]: r(z,0) w(z,1)\n",
	} {
		h := dsl.MustParse(text)
		for _, lvl := range []level.Level{level.SER, level.SI, level.SSER} {
			r := check(t, h, lvl)
			if r.Verdict != verdict.Violated {
				t.Fatalf("%s: %s %s", name, lvl, r.Verdict)
			}
			refused := func(what string, change func(a *verdict.Anomaly)) {
				t.Helper()
				a := r.Anomalies[0]
				a.Cycle, a.Ops, a.Txns = slices.Clone(a.Cycle), slices.Clone(a.Ops), slices.Clone(a.Txns)
				change(&a)
				bad := *r
				bad.Anomalies = []verdict.Anomaly{a}
				if certify.Result(t.Context(), h, &bad) == nil {
					t.Errorf("%s at %s: a counterexample with %s is accepted", name, lvl, what)
				}
			}
			other := int32(len(h.Txns) - 1) // not involved
			refused("another kind", func(a *verdict.Anomaly) { a.Kind = (a.Kind+3)%9 + 1 })
			refused("no kind", func(a *verdict.Anomaly) { a.Kind = 0 })
			for n := range r.Anomalies[0].Cycle {
				refused("an edge missing", func(a *verdict.Anomaly) { a.Cycle = slices.Delete(a.Cycle, n, n+1) })
				refused("an edge from elsewhere", func(a *verdict.Anomaly) { a.Cycle[n].From = other })
				refused("an edge to elsewhere", func(a *verdict.Anomaly) { a.Cycle[n].To = other })
				refused("an edge of another kind", func(a *verdict.Anomaly) { a.Cycle[n].Kind = verdict.WW })
				if k := r.Anomalies[0].Cycle[n].Kind; k != verdict.SO {
					refused("an edge on another key", func(a *verdict.Anomaly) { a.Cycle[n].Key = h.Key("z") })
					refused("an edge on another value", func(a *verdict.Anomaly) { a.Cycle[n].Value += 100 })
				}
			}
			for n := range r.Anomalies[0].Ops {
				refused("an operation of another", func(a *verdict.Anomaly) { a.Ops[n].Txn = other })
			}
		}
	}
	if certify.Result(t.Context(), dsl.MustParse("s1: r(x,0)"), &verdict.Result{Level: level.SER, Verdict: verdict.Violated}) == nil {
		t.Error("violated without a counterexample is accepted")
	}
	if certify.Result(t.Context(), dsl.MustParse("s1: r(x,0)"), &verdict.Result{Level: level.SER, Verdict: verdict.Satisfied}) == nil {
		t.Error("satisfied without a witness is accepted")
	}
}

// TestForged checks that proofs are refused if they name something that does not exist or ignore
// that an insertion found its key absent.
func TestForged(t *testing.T) {
	h := dsl.MustParse("s1 T1 [0,0]: r(x,0) w(x,nil)\ns1 T2 [1,1]: w(x,1)")
	for _, a := range []verdict.Anomaly{
		{Kind: verdict.DoubleInsert, Txns: []int32{1}, Ops: []verdict.OpRef{{Txn: 1, Op: 0}}},
		{Kind: verdict.ImpossibleFailure, Txns: []int32{1}, Ops: []verdict.OpRef{{Txn: 1, Op: 0}}},
		{Kind: verdict.ThinAirRead, Txns: []int32{0}, Ops: []verdict.OpRef{{Txn: 0, Op: 9}}},
		{Kind: verdict.ThinAirRead, Txns: []int32{0}, Ops: []verdict.OpRef{{Txn: -1, Op: 0}}},
		{Kind: verdict.Cycle, Txns: []int32{0, 1}, Cycle: []verdict.Edge{{From: 0, To: 7, Kind: verdict.WR}, {From: 7, To: 0, Kind: verdict.WR}}},
		{Kind: verdict.Cycle, Txns: []int32{0, 1}, Cycle: []verdict.Edge{{From: 0, To: 1, Kind: verdict.WR, Key: 99}, {From: 1, To: 0, Kind: verdict.WR, Key: -1}}},
	} {
		if certify.Result(t.Context(), h, &verdict.Result{Level: level.LIN, Verdict: verdict.Violated, Anomalies: []verdict.Anomaly{a}}) == nil {
			t.Errorf("accepted: %+v", a)
		}
	}
}

// TestCorruptedContradiction damages a closed sub-history in every way that can matter.
func TestCorruptedContradiction(t *testing.T) {
	// Whichever transaction wrote x = 1, T3 cannot have read it without reading y = 1. T4 is not
	// involved. T5 wrote x = 1, too, and aborted.
	h := dsl.MustParse("s1 T1: r(y,1) w(x,1)\ns2 T2: w(x,1) w(y,1)\ns3 T3: r(x,1) r(y,0)\ns4 T4: w(z,5)\ns5 T5: w(x,1) abort\n")
	for _, lvl := range []level.Level{level.SER, level.SI} {
		r, err := polygraph.Engine{}.Judge(context.Background(), h, lvl, engine.Options{})
		if err != nil || r.Verdict != verdict.Violated || r.Anomalies[0].Kind != verdict.Contradiction {
			t.Fatal(r, err)
		}
		if err := certify.Result(t.Context(), h, r); err != nil {
			t.Fatal(err)
		}
		refused := func(what string, h *history.History, change func(a *verdict.Anomaly)) {
			t.Helper()
			a := r.Anomalies[0]
			a.Txns, a.Ops = slices.Clone(a.Txns), slices.Clone(a.Ops)
			change(&a)
			bad := *r
			bad.Anomalies = []verdict.Anomaly{a}
			if certify.Result(t.Context(), h, &bad) == nil {
				t.Errorf("%s: accepted with %s", lvl, what)
			}
		}
		for n := range r.Anomalies[0].Ops {
			refused("an operation missing", h, func(a *verdict.Anomaly) { a.Ops = slices.Delete(a.Ops, n, n+1) })
			refused("an operation twice", h, func(a *verdict.Anomaly) { a.Ops = append(a.Ops, a.Ops[n]) })
		}
		for n, i := range r.Anomalies[0].Txns {
			refused("a transaction missing", h, func(a *verdict.Anomaly) {
				a.Txns = slices.Delete(a.Txns, n, n+1)
				a.Ops = slices.DeleteFunc(a.Ops, func(o verdict.OpRef) bool { return o.Txn == i })
			})
		}
		more := r.Anomalies[0]
		more.Txns = append(slices.Clone(more.Txns), 4)
		more.Ops = append(slices.Clone(more.Ops), verdict.OpRef{Txn: 4, Op: 0})
		if err := certify.Result(t.Context(), h, &verdict.Result{Level: lvl, Verdict: verdict.Violated, Anomalies: []verdict.Anomaly{more}}); err != nil {
			t.Errorf("%s: refused with an aborted writer, which changes nothing: %v", lvl, err)
		}
		refused("a transaction twice", h, func(a *verdict.Anomaly) { a.Txns = append(a.Txns, a.Txns[0]) })
		refused("a false cycle", h, func(a *verdict.Anomaly) {
			a.Cycle = []verdict.Edge{{From: 0, To: 2, Kind: verdict.WW, Key: h.Key("x"), Value: 1}, {From: 2, To: 0, Kind: verdict.RW, Key: h.Key("y")}}
		})
		fine := dsl.MustParse("s1 T1: r(y,1) w(x,1)\ns2 T2: w(x,1) w(y,1)\ns3 T3: r(x,1) r(y,0)\ns4 T4: w(x,1)\n")
		refused("another writer left out", fine, func(*verdict.Anomaly) {})
		unknown := dsl.MustParse("s1 T1: r(y,1) w(x,1)\ns2 T2: w(x,1) w(y,1)\ns3 T3: r(x,1) r(y,0)\ns4 T4: w(x,1) unknown\n")
		refused("a writer of unknown outcome left out", unknown, func(*verdict.Anomaly) {})
	}
}

// TestFalseCounterexample checks that cycles that the level allows prove nothing.
func TestFalseCounterexample(t *testing.T) {
	h := dsl.MustParse("s1 [0,5]: r(x,0) r(y,0) w(x,1)\ns2 [2,7]: r(x,0) r(y,0) w(y,1)\n")
	r := check(t, h, level.SER)
	r.Level = level.SI
	if certify.Result(t.Context(), h, r) == nil {
		t.Error("write skew is accepted as a violation of snapshot isolation")
	}
	h = dsl.MustParse("s1 [0,2]: r(x,0) w(x,1)\ns2 [4,6]: r(x,1) w(x,2)\ns2 [7,9]: r(x,1)\n")
	r = check(t, h, level.SER)
	r.Level = level.SERNoSO
	if certify.Result(t.Context(), h, r) == nil {
		t.Error("session order is accepted where it does not bind")
	}
}

// TestJudge checks the definitions of the levels with histories that distinguish them.
func TestJudge(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		allowed    []level.Level
	}{
		{"write skew", "s1 [0,5]: r(x,0) r(y,0) w(x,1)\ns2 [2,7]: r(x,0) r(y,0) w(y,1)\n", []level.Level{level.SI, level.SINoSO, level.StrongSI}},
		{"stale read", "s1 [0,1]: r(x,0) w(x,1)\ns2 [5,6]: r(x,0)\n", []level.Level{level.SER, level.SI, level.SERNoSO, level.SINoSO}},
		{"stale own session", "s1 [0,1]: r(x,0) w(x,1)\ns1 [5,6]: r(x,0)\n", []level.Level{level.SERNoSO, level.SINoSO}},
		{"touching intervals", "s1 [0,5]: r(x,0) w(x,1)\ns2 [5,6]: r(x,0)\n", []level.Level{level.SER, level.SI, level.SERNoSO, level.SINoSO, level.SSER, level.StrongSI}},
		{"unknown, unread", "s1 [0,1]: r(x,0) w(x,1) unknown\ns2 [5,6]: r(x,0)\n", []level.Level{level.SER, level.SI, level.SERNoSO, level.SINoSO, level.SSER, level.StrongSI}},
		{"unknown, read", "s1 [0,1]: r(x,0) w(x,1) unknown\ns2 [5,6]: r(x,0)\ns2 [7,8]: r(x,1)\n", []level.Level{level.SER, level.SI, level.SERNoSO, level.SINoSO, level.SSER, level.StrongSI}},
		{"lost update", "s1 [0,1]: r(x,0) w(x,1)\ns2 [0,1]: r(x,0) w(x,2)\n", nil},
	} {
		h := dsl.MustParse(tc.text)
		for _, lvl := range level.All() {
			if !lvl.Search() {
				continue
			}
			allowed, decided := certify.Judge(h, lvl, 100_000)
			if want := slices.Contains(tc.allowed, lvl); !decided || allowed != want {
				t.Errorf("%s at %s: %v (decided %v), want %v", tc.name, lvl, allowed, decided, want)
			}
			if got := check(t, h, lvl).Verdict == verdict.Satisfied; got != allowed {
				t.Errorf("%s at %s: the linear engine says %v", tc.name, lvl, got)
			}
		}
	}
}

// TestDoubtfulReads checks that in a history that was cut off, a read without a known writer in a
// transaction of unknown outcome proves nothing, however often it is repeated. A read that is not
// repeatable shows that its transaction did not commit.
func TestDoubtfulReads(t *testing.T) {
	for text, holds := range map[string]bool{
		"open\ns1: r(x,54) w(y,5) unknown\ns2: r(y,5)":         false,
		"open\ns1: r(x,54) r(x,54) w(y,5) unknown\ns2: r(y,5)": false,
		"open\ns1: r(x,54) r(x,0) w(y,5) unknown\ns2: r(y,5)":  true,
		"open\ns1: r(x,0) r(x,54) w(y,5) unknown\ns2: r(y,5)":  true,
		"s1: r(x,54) r(x,54) w(y,5) unknown\ns2: r(y,5)":       true,
	} {
		h := dsl.MustParse(text)
		a := verdict.Anomaly{Kind: verdict.Contradiction, Names: []string{"Contradiction"}}
		for i := range h.Txns {
			a.Txns = append(a.Txns, int32(i))
			for n := range h.Ops(&h.Txns[i]) {
				a.Ops = append(a.Ops, verdict.OpRef{Txn: int32(i), Op: n})
			}
		}
		err := certify.Result(t.Context(), h, &verdict.Result{Level: level.SI, Verdict: verdict.Violated, Anomalies: []verdict.Anomaly{a}})
		if (err == nil) != holds {
			t.Errorf("%q: %v, want a proof that holds: %v", text, err, holds)
		}
	}
}
