package linear_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/linear"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestClassReads compares the engine with the trial of every execution, on random histories with
// reads that only say which versions they did not see, and verifies every proof. The engine may
// refuse a history where several versions explain such a read. ISOHOUND_HISTORIES sets how many per
// level.
func TestClassReads(t *testing.T) {
	n := randhist.Count(t, 20_000)
	for _, lvl := range level.All() {
		if !lvl.Search() {
			continue
		}
		t.Run(lvl.String(), func(t *testing.T) {
			t.Parallel()
			seed := randhist.Seed(t, rand.Uint64())
			rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
			count := map[verdict.Verdict]int{}
			byClass, refused := 0, 0 // byClass: violated, but satisfied without the class reads
			for range n {
				h := randhist.Mini(rng)
				for lvl.RealTime() && !h.Timed() {
					h = randhist.Mini(rng)
				}
				bare := h
				h = randhist.WithClassReads(rng, h)
				r, err := linear.Engine{}.Judge(context.Background(), h, lvl, engine.Options{Proof: true})
				if errors.As(err, new(*engine.Refusal)) {
					refused++
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				count[r.Verdict]++
				if r.Verdict == verdict.Unknown {
					t.Fatalf("seed %d: %s\n%s", seed, r.Reason, dsl.Format(h))
				}
				allowed, decided := certify.Judge(h, lvl, 50_000_000)
				if !decided {
					t.Fatalf("seed %d: the oracle gave up\n%s", seed, dsl.Format(h))
				}
				if allowed != (r.Verdict == verdict.Satisfied) {
					t.Fatalf("seed %d, %s: engine says %s, oracle says allowed=%v\n%s%s", seed, lvl, r.Verdict, allowed, dsl.Format(h), describe(r))
				}
				if err := certify.Result(t.Context(), h, r); err != nil {
					t.Fatalf("seed %d, %s: proof of %s: %v\n%s%s", seed, lvl, r.Verdict, err, dsl.Format(h), describe(r))
				}
				if r.Verdict == verdict.Violated {
					if without, err := (linear.Engine{}).Judge(context.Background(), bare, lvl, engine.Options{VerdictOnly: true}); err != nil {
						t.Fatal(err)
					} else if without.Verdict == verdict.Satisfied {
						byClass++
					}
				}
			}
			t.Logf("seed %d: %v, %d violated by class reads alone, %d refused", seed, count, byClass, refused)
			if (count[verdict.Satisfied] < n/10 || byClass < n/20 || refused > n/4) && !randhist.Few(t) {
				t.Errorf("%v of %d histories, %d violated by class reads alone, %d refused", count, n, byClass, refused)
			}
		})
	}
}

// TestClassEdges has the cases in which a class read gives an edge, and those in which the engine
// refuses, because several versions may explain it.
func TestClassEdges(t *testing.T) {
	const chain = "s1: r(x,0) w(x,1)\ns2: r(x,1) w(x,2)\ns3: r(x,2) w(x,3)\n"
	for _, tc := range []struct {
		name, text string
		lvl        level.Level
		want       string // the name of an anomaly, "satisfied" or "refused"
	}{
		{"not the first versions: after the one behind them", chain + "s4: n(x,0) n(x,1) r(y,0)\ns5: r(y,0) w(y,1) r(x,2)", level.SER, "satisfied"},
		{"and so not before it", "s1: r(x,0) w(x,1) r(y,0) w(y,1)\ns2: n(x,0) r(y,0)", level.SER, "G-single"},
		{"not the last versions: before them", "s1: r(x,0) w(x,1) r(y,0) w(y,1)\ns2: n(x,1) r(y,1)", level.SI, "G-single"},
		{"both", chain + "s4: n(x,0) n(x,3) r(y,0)\ns5: r(x,3) r(y,0) w(y,1)", level.SER, "satisfied"},
		{"write skew, which snapshot isolation allows", "s1: n(x,1) r(y,0) w(y,1)\ns2: n(y,1) r(x,0) w(x,1)", level.SI, "satisfied"},
		{"and serializability forbids", "s1: n(x,1) r(y,0) w(y,1)\ns2: n(y,1) r(x,0) w(x,1)", level.SER, "G2-item"},
		{"versions in the middle leave a choice", chain + "s4: n(x,1) n(x,2)", level.SER, "satisfied"},
		{"which another read settles for the execution that is found", chain + "s4: r(y,0) w(y,1) r(x,2)\ns5: n(x,1) n(x,2) r(y,1)", level.SER, "satisfied"},
		{"session order settles it", "s1: r(x,0) w(x,1)\ns2: r(x,1) w(x,2) r(y,0) w(y,1)\ns1: n(x,1) r(y,0)", level.SER, "G-single"},
		{"without session order it is open", "s1: r(x,0) w(x,1)\ns2: r(x,1) w(x,2) r(y,0) w(y,1)\ns1: n(x,1) r(y,0)", level.SERNoSO, "satisfied"},
		{"real time settles it, from the other side", "s1 [0,1]: r(x,0) w(x,1)\ns2 [4,5]: r(x,1) w(x,2)\ns3 [0,2]: n(x,1) r(y,1)\ns1 [2,3]: r(y,0) w(y,1) r(x,1)", level.SSER, "G-single"},
		{"deleted and inserted again: absence is a version", "s1: r(x,0) w(x,nil)\ns2: r(x,nil) w(x,5)\ns3: n(x,0) n(x,5)\ns4: n(x,nil) n(x,0)", level.SI, "satisfied"},
		{"absence that is written twice is not unique", "initial x=nil\ns1: r(x,nil) w(x,1)\ns2: r(x,1) w(x,nil)", level.SER, "refused"},
		{"an unknown outcome may explain it", "s1: r(x,0) w(x,1) unknown\ns2: n(x,0)", level.SER, "refused"},
		{"an unknown outcome that is denied, too", "s1: r(x,0) w(x,1) unknown\ns2: n(x,1) r(y,0)\ns3: r(y,0) w(y,1) r(x,0)", level.SER, "satisfied"},
		{"nothing is left", "s1: r(x,0) w(x,1)\ns2: n(x,0) n(x,1)", level.SER, "refused"},
		{"no side of a version in the middle is left", "s1: r(x,0) w(x,1) r(a,0) w(a,1)\ns2: r(x,1) w(x,2) r(b,0) w(b,1)\ns3: r(a,1) n(x,1) r(b,0)", level.SER, "refused"},
		{"its own write", "s1: r(x,0) w(x,1) n(x,1)", level.SER, "NotMyOwnWrite"},
		{"a read of what it did not see", "s1: r(x,0) w(x,1)\ns2: n(x,1) r(x,1)", level.SER, "NonRepeatableReads"},
	} {
		h := dsl.MustParse(tc.text)
		r, err := linear.Engine{}.Judge(context.Background(), h, tc.lvl, engine.Options{Proof: true})
		if errors.As(err, new(*engine.Refusal)) {
			if tc.want != "refused" {
				t.Errorf("%s: %v", tc.name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := certify.Result(t.Context(), h, r); err != nil {
			t.Errorf("%s: proof of %s: %v\n%s", tc.name, r.Verdict, err, describe(r))
		}
		got := r.Verdict.String()
		if len(r.Anomalies) > 0 {
			got = fmt.Sprint(r.Anomalies[0].Names)
		}
		if !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s, want %s\n%s", tc.name, got, tc.want, describe(r))
		}
	}
}
