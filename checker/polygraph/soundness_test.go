package polygraph_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestReplayIsSound checks that no refutation is ever accepted against a history that has an
// execution. The refutations are those of histories that differ a little, or of another level,
// unchanged and damaged.
func TestReplayIsSound(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, randhist.Seed(t, 14)))
	levels := polygraph.Engine{}.Levels()
	var against, damaged, dropped, noticed int
	for range randhist.Count(t, 6_000) {
		h := randhist.New(rng)
		if rng.IntN(3) == 0 {
			h = randhist.Of(rng, 4, 20, 6)
		}
		lvl := levels[rng.IntN(len(levels))]
		if lvl.RealTime() && !h.Timed() {
			continue
		}
		proof, err := polygraph.Refute(h, lvl, true)
		if err != nil {
			t.Fatal(err)
		}
		if proof == nil {
			continue
		}
		// Most steps are missed if they are left out.
		for n := range proof.Steps {
			dropped++
			bad := *proof
			bad.Steps = slices.Delete(slices.Clone(proof.Steps), n, n+1)
			if certify.Replay(t.Context(), h, lvl, &bad) != nil {
				noticed++
			}
		}
		for range 20 {
			other, at := h, lvl
			if rng.IntN(4) == 0 {
				at = levels[rng.IntN(len(levels))]
			} else {
				other = alter(rng, h)
			}
			if !satisfied(t, other, at) {
				continue
			}
			against++
			if certify.Replay(t.Context(), other, at, proof) == nil {
				t.Fatalf("a refutation at %s of\n%sis accepted at %s against\n%s", lvl, dsl.Format(h), at, dsl.Format(other))
			}
			for range 4 {
				bad := damage(rng, proof, len(h.Txns))
				damaged++
				if certify.Replay(t.Context(), other, at, bad) == nil {
					t.Fatalf("a damaged refutation is accepted at %s against\n%s%+v", at, dsl.Format(other), bad)
				}
			}
		}
	}
	t.Logf("%d against other histories, %d damaged; %d of %d steps left out noticed", against, damaged, noticed, dropped)
	if (against < 500 || damaged < 2000) && !randhist.Few(t) {
		t.Error("too few satisfied histories")
	}
	if noticed < dropped*3/4 {
		t.Error("most steps seem to be needless, or are not looked at")
	}
}

// satisfied reports whether h has an execution, and replays it.
func satisfied(t *testing.T, h *history.History, lvl level.Level) bool {
	if lvl.RealTime() && !h.Timed() {
		return false
	}
	r, err := polygraph.Engine{}.Judge(context.Background(), h, lvl, engine.Options{Proof: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != verdict.Satisfied {
		return false
	}
	if err := certify.Result(t.Context(), h, r); err != nil {
		t.Fatalf("%s: %v\n%s", lvl, err, dsl.Format(h))
	}
	return true
}

// alter changes a few details of a history: what was read or written, whether a
// transaction committed, its session, its times.
func alter(rng *rand.Rand, h *history.History) *history.History {
	var recs []history.Record
	for i := range h.Txns {
		rec := h.Record(i)
		rec.Ops = slices.Clone(rec.Ops)
		recs = append(recs, rec)
	}
	for range 1 + rng.IntN(2) {
		rec := &recs[rng.IntN(len(recs))]
		op := rng.IntN(max(len(rec.Ops), 1))
		switch other := &recs[rng.IntN(len(recs))]; rng.IntN(6) {
		case 0:
			rec.Status = []history.Status{history.Aborted, history.Unknown, history.Committed}[rng.IntN(3)]
		case 1:
			rec.Session = int64(100 + rng.IntN(2))
		case 2:
			rec.Begin, rec.End = min(rec.Begin, other.Begin), max(rec.End, other.End)
		case 3:
			if len(rec.Ops) > 0 && len(other.Ops) > 0 {
				rec.Ops[op].Value = other.Ops[rng.IntN(len(other.Ops))].Value
			}
		case 4:
			if len(rec.Ops) > 0 {
				rec.Ops = slices.Delete(rec.Ops, op, op+1)
			}
		default:
			if len(other.Ops) > 0 {
				rec.Ops = append(rec.Ops, other.Ops[rng.IntN(len(other.Ops))])
			}
		}
	}
	b := history.NewBuilder(h.Header, h.Symbols, len(recs))
	for i := range recs {
		if err := b.Add(&recs[i]); err != nil {
			return h // times that do not fit
		}
	}
	return b.Done(rng.IntN(5) > 0, nil)
}

// damage changes some details of a refutation.
func damage(rng *rand.Rand, r *verdict.Refutation, txns int) *verdict.Refutation {
	out := &verdict.Refutation{Atoms: slices.Clone(r.Atoms), Steps: slices.Clone(r.Steps)}
	txn := func() int32 { return int32(rng.IntN(txns+2) - 1) }
	for range 1 + rng.IntN(3) {
		n := rng.IntN(len(out.Steps))
		s := &out.Steps[n]
		s.List = slices.Clone(s.List)
		switch rng.IntN(10) {
		case 0:
			out.Steps = slices.Delete(out.Steps, n, n+1)
			if len(out.Steps) == 0 {
				return out
			}
		case 1:
			s.Txn = txn()
		case 2:
			s.Source = txn()
		case 3:
			s.Other = txn()
		case 4:
			s.Key = history.Key(rng.IntN(3))
		case 5:
			s.Rule = verdict.Rule(rng.IntN(int(verdict.Follows) + 2))
		case 6:
			if len(s.List) > 0 {
				s.List[rng.IntN(len(s.List))] = int32(rng.IntN(2*txns+2) - 1)
			}
		case 7:
			if len(s.List) > 0 {
				s.List[rng.IntN(len(s.List))] ^= 1
			}
		case 8:
			if len(s.List) > 0 {
				i := rng.IntN(len(s.List))
				s.List = slices.Delete(s.List, i, i+1)
			}
		default:
			if len(out.Atoms) > 0 {
				a := &out.Atoms[rng.IntN(len(out.Atoms))]
				a.A, a.B = a.B, a.A
			}
		}
	}
	return out
}
