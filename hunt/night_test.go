package hunt

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/results/pages"
)

func plan(t *testing.T, text string) (*Plan, []*Cell) {
	t.Helper()
	p, err := Read("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	cells, _, err := p.Cells(func([]string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return p, cells
}

var yes, no = true, false

// run is a judged run of a cell with verdicts "level verdict anomaly", separated by semicolons; a level in brackets is not
// promised.
func run(c *Cell, verdicts string) *Run {
	r := &Run{Cell: c.ID(), Target: c.Target.Name, Isolation: c.Isolation, Workload: c.Workload.Name, Fault: c.Fault, Digest: c.digest(), State: judged, Commits: 100, Took: time.Second, Settings: Settings{Seed: 7}}
	for _, text := range strings.Split(verdicts, ";") {
		f := strings.Fields(text)
		if len(f) == 0 {
			continue
		}
		promised := &yes
		if strings.HasPrefix(f[0], "[") {
			promised = &no
		}
		v := Verdict{Level: strings.Trim(f[0], "[]"), Verdict: f[1], Promised: promised}
		if len(f) > 2 {
			v.Anomalies = f[2]
			r.Findings = append(r.Findings, Finding{Level: v.Level, Promised: promised, Name: f[2], Names: []string{f[2], "alias-" + f[2]}, Edges: "RW RW", Text: "because", Txns: 2})
		}
		r.Verdicts = append(r.Verdicts, v)
	}
	return r
}

func early(r *Run) *Run { r.Early = "the run ended early: x"; return r }

func broken(c *Cell, code int) *Run {
	return &Run{Cell: c.ID(), Target: c.Target.Name, State: failed, Code: code, Message: "no server"}
}

// TestExpect: what the verdicts of runs mean for their cell, with and without expectations.
func TestExpect(t *testing.T) {
	const vio = "{verdict: violated}"
	for _, c := range []struct {
		expect string
		runs   []string // early: and failed: before the verdicts
		want   Status
		code   int // 0: as expected
	}{
		{"", nil, NotRun, 3},
		{"", []string{"ser satisfied"}, Satisfied, 0},
		{"", []string{"ser satisfied", "ser violated G2"}, Unexpected, 1},
		{"", []string{"si satisfied; [ser] violated G2"}, NotPromised, 0},
		{"", []string{"si violated G; [ser] violated G2"}, Unexpected, 1},
		{"", []string{"ser unknown"}, Unknown, 2},
		{"", []string{"ser vacuous"}, Vacuous, 3},
		{"", []string{"early: ser satisfied"}, EndedEarly, 2},
		{"", []string{"early: ser unknown"}, EndedEarly, 2},
		{"", []string{"early: ser satisfied", "ser satisfied"}, Satisfied, 0},
		{"", []string{"ser satisfied", "early: ser vacuous"}, Satisfied, 0},
		{"", []string{"ser satisfied", "early: ser violated G2"}, Unexpected, 1},
		{"", []string{"failed: 69"}, Failed, 69},
		{"", []string{"failed: 64"}, Failed, 65},
		{"", []string{"failed: -1"}, Failed, 2},
		{"", []string{"failed: 69", "ser satisfied"}, Satisfied, 0},
		{"", []string{"failed: 69", "early: ser satisfied"}, EndedEarly, 2},
		{vio, []string{"ser violated G2"}, Expected, 0},
		{vio, []string{"ser satisfied", "ser violated G2"}, Expected, 0},
		{vio, []string{"ser satisfied"}, Lacking, 1},
		{vio, []string{"ser unknown"}, Lacking, 1},
		{vio, []string{"early: ser satisfied"}, EndedEarly, 2},
		{vio, []string{"early: ser violated G2"}, Expected, 0},
		{vio, []string{"early: ser violated G2", "ser satisfied"}, Expected, 0},
		{vio, nil, NotRun, 3},
		{"{level: ser, verdict: violated}", []string{"ser satisfied; si violated G"}, Unexpected, 1},
		{"{verdict: violated, anomaly: G2}", []string{"ser violated G2"}, Expected, 0},
		{"{verdict: violated, anomaly: alias-g2}", []string{"ser violated G2"}, Expected, 0},
		{"{verdict: violated, anomaly: [G1, G2]}", []string{"ser violated G2"}, Expected, 0},
		{"{verdict: violated, anomaly: G1}", []string{"ser violated G2"}, Unexpected, 1},
		{"{verdict: violated, anomaly: G1}", []string{"ser satisfied"}, Lacking, 1},
		{"{verdict: satisfied}", []string{"[ser] violated G2"}, Unexpected, 1},
		{"{verdict: any}", []string{"ser violated G2"}, Expected, 0},
		{"{verdict: any}", []string{"ser unknown"}, Satisfied, 0},
		{"{verdict: any}", []string{"ser satisfied"}, Satisfied, 0},
		{"{verdict: unknown}", []string{"ser unknown"}, Satisfied, 0},
		{"{verdict: unknown}", []string{"ser satisfied"}, Lacking, 1},
		{"{verdict: unknown}", []string{"ser violated G2"}, Unexpected, 1},
		{"{target: b, verdict: violated}", []string{"ser satisfied"}, Satisfied, 0},
		{vio + ", {verdict: satisfied}", []string{"ser satisfied"}, Satisfied, 0},
		{vio + ", {verdict: satisfied}", []string{"ser violated G2"}, Unexpected, 1},
		{vio + ", {level: si, verdict: any}", []string{"ser satisfied"}, Lacking, 1},
	} {
		text := "targets: [{name: a, driver: sim, isolations: [serializable]}, {name: b, driver: badger}]\nworkloads: [{workload: mini}]\n"
		if c.expect != "" {
			text += "expect: [" + c.expect + "]\n"
		}
		p, cells := plan(t, text)
		var runs []*Run
		for _, verdicts := range c.runs {
			if code, is := strings.CutPrefix(verdicts, "failed: "); is {
				n := 0
				fmt.Sscan(code, &n)
				runs = append(runs, broken(cells[0], n))
			} else if rest, is := strings.CutPrefix(verdicts, "early: "); is {
				runs = append(runs, early(run(cells[0], rest)))
			} else {
				runs = append(runs, run(cells[0], verdicts))
			}
		}
		n := p.judgeCell(cells[0], runs)
		code := 0
		for _, got := range (&Morning{Cells: []*CellNight{n}}).ExitCodes() {
			code = got
		}
		if n.Status != c.want || code != c.code {
			t.Errorf("expect [%s], runs %q: %s (%s), exit code %d; want %s, %d", c.expect, c.runs, n.Status, n.Text, code, c.want, c.code)
		}
	}
}

// TestChoose: which run is next.
func TestChoose(t *testing.T) {
	p, cells := plan(t, `
targets:
  - {name: a, driver: sim, isolations: [serializable]}
  - {name: b, driver: badger, isolations: [serializable]}
workloads:
  - {name: slow, workload: mini, run: 20s}
  - {name: quick, workload: mini, run: 1s}
repeats: 1
chooser: random
`)
	c := &chooser{plan: p, cells: cells, past: map[string]*Past{}, version: "1"}
	var tonight []*Run
	next := func(want string) {
		t.Helper()
		ch := c.next(tonight, map[string]string{"a": "sim 2"})
		got := "nothing"
		if ch != nil {
			got = ch.cell.ID() + ": " + ch.why
		}
		if got != want {
			t.Fatalf("after %d runs: %s, want %s", len(tonight), got, want)
		}
		if ch != nil {
			r := run(ch.cell, "ser satisfied")
			r.ID, r.Why = int64(len(tonight)+1), ch.why
			if ch.repeats != nil {
				r.Repeats = ch.repeats.ID
			}
			tonight = append(tonight, r)
		}
	}
	id := func(n int) string { return cells[n].ID() }
	// All are new: the small ones first.
	next(id(1) + ": new")
	next(id(3) + ": new")
	next(id(0) + ": new")
	// A violation is repeated after what is new.
	tonight[0].Verdicts = []Verdict{{Level: "ser", Verdict: violated, Anomalies: "G2, G1"}}
	next(id(2) + ": new")
	next(id(1) + ": repeat, same seed")
	next(id(1) + ": repeat, near")
	// The same anomaly in another run is not repeated again; then the cell with the least time is next.
	tonight[4].Verdicts = tonight[0].Verdicts
	c.fixed = true
	if ch := c.next(tonight, nil); ch != nil {
		t.Errorf("a night without a budget goes on: %s, %s", ch.cell.ID(), ch.why)
	}
	c.fixed = false
	next(id(3) + ": again")
	// Another night: 0 has changed by its server, 1 by the plan, 2 found something, and 3 is as it was.
	tonight = nil
	same := func(n int) *Past {
		return &Past{Runs: 2, server: "sim 2", digest: cells[n].digest(), version: "1", seconds: 5}
	}
	for n := range cells {
		c.past[id(n)] = same(n)
	}
	c.past[id(0)].server = "sim 1"
	c.past[id(1)].digest = "other"
	c.past[id(2)].found = true
	next(id(0) + ": changed")
	next(id(1) + ": changed")
	tonight[0].Verdicts = []Verdict{{Level: "ser", Verdict: violated, Anomalies: "G2"}}
	next(id(0) + ": repeat, same seed") // before cells that found something in another night
	next(id(0) + ": repeat, near")
	next(id(2) + ": found something lately")
	next(id(3) + ": not yet tonight")
	// Another isohound changes all.
	tonight, c.version = nil, "2"
	next(id(0) + ": changed")
	// A target that fails three times in a row as no wait would cure is left alone.
	tonight = []*Run{broken(cells[0], 64), broken(cells[1], 65), broken(cells[0], 64)}
	next(id(2) + ": changed")
	next(id(3) + ": changed")
	for range 5 {
		if ch := c.next(tonight, nil); ch.cell.Target.Name == "a" {
			t.Error("a dead target is chosen")
		}
	}
}

// TestRepeat: what is repeated, and runs that were cut short do not count for their cell.
func TestRepeat(t *testing.T) {
	p, cells := plan(t, `
targets: [{name: a, driver: sim, isolations: [serializable, snapshot isolation]}]
workloads: [{workload: mini}]
expect: [{isolation: snapshot isolation, level: si, verdict: violated}]
repeats: 2
`)
	c := &chooser{plan: p, cells: cells, past: map[string]*Past{}, fixed: true}
	night := func(verdicts ...string) []*Run {
		var out []*Run
		for n, v := range verdicts {
			r := run(cells[n], v)
			r.ID = int64(n + 1)
			out = append(out, r)
		}
		return out
	}
	for _, want := range []struct {
		verdicts []string
		repeats  int64 // 0: the night ends
	}{
		{[]string{"ser satisfied", "si satisfied"}, 0},
		{[]string{"ser violated G2", "si satisfied"}, 1},
		{[]string{"ser satisfied; [sser] violated G2", "si satisfied"}, 0}, // not promised
		{[]string{"ser satisfied", "si violated G"}, 2},                    // expected
		{[]string{"ser violated G2", "si violated G"}, 1},                  // what is not expected comes first
	} {
		var got int64
		if ch := c.next(night(want.verdicts...), nil); ch != nil {
			got = ch.repeats.ID
		}
		if got != want.repeats {
			t.Errorf("%q: run %d is repeated, want %d", want.verdicts, got, want.repeats)
		}
	}
	tonight := night("ser satisfied", "si satisfied")
	for n := range maxCut + 1 {
		ch := c.next(tonight, nil)
		if wants := n < maxCut+1 && n > 0; wants != (ch != nil && ch.why == whyNew) {
			t.Errorf("after %d runs that were cut short: %+v", n, ch)
		}
		if n == 0 {
			tonight = tonight[1:]
		}
		tonight = append(tonight, &Run{Cell: cells[0].ID(), State: lost})
	}
	if ch := c.next(tonight, nil); ch != nil {
		t.Errorf("a cell that is cut short again and again: %+v", ch)
	}
}

// TestDraw: the same seed draws the same night, a repetition has the settings of its run, a near one has not.
func TestDraw(t *testing.T) {
	p, cells := plan(t, "chooser: random\ntargets: [{name: a, driver: sim, isolations: [serializable]}]\nworkloads: [{workload: mini, keys: 10..1000, params: {pairs: [10, 50, 90]}}]\n")
	c := &chooser{plan: p, cells: cells, night: &Night{Seed: 5}}
	first := c.settings(&choice{cell: cells[0], why: whyNew}, make([]*Run, 3))
	again := c.settings(&choice{cell: cells[0], why: whyNew}, make([]*Run, 3))
	args := func(s Settings) string { return strings.Join(cells[0].arguments(s, false), " ") }
	if args(first) != args(again) {
		t.Errorf("the same seed draws %s and %s", args(first), args(again))
	}
	base := &Run{Settings: first}
	if same := c.settings(&choice{cell: cells[0], why: whySame, repeats: base}, nil); args(same) != args(first) {
		t.Errorf("a repetition has other settings: %s", args(same))
	}
	if near := c.settings(&choice{cell: cells[0], why: whyNear, repeats: base}, nil); near.Seed == first.Seed || near.Flags["sessions"] == "" {
		t.Errorf("settings near %+v: %+v", first, near)
	}
	// A run of the index has no maps where nothing is drawn.
	_ = cells[0].near(rand.New(rand.NewPCG(1, 1)), Settings{Seed: 1})
}

// TestIndex: what is entered can be read after the index was closed, a later version is refused, and half an entry is
// none.
func TestIndex(t *testing.T) {
	_, cells := plan(t, small)
	dir := t.TempDir()
	if _, err := Open(dir, false); err == nil || !strings.Contains(err.Error(), "holds no hunt") {
		t.Errorf("a folder without an index: %v", err)
	}
	s := open(t, dir)
	night, err := s.begin(3, "v")
	if err != nil {
		t.Fatal(err)
	}
	r := run(cells[0], "si satisfied; [ser] violated G2")
	r.Night, r.Why, r.Began = night.ID, whyNew, time.Now()
	if err := s.add(r); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = open(t, dir)
	left, err := s.pending()
	if err != nil || len(left) != 1 || left[0].State != recording || left[0].Settings.Seed != 7 {
		t.Fatalf("what was left: %+v, %v", left, err)
	}
	r.State, r.Server, r.Kept = judged, "sim", true
	if err := s.enter(r); err != nil {
		t.Fatal(err)
	}
	if err := s.enter(r); err != nil { // a process that was killed after this enters it again
		t.Fatal(err)
	}
	s.Close()
	s = open(t, dir)
	all, err := s.ofNight(night.ID)
	if err != nil || len(all) != 1 || len(all[0].Verdicts) != 2 || len(all[0].Findings) != 1 || all[0].Findings[0].Names[1] != "alias-G2" || *all[0].Verdicts[1].Promised {
		t.Fatalf("%+v, %v", all, err)
	}
	if _, err := s.db.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := Open(dir, true); err == nil || !strings.Contains(err.Error(), "version 99") {
		t.Errorf("an index of a later version: %v", err)
	}
}

func open(t *testing.T, dir string) *State {
	t.Helper()
	s, err := Open(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestMorning: two nights of thousands of runs. The page has each violation once with its rate, says what is new, and stays
// small; a cell whose runs all ended early is not satisfied in any of the files.
func TestMorning(t *testing.T) {
	p, cells := plan(t, `
targets: [{name: a, driver: sim, isolations: [serializable, snapshot isolation]}, {name: b, driver: badger, isolations: [serializable]}]
workloads: [{workload: mini}, {workload: append}]
`)
	dir := t.TempDir()
	s := open(t, dir)
	if _, err := s.db.Exec("PRAGMA synchronous = OFF"); err != nil { // thousands of commits
		t.Fatal(err)
	}
	enter := func(night *Night, r *Run) {
		t.Helper()
		r.Night, r.Why, r.Began = night.ID, whyNew, time.Now()
		server := r.Server
		if err := s.add(r); err != nil {
			t.Fatal(err)
		}
		r.State, r.Server = judged, server
		if err := s.enter(r); err != nil {
			t.Fatal(err)
		}
	}
	first, err := s.begin(1, "v")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cells[:3] {
		r := run(c, "ser satisfied")
		r.Server = "engine 1"
		enter(first, r)
	}
	if err := s.Finish(first, 0); err != nil {
		t.Fatal(err)
	}
	second, err := s.begin(2, "v")
	if err != nil {
		t.Fatal(err)
	}
	var base int64
	for n := range 2000 {
		r := run(cells[0], "ser satisfied")
		if n%100 == 0 {
			r = run(cells[0], "ser violated G2")
		}
		r.Server = "engine 2"
		enter(second, r)
		if n == 0 {
			base = r.ID
		}
	}
	again := run(cells[0], "ser violated G2")
	again.Repeats = base
	enter(second, again)
	if _, err := s.db.Exec("UPDATE runs SET why = ? WHERE id = ?", whySame, again.ID); err != nil {
		t.Fatal(err)
	}
	smaller := run(cells[0], "ser violated G2")
	enter(second, smaller)
	if _, err := s.db.Exec("UPDATE runs SET why = ?, repeats = ? WHERE id = ?", whyShrink, base, smaller.ID); err != nil {
		t.Fatal(err)
	}
	enter(second, early(run(cells[1], "ser satisfied")))
	enter(second, run(cells[3], "ser satisfied")) // for the first time
	m, err := s.Morning(p, cells, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Groups) != 1 || m.Groups[0].Rate() != "20 of 2000 runs; 1 of 1 with the same seed; 1 run of shrinking besides" || m.Groups[0].History() != "new" {
		t.Errorf("groups: %+v", m.Groups)
	}
	news := strings.Join(m.New, "\n")
	for _, want := range []string{"New: G2 (RW RW) violates ser (promised) on a, serializable: violated, unexpected.", "a was engine 1 and is engine 2.", cells[0].ID() + " was satisfied and is violated, unexpected.", cells[1].ID() + " was satisfied and is ended early.", "1 cell was never run before tonight."} {
		if !strings.Contains(news, want) {
			t.Errorf("%q is not in\n%s", want, news)
		}
	}
	page, err := m.Write(dir, pages.Draw)
	if err != nil {
		t.Fatal(err)
	}
	html, err := os.ReadFile(page)
	if err != nil || len(html) > 400<<10 {
		t.Errorf("the page has %d bytes, %v", len(html), err)
	}
	junit, err := os.ReadFile(filepath.Join(dir, JUnitFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`tests="6" failures="1" errors="1" skipped="3"`, `<error type="ended early"`} {
		if !strings.Contains(string(junit), want) {
			t.Errorf("%s is not in\n%s", want, junit)
		}
	}
	if tonight := m.Trend[0]; tonight.Broken != 22 || tonight.Runs != 2004 || tonight.AsExpected || !m.Trend[1].AsExpected {
		t.Errorf("%+v", tonight)
	}
	p.Expect = []Expectation{{Target: "a", Verdict: violated}}
	if m, err = s.Morning(p, cells, nil); err != nil || !m.Trend[0].AsExpected {
		t.Errorf("the plan expects the violations: %+v, %v", m.Trend[0], err)
	}
	if _, err := s.db.Exec("UPDATE nights SET ended = began, code = 1 WHERE id = ?", second.ID); err != nil { // something else failed
		t.Fatal(err)
	}
	third, err := s.begin(3, "v")
	if err != nil {
		t.Fatal(err)
	}
	if later, err := s.Morning(p, cells, nil); err != nil || later.Trend[1].ID != second.ID || !later.Trend[1].AsExpected {
		t.Errorf("an earlier night, whose violations the plan expects: %+v, %v", later.Trend, err)
	}
	if _, err := s.db.Exec("DELETE FROM nights WHERE id = ?", third.ID); err != nil {
		t.Fatal(err)
	}
	if html, err := pages.Draw("hunt", m); err != nil || !strings.Contains(string(html), `class="n">22, as expected</td>`) {
		t.Errorf("the table of nights does not say that they are expected: %v", err)
	}
	p.Expect = nil
	if m, err = s.Morning(p, cells, nil); err != nil {
		t.Fatal(err)
	}
	if summary := m.Summary(); !strings.Contains(summary, "2004 runs: 2004 judged, 22 with a violation, 1 ended early") || !strings.Contains(summary, " 1 of the runs were made") || !strings.Contains(summary, "**ended early**") || !strings.Contains(summary, "**violated, unexpected**") || strings.Count(summary, "| satisfied") != 1 {
		t.Errorf("summary\n%s", summary)
	}
}

// TestEdges: a cycle has the same kinds of edges wherever it begins.
func TestEdges(t *testing.T) {
	cycle := []string{"WR", "RW", "SO", "RW"}
	want := ""
	for n := range cycle {
		var edgesOf []results.Edge
		for i := range cycle {
			edgesOf = append(edgesOf, results.Edge{Kind: cycle[(n+i)%len(cycle)]})
		}
		got := edges(edgesOf)
		if want == "" {
			want = got
		}
		if got != want || got != "RW SO RW WR" {
			t.Errorf("from %d: %s", n, got)
		}
	}
}
