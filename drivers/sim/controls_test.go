package sim_test

import (
	"slices"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/drivers"
)

// controls are the isolations with all protections on: which levels a run
// refutes, and which anomalies it never shows where it refutes them all.
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

// internal are what even read uncommitted does not show.
var internal = []string{"ThinAirRead", "FutureRead", "NotMyOwnWrite", "NotMyLastWrite"}

// TestControls: with all protections on, an isolation keeps what it promises,
// and no more than that, while transactions run at the same time and conflict.
func TestControls(t *testing.T) {
	for _, c := range controls {
		t.Run(c.isolation, func(t *testing.T) {
			for _, seed := range seeds(t) {
				h := run(t, c.isolation, "", 200, seed)
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

// TestPromises: what is promised is what the controls show to hold.
func TestPromises(t *testing.T) {
	for _, c := range controls {
		iso, err := info(t).FindIsolation(c.isolation)
		if err != nil {
			t.Fatal(err)
		}
		promised := iso.Promises != ""
		for _, lvl := range everything {
			holds := !slices.Contains(c.refuted, lvl)
			if lvl.String() == iso.Promises && !holds {
				t.Errorf("%s does not hold at %s", lvl, c.isolation)
			}
		}
		if promised == (len(c.refuted) == len(everything)) {
			t.Errorf("%s promises %q", c.isolation, iso.Promises)
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
