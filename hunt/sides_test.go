package hunt

import (
	"encoding/json"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/results/pages"
)

// TestFisher compares the test with published values, and with a count of all ways in which the runs that show something can
// fall on the sides.
func TestFisher(t *testing.T) {
	for _, c := range []struct {
		k1, n1, k2, n2 int
		want           float64
	}{
		{3, 4, 1, 4, 0.4857}, {10, 10, 0, 10, 1.083e-5}, {1, 12, 9, 12, 0.00276}, {0, 5, 0, 7, 1}, {2, 2, 3, 3, 1}, // the first is Fisher's tea
	} {
		if got := fisher(c.k1, c.n1, c.k2, c.n2); math.Abs(got-c.want) > 0.02*c.want+1e-9 && math.Abs(got-c.want) > 5e-5 {
			t.Errorf("%+v: %v", c, got)
		}
	}
	for n1 := range 7 {
		for n2 := range 6 {
			for k1 := range n1 + 1 {
				for k2 := range n2 + 1 {
					ways := make([]int, n1+1) // by how many of those that show it are on side 1
					all := 0
					for set := range 1 << (n1 + n2) {
						if bits.OnesCount(uint(set)) == k1+k2 {
							ways[bits.OnesCount(uint(set&(1<<n1-1)))]++
							all++
						}
					}
					sum := 0
					for _, w := range ways {
						if w <= ways[k1] {
							sum += w
						}
					}
					if want, got := float64(sum)/float64(all), fisher(k1, n1, k2, n2); math.Abs(got-want) > 1e-9 {
						t.Errorf("%d of %d, %d of %d: %v, counted %v", k1, n1, k2, n2, got, want)
					}
				}
			}
		}
	}
}

// TestCompare: two nights, and two targets. Repetitions, runs that shrink, vacuous and unknown runs, runs at another level and
// on other workloads do not count; few runs are said to be few.
func TestCompare(t *testing.T) {
	_, cells := plan(t, `
targets: [{name: old, driver: sim, isolations: [serializable]}, {name: new, driver: sim, isolations: [serializable]}]
workloads: [{workload: mini}, {workload: append}]
`)
	dir := t.TempDir()
	s := open(t, dir)
	if _, err := s.db.Exec("PRAGMA synchronous = OFF"); err != nil {
		t.Fatal(err)
	}
	oldMini, oldAppend, newMini := cells[0], cells[1], cells[2]
	var base int64
	enter := func(night *Night, n int, c *Cell, verdicts, why string) {
		t.Helper()
		for range n {
			r := run(c, verdicts)
			r.Night, r.Why, r.Began, r.Server, r.Version = night.ID, why, time.Now(), c.Target.Name+" "+night.Version, "v"
			if why == whyNear || why == whyShrink {
				r.Repeats = base
			}
			if err := s.add(r); err != nil {
				t.Fatal(err)
			}
			r.State, r.Server = judged, c.Target.Name+" "+night.Version
			if strings.HasPrefix(verdicts, "early") {
				r = early(r)
			}
			if err := s.enter(r); err != nil {
				t.Fatal(err)
			}
			if why == whyNew {
				base = r.ID
			}
		}
	}
	if _, _, err := s.Nightly(); err != ErrNoNight {
		t.Errorf("no night: %v", err)
	}
	first, err := s.begin(1, "1")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Nightly(); err == nil || !strings.Contains(err.Error(), "one night only") {
		t.Errorf("one night: %v", err)
	}
	enter(first, 15, oldMini, "ser violated G2", whyNew)
	enter(first, 5, oldMini, "ser satisfied", whyAgain)
	enter(first, 9, oldMini, "ser violated G2", whyNear)
	enter(first, 9, oldMini, "ser violated G2", whyShrink)
	enter(first, 3, oldMini, "ser vacuous", whyAgain)
	enter(first, 2, oldMini, "ser unknown", whyAgain)
	enter(first, 2, oldMini, "si satisfied", whyAgain)
	enter(first, 1, oldMini, "ser violated G1", whyAgain)
	enter(first, 30, oldAppend, "ser satisfied", whyNew)
	enter(first, 2, newMini, "ser violated G2", whyNew)
	second, err := s.begin(2, "2")
	if err != nil {
		t.Fatal(err)
	}
	enter(second, 20, oldMini, "ser satisfied", whyNew)
	if err := s.Finish(second, 0); err != nil {
		t.Fatal(err)
	}
	a, b, err := s.Nightly()
	if err != nil || a != 1 || b != 2 {
		t.Fatal(a, b, err)
	}
	c, err := s.CompareNights(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Findings) != 3 || c.Tested != 2 || c.Words() != "1 difference is more than luck; 1 finding on one side only may be luck; 1 finding cannot be compared" {
		t.Fatalf("%d findings, %d tested: %s", len(c.Findings), c.Tested, c.Words())
	}
	g2, other, g1 := c.Findings[0], c.Findings[1], c.Findings[2]
	if g2.Name != "G2" || g2.K != [2]int{15, 0} || g2.N != [2]int{21, 20} || !g2.Differs || strings.Join(g2.Workloads, " ") != "mini" || g2.Commits[0] != 2100 {
		t.Errorf("%+v", g2)
	}
	if g1.Name != "G1" || g1.K != [2]int{1, 0} || g1.N != [2]int{21, 20} || g1.Differs || !strings.Contains(g1.Sentence, "Only night 1 (") || !strings.Contains(g1.Sentence, "in 1 of 21 runs (2,100 commits)") || !strings.Contains(g1.Sentence, "0 of 20 runs") || !strings.Contains(g1.Sentence, "This may be luck") || !strings.Contains(g1.Sentence, "probability 1.") || !strings.Contains(g1.Sentence, "it takes 62 runs without it to say more") {
		t.Errorf("%+v", g1)
	}
	if other.Target != "new" || other.N != [2]int{2, 0} || other.P != 1 || !strings.Contains(other.Sentence, "nothing can be compared") {
		t.Errorf("%+v", other)
	}
	if x := c.Sides[0]; x.Runs != 60 || x.LeftOut != 18 || x.Violated != 18 || x.Vacuous != 3 || x.Commits != 6000 {
		t.Errorf("%+v", x)
	}
	notes := strings.Join(c.Notes, "\n")
	for _, want := range []string{"Night 1 is not over", "The servers differ: night 1 (", ") had new 1; old 1, and night 2 (", ") had old 2.", "2 cells were run by night 1 ("} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not in %s", want, notes)
		}
	}
	if len(c.Cells) != 3 || c.Cells[2].Of[1].Runs != 20 || c.Cells[2].Of[0].Runs != 28 {
		t.Errorf("%+v", c.Cells)
	}
	path, err := c.Write(dir, pages.Draw)
	if err != nil {
		t.Fatal(err)
	}
	html, err := os.ReadFile(path)
	if err != nil || path != filepath.Join(dir, ComparisonFile) || !strings.Contains(string(html), "1 difference is more than luck") || !strings.Contains(string(html), "the number of findings for which both sides have runs (2)") {
		t.Errorf("%v\n%s", err, html)
	}
	if text := c.Text(); !strings.Contains(text, "G2: ser (promised), old, serializable on mini") || !strings.Contains(text, "60 runs, 60 judged, 18 violated, 3 vacuous") {
		t.Error(text)
	}
	if b, err := json.Marshal(c); err != nil || !strings.Contains(string(b), `"k":[15,0],"n":[21,20]`) {
		t.Errorf("%v\n%s", err, b)
	}
	// The same two nights the other way round say the same.
	back, err := s.CompareNights(2, 1)
	if err != nil || back.Findings[0].K != [2]int{0, 15} || back.Findings[0].P != g2.P || !strings.Contains(back.Findings[0].Sentence, "Only night 1 (") {
		t.Errorf("%v: %+v", err, back.Findings[0])
	}
	// Two targets: in all nights, and in one. What one night has not is not compared.
	c, err = s.CompareTargets("new", "old", 0)
	if err != nil || len(c.Findings) != 2 || c.Findings[0].K != [2]int{2, 15} || c.Findings[0].N != [2]int{2, 41} || c.Findings[0].Target != "" {
		t.Fatalf("%v: %+v", err, c.Findings)
	}
	third, err := s.begin(3, "3")
	if err != nil {
		t.Fatal(err)
	}
	enter(third, 3, newMini, "ser violated G2", whyNew)
	enter(third, 3, oldAppend, "ser satisfied", whyNew)
	if c, err = s.CompareTargets("new", "old", 2); err != nil || len(c.Findings) != 0 || c.Words() != "Neither side showed a violation" || c.Sides[0].Runs != 0 {
		t.Errorf("%v: %+v", err, c)
	}
	// Where no finding can be compared, none differs.
	if c, err = s.CompareTargets("new", "old", 3); err != nil || c.Tested != 0 || c.Words() != "1 finding cannot be compared" || c.Findings[0].Differs || !strings.Contains(c.Findings[0].Sentence, "Only new has runs that could show it. It was shown in 3 of 3 runs (300 commits)") {
		t.Errorf("%v: %s; %+v", err, c.Words(), c.Findings)
	}
	// The same servers in another order are the same.
	var order [2]*Night
	for n := range order {
		if order[n], err = s.begin(1, "4"); err != nil {
			t.Fatal(err)
		}
		enter(order[n], 1, []*Cell{oldMini, newMini}[n], "ser satisfied", whyNew)
		enter(order[n], 1, []*Cell{newMini, oldMini}[n], "ser satisfied", whyNew)
	}
	if c, err = s.CompareNights(order[0].ID, order[1].ID); err != nil || strings.Contains(strings.Join(c.Notes, "\n"), "servers differ") {
		t.Errorf("%v: %s", err, c.Notes)
	}
	if _, err = s.CompareTargets("nw", "old", 0); err == nil || !strings.Contains(err.Error(), `did you mean "new"?`) {
		t.Error(err)
	}
	if _, err = s.CompareNights(1, 7); err == nil || !strings.Contains(err.Error(), "there is no night 7; there are 1 to 5") {
		t.Error(err)
	}
}

// TestComparisonPage: the page writes names of targets as the plan does, and tells names with commas apart.
func TestComparisonPage(t *testing.T) {
	c := &Comparison{What: "targets", Findings: []*Difference{{Workloads: []string{"mini", "mini, 1s kill for 1s"}}}}
	c.Sides[0], c.Sides[1] = Side{Name: "pg", Servers: []string{"PostgreSQL 15.18", "sim, every protection on"}}, Side{Name: "sim-lu"}
	html, err := pages.Draw("compare", c)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">pg and sim-lu.<", "by mini; mini, 1s kill for 1s.", ">PostgreSQL 15.18; sim, every protection on<"} {
		if !strings.Contains(string(html), want) {
			t.Errorf("%q is not in %s", want, html)
		}
	}
}
