package hunt

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/isohound/isohound/workloads"
)

const shrinkPlan = `
targets: [{name: a, driver: sim, isolations: [serializable]}]
workloads: [{workload: mini, sessions: 20, keys: 40, txns: 200}]
repeats: 3
`

// number is the value of a flag of settings.
func number(t *testing.T, s Settings, name string) int {
	t.Helper()
	n, err := strconv.Atoi(s.Flags[name])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// nightOf runs a night whose runs are what shows says of their settings, at most so many, each judged before the next is chosen or,
// if late, when the next was begun. It returns the runs and the choices.
func nightOf(t *testing.T, p *Plan, cells []*Cell, tonight []*Run, limit int, late bool, shows func(n int, r *Run) string) []*Run {
	t.Helper()
	c := &chooser{plan: p, cells: cells, past: map[string]*Past{}, fixed: true, night: &Night{Seed: 1}}
	judge := func() bool {
		for _, r := range tonight {
			if r.State == recorded {
				done := run(cells[0], shows(int(r.ID), r))
				r.State, r.Verdicts, r.Findings = judged, done.Verdicts, done.Findings
				return true
			}
		}
		return false
	}
	for len(tonight) < limit {
		ch := c.next(tonight, nil)
		if ch == nil {
			if !judge() {
				return tonight
			}
			continue
		}
		r := run(ch.cell, "")
		r.ID, r.Why, r.Settings, r.State = int64(len(tonight)+1), ch.why, c.settings(ch, tonight), recorded
		if ch.repeats != nil {
			r.Repeats = ch.repeats.ID
		}
		if late {
			judge()
		}
		if tonight = append(tonight, r); !late {
			judge()
		}
	}
	return tonight
}

func whys(runs []*Run, why string) (n int) {
	for _, r := range runs {
		if r.Why == why {
			n++
		}
	}
	return n
}

// TestShrink: a defect that shows with at least 3 sessions, at most 30 keys in each 100 transactions, and one shape. The smallest
// workload has that, whether runs are judged at once or one later, and however often the night was interrupted.
func TestShrink(t *testing.T) {
	p, cells := plan(t, shrinkPlan)
	needs := func(_ int, r *Run) string {
		s := r.Settings
		shapes := s.Params["shapes"]
		if number(t, s, "sessions") < 3 || number(t, s, "txns") < 10 || number(t, s, "keys") < 2 || shapes != "" && shapes != "all" && !strings.Contains(shapes, "RxRyWx:") {
			return "ser satisfied"
		}
		return "ser violated G2"
	}
	want := ""
	for _, late := range []bool{false, true} {
		tonight := nightOf(t, p, cells, nil, 500, late, needs)
		all := p.shrunk(cells, tonight)
		if len(all) != 1 || all[0].next != nil {
			t.Fatalf("late %v: %d are shrunk: %+v", late, len(all), all)
		}
		s := all[0]
		if !s.Confirmed || s.Rate != (Rate{3, 3}) || s.Before != (Rate{3, 3}) || s.Best == nil || s.Best.Why != whyConfirm || s.Text != allTried {
			t.Errorf("late %v: %+v", late, s)
		}
		got := strings.Join(cells[0].arguments(s.Settings, false), " ")
		for _, part := range []string{"-p rollback=0%", "-p shapes=RxRyWx:6", "--keys 2 ", "--sessions 3 ", "--txns 12 "} {
			if !strings.Contains(got+" ", part) {
				t.Errorf("late %v: %q is not in %s", late, part, got)
			}
		}
		if whys(tonight, whyConfirm) != 3 || s.Runs != whys(tonight, whyShrink)+3 || s.Runs > defaultShrinks {
			t.Errorf("late %v: %d runs, %d to confirm", late, s.Runs, whys(tonight, whyConfirm))
		}
		if words := s.Words(); !strings.Contains(words, "sessions 20 → 3") || !strings.Contains(words, "in 3 of 3 runs that had no part in its choice") {
			t.Error(words)
		}
		if want != "" && want != got {
			t.Errorf("judged late: %s, else %s", got, want)
		}
		want = got
	}
	// The night ends after each number of runs, some of them killed, and another process goes on with it.
	var tonight []*Run
	for limit := 1; limit < 500 && len(tonight) == limit-1; limit++ {
		tonight = nightOf(t, p, cells, tonight, limit, limit%2 == 0, needs)
		if limit%7 == 0 && len(tonight) == limit { // the last one is cut off
			r := tonight[limit-1]
			r.State, r.Verdicts, r.Findings = lost, nil, nil
		}
	}
	s := p.shrunk(cells, tonight)[0]
	if got := strings.Join(cells[0].arguments(s.Settings, false), " "); !s.Confirmed || got != want {
		t.Errorf("with interruptions: %s, want %s; %+v", got, want, s)
	}
	// What shrinks does not count for its cell.
	if n := p.judgeCell(cells[0], tonight); n.Runs != len(tonight)-n.Shrinking || n.Shrinking < 10 || n.Status != Unexpected {
		t.Errorf("%d runs, %d to shrink, %s", n.Runs, n.Shrinking, n.Status)
	}
}

// TestShrinkRates: what is kept of a violation that does not show in each run, and when the search ends.
func TestShrinkRates(t *testing.T) {
	p, cells := plan(t, shrinkPlan)
	yes := func(is bool) string {
		if is {
			return "ser violated G2"
		}
		return "ser satisfied"
	}
	number := func(s Settings, name string) int { return number(t, s, name) }
	for name, c := range map[string]struct {
		plan  string
		shows func(n int, r *Run) string
		check func(s *Shrunk, tonight []*Run) bool
	}{
		"never again": {"", func(n int, r *Run) string { return yes(n == 1) }, func(s *Shrunk, all []*Run) bool {
			return s.Text == noRate && s.Runs == 0 && len(s.Changes) == 0 && s.Before == Rate{0, 3}
		}},
		"another anomaly": {"", func(n int, r *Run) string {
			if r.Why == whyShrink {
				return "ser violated G1"
			}
			return yes(true)
		}, func(s *Shrunk, all []*Run) bool { return len(s.Changes) == 0 && s.Text == allTried }},
		"another level": {"", func(n int, r *Run) string {
			if r.Why == whyShrink {
				return "sser violated G2; ser satisfied"
			}
			return yes(true)
		}, func(s *Shrunk, all []*Run) bool { return len(s.Changes) == 0 }},
		"one of three is too little of three": {"", func(n int, r *Run) string { return yes(r.Why != whyShrink || n%3 == 0) }, func(s *Shrunk, all []*Run) bool { return len(s.Changes) == 0 }},
		"one of three is enough of one": {"", func(n int, r *Run) string { return yes(n == 1 || n%3 == 0) }, func(s *Shrunk, all []*Run) bool {
			return s.Before == Rate{1, 3} && len(s.Changes) > 0 && s.Confirmed && s.Rate == Rate{1, 3}
		}},
		"not confirmed": {"", func(n int, r *Run) string { return yes(r.Why != whyConfirm || number(r.Settings, "txns") > 20) }, func(s *Shrunk, all []*Run) bool {
			return s.Confirmed && number(s.Settings, "txns") == 50 && number(s.Settings, "sessions") == 20
		}},
		"never confirmed": {"", func(n int, r *Run) string { return yes(r.Why != whyConfirm) }, func(s *Shrunk, all []*Run) bool {
			return !s.Confirmed && len(s.Changes) == 0 && s.Text == noneConfirmed
		}},
		"a budget of runs": {"shrink: {runs: 8}\n", func(n int, r *Run) string { return yes(true) }, func(s *Shrunk, all []*Run) bool {
			return s.Text == outOfShrinks && whys(all, whyShrink) == 8 && s.Confirmed && number(s.Settings, "txns") == 1 && number(s.Settings, "sessions") == 20
		}},
		"a budget of time": {"shrink: {time: 4s, tries: 1}\nrepeats: 1\n", func(n int, r *Run) string { return yes(true) }, func(s *Shrunk, all []*Run) bool {
			return s.Text == outOfShrinks && whys(all, whyShrink) == 4 && s.Rate == Rate{1, 1}
		}},
		"no repetitions": {"repeats: 0\n", func(n int, r *Run) string { return yes(true) }, func(s *Shrunk, all []*Run) bool { return s.Before == Rate{3, 3} && s.Confirmed }},
	} {
		p, cells := p, cells
		if c.plan != "" {
			text := shrinkPlan
			if strings.Contains(c.plan, "repeats") {
				text = strings.Replace(text, "repeats: 3\n", "", 1)
			}
			p, cells = plan(t, text+c.plan)
		}
		tonight := nightOf(t, p, cells, nil, 500, false, c.shows)
		all := p.shrunk(cells, tonight)
		if len(all) != 1 || all[0].next != nil || !c.check(all[0], tonight) {
			t.Errorf("%s: %+v after %d runs; %s", name, *all[0], len(tonight), all[0].Words())
		}
	}
	// Runs that fail are no reason to leave the target alone.
	tonight := nightOf(t, p, cells, nil, 7, false, func(int, *Run) string { return yes(true) })
	for range givenUp {
		r := broken(cells[0], 70)
		r.Repeats, r.Why = 1, whyShrink
		tonight = append(tonight, r)
	}
	if s := p.shrunk(cells, tonight)[0]; s.next != nil || s.Text != targetAway || failing(tonight)["a"] != nil {
		t.Errorf("runs that fail: %+v", s)
	}
	// What the plan expects is not shrunk, nor anything if it says so; nothing is said of it then.
	for _, text := range []string{"expect: [{verdict: violated}]\n", "shrink: {runs: 0}\n"} {
		p, cells = plan(t, shrinkPlan+text)
		tonight = nightOf(t, p, cells, nil, 500, false, func(int, *Run) string { return yes(true) })
		if all := p.shrunk(cells, tonight); len(tonight) != 7 || len(all) != 0 {
			t.Errorf("%s: %d runs, %d are shrunk", text, len(tonight), len(all))
		}
	}
}

// TestSmaller: the values to try of each kind of setting, and those of a run without a number of transactions.
func TestSmaller(t *testing.T) {
	for _, c := range []struct {
		size  size
		value string
		want  string
	}{
		{size{least: 2}, "20", "5 10"}, {size{least: 2}, "5", "2 4"}, {size{least: 2}, "2", ""}, {size{least: 1}, "auto", ""},
		{size{plain: "0%"}, "1%", "0%"}, {size{plain: "0%"}, "0", ""},
		{size{list: true}, "a:2,b,c", "b,c a:2,c a:2,b"}, {size{list: true}, "a,b,c,d", "a,b c,d b,c,d a,c,d a,b,d a,b,c"}, {size{list: true}, "a", ""},
	} {
		if got := strings.Join(c.size.smaller(c.value), " "); got != c.want {
			t.Errorf("%+v of %s: %s, want %s", c.size, c.value, got, c.want)
		}
	}
	_, cells := plan(t, strings.Replace(shrinkPlan, ", txns: 200", "", 1))
	base := run(cells[0], "ser violated G2")
	base.Commits, base.Aborts, base.Settings.Flags = 900, 100, map[string]string{"sessions": "10"}
	txns := cells[0].sizes(base)[0]
	if txns.name != "txns" || txns.of(&base.Settings) != "100" {
		t.Errorf("a run that ended by time: %+v", txns)
	}
}

// TestSizes: the least, the plain and the complete values that workloads name are values that they take.
func TestSizes(t *testing.T) {
	var with []string
	for _, w := range workloads.All() {
		for _, p := range w.Params {
			var values []string
			if p.Least > 0 {
				values = append(values, strconv.FormatInt(p.Least, 10))
			}
			if p.Plain != "" {
				values = append(values, p.Plain)
			}
			if p.Weights {
				z := size{name: p.Name, param: true, start: p.Default, list: true, all: p.All}
				full := z.of(&Settings{})
				values = append(append(values, full), z.smaller(full)...)
			}
			for _, v := range values {
				set, err := w.Resolve([]string{p.Name + "=" + v})
				if err == nil {
					_, err = w.New(workloads.Common{Sessions: 2, Keys: 100, Dist: "uniform", Seed: 1}, set)
				}
				if err != nil {
					t.Errorf("%s: %s=%s: %v", w.Name, p.Name, v, err)
				}
			}
			if len(values) > 0 && !slices.Contains(with, w.Name) {
				with = append(with, w.Name)
			}
		}
	}
	if len(with) < 10 {
		t.Errorf("only %s have something to make smaller", strings.Join(with, ", "))
	}
}

// TestSessionsDrawn: one session is not drawn where a range would allow it; where the plan names it, it is.
func TestSessionsDrawn(t *testing.T) {
	p, cells := plan(t, "targets: [{name: a, driver: sim, isolations: [serializable]}]\nworkloads: [{workload: mini, sessions: 1..3}, {name: one, workload: mini, sessions: [1]}]\n")
	if v := cells[0].Workload.Sessions; v.Low != 2 || v.High != 3 {
		t.Errorf("1..3 is drawn from %d to %d", v.Low, v.High)
	}
	if v := p.Workloads[1].Sessions; v.ends()[0] != "1" {
		t.Errorf("1 became %v", v)
	}
	n := p.judgeCell(cells[0], []*Run{run(cells[0], "ser vacuous"), run(cells[0], "ser satisfied")})
	if n.Vacuous != 1 || n.Runs != 2 {
		t.Errorf("%d of %d runs are vacuous", n.Vacuous, n.Runs)
	}
}
