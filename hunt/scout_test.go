package hunt

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/checker/nearness"
)

// TestScouts: under the bandit the first four runs of a cell have a quarter of the time, where nights end by time and
// nothing needs the whole.
func TestScouts(t *testing.T) {
	const target = "{name: a, driver: sim, isolations: [serializable]}"
	for _, tc := range []struct {
		what, plan, want string
	}{
		{"by time", "targets: [" + target + "]\nworkloads: [{workload: mini, keys: 2..2000}]\nbudget: {time: 8h}", "2.5s 2.5s 2.5s 2.5s 10s 10s"},
		{"until", "targets: [" + target + "]\nworkloads: [{workload: mini, keys: 2..2000}]\nbudget: {until: \"06:00\", run: 1m}", "15s 15s 15s 15s 1m0s 1m0s"},
		{"two cells", "targets: [" + target + ", {name: b, driver: sim, isolations: [serializable]}]\nworkloads: [{workload: mini}]\nbudget: {time: 8h}", "2.5s 2.5s 2.5s 2.5s 2.5s 2.5s"},
		{"a short night", "targets: [" + target + "]\nworkloads: [{workload: mini, keys: 2..2000}]\nbudget: {time: 19s}", "10s 10s 10s 10s 10s 10s"},
		{"counted runs", "targets: [" + target + "]\nworkloads: [{workload: mini, keys: 2..2000}]\nbudget: {time: 8h, runs: 100}", "10s 10s 10s 10s 10s 10s"},
		{"one run for each cell", "targets: [" + target + "]\nworkloads: [{workload: mini, keys: 2..2000}]\n", "10s 10s 10s 10s 10s 10s"},
		{"random choice", "targets: [" + target + "]\nworkloads: [{workload: mini, keys: 2..2000}]\nbudget: {time: 8h}\nchooser: random", "10s 10s 10s 10s 10s 10s"},
		{"runs that end by transactions", "targets: [" + target + "]\nworkloads: [{workload: mini, txns: 10..20}]\nbudget: {time: 8h}", "10s 10s 10s 10s 10s 10s"},
		{"short runs", "targets: [" + target + "]\nworkloads: [{workload: mini, keys: 2..2000}]\nbudget: {time: 8h, run: 3s}", "3s 3s 3s 3s 3s 3s"},
		{"a server is started", "targets: [{name: a, server: postgres, isolations: [serializable]}]\nworkloads: [{workload: mini}]\nbudget: {time: 8h}", "10s 10s 10s 10s 10s 10s"},
		{"and runs are long", "targets: [{name: a, server: postgres, isolations: [serializable]}]\nworkloads: [{workload: mini}]\nbudget: {time: 8h, run: 1m}", "15s 15s 15s 15s 1m0s 1m0s"},
		{"faults", "targets: [{name: a, server: postgres, isolations: [serializable]}]\nworkloads: [{workload: mini}]\nfaults: [\"3s kill for 1s\"]\nbudget: {time: 8h, run: 1m}", "1m0s 1m0s 1m0s 1m0s 1m0s 1m0s"},
	} {
		p, cells := plan(t, tc.plan+"\nrepeats: 0\n")
		var times []string
		if _, err := Trial(context.Background(), p, cells, p.ChosenBy(), 1, 6, func(c *Cell, s Settings, share float64) (Try, error) {
			times = append(times, time.Duration(share*float64(c.Run)).String())
			command := strings.Join(c.arguments(s, false), " ")
			if got := strings.Count(command, "--duration "); got != 1 || !strings.Contains(command, "--duration "+times[len(times)-1]+" ") {
				t.Errorf("%s: %s", tc.what, command)
			}
			return Try{Near: &nearness.Nearness{Txns: 1, RW: 1}, Txns: 1}, nil
		}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(times, " "); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.what, got, tc.want)
		}
	}
}

// TestScoutsOfEachNight: scouts are the first runs of a night, so that two nights that are compared have the same. A
// scout that is repeated stays as short.
func TestScoutsOfEachNight(t *testing.T) {
	p, cells := plan(t, "targets: [{name: a, driver: sim, isolations: [serializable]}]\nworkloads: [{workload: mini, keys: 2..2000}]\nbudget: {time: 8h}")
	c := &chooser{plan: p, cells: cells, past: map[string]*Past{}, night: &Night{Seed: 1}}
	for range 9 {
		r := run(cells[0], "ser satisfied")
		r.Digest, r.Took = cells[0].digest(), time.Second
		c.before = append(c.before, r)
	}
	first := &choice{cell: cells[0], why: whyTonight}
	s := c.settings(first, nil)
	if !s.scout() {
		t.Errorf("the first run of a later night: %v", s)
	}
	r := run(cells[0], "ser violated G2")
	r.Settings = s
	for _, why := range []string{whySame, whyNear} {
		if got := c.settings(&choice{cell: cells[0], why: why, repeats: r}, []*Run{r}); got.Flags[duration] != s.Flags[duration] {
			t.Errorf("%s: %v", why, got)
		}
	}
}

// TestScoutVacuous: a scout that tested nothing makes its cell vacuous if no other run tested something.
func TestScoutVacuous(t *testing.T) {
	p, cells := plan(t, "targets: [{name: a, driver: sim, isolations: [serializable]}]\nworkloads: [{workload: mini}]\nbudget: {time: 8h}")
	scout, empty, whole := run(cells[0], "ser vacuous"), run(cells[0], "ser vacuous"), run(cells[0], "ser satisfied")
	scout.Settings.Flags = map[string]string{duration: "2.5s"}
	early := run(cells[0], "ser vacuous")
	early.Early = "x"
	for _, tc := range []struct {
		runs []*Run
		want Status
	}{{[]*Run{scout, early}, Vacuous}, {[]*Run{scout}, Vacuous}, {[]*Run{scout, whole}, Satisfied}, {[]*Run{whole, scout}, Satisfied}, {[]*Run{empty, whole}, Vacuous}, {[]*Run{scout, empty, whole}, Vacuous}} {
		if n := p.judgeCell(cells[0], tc.runs); n.Status != tc.want || n.Vacuous == 0 {
			t.Errorf("%d runs: %v, %d vacuous, want %v", len(tc.runs), n.Status, n.Vacuous, tc.want)
		}
	}
}

// TestYieldOfScout: what a scout yields counts as that of a whole run with its settings, which starts no more slowly.
func TestYieldOfScout(t *testing.T) {
	p, cells := plan(t, "targets: [{name: a, driver: sim, isolations: [serializable]}]\nworkloads: [{workload: mini}]\nbudget: {time: 8h}")
	if p.ChosenBy() != byBandit {
		t.Fatal(p.ChosenBy())
	}
	of := func(flags map[string]string, took time.Duration, rw int) []float64 {
		r := run(cells[0], "ser satisfied")
		r.Settings.Flags, r.Digest, r.Took, r.Nearness = flags, cells[0].digest(), took, &nearness.Nearness{Txns: 100, RW: rw}
		return evidenceOf(cells, []*Run{r})[0].rates
	}
	scout, whole := of(map[string]string{duration: "2.5s"}, 4*time.Second, 100), of(nil, 11500*time.Millisecond, 400)
	if !slices.Equal(scout, whole) {
		t.Errorf("%v and %v", scout, whole)
	}
}

// TestScoutsLack: scouts that do not make up a whole run do not say that an expected violation is not there.
func TestScoutsLack(t *testing.T) {
	p, cells := plan(t, "targets: [{name: a, driver: sim, isolations: [serializable]}]\nworkloads: [{workload: mini}]\nbudget: {time: 8h}\nexpect: [{verdict: violated}]")
	scout := run(cells[0], "ser satisfied")
	scout.Settings.Flags = map[string]string{duration: "2.5s"}
	for n, want := range []Status{NotRun, EndedEarly, EndedEarly, EndedEarly, Lacking} {
		if got := p.judgeCell(cells[0], slices.Repeat([]*Run{scout}, n)); got.Status != want {
			t.Errorf("%d scouts: %v (%s), want %v", n, got.Status, got.Text, want)
		}
	}
	if got := p.judgeCell(cells[0], []*Run{run(cells[0], "ser satisfied")}); got.Status != Lacking {
		t.Errorf("a whole run: %v", got.Status)
	}
}

// TestLength: a run fits into what is left of a night by its own length.
func TestLength(t *testing.T) {
	p, cells := plan(t, "targets: [{name: a, driver: sim, isolations: [serializable]}]\nworkloads: [{workload: mini, keys: 2..2000}]\nbudget: {time: 8h}")
	c := &chooser{plan: p, cells: cells, past: map[string]*Past{}, night: &Night{Seed: 1}}
	var tonight []*Run
	for n := range 6 {
		ch := &choice{cell: cells[0], why: whyAgain}
		if n == 5 {
			ch.why, ch.repeats = whySame, tonight[0]
		}
		s := c.settings(ch, tonight)
		if got, want := c.length(ch, tonight), cells[0].recorded(s); got != want || (n == 4) == s.scout() {
			t.Errorf("run %d: %s, recorded for %s", n, got, want)
		}
		r := run(cells[0], "ser satisfied")
		r.Settings, r.Digest = s, cells[0].digest()
		tonight = append(tonight, r)
	}
}
