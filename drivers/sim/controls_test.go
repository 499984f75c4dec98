package sim_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/internal/replay"
	"github.com/isohound/isohound/workloads"
)

// controls are the isolations with all protections on: the levels that a run violates, and the
// anomalies that it never shows if it violates all levels.
var controls = []struct {
	isolation string
	refuted   []level.Level
	never     []string
}{
	{"serializable", nil, nil},
	{ssi, nil, nil},
	{si, serial, nil},
	{"repeatable read", nil, nil},
	{"read committed", everything, append(internal, "AbortedRead", "IntermediateRead")},
	{"read committed snapshot", everything, append(internal, "AbortedRead", "IntermediateRead")},
	{"read uncommitted", everything, internal},
	{ssiReplicas, realTime, nil},
	{siReplicas, []level.Level{level.SER, level.SERNoSO, level.SSER, level.StrongSI}, nil},
}

// internal are anomalies that not even read uncommitted shows.
var internal = []string{"ThinAirRead", "FutureRead", "NotMyOwnWrite", "NotMyLastWrite"}

// TestControls: with all protections on, an isolation keeps exactly what it promises, while
// concurrent transactions conflict.
func TestControls(t *testing.T) {
	for _, c := range controls {
		t.Run(c.isolation, func(t *testing.T) {
			for _, seed := range seeds(t) {
				p := plant{isolation: c.isolation, refuted: c.refuted}
				h := p.runUntilShown(t, seed)
				n := h.Count()
				if why := checker.Vacuous(h); why != "" {
					t.Errorf("seed %d: %s", seed, why)
				}
				// Twenty are rolled back on purpose; weak isolations abort few others.
				if strong := len(c.refuted) < len(everything); n.Committed < 500 || strong && n.Aborted < 100 {
					t.Errorf("seed %d: %d committed, %d aborted", seed, n.Committed, n.Aborted)
				}
				for lvl, names := range judge(t, h, seed, c.refuted) {
					for _, name := range c.never {
						if slices.Contains(names, name) {
							t.Errorf("seed %d: %s at %s", seed, name, lvl)
						}
					}
				}
			}
		})
	}
	if list := info(t).Isolations; len(controls) != len(list) {
		t.Errorf("%d controls of %d isolations", len(controls), len(list))
	}
}

// TestPromises: each isolation promises what the controls satisfy. The weak ones do not satisfy the next
// stronger level.
func TestPromises(t *testing.T) {
	next := map[level.Level]level.Level{level.RC: level.RA, level.RU: level.RC}
	for _, c := range controls {
		iso, err := info(t).FindIsolation(c.isolation)
		if err != nil {
			t.Fatal(err)
		}
		promised, err := level.Parse(iso.Promises)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(everything, promised) { // TestControls judges these levels
			if slices.Contains(c.refuted, promised) {
				t.Errorf("%s does not hold at %s", promised, c.isolation)
			}
			continue
		}
		for _, seed := range seeds(t) {
			h := plant{isolation: c.isolation, refuted: c.refuted}.runUntilShown(t, seed)
			for lvl, want := range map[level.Level]verdict.Verdict{promised: verdict.Satisfied, next[promised]: verdict.Violated} {
				r, err := checker.Check(t.Context(), h, lvl, checker.Options{Certify: true})
				if err != nil {
					t.Fatal(err)
				}
				if r.Verdict != want {
					t.Errorf("%s, seed %d: %s %s, not %s (%s)", c.isolation, seed, lvl, r.Verdict, want, r.Reason)
				}
			}
		}
	}
}

// TestAgainstModel: with one session, every isolation does what a database of
// plain maps does.
func TestAgainstModel(t *testing.T) {
	d, err := drivers.Find("sim")
	if err != nil {
		t.Fatal(err)
	}
	for _, iso := range d.Info().Isolations {
		for _, set := range []string{"mini birth=3 rollback=20% death=delete", "skew birth=2 rollback=20%"} {
			words := strings.Fields(set)
			make := func() (generator.Workload, error) {
				return replay.New(words[0], workloads.Common{Sessions: 4, Keys: 10}, words[1:]...)
			}
			if err := replay.AgainstModel(d, drivers.Config{Isolation: iso.Name}, false, make, 4, 40, 11); err != nil {
				t.Errorf("%s, %s: %v", iso.Name, set, err)
			}
		}
	}
}

// TestAllPlanted: for every protection, a test shows its absence.
func TestAllPlanted(t *testing.T) {
	shown := "off=absent-reads off=predicates off=range-locks off=commit-latch " // schedule_test.go, predicates_test.go, halt_test.go
	for _, p := range planted {
		shown += p.dsn + " "
	}
	for _, note := range info(t).Notes {
		if name, _, ok := strings.Cut(note, ":"); ok && strings.HasPrefix(name, "off=") && !strings.Contains(shown, name) {
			t.Errorf("nothing shows %s", name)
		}
	}
}

func info(t *testing.T) drivers.Info {
	t.Helper()
	d, err := drivers.Find("sim")
	if err != nil {
		t.Fatal(err)
	}
	return d.Info()
}
