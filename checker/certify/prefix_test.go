package certify_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestPrefix compares Judge at prefix consistency with the axiom of Biswas and Enea, tried on every
// commit order and every choice of sources.
func TestPrefix(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 9))
	count, lost := map[bool]int{}, 0
	for range randhist.Count(t, 10_000) {
		h := randhist.Prefix(rng)
		if rng.IntN(4) == 0 {
			if h = randhist.New(rng); !h.Closed {
				continue
			}
		}
		want := prefixes(h)
		got, decided := certify.Judge(h, level.PC, 1_000_000)
		if !decided || got != want {
			t.Fatalf("seed %d: %v (decided %v), want %v\n%s", seed, got, decided, want, dsl.Format(h))
		}
		count[want]++
		if si, _ := certify.Judge(h, level.SI, 1_000_000); want && !si {
			lost++
		} else if si && !want {
			t.Fatalf("seed %d: allowed at si, not at pc\n%s", seed, dsl.Format(h))
		}
	}
	t.Logf("seed %d: %v, %d only below si", seed, count, lost)
	if n := count[true] + count[false]; (count[true] < n/5 || count[false] < n/5 || lost < n/200) && !randhist.Few(t) {
		t.Errorf("one-sided: %v, %d only below si", count, lost)
	}
}

// prefixes reports whether a commit order of the committed transactions, and of some of unknown outcome,
// satisfies the axiom of prefix consistency.
func prefixes(h *history.History) bool {
	var order []int
	used := make([]bool, len(h.Txns))
	var extend func() bool
	extend = func() bool {
		complete := true
		for i := range h.Txns {
			complete = complete && (used[i] || h.Txns[i].Status != history.Committed)
		}
		if complete {
			return true
		}
		for i := range h.Txns {
			if used[i] || h.Txns[i].Status == history.Aborted || !prefixOf(h, order, i) {
				continue
			}
			used[i] = true
			order = append(order, i)
			ok := extend()
			used[i] = false
			order = order[:len(order)-1]
			if ok {
				return true
			}
		}
		return false
	}
	return extend()
}

// prefixOf reports whether i may commit after order: each read of x from s is right if every transaction
// that writes x and that is before, or is, a session predecessor or a source of i, is before s or is s.
func prefixOf(h *history.History, order []int, i int) bool {
	last := -1 // the last session predecessor, or source so far
	for j := range i {
		if h.Txns[j].Status == history.Committed && h.Txns[j].Session == h.Txns[i].Session {
			at := slices.Index(order, j)
			if at < 0 {
				return false
			}
			last = max(last, at)
		}
	}
	own := map[history.Key]history.Value{}
	reads := map[history.Key]history.Value{}
	for _, op := range h.Ops(&h.Txns[i]) {
		v, known := own[op.Key]
		switch {
		case op.Kind == history.Write:
			own[op.Key] = op.Value
		case known && v != op.Value:
			return false
		case !known:
			own[op.Key], reads[op.Key] = op.Value, op.Value
		}
	}
	var keys []history.Key
	for k := range reads {
		keys = append(keys, k)
	}
	source := make([]int, len(keys)) // places in order; -1 is the initial state
	var choose func(n, last int) bool
	choose = func(n, last int) bool {
		if n < len(keys) {
			for at := -1; at < len(order); at++ {
				v, wrote := h.Initial(keys[n]), at < 0
				if at >= 0 {
					v, wrote = finalWrite(h, order[at], keys[n])
				}
				if source[n] = at; wrote && v == reads[keys[n]] && choose(n+1, max(last, at)) {
					return true
				}
			}
			return false
		}
		for n, k := range keys {
			for at := source[n] + 1; at <= last; at++ {
				if _, wrote := finalWrite(h, order[at], k); wrote {
					return false
				}
			}
		}
		return true
	}
	return choose(0, last)
}

func finalWrite(h *history.History, i int, k history.Key) (history.Value, bool) {
	for _, op := range slices.Backward(h.Ops(&h.Txns[i])) {
		if op.Key == k && op.Kind == history.Write {
			return op.Value, true
		}
	}
	return 0, false
}

// TestLostUpdate checks that prefix consistency allows lost updates and nothing else that snapshot
// isolation forbids.
func TestLostUpdate(t *testing.T) {
	for text, want := range map[string]bool{
		"s1: r(x,0) w(x,1)\ns2: r(x,0) w(x,2)\n":                                     true,
		"s1: w(x,1)\ns2: w(y,1)\ns3: r(x,1) r(y,0)\ns4: r(x,0) r(y,1)\n":             false, // long fork
		"s1: r(x,0) w(x,1)\ns2: r(x,0) w(x,2)\ns3: r(x,1)\ns3: r(x,2)\ns4: r(x,2)\n": true,
		"s1: w(x,1)\ns2: r(x,1) w(y,1)\ns3: r(y,1) r(x,0)\n":                         false, // not causal
	} {
		h := dsl.MustParse(text)
		if got, decided := certify.Judge(h, level.PC, 100_000); !decided || got != want {
			t.Errorf("%v (decided %v), want %v\n%s", got, decided, want, text)
		}
	}
	h := dsl.MustParse("s1: r(x,0) w(x,1)\ns2: r(x,0) w(x,2)\n")
	if err := certify.Witness(t.Context(), h, level.PC, &verdict.Witness{Points: []int32{0, 2, 1, 3}}); err != nil {
		t.Errorf("a lost update is refused: %v", err)
	}
	both := verdict.Anomaly{Kind: verdict.Divergence, Txns: []int32{0, 1}, Cycle: []verdict.Edge{
		{From: 0, To: 1, Kind: verdict.RW, Key: h.Key("x"), Value: h.Initial(h.Key("x"))}, {From: 1, To: 0, Kind: verdict.RW, Key: h.Key("x"), Value: h.Initial(h.Key("x"))}}}
	for lvl, holds := range map[level.Level]bool{level.SI: true, level.PC: false} {
		r := &verdict.Result{Level: lvl, Verdict: verdict.Violated, Anomalies: []verdict.Anomaly{both}}
		if err := certify.Result(t.Context(), h, r); (err == nil) != holds {
			t.Errorf("divergence at %s: %v", lvl, err)
		}
	}
}
