package hunt

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/results/pages"
)

const awayPlan = `
targets:
  - {name: a, driver: sim, isolations: [serializable, snapshot isolation]}
  - {name: b, driver: badger, isolations: [serializable]}
workloads: [{workload: mini}]
chooser: random
`

// clocked runs nights with a clock of their own: failed runs take a second, and others as long as takes.
type clocked struct {
	takes   time.Duration
	c       *chooser
	cells   []*Cell
	tonight []*Run
	now     time.Time
}

func newClocked(t *testing.T, text string) *clocked {
	p, cells := plan(t, text)
	return &clocked{takes: 10 * time.Second, c: &chooser{plan: p, cells: cells, past: map[string]*Past{}, version: "1", fixed: p.Budget.once()}, cells: cells, now: time.Date(2026, 1, 1, 22, 0, 0, 0, time.UTC)}
}

// step makes the run that is next. After a pause, if nothing else is to be done. It returns nil if the night is over.
func (k *clocked) step(fate func(c *Cell) *Run) *Run {
	ch := k.c.nextAt(k.tonight, nil, k.now)
	for ch == nil {
		_, until := k.c.waiting(k.tonight, k.now)
		if until.IsZero() {
			return nil
		}
		k.now = until
		ch = k.c.nextAt(k.tonight, nil, k.now)
	}
	r := fate(ch.cell)
	r.ID, r.Why, r.Began, r.Took = int64(len(k.tonight)+1), ch.why, k.now, time.Second
	if r.State == judged {
		r.Took = k.takes
	}
	if ch.repeats != nil {
		r.Repeats = ch.repeats.ID
	}
	k.tonight = append(k.tonight, r)
	k.now = k.now.Add(r.Took)
	return r
}

// TestAway: a target that is away pauses, longer each time, is tried until the night's end, and its cells have their runs when
// it is back; others run meanwhile.
func TestAway(t *testing.T) {
	k := newClocked(t, awayPlan+"budget: {time: 8h}\n")
	begun := k.now
	end := func() bool { return k.now.Sub(begun) > 8*time.Hour }
	back := begun.Add(20 * time.Second)
	fate := func(c *Cell) *Run {
		if c.Target.Name == "a" && k.now.Before(back) {
			return broken(c, 69)
		}
		return run(c, "ser satisfied")
	}
	good := map[string]int{}
	for k.now.Sub(begun) < 5*time.Minute {
		if r := k.step(fate); r.State == judged {
			good[r.Cell]++
		}
	}
	if len(good) != 3 || good[k.cells[0].ID()] < 5 || good[k.cells[1].ID()] < 5 {
		t.Errorf("after an absence of 20 s: %v", good)
	}
	// The whole night.
	k = newClocked(t, awayPlan+"budget: {time: 8h}\n")
	k.takes = time.Minute
	back = begun.Add(100 * time.Hour)
	var tries []time.Time
	for !end() {
		if r := k.step(fate); r.Target == "a" {
			tries = append(tries, r.Began)
		}
	}
	if n := len(tries); n < 40 || n > 60 || len(k.tonight) < 450 {
		t.Errorf("%d tries on a target that is away, %d runs in all", n, len(k.tonight))
	}
	for n := range tries[1:] {
		if gap, want := tries[n+1].Sub(tries[n]), pauses[min(n, len(pauses)-1)]; gap < want || gap > want+2*k.takes {
			t.Errorf("try %d comes after %s, want %s", n+2, gap, want)
		}
	}
	// Nothing but this target.
	k = newClocked(t, strings.Replace(awayPlan, "  - {name: b, driver: badger, isolations: [serializable]}\n", "", 1)+"budget: {time: 8h}\n")
	for !end() {
		k.step(fate)
	}
	if n := len(k.tonight); n < 40 || n > 60 {
		t.Errorf("%d runs of a plan whose only target is away", n)
	}
}

// TestAwayEnds: a plan whose night has no end by time ends, and a target is given up for errors that no wait cures.
func TestAwayEnds(t *testing.T) {
	for _, c := range []struct {
		budget string
		code   int
		text   string
		runs   int // of target a
		why    string
	}{
		{"", 69, "connection refused", triesWithoutEnd, "a: 4 runs in a row failed; it is left alone for the rest of the night, because the plan sets no time at which the night ends"},
		{"budget: {runs: 500}\n", 69, "connection refused", triesWithoutEnd, "because the plan sets no time"},
		{"", 64, "x", 2, "its next run begins in 30s or later"}, // each cell once
		{"budget: {time: 8h}\n", 65, "x", givenUp, "because waiting would not help"},
		{"budget: {time: 8h}\n", 69, `postgres: cannot use the server: FATAL: database "x" does not exist (SQLSTATE 3D000)`, givenUp, "because waiting would not help"},
		{"budget: {time: 8h}\n", 69, `FATAL: password authentication failed for user "x" (SQLSTATE 28P01)`, givenUp, "because waiting would not help"},
		{"budget: {time: 8h}\n", 69, "mariadb: cannot use the server: Error 1049 (42000): Unknown database 'x'", givenUp, "because waiting would not help"},
		{"budget: {time: 8h}\n", 69, "redis: cannot use the server: WRONGPASS invalid", givenUp, "because waiting would not help"},
		{"budget: {time: 8h}\n", 69, "cannot start --server tidb@2024: tidb-server-2024 is missing; ./run.sh tidb builds it", givenUp, "because waiting would not help"},
		{"budget: {time: 8h}\n", 69, "initdb is not installed; install the package postgresql", givenUp, "because waiting would not help"},
		{"budget: {time: 8h}\n", 69, "FATAL: the database system is starting up (SQLSTATE 57P03)", 0, ""},
		{"budget: {time: 8h}\n", 69, "Error 1226 (42000): User has exceeded max_user_connections", 0, ""},
		{"budget: {time: 8h}\n", 70, "a proof did not hold", 0, ""},
	} {
		k := newClocked(t, awayPlan+c.budget)
		k.takes = time.Minute
		begun, runs := k.now, 0
		for k.now.Sub(begun) < time.Hour {
			r := k.step(func(cell *Cell) *Run {
				if cell.Target.Name == "b" {
					return run(cell, "ser satisfied")
				}
				r := broken(cell, c.code)
				r.Message = c.text
				return r
			})
			if r == nil {
				break
			}
			if r.Target == "a" {
				runs++
			}
		}
		a := failing(k.tonight)["a"]
		if c.runs > 0 && runs != c.runs || c.runs == 0 && (runs < 7 || runs > 11) || !strings.Contains(k.c.plan.Budget.told("a", a), c.why) {
			t.Errorf("%s, %d, %s: %d runs, %s", c.budget, c.code, c.text, runs, k.c.plan.Budget.told("a", a))
		}
	}
}

// TestAwayRepeats: repetitions and runs that shrink are not used up while a server is away, and a cell that alone fails does
// not stand for its target.
func TestAwayRepeats(t *testing.T) {
	k := newClocked(t, strings.Replace(awayPlan, "  - {name: b, driver: badger, isolations: [serializable]}\n", "", 1)+"budget: {time: 8h}\nshrink: {runs: 0}\nrepeats: 2\n")
	begun := k.now
	k.takes = time.Minute
	same := 0
	for k.now.Sub(begun) < 8*time.Hour {
		k.step(func(c *Cell) *Run {
			if away := k.now.Sub(begun); away > 90*time.Second && away < 2*time.Hour {
				return broken(c, 69)
			}
			if c == k.cells[0] {
				return run(c, "ser violated G2")
			}
			return run(c, "si satisfied")
		})
	}
	for _, r := range k.tonight {
		if r.State == judged && (r.Why == whySame || r.Why == whyNear) {
			same++
		}
	}
	if same != 4 {
		t.Errorf("%d repetitions, want 4", same)
	}
	// It says nothing about smaller settings, and takes no turn of what is drawn.
	away := broken(k.cells[0], 69)
	away.Digest = k.cells[0].digest()
	var tried attempts
	if tried.add(away, "ser", "G2"); tried != (attempts{}) || k.c.drawn(k.cells[0], []*Run{away}) != 0 {
		t.Errorf("a run that could not use its server counts: %+v", tried)
	}
	// The first cell can never be run.
	k = newClocked(t, awayPlan+"budget: {time: 8h}\n")
	good := map[string]int{}
	bad := 0
	for k.now.Sub(begun) < time.Hour {
		r := k.step(func(c *Cell) *Run {
			if c == k.cells[0] {
				return broken(c, 69)
			}
			return run(c, "ser satisfied")
		})
		if good[r.Cell]++; r.State == failed {
			bad++
		}
	}
	if good[k.cells[1].ID()] < 50 || good[k.cells[2].ID()] < 50 || bad > 40 {
		t.Errorf("a cell that always fails: %v, %d runs failed", good, bad)
	}
	// Every cell once: the night ends, and has a run of all others.
	k = newClocked(t, awayPlan)
	for n := 0; ; n++ {
		r := k.step(func(c *Cell) *Run {
			if c == k.cells[0] {
				return broken(c, 69)
			}
			return run(c, "ser satisfied")
		})
		if r == nil {
			break
		}
		if n > 20 {
			t.Fatal("a night of one run for each cell goes on")
		}
	}
	if len(k.tonight) != 6 {
		t.Errorf("%d runs, want 4 of the cell that fails and 2", len(k.tonight))
	}
}

// TestAwayWords: what is said of a target that was away, on the page, in the summary and in the JUnit file.
func TestAwayWords(t *testing.T) {
	at := func(clock string, r *Run) *Run {
		var err error
		if r.Began, err = time.ParseInLocation(time.DateTime, "2026-01-01 "+clock, time.Local); err != nil {
			t.Fatal(err)
		}
		return r
	}
	p, cells := plan(t, awayPlan+"budget: {time: 8h}\n")
	once, _ := plan(t, awayPlan)
	good := func() *Run { return run(cells[0], "ser satisfied") }
	for _, c := range []struct {
		plan    *Plan
		tonight []*Run
		over    bool
		want    string
	}{
		{p, []*Run{at("22:00:00", good())}, true, "[]"},
		{p, []*Run{at("22:00:00", broken(cells[0], 69)), at("22:00:05", broken(cells[1], 69)), at("22:00:40", good())}, true, "[a could not be tested from 22:00:00 to 22:00:40: 2 tries failed (no server). Then it was tested again.]"},
		{p, []*Run{at("22:00:00", broken(cells[0], 69)), at("22:00:05", good()), at("22:01:00", broken(cells[0], 69)), at("22:03:00", good())}, true, "[a could not be tested from 22:01:00 to 22:03:00: 1 try failed (no server). Then it was tested again. 1 run of it failed at other times.]"},
		{p, []*Run{at("22:00:00", broken(cells[0], 69)), at("22:00:05", broken(cells[0], 69))}, true, "[a could not be tested from 22:00:00 on: 2 tries failed, the last at 22:00:05 (no server). The night ended before it could be used again.]"},
		{p, []*Run{at("22:00:00", broken(cells[0], 69))}, false, "[a could not be tested from 22:00:00 on: 1 try failed (no server). It will be tried again.]"},
		{once, []*Run{at("22:00:00", broken(cells[0], 64)), at("22:00:05", broken(cells[0], 64)), at("22:00:40", broken(cells[0], 64))}, true, "[a could not be tested from 22:00:00 on: 3 tries failed, the last at 22:00:40 (no server). Then it was left alone, because waiting would not help.]"},
	} {
		var got []string
		for _, a := range c.plan.away(c.tonight, c.over) {
			got = append(got, a.Words())
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	s := open(t, t.TempDir())
	night, err := s.begin(1, "v")
	if err != nil {
		t.Fatal(err)
	}
	r := broken(cells[0], 69)
	r.Night, r.Began = night.ID, time.Now()
	if err := s.add(r); err != nil {
		t.Fatal(err)
	}
	r.State = failed
	if err := s.set(r); err != nil {
		t.Fatal(err)
	}
	m, err := s.Morning(p, cells, nil)
	if err != nil {
		t.Fatal(err)
	}
	junit, err := m.JUnit()
	if want := `<skipped message="a could not be tested when it was last tried">`; err != nil || !strings.Contains(string(junit), want) || !strings.Contains(string(junit), `<skipped message="the night ended before it">`) {
		t.Errorf("%v\n%s", err, junit)
	}
	html, err := pages.Draw("hunt", m)
	if err != nil || strings.Count(string(html), "a could not be tested when it was last tried</span>") != 1 || !strings.Contains(string(html), `<p class="long">a could not be tested from `) {
		t.Errorf("%v\n%s", err, html)
	}
	if !strings.Contains(m.Summary(), "- a could not be tested from ") {
		t.Errorf("summary\n%s", m.Summary())
	}
}

// TestPauseEndsMeanwhile: a pause that ends after nothing was chosen, and before the hunt waits for it, does not end the night.
func TestPauseEndsMeanwhile(t *testing.T) {
	p, cells := plan(t, "targets:\n  - {name: a, driver: badger, isolations: [serializable]}\nworkloads: [{workload: mini}]\nbudget: {time: 8h}\n")
	s := open(t, t.TempDir())
	night, err := s.begin(1, "v")
	if err != nil {
		t.Fatal(err)
	}
	h := &hunter{Config: Config{Plan: p, Cells: cells, State: s, Tell: func(Event) {}}, from: time.Now(), night: night}
	h.chooser = chooser{plan: p, cells: cells, version: "v", night: night}
	r := broken(cells[0], unavailable)
	r.Night, r.Began, r.Took = night.ID, time.Now().Add(-pauses[0]), 0 // its pause has just ended
	if err := s.add(r); err != nil {
		t.Fatal(err)
	}
	r.State = failed
	if err := s.set(r); err != nil {
		t.Fatal(err)
	}
	before := r.Began.Add(pauses[0] / 2)
	ch, tonight, err := h.choose(before)
	if ch != nil || err != nil {
		t.Fatal(ch, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // it need not wait
	if waits, err := h.wait(ctx, tonight, before); !waits || err != nil {
		t.Errorf("it does not wait: %v", err)
	}
	if ch, _, err := h.choose(time.Now()); ch == nil || err != nil {
		t.Errorf("then nothing is chosen: %v", err)
	}
}
