package hunt

import (
	"testing"
	"time"
)

// TestRate: the rate is that of runs that were not made because of a violation. Repetitions are told besides, also those
// that show something else.
func TestRate(t *testing.T) {
	p, cells := plan(t, "targets: [{name: a, driver: sim, isolations: [serializable]}]\nworkloads: [{workload: mini}]")
	s := open(t, t.TempDir())
	now, err := s.begin(1, "v")
	if err != nil {
		t.Fatal(err)
	}
	enter := func(verdicts, why string, repeats int64) int64 {
		t.Helper()
		r := run(cells[0], verdicts)
		r.Night, r.Why, r.Repeats, r.Began = now.ID, why, repeats, time.Now()
		if err := s.add(r); err != nil {
			t.Fatal(err)
		}
		r.State = judged
		if err := s.enter(r); err != nil {
			t.Fatal(err)
		}
		return r.ID
	}
	enter("ser satisfied", whyNew, 0)
	base := enter("ser violated G2", whyNew, 0)
	enter("ser violated G2", whySame, base)
	enter("ser satisfied", whySame, base)
	enter("ser violated G1c", whyNear, base)
	m, err := s.Morning(p, cells, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, g := range m.Groups {
		got[g.Name] = g.Rate()
	}
	if g2, g1c := "1 of 2 runs; 1 of 2 with the same seed; 0 of 1 with parameters near", "0 of 2 runs; 1 run that repeated another violation"; len(got) != 2 || got["G2"] != g2 || got["G1c"] != g1c {
		t.Errorf("%q", got)
	}
}
