package file_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
)

// doubtful gives some transactions of a correct history unknown outcomes, and removes some from
// an open recording.
func doubtful(h *history.History, rng *rand.Rand) *history.History {
	sym := h.Symbols.Clone(h.KeyName)
	sym.DefaultInitial = h.DefaultInitial
	b := history.NewBuilder(h.Header, sym, 0)
	open := rng.IntN(2) == 0
	for i := range h.Txns {
		rec := h.Record(i)
		if open && rng.IntN(20) == 0 {
			continue
		}
		if rng.IntN(5) == 0 {
			rec.Status = history.Unknown
			if rng.IntN(2) == 0 {
				rec.End = history.NoTime
			}
		}
		_ = b.Add(&rec)
	}
	return b.Done(!open, nil)
}

// TestNoFalseAlarm: what is lost in a conversion makes no correct history look violated.
func TestNoFalseAlarm(t *testing.T) {
	ser, err := level.ParseList("ser,si")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	counts := map[verdict.Verdict]int{}
	for seed := range uint64(40) {
		h := doubtful(synth.Mini(synth.MiniConfig{Sessions: 4, Txns: 80, Keys: 4, Seed: seed}), rng)
		for _, f := range file.Formats {
			fits, _ := fitted(t, h, f)
			got := read(t, write(t, fits, f), f)
			for _, lvl := range ser {
				r, err := checker.Check(context.Background(), got, lvl, checker.Options{Certify: true})
				if err != nil {
					t.Fatal(err)
				}
				if counts[r.Verdict]++; r.Verdict == verdict.Violated {
					t.Errorf("seed %d, %s at %s: %s", seed, f, lvl, r.Anomalies[0].Text)
				}
			}
		}
	}
	if counts[verdict.Satisfied] < 100 {
		t.Errorf("verdicts: %v; too few say anything", counts)
	}
	t.Logf("%v", counts)
}
