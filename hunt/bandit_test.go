package hunt

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/checker/nearness"
)

// TestArms: the parts of a range are all of it, none twice, and a draw finds the part of its value.
func TestArms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	if twice := (&Values{Of: []string{"a", "b", "a"}}).arms(); len(twice) != 2 {
		t.Errorf("a list with a value twice has the parts %+v", twice)
	}
	for _, v := range []Values{{Range: true, Low: 1, High: 1}, {Range: true, Low: 1, High: 3}, {Range: true, Low: 2, High: 32}, {Range: true, Low: 10, High: 2000}, {Range: true, Low: -7, High: 9}, {Range: true, Low: 0, High: 100}, {Of: []string{"a", "b"}}} {
		arms := v.arms()
		if v.Range {
			next := v.Low
			for _, a := range arms {
				if a.Low != next || a.High < a.Low {
					t.Fatalf("%+v: parts %+v", v, arms)
				}
				next = a.High + 1
			}
			if next != v.High+1 || len(arms) > maxArms {
				t.Errorf("%+v: parts %+v", v, arms)
			}
		}
		for range 200 {
			was, in := v.draw(r), 0
			for _, a := range arms {
				if a.has(was) {
					in++
				}
			}
			if in != 1 {
				t.Errorf("%+v: %s is in %d of the parts %+v", v, was, in, arms)
			}
		}
		for _, a := range arms {
			if !a.has(a.middle()) {
				t.Errorf("%+v: the middle of %+v is %s", v, a, a.middle())
			}
		}
	}
}

const wide = `
chooser: %s
targets: [{name: a, driver: sim, isolations: [serializable]}]
workloads: [{workload: mini, keys: 2..2000, dist: [uniform, zipfian], sessions: [2, 4, 8]}]
budget: {runs: 1000}
repeats: 0
`

// TestBandit: where few keys yield more, the bandit draws few keys; the same index and seed draw the same.
func TestBandit(t *testing.T) {
	few := func(chooser string, seed int64) (low int, drawn string) {
		p, cells := plan(t, fmt.Sprintf(wide, chooser))
		_, err := Trial(context.Background(), p, cells, chooser, seed, 80_000, func(_ *Cell, s Settings, _ float64) (Try, error) {
			keys, err := strconv.Atoi(s.Flags["keys"])
			if keys < 8 {
				low++
			}
			drawn += fmt.Sprintln(s)
			return Try{Near: &nearness.Nearness{Txns: 1000, Overlapping: 900, RW: 3000 / keys, WW: 2000 / keys}, Txns: 1000}, err
		})
		if err != nil {
			t.Fatal(err)
		}
		return low, drawn
	}
	for seed := int64(1); seed <= 5; seed++ {
		b, drawn := few(byBandit, seed)
		r, _ := few(byRandom, seed)
		if b < 35 || r > 30 { // a fifth of 80 runs by chance
			t.Errorf("seed %d: %d of 80 runs with few keys by the bandit, %d at random", seed, b, r)
		}
		if _, again := few(byBandit, seed); again != drawn {
			t.Errorf("seed %d draws another night", seed)
		}
	}
}

// TestBanditWorkloads: the workload that yields more has more of its row's runs, and each row has the same time.
func TestBanditWorkloads(t *testing.T) {
	p, cells := plan(t, `
targets: [{name: a, driver: sim, isolations: [serializable]}, {name: b, driver: sim, isolations: [serializable]}]
workloads: [{workload: mini}, {name: idle, workload: mini}]
budget: {runs: 1000}
repeats: 0
`)
	runs := map[string]int{}
	if _, err := Trial(context.Background(), p, cells, byBandit, 1, 80_000, func(c *Cell, _ Settings, _ float64) (Try, error) {
		runs[c.Target.Name]++
		runs[c.Workload.Name]++
		near := &nearness.Nearness{Txns: 1000, Overlapping: 10}
		if c.Workload.Name == "mini" {
			near.RW, near.Pivots = 50, 5
		}
		return Try{Near: near, Txns: 1000}, nil
	}); err != nil {
		t.Fatal(err)
	}
	if runs["a"] != 40 || runs["b"] != 40 || runs["mini"] < 50 || runs["idle"] < 5 {
		t.Errorf("%v", runs)
	}
}

// TestGrid: the grid has every combination once before any twice.
func TestGrid(t *testing.T) {
	p, cells := plan(t, fmt.Sprintf(wide, byGrid))
	seen := map[string]int{}
	if _, err := Trial(context.Background(), p, cells, byGrid, 1, 60, func(_ *Cell, s Settings, _ float64) (Try, error) {
		seen[fmt.Sprint(s.Flags)]++
		return Try{Txns: 1}, nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 30 {
		t.Errorf("%d combinations, want 30: %v", len(seen), seen)
	}
	for s, n := range seen {
		if n != 2 {
			t.Errorf("%s %d times in 60 runs", s, n)
		}
	}
}

// TestYieldKept: what a run yielded is in the index and on the page, an index of the version before is taken over, and
// a chooser after a restart draws what the first one would have drawn.
func TestYieldKept(t *testing.T) {
	p, cells := plan(t, fmt.Sprintf(wide, byBandit))
	dir := t.TempDir()
	s := open(t, dir)
	night, err := s.begin(3, "1")
	if err != nil {
		t.Fatal(err)
	}
	near := &nearness.Nearness{Txns: 100, Overlapping: 50, RW: 3, Pivots: 2}
	for n := range 12 {
		r := run(cells[0], "ser satisfied")
		r.Night, r.Began, r.Settings = night.ID, time.Now(), cells[0].draw(rand.New(rand.NewPCG(1, uint64(n))))
		if err := s.add(r); err != nil {
			t.Fatal(err)
		}
		r.State, r.Nearness = judged, near
		if err := s.enter(r); err != nil {
			t.Fatal(err)
		}
	}
	draw := func(s *State) string {
		tonight, err := s.ofNight(night.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got := tonight[3].Nearness; got == nil || *got != *near {
			t.Fatalf("nearness %+v, want %+v", got, near)
		}
		c := &chooser{plan: p, cells: cells, past: map[string]*Past{}, night: night}
		return fmt.Sprint(c.settings(c.next(tonight, nil), tonight))
	}
	first := draw(s)
	m, err := s.Morning(p, cells, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Cells[0].Distance(); got != "distance 1: 24 of 1,200 transactions are pivots" || !strings.Contains(m.Summary(), "1: 24 of 1,200") {
		t.Errorf("%q\n%s", got, m.Summary())
	}
	if _, err := s.db.Exec("PRAGMA user_version = 1; ALTER TABLE runs DROP COLUMN nearness"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir, false); err != nil {
		t.Fatalf("an index of version 1: %v", err)
	}
	defer s.Close()
	old, err := s.ofNight(night.ID)
	if err != nil || old[0].Nearness != nil {
		t.Fatalf("%v, %+v", err, old[0].Nearness)
	}
	for _, r := range old {
		r.Nearness = near
		if err := s.enter(r); err != nil {
			t.Fatal(err)
		}
	}
	if again := draw(s); again != first {
		t.Errorf("after a restart %s, before %s", again, first)
	}
}

// TestBanditBegins: most first runs of a cell have few keys and many sessions, so that they test something; none must.
func TestBanditBegins(t *testing.T) {
	_, cells := plan(t, `
targets: [{name: a, driver: sim, isolations: [serializable]}]
workloads: [{workload: mini, keys: 2..2000, sessions: 2..32, rate: 100..1000, params: {birth: 2..2000}}]
budget: {runs: 1000}
`)
	const seeds = 500
	in := map[string]int{}
	for seed := range uint64(seeds) {
		s := cells[0].bandit(rand.New(rand.NewPCG(seed, 1)), nil)
		for _, v := range cells[0].Workload.all() {
			arms := v.values.arms()
			if arms[0].has(s.get(v.name, v.param)) {
				in["least "+v.name]++
			}
			if arms[len(arms)-1].has(s.get(v.name, v.param)) {
				in["most "+v.name]++
			}
		}
	}
	for what, share := range map[string][2]float64{
		"least keys": {0.4, 0.9}, "most keys": {0, 0.1}, "least sessions": {0, 0.1}, "most sessions": {0.4, 0.9},
		"least rate": {0, 0.1}, "most rate": {0.4, 0.9}, "least birth": {0.1, 0.3}, "most birth": {0.1, 0.3},
	} {
		if got := float64(in[what]) / seeds; got < share[0] || got > share[1] {
			t.Errorf("%s in %g of the first runs, want %v", what, got, share)
		}
	}
}

// TestThompson: the arm that yields more is drawn nearly always once that is clear; an arm without a run is drawn often
// and need not be, even one to which nothing leans; equal arms are drawn equally often.
func TestThompson(t *testing.T) {
	runs := func(each int, yields ...float64) (of []int, yield []float64) {
		for a, y := range yields {
			for n := range each {
				of, yield = append(of, a), append(yield, y+0.02*float64(n%3-1))
			}
		}
		return of, yield
	}
	drawn := func(lean []float64, of []int, yield []float64) []float64 {
		const draws = 1000
		share := make([]float64, len(lean))
		for seed := range uint64(draws) {
			share[thompson(rand.New(rand.NewPCG(seed, 1)), lean, of, yield)] += 1.0 / draws
		}
		return share
	}
	of, yield := runs(20, 0.2, 0.8, 0.2)
	if got := drawn(make([]float64, 3), of, yield); got[1] < 0.99 {
		t.Errorf("of arms that yield 0.2, 0.8 and 0.2: %v", got)
	}
	of, yield = runs(3, 0.2, 0.8)
	if got := drawn(make([]float64, 3), of, yield); got[1] < 0.5 || got[2] < 0.05 {
		t.Errorf("of arms that yield 0.2, 0.8 and nothing yet: %v", got)
	}
	of, yield = runs(30, 0.2, 0.8)
	if got := drawn([]float64{0, 0, -leaning}, of, yield); got[1] < 0.9 {
		t.Errorf("with an arm without a run to which nothing leans: %v", got)
	}
	of, yield = runs(10, 0.5, 0.5)
	of[0] = -1 // a value that is no longer in the plan
	if got := drawn(make([]float64, 2), of, yield); got[0] < 0.35 || got[0] > 0.65 {
		t.Errorf("of equal arms: %v", got)
	}
}

// TestDrawnTogether: settings that isohound run does not take together are not run, by no chooser.
func TestDrawnTogether(t *testing.T) {
	for _, chooser := range Choosers() {
		p, err := Read("p.yaml", fmt.Appendf(nil, `
chooser: %s
targets: [{name: a, driver: sim, isolations: [serializable]}]
workloads: [{workload: register, params: {min-length: [1, 4], max-length: [8, 2]}}]
budget: {runs: 1000}
`, chooser))
		if err != nil {
			t.Fatal(err)
		}
		cells, _, err := p.Cells(func(args []string) error {
			if slices.Contains(args, "min-length=4") && slices.Contains(args, "max-length=2") {
				return errors.New("max-length=2: expected at least 4")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		if _, err := Trial(context.Background(), p, cells, chooser, 1, 40, func(_ *Cell, s Settings, _ float64) (Try, error) {
			seen[s.Params["min-length"]+" to "+s.Params["max-length"]] = true
			return Try{Near: &nearness.Nearness{Txns: 1, RW: 1}, Txns: 1}, nil
		}); err != nil {
			t.Fatal(err)
		}
		if len(seen) != 3 || seen["4 to 2"] {
			t.Errorf("%s: %v", chooser, seen)
		}
	}
}
