package replay_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/replay"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// random makes a history with claims.
func random(rng *rand.Rand) *history.History {
	var h *history.History
	switch rng.IntN(4) {
	case 0:
		h = randhist.Mini(rng)
	case 1:
		h = randhist.WithClassReads(rng, randhist.Mini(rng))
	case 2:
		h = randhist.Prefix(rng)
	default:
		h = randhist.New(rng)
	}
	return randhist.Claimed(rng, h)
}

// TestAgainstOracle: what the engine calls satisfied, the trial of all executions allows, and the witness holds.
// ISOHOUND_HISTORIES sets how many histories there are for each level.
func TestAgainstOracle(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 1))
	n := randhist.Count(t, 1500)
	var misfit *replay.Misfit
	var refused *engine.Refusal
	for _, lvl := range (replay.Engine{}).Levels() {
		fits, misfits, wrongly, refusals := 0, 0, 0, 0
		for range n {
			h := random(rng)
			r, err := replay.Engine{}.Judge(t.Context(), h, lvl, engine.Options{Proof: true})
			switch {
			case errors.As(err, &misfit):
				if misfit.Claim.Fits || misfit.Claim.Misfits == 0 || misfit.Claim.Text == "" || len(misfit.Claim.Txns) == 0 {
					t.Fatalf("seed %d: %s: the misfit is %+v\n%s", seed, lvl, misfit.Claim, dsl.Format(h))
				}
				if misfits++; misfits%8 == 0 { // how often another order would do
					if allowed, decided := certify.Judge(h, lvl, 100_000); allowed && decided {
						wrongly++
					}
				}
				continue
			case errors.As(err, &refused):
				refusals++
				continue
			case err != nil:
				t.Fatal(err)
			case r.Verdict != verdict.Satisfied || !r.Claim.Fits:
				t.Fatalf("seed %d: %s: the verdict is %s, %+v\n%s", seed, lvl, r.Verdict, r.Claim, dsl.Format(h))
			}
			fits++
			if err := certify.Witness(t.Context(), h, lvl, r.Witness); err != nil {
				t.Fatalf("seed %d: %s: %v\n%s%+v", seed, lvl, err, dsl.Format(h), r.Witness)
			}
			if allowed, decided := certify.Judge(h, lvl, 1_000_000); decided && !allowed {
				t.Fatalf("seed %d: %s: satisfied, and no execution explains it\n%s", seed, lvl, dsl.Format(h))
			}
		}
		t.Logf("%s: %d fit, %d do not (of every eighth, %d satisfy the level in another order), %d are refused", lvl, fits, misfits, wrongly, refusals)
		if (fits < n/50 || misfits < n/50 || refusals < n/200) && !randhist.Few(t) {
			t.Errorf("%s: one-sided", lvl)
		}
	}
}

// TestComplete: if nothing but readers lacks a position, the engine is satisfied exactly if the claimed order,
// with these readers at some places, is an execution. Here these executions are made by hand, and package certify
// judges them.
func TestComplete(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 2))
	n := randhist.Count(t, 2500)
	for _, lvl := range []level.Level{level.SER, level.SERNoSO, level.SSER, level.SI, level.SINoSO, level.StrongSI, level.PC} {
		count, free := map[bool]int{}, 0
		for range n {
			h := random(rng)
			if lvl.RealTime() && (!h.Timed() || slices.ContainsFunc(h.Txns, func(t history.Txn) bool { return t.Begin == history.NoTime })) {
				continue
			}
			e, ok := byHand(h, !lvl.Serial())
			if !ok || !h.HasClaims() {
				continue
			}
			if len(e.free) > 0 {
				free++
			}
			want := e.any(t, h, lvl)
			_, err := replay.Engine{}.Judge(t.Context(), h, lvl, engine.Options{})
			if want != (err == nil) {
				t.Fatalf("seed %d: %s: the engine says %v, by hand it is %v\n%s", seed, lvl, err, want, dsl.Format(h))
			}
			count[want]++
		}
		t.Logf("%s: %v, %d with free readers", lvl, count, free)
		if (count[true] < n/100 || count[false] < n/100 || free < n/100) && !randhist.Few(t) {
			t.Errorf("%s: one-sided", lvl)
		}
	}
}

// moment is one entry of an execution made by hand.
type moment struct {
	at     int64
	reader bool
	points []int32 // as in verdict.Witness.Points
}

type execution struct {
	moments []moment
	free    [][]int32 // points that can come anywhere
}

// byHand makes the claimed execution, without the readers that have no position. It returns false where positions
// are equal, so that the order is open, or missing, or where an outcome is unknown.
func byHand(h *history.History, snapshots bool) (e execution, ok bool) {
	taken := map[int64]bool{}
	for i := range h.Txns {
		both := []int32{int32(i) << 1, int32(i)<<1 | 1}
		c := h.Claim(i)
		wrote := slices.ContainsFunc(h.Ops(&h.Txns[i]), func(op history.Op) bool { return op.Kind == history.Write })
		switch {
		case h.Txns[i].Status == history.Aborted:
			continue
		case h.Txns[i].Status == history.Unknown, wrote && c.Commit == 0:
			return e, false
		case !wrote && c.Snapped:
			e.moments = append(e.moments, moment{c.Snapshot, true, both})
			continue
		case !wrote && c.Commit != 0:
			e.moments = append(e.moments, moment{c.Commit, true, both})
			continue
		case !wrote:
			e.free = append(e.free, both)
			continue
		case taken[c.Commit]:
			return e, false
		case snapshots && c.Snapped:
			if c.Snapshot >= c.Commit {
				return e, false
			}
			e.moments = append(e.moments, moment{c.Snapshot, true, both[:1]}, moment{c.Commit, false, both[1:]})
		case snapshots:
			e.free = append(e.free, both[:1])
			e.moments = append(e.moments, moment{c.Commit, false, both[1:]})
		default:
			e.moments = append(e.moments, moment{c.Commit, false, both})
		}
		taken[c.Commit] = true
	}
	slices.SortStableFunc(e.moments, func(a, b moment) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		if a.reader == b.reader && h.Txns[a.points[0]>>1].Begin < h.Txns[b.points[0]>>1].Begin {
			return -1
		} else if a.reader == b.reader {
			return 0
		} else if b.reader {
			return -1
		}
		return 1
	})
	return e, len(e.free) < 4
}

// any reports whether the execution, with its free readers at any places, is one of the level.
func (e execution) any(t *testing.T, h *history.History, lvl level.Level) bool {
	if len(e.free) == 0 {
		w := &verdict.Witness{}
		for _, m := range e.moments {
			for _, p := range m.points {
				if lvl.Serial() && p&1 == 1 {
					w.Order = append(w.Order, p>>1)
				} else if !lvl.Serial() {
					w.Points = append(w.Points, p)
				}
			}
		}
		return certify.Witness(t.Context(), h, lvl, w) == nil
	}
	for at := range len(e.moments) + 1 {
		with := execution{slices.Insert(slices.Clone(e.moments), at, moment{points: e.free[0]}), e.free[1:]}
		if with.any(t, h, lvl) {
			return true
		}
	}
	return false
}

// TestWords: what does not fit is said in words.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		lvl     level.Level
		h, want string
	}{
		{level.SER, "s1 T1 @1: w(x,1)\ns2 T2 @2: w(x,2)\ns3 T3 @3: r(x,1) w(y,1)",
			"the database says that what T1 (commit 1) wrote to x came before T2 (commit 2), and T3 (commit 3) read x = 1, which T2 had overwritten"},
		{level.SER, "s1 T1 @1: w(x,1)\ns2 T2 @<0: r(x,1)",
			"the database says that what T1 (commit 1) wrote to x came after T2, and T2 (snapshot 0) read x = 1"},
		{level.SER, "s1 T1 @1: w(x,1)\ns2 T2 @<1: r(x,0)",
			"the database says that the initial value of x came before T1 (commit 1), and T2 (snapshot 1) read x = 0, which T1 had overwritten"},
		{level.SER, "s1 T1 @2: w(x,1)\ns1 T2 @1: w(y,2)",
			"session 1 ran T1 before T2, and the database says that T2 (commit 1) came before T1 (commit 2)"},
		{level.SSER, "s1 T1 [1,2] @2: w(x,1)\ns2 T2 [3,4] @1: w(y,2)",
			"T1 ended before T2 began, and the database says that T2 (commit 1) came before T1 (commit 2)"},
		{level.SI, "s1 T1 @1<0: w(x,1)\ns2 T2 @2<0: w(x,2)",
			"the database says that T1 (snapshot 0, commit 1) committed after the snapshot of T2 (snapshot 0, commit 2) and before its commit, and both wrote x"},
		{level.SER, "s1 T1 @1: w(x,1) r(x,0)", "T1 read x = 0, which it had written itself before"},
		{level.SER, "s1 T1 @1: w(x,1)\ns2 T2 @2: r(x,9) w(y,1)", "T2 (commit 2) read x = 9, which no transaction wrote that takes part"},
		{level.SER, "s1 T1 @1: w(x,1)\ns2 T2 @2: n(x,1) w(y,1)",
			"the database says that what T1 (commit 1) wrote to x was current at T2 (commit 2), and T2 saw that x was not 1"},
	} {
		_, err := replay.Engine{}.Judge(t.Context(), dsl.MustParse(c.h), c.lvl, engine.Options{})
		var m *replay.Misfit
		if !errors.As(err, &m) || m.Claim.Text != c.want {
			t.Errorf("%s\n%v\n%+v", c.h, err, m)
		}
	}
}

// TestUnknown: a transaction of unknown outcome takes part if somebody read from it, with those from which it read
// itself.
func TestUnknown(t *testing.T) {
	for text, fits := range map[string]bool{
		"s1 T1: w(x,1) unknown\ns2 T2: r(x,1) w(y,1) unknown\ns3 T3 @1: r(y,1) w(z,1)": true,
		"s1 T1: w(x,1) unknown\ns2 T2: r(x,2) w(y,1) unknown\ns3 T3 @1: r(y,1) w(z,1)": false,
		"s1 T1: w(x,1) unknown\ns3 T3 @1: w(z,1)\ns4 T4: r(z,1) r(x,1)":                true,
		// What it read is overwritten before somebody reads from it.
		"s0 T0 @1: w(x,1)\ns1 T1: r(x,1) w(y,1) unknown\ns2 T2 @3: r(x,1) w(x,2)\ns3 T3 @4: r(y,1) w(z,1)":                                          true,
		"s0 T0 @1: w(x,1)\ns1 T1: r(x,1) w(y,1) unknown\ns2 T2 @3: w(x,2)\ns1 T5: r(y,1) w(v,1) unknown\ns2 T6 @4: w(y,2)\ns3 T3 @5: r(v,1) w(z,1)": true,
		"s1 T1: w(x,1) unknown\ns3 T3 @1: w(z,1)\ns4 T4 @2: r(z,1) r(x,0) w(a,1)":                                                                   true,
	} {
		for _, lvl := range []level.Level{level.SER, level.SI} {
			h := dsl.MustParse(text)
			r, err := replay.Engine{}.Judge(t.Context(), h, lvl, engine.Options{Proof: true})
			if (err == nil) != fits {
				t.Errorf("%s\n%s: %v", text, lvl, err)
			} else if err == nil {
				if err := certify.Witness(t.Context(), h, lvl, r.Witness); err != nil {
					t.Errorf("%s\n%s: %v", text, lvl, err)
				}
			}
		}
	}
}

// TestRefusals: without a position of each transaction that wrote there is no order.
func TestRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"s1: w(x,1)":                   "does not say where the database placed",
		"s1 T7: w(x,1)\ns2 @5: w(x,2)": "1 of the committed transactions that wrote, transaction 7",
	} {
		_, err := replay.Engine{}.Judge(t.Context(), dsl.MustParse(text), level.SER, engine.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || errors.As(err, new(*replay.Misfit)) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
