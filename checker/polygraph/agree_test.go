package polygraph_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/linear"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
)

// TestAgreesWithLinear compares the engines on mini-transactions, valid ones and ones with reads
// moved to other versions, with and without pruning and with the VeriStrong paper's pipeline.
// (config_test.go has more configurations.)
func TestAgreesWithLinear(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(7, 8))
	count := map[verdict.Verdict]int{}
	for n := range 60 {
		h := synth.Mini(synth.MiniConfig{Sessions: 2 + n%9, Txns: 300, Keys: 5 + n%20, Seed: uint64(n), Snapshot: n%2 == 0})
		if n%3 > 0 {
			h = mutate(rng, h, n%4)
		}
		for _, lvl := range (polygraph.Engine{}).Levels() {
			if !slices.Contains(linear.Engine{}.Levels(), lvl) {
				continue
			}
			want, err := linear.Engine{}.Judge(ctx, h, lvl, engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			count[want.Verdict]++
			for i, cfg := range []polygraph.Config{{}, polygraph.Config{}.Without(polygraph.Pruning), polygraph.Paper()} {
				if i == 2 && n%4 > 0 {
					continue
				}
				got, err := polygraph.Decide(ctx, h, lvl, polygraph.Engine{Config: cfg})
				if i == 0 || want.Verdict == verdict.Satisfied {
					got, err = polygraph.Engine{Config: cfg}.Judge(ctx, h, lvl, engine.Options{Proof: true})
				}
				if err != nil {
					t.Fatal(err)
				}
				if got.Verdict != want.Verdict {
					t.Errorf("history %d at %s, %s: %s, linear says %s", n, lvl, cfg, got.Verdict, want.Verdict)
					continue
				}
				if got.Witness == nil && got.Anomalies == nil {
					continue // shrinking a counterexample takes long
				}
				if err := certify.Result(t.Context(), h, got); err != nil {
					t.Errorf("history %d at %s, %s: proof of %s: %v", n, lvl, cfg, got.Verdict, err)
				}
			}
		}
	}
	if count[verdict.Satisfied] < 50 || count[verdict.Violated] < 50 {
		t.Errorf("one-sided: %v", count)
	}
}

// mutate makes some reads return another version of the key that is near.
func mutate(rng *rand.Rand, h *history.History, times int) *history.History {
	at := map[int]bool{}
	for range times {
		at[rng.IntN(len(h.Txns))] = true
	}
	written := map[history.Key][]history.Value{}
	b := history.NewBuilder(h.Header, h.Symbols, len(h.Txns))
	for i := range h.Txns {
		rec := h.Record(i)
		if first := &rec.Ops[0]; at[i] && len(written[first.Key]) > 2 {
			old := written[first.Key]
			value := old[len(old)-1-rng.IntN(3)]
			before := first.Value
			for n := range rec.Ops {
				if rec.Ops[n].Kind == history.Read && rec.Ops[n].Key == first.Key && rec.Ops[n].Value == before {
					rec.Ops[n].Value = value
				}
			}
		}
		for _, op := range rec.Ops {
			if op.Kind == history.Write {
				written[op.Key] = append(written[op.Key], op.Value)
			}
		}
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	return b.Done(true, nil)
}
