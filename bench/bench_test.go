package bench

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
)

// TestWrong: verdicts are compared with the expected one, else with one another. A missing
// verdict is not wrong.
func TestWrong(t *testing.T) {
	const s, v, u = verdict.Satisfied, verdict.Violated, verdict.Unknown
	for _, tc := range []struct {
		got      []verdict.Verdict
		expected verdict.Verdict
		wrong    int
	}{
		{[]verdict.Verdict{s, s}, s, 0}, {[]verdict.Verdict{s, v}, s, 1}, {[]verdict.Verdict{v, v}, s, 2}, {[]verdict.Verdict{u, s}, s, 0},
		{[]verdict.Verdict{v, v}, u, 0}, {[]verdict.Verdict{u, v, s}, u, 1}, {[]verdict.Verdict{u, u}, u, 0},
	} {
		var ms []Measurement
		for _, got := range tc.got {
			ms = append(ms, Measurement{History: "h", Level: "ser", Contestant: "c", Verdict: got})
		}
		if wrong := Wrong(ms, tc.expected); len(wrong) != tc.wrong {
			t.Errorf("%v, expected %v: %q", tc.got, tc.expected, wrong)
		}
	}
}

// TestWrongWords: a wrong verdict is told beside the one that was expected.
func TestWrongWords(t *testing.T) {
	ms := []Measurement{{History: "h", Level: "ser", Contestant: "a", Verdict: verdict.Satisfied}, {History: "h", Level: "ser", Contestant: "b", Verdict: verdict.Violated}}
	for expected, want := range map[verdict.Verdict]string{
		verdict.Satisfied: "h at ser: b says violated, but the history was made to be satisfied",
		verdict.Unknown:   "h at ser: b says violated, but a says satisfied",
	} {
		if got := Wrong(ms, expected); len(got) != 1 || got[0] != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestMessage: only the latest message of a process is held back, with its further lines.
func TestMessage(t *testing.T) {
	var m message
	var shown []string
	for _, line := range []string{"Badger", "isohound: a note", "1 s: 5 committed, 0 aborted; the checker is 0.1 s behind", "isohound: another", "isohound: an error", "of two lines"} {
		shown = append(shown, m.next(line)...)
	}
	if got := strings.Join(shown, "|"); got != "Badger|isohound: a note|1 s: 5 committed, 0 aborted; the checker is 0.1 s behind|isohound: another" || strings.Join(m, "|") != "isohound: an error|of two lines" {
		t.Errorf("%s; held %s", got, m)
	}
}

// TestSpread: percentiles are nearest ranks.
func TestSpread(t *testing.T) {
	for n, want := range map[int]Spread{0: {}, 1: {1, 1, 1}, 2: {1, 2, 2}, 3: {2, 3, 3}, 10: {5, 9, 10}, 11: {6, 10, 11}, 50: {25, 45, 50}} {
		var all []float64
		for i := n; i > 0; i-- {
			all = append(all, float64(i))
		}
		if got := spread(all); got != want {
			t.Errorf("of %d: %v, not %v", n, got, want)
		}
	}
}

// TestMegabytes: a bound and what it bounds are in the same unit, which is the MB of --disk.
func TestMegabytes(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "w"), make([]byte, 2e6), 0o666); err != nil {
		t.Fatal(err)
	}
	e := &Endurance{DiskBound: 1e9, Sum: EnduranceSum{Disk: sizeOf(dir)}}
	if got := e.Targets()[1]; got != "reached: windows on disk at most 1000 MB: 2 MB" {
		t.Error(got)
	}
}

// TestMedian: the median run counts, except for a run with a different verdict.
func TestMedian(t *testing.T) {
	run := func(v verdict.Verdict, s float64) Measurement { return Measurement{Verdict: v, WallSeconds: s} }
	if m := median([]Measurement{run(verdict.Satisfied, 3), run(verdict.Satisfied, 1), run(verdict.Satisfied, 2)}); m.WallSeconds != 2 {
		t.Errorf("%v", m)
	}
	if m := median([]Measurement{run(verdict.Satisfied, 3), run(verdict.Satisfied, 1), run(verdict.Violated, 9)}); m.Verdict != verdict.Violated {
		t.Errorf("%v", m)
	}
}

// TestTargets: the seed determines everything, and scaling keeps hot keys.
func TestTargets(t *testing.T) {
	if !reflect.DeepEqual(Targets(1, 5), Targets(1, 5)) {
		t.Error("targets differ")
	}
	for _, target := range Targets(0.01, 1) {
		if strings.HasPrefix(target.Name, "ten") && (target.Config.Keys != 10 || target.Config.Txns != 1000) {
			t.Errorf("%+v", target)
		}
	}
	if _, err := FindContestants("polygraph,nobody"); err == nil || !strings.Contains(err.Error(), "known are polygraph, paper") {
		t.Error(err)
	}
}
