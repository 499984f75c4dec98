package psi_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/psi"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestAgainstOracle compares the engine with the dependency graphs of every order of the writers, on random
// histories. ISOHOUND_HISTORIES sets how many.
func TestAgainstOracle(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 11))
	count, weaker, unknown, own := map[bool]int{}, 0, 0, map[verdict.Verdict]int{}
	n := randhist.Count(t, 20_000)
	for range n {
		h := randhist.Scattered(rng)
		switch rng.IntN(8) {
		case 0:
			h = randhist.Prefix(rng)
		case 1:
			h = randhist.New(rng)
		}
		want, known := allowed(h)
		r, err := psi.Engine{}.Judge(t.Context(), h, level.PSI, engine.Options{Proof: true})
		if err != nil {
			if !known {
				unknown++
				continue
			}
			t.Fatalf("seed %d: %v\n%s", seed, err, dsl.Format(h))
		}
		if r.Verdict == verdict.Unknown || !known {
			continue
		}
		if want != (r.Verdict == verdict.Satisfied) {
			t.Fatalf("seed %d: engine says %s, oracle says allowed=%v\n%s%+v", seed, r.Verdict, want, dsl.Format(h), r.Anomalies)
		}
		if got, decided := certify.Judge(h, level.PSI, 1_000_000); !decided || got != want {
			t.Fatalf("seed %d: certify.Judge says %v (decided %v), oracle says allowed=%v\n%s", seed, got, decided, want, dsl.Format(h))
		}
		proof := *r
		proof.Level = r.ProofLevel()
		if err := certify.Result(t.Context(), h, &proof); err != nil {
			t.Fatalf("seed %d: proof of %s: %v\n%s%+v", seed, r.Verdict, err, dsl.Format(h), r.Anomalies)
		}
		for range 4 {
			if w := randomOrder(rng, h); !want && certify.Witness(t.Context(), h, level.PSI, w) == nil {
				t.Fatalf("seed %d: the witness %v is accepted\n%s", seed, w.Order, dsl.Format(h))
			}
		}
		if count[want]++; r.FollowsFrom == 0 {
			own[r.Verdict]++
		}
		si, err := polygraph.Engine{}.Judge(t.Context(), h, level.SI, engine.Options{VerdictOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if want && si.Verdict == verdict.Violated {
			weaker++
		} else if !want && si.Verdict == verdict.Satisfied {
			t.Fatalf("seed %d: allowed at si, not at psi\n%s", seed, dsl.Format(h))
		}
	}
	t.Logf("seed %d: %v, %d of them only below si, judged by the engine itself %v, %d refused", seed, count, weaker, own, unknown)
	if (count[true] < n/5 || count[false] < n/5 || weaker < n/100 || own[verdict.Violated] < n/50) && !randhist.Few(t) {
		t.Error("one-sided")
	}
}

// allowed tries every order of the writers of each key: no cycle of the dependency graph may have fewer
// than two anti-dependencies (Cerone, Bernardi and Gotsman). It returns known false if values are not unique.
func allowed(h *history.History) (ok, known bool) {
	if !h.Closed {
		return false, false
	}
	n := len(h.Txns)
	type versionOf struct {
		key   history.Key
		value history.Value
	}
	writer := map[versionOf]int{}
	for i := range h.Txns {
		if h.Txns[i].Status == history.Aborted {
			continue
		}
		for k, v := range finals(h, i) {
			if _, twice := writer[versionOf{k, v}]; twice || v == h.Initial(k) {
				return false, false
			}
			writer[versionOf{k, v}] = i
		}
	}
	in := make([]bool, n)
	var work []int
	for i := range h.Txns {
		if h.Txns[i].Status == history.Committed {
			in[i] = true
			work = append(work, i)
		}
	}
	type read struct {
		txn, source int
		key         history.Key
	}
	var reads []read
	hb := make([][]bool, n)
	for i := range hb {
		hb[i] = make([]bool, n)
	}
	for len(work) > 0 {
		i := work[0]
		work = work[1:]
		for j := range i {
			if h.Txns[j].Status == history.Committed && h.Txns[j].Session == h.Txns[i].Session {
				hb[j][i] = true
			}
		}
		own := map[history.Key]history.Value{}
		for _, op := range h.Ops(&h.Txns[i]) {
			v, touched := own[op.Key]
			switch {
			case op.Kind == history.Write:
				own[op.Key] = op.Value
			case touched && v != op.Value:
				return false, true
			case !touched:
				own[op.Key] = op.Value
				w, wrote := writer[versionOf{op.Key, op.Value}]
				switch {
				case op.Value == h.Initial(op.Key):
					reads = append(reads, read{i, -1, op.Key})
				case !wrote || w == i:
					return false, true
				default:
					reads = append(reads, read{i, w, op.Key})
					if hb[w][i] = true; !in[w] {
						in[w] = true
						work = append(work, w)
					}
				}
			}
		}
	}
	writers := map[history.Key][]int{}
	for i := range h.Txns {
		if in[i] {
			for k := range finals(h, i) {
				writers[k] = append(writers[k], i)
			}
		}
	}
	var keys []history.Key
	for k := range writers {
		keys = append(keys, k)
	}
	right := func(ww map[history.Key][]int) bool {
		all := make([][]bool, n)
		for i := range hb {
			all[i] = slices.Clone(hb[i])
		}
		for _, list := range ww {
			for i := 1; i < len(list); i++ {
				all[list[i-1]][list[i]] = true
			}
		}
		for m := range n {
			for i := range n {
				for j := range n {
					all[i][j] = all[i][j] || all[i][m] && all[m][j]
				}
			}
		}
		for i := range n {
			if all[i][i] {
				return false
			}
		}
		for _, r := range reads {
			list := ww[r.key]
			for _, u := range list[slices.Index(list, r.source)+1:] {
				if u != r.txn && all[u][r.txn] {
					return false
				}
			}
		}
		return true
	}
	ww := map[history.Key][]int{}
	var try func(m int) bool
	try = func(m int) bool {
		if m == len(keys) {
			return right(ww)
		}
		found := false
		permutations(writers[keys[m]], func(p []int) bool {
			ww[keys[m]] = p
			found = try(m + 1)
			return found
		})
		return found
	}
	return try(0), true
}

// randomOrder returns an order of the transactions that did not abort that keeps session order.
func randomOrder(rng *rand.Rand, h *history.History) *verdict.Witness {
	w := &verdict.Witness{}
	next := h.BySession()
	for range h.Txns {
		s := rng.IntN(len(next))
		for len(next[s]) == 0 {
			s = (s + 1) % len(next)
		}
		i := next[s][0]
		if next[s] = next[s][1:]; h.Txns[i].Status != history.Aborted {
			w.Order = append(w.Order, i)
		}
	}
	return w
}

func finals(h *history.History, i int) map[history.Key]history.Value {
	out := map[history.Key]history.Value{}
	for _, op := range h.Ops(&h.Txns[i]) {
		if op.Kind == history.Write {
			out[op.Key] = op.Value
		}
	}
	return out
}

// permutations calls f with each permutation of list, until it returns true.
func permutations(list []int, f func([]int) bool) bool {
	if len(list) == 0 {
		return f(nil)
	}
	for i := range list {
		rest := slices.Delete(slices.Clone(list), i, i+1)
		if permutations(rest, func(p []int) bool { return f(append([]int{list[i]}, p...)) }) {
			return true
		}
	}
	return false
}
