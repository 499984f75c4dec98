package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/isotest"
	"github.com/isohound/isohound/results"
)

// TestWindowsFollow: a level at which windows cannot be judged follows from all windows at another level, not from
// the latest one alone.
func TestWindowsFollow(t *testing.T) {
	c := isohound(t, "run", "--sessions", "8", "--txns", "300", "--rate", "2500", "--seed", "1", "--cut-every", "500txns", "--check", "pc", "--out", filepath.Join(t.TempDir(), "run"), "--json", "--no-progress")
	all := c.outcomes(t)
	if len(all) != 1 || all[0].Verdict != verdict.Satisfied || all[0].FollowsFrom != "si" || all[0].Windows.Total() < 3 || all[0].Committed < 2400 {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
}

// TestWindowsFollowAssumed: where claimed snapshots are assumed, a snapshot level does not follow from a serial one, but
// from another snapshot level. Weak levels follow from both.
func TestWindowsFollowAssumed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	isohound(t, "run", "--driver", "sim", "--isolation", "serializable snapshot isolation", "--sessions", "8", "--txns", "300", "--seed", "1", "--cut-every", "500txns", "--check", "ser", "--out", dir, "--keep", "all", "--quiet", "--no-progress")
	for level, want := range map[string]map[string]verdict.Verdict{
		"pc,ser": {"assume": verdict.Unknown, "hint": verdict.Satisfied},
		"pc":     {"assume": verdict.Satisfied, "hint": verdict.Satisfied},
		"rc":     {"assume": verdict.Satisfied, "hint": verdict.Satisfied},
	} {
		for versions, want := range want {
			c := isohound(t, "check", dir, "--level", level, "--versions", versions, "--json")
			if all := c.outcomes(t); len(all) == 0 || all[0].Verdict != want {
				t.Errorf("%s, %s: exit code %d: %s%s", level, versions, c.code, c.out, c.msg)
			}
		}
	}
}

// TestWindowsClaimBack: a window whose claims agree with one another but not with those of the window before is no
// execution in the claimed order, and unknown where that is assumed.
func TestWindowsClaimBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	isohound(t, "run", "--driver", "bbolt", "--sessions", "4", "--keys", "5", "--txns", "200", "--rate", "1500", "--seed", "1", "--cut-every", "200txns", "--check", "ser", "--out", dir, "--plain", "--keep", "all", "--quiet", "--no-progress")
	files, err := results.WindowFiles(dir)
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, back := range []int{0, 100} {
		last := files[len(files)-1]
		text, err := os.ReadFile(last)
		if err != nil {
			t.Fatal(err)
		}
		text = regexp.MustCompile(`"(commit|snapshot)":\d+`).ReplaceAllFunc(text, func(b []byte) []byte {
			name, number, _ := strings.Cut(string(b), ":")
			n, err := strconv.Atoi(number)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Appendf(nil, "%s:%d", name, n-back)
		})
		if err := os.WriteFile(last, text, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, versions := range []string{"hint", "assume"} {
			for _, level := range []string{"ser", "si"} {
				c := isohound(t, "check", dir, "--level", level, "--versions", versions, "--json")
				o := c.outcomes(t)
				want := verdict.Satisfied
				if back > 0 && versions == "assume" {
					want = verdict.Unknown
				}
				if len(o) != 1 || o[0].Verdict != want || want == verdict.Unknown && !strings.Contains(o[0].Reason, " of an earlier window at ") {
					t.Fatalf("%d back, %s, %s: exit code %d: %s%s", back, versions, level, c.code, c.out, c.msg)
				}
				if claim := o[0].Claim; versions == "hint" && (claim == nil || claim.Fits != (back == 0)) {
					t.Errorf("%d back, %s: %+v", back, level, claim)
				}
			}
		}
	}
}

// TestWindowsOutcomeFirst: a transaction of unknown outcome that an earlier window shows to have committed writes nothing in a later one.
// Only then the versions of reads say what they are: a read of what it wrote is one of the value at the cut.
func TestWindowsOutcomeFirst(t *testing.T) {
	dir := windowsOf(t,
		`{"isohound":2,"positions":"numbers","initial":0}
{"txn":1,"session":0,"status":"unknown","commit":5,"ops":[["w","x",1]]}
{"txn":2,"session":1,"status":"committed","commit":6,"ops":[["r","x",1,5],["w","y",1]]}
{"closed":{"reason":"cut","txns":2}}
`, `{"isohound":2,"positions":"numbers","initial":0,"window":{"number":2,"after":"AFTER"}}
{"initial":[["x",1],["y",1]]}
{"txn":1,"session":0,"status":"unknown","commit":5,"ops":[["w","x",1]]}
{"txn":3,"session":1,"status":"committed","commit":7,"ops":[["w","x",2]]}
{"txn":4,"session":2,"status":"committed","commit":8,"ops":[["r","y",1]]}
{"txn":5,"session":3,"status":"committed","commit":9,"ops":[["r","x",1,5]]}
{"closed":{"reason":"complete","txns":4}}
`)
	for versions, want := range map[string]verdict.Verdict{"assume": verdict.Satisfied, "hint": verdict.Satisfied} {
		c := isohound(t, "check", dir, "--level", "ser", "--versions", versions, "--json")
		if all := c.outcomes(t); len(all) != 1 || all[0].Verdict != want || all[0].Windows.Total() != 2 {
			t.Errorf("%s: exit code %d: %s%s", versions, c.code, c.out, c.msg)
		}
	}
}

// TestWindowsWeak: windows at a weak level are judged by themselves. A stronger level that is violated does not matter. Dirty
// reads in the first window end the run.
func TestWindowsWeak(t *testing.T) {
	run := func(dsn, keys string) (call, []results.Outcome) {
		c := isohound(t, "run", "--driver", "sim", "--dsn", dsn, "--isolation", "read committed", "--sessions", "8", "--txns", "1000", "--keys", keys, "--seed", "1", "--cut-every", "1000txns",
			"--check", "rc", "--out", filepath.Join(t.TempDir(), "run"), "--json", "--no-progress")
		return c, c.outcomes(t)
	}
	c, all := run("sim://", "20")
	if c.code != 0 || len(all) != 1 || all[0].Verdict != verdict.Satisfied || all[0].FollowsFrom != "" || all[0].Windows.Satisfied < 5 || all[0].Engine != "weak" {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	c, all = run("sim://?off=committed-reads", "3")
	if c.code != 1 || len(all) != 1 || all[0].Verdict != verdict.Violated || all[0].Windows.Total() > 8 || !strings.Contains(c.msg, "violation found") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
}

// TestWindowsOwn: later windows are violated at weak levels by what they show by themselves. Their explanation is of that, says
// nothing of levels that the run may satisfy, and does not need the windows before.
func TestWindowsOwn(t *testing.T) {
	for _, w := range []struct {
		workload, off, seed string
	}{{"mini", "monotonic-reads&rate=0.002", "3"}, {"append", "atomic-visibility&rate=0.02", "1"}} {
		dir := filepath.Join(t.TempDir(), "run")
		c := isohound(t, "run", "--driver", "sim", "--dsn", "sim://?off="+w.off, "--isolation", "read committed", "--workload", w.workload, "--sessions", "8", "--txns", "1500", "--keys", "40", "--seed", w.seed,
			"--cut-every", "1500txns", "--check", "rc,ra", "--on-violation", "continue", "--out", dir, "--json", "--no-progress")
		all := c.outcomes(t)
		if c.code != 1 || len(all) != 2 || all[1].Verdict != verdict.Violated || all[1].Windows.Violated < 3 {
			t.Fatalf("%s: exit code %d: %s%s", w.workload, c.code, c.out, c.msg)
		}
		if s := all[1].Standing; s == nil || len(s.Holds)+len(s.Undecided) > 0 || !slices.Contains(s.AlsoNot, "ser") {
			t.Errorf("%s: %+v", w.workload, s)
		}
		files, err := results.WindowFiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		alone := 0
		for _, path := range files[1:] {
			c := isohound(t, "check", path, "--level", "ra", "--certify", "--json", "--no-progress")
			o := c.outcomes(t)[0]
			if r, err := isotest.Check(context.Background(), load(t, path), level.RA); err != nil || r.Verdict != o.Verdict {
				t.Errorf("%s: %v, but the Go API says %v (%v)", path, o.Verdict, r, err)
			}
			if o.Verdict != verdict.Violated {
				continue
			}
			alone++
			if x := o.Anomalies[0].Counterexample; x == nil || x.Sub == nil || o.Ops != load(t, path).Count().Ops {
				t.Errorf("%s: %+v", path, o)
			} else if r, err := checker.Check(context.Background(), x.Sub, level.RA, checker.Options{Certify: true}); err != nil || r.Verdict != verdict.Violated {
				t.Errorf("%s: the counterexample: %+v, %v", path, r, err)
			}
		}
		if alone < 2 {
			t.Errorf("%s: %d of the later windows are violated, judged alone", w.workload, alone)
		}
	}
}

// TestWindowsPromised: the run breaks what its isolation promises, which nobody asked for, if a window does that is violated at a
// level that was asked for, also if it is not the first one.
func TestWindowsPromised(t *testing.T) {
	later := 0
	for seed := 1; seed <= 60 && later == 0; seed++ {
		dir := filepath.Join(t.TempDir(), "run")
		c := isohound(t, "run", "--driver", "sim", "--dsn", "sim://?off=monotonic-reads&rate=0.005", "--isolation", "read committed", "--sessions", "8", "--txns", "800", "--keys", "40", "--seed", strconv.Itoa(seed),
			"--cut-every", "1000txns", "--check", "ser", "--on-violation", "continue", "--keep", "all", "--out", dir, "--no-progress")
		run, err := results.Load(dir)
		if c.code != int(exitViolated) || err != nil {
			t.Fatalf("exit code %d, %v: %s%s", c.code, err, c.out, c.msg)
		}
		broken := slices.ContainsFunc(run.Outcomes, func(o results.Outcome) bool { return o.Level == "rc" && o.Verdict == verdict.Violated })
		files, err := results.WindowFiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		first := 0 // the window that violates rc
		for n, path := range files {
			if c := isohound(t, "check", path, "--level", "rc", "--explain-timeout", "0"); c.code == int(exitViolated) && first == 0 {
				first = n + 1
			}
		}
		if broken != (first > 0) {
			t.Errorf("seed %d: window %d violates rc, and the run: %v: %s", seed, first, broken, c.out)
		}
		if first > 1 {
			later++
			t.Logf("seed %d", seed)
		}
	}
	if later == 0 {
		t.Error("no run has a later window that violates rc")
	}
}

// TestWindowsMissingLevel: windows that an earlier process judged at another level are missing at this one.
func TestWindowsMissingLevel(t *testing.T) {
	for name, tc := range map[string]struct {
		first level.Level
		want  verdict.Verdict
	}{"stronger": {level.SER, verdict.Unknown}, "the same": {level.RC, verdict.Satisfied}} {
		j := (&app{}).newWindowJudge("run", &checking{levels: []level.Level{level.RC}})
		j.add(1, tc.first, &results.Outcome{Verdict: verdict.Satisfied, Committed: 9})
		j.add(2, level.RC, &results.Outcome{Verdict: verdict.Satisfied, Committed: 9})
		if all := j.outcomes(); len(all) != 1 || all[0].Verdict != tc.want {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

// TestWindowInDoubt: a window that is violated, but does not prove that its run is, is unknown, and nothing is proved of it.
func TestWindowInDoubt(t *testing.T) {
	path := write(t, "w.jsonl", `{"isohound":2,"initial":0,"window":{"number":2,"after":"d1"}}
{"initial":[["x",0],["y",8]]}
{"txn":1,"session":0,"status":"unknown","ops":[["r","y",7],["w","x",1]]}
{"txn":2,"session":1,"status":"committed","ops":[["r","x",1]]}
{"closed":{"reason":"complete","txns":2}}
`)
	untimed := write(t, "untimed.jsonl", `{"isohound":2,"initial":0,"window":{"number":2,"after":"d1"}}
{"initial":[["x",0]]}
{"txn":1,"session":0,"status":"unknown","ops":[["r","x",0],["w","z",1]]}
{"txn":2,"session":1,"status":"committed","ops":[["r","z",1]]}
{"txn":3,"session":2,"status":"committed","ops":[["r","x",0],["w","x",5]]}
{"txn":4,"session":3,"status":"committed","ops":[["r","x",0],["w","x",6]]}
{"closed":{"reason":"complete","txns":4}}
`)
	if c := isohound(t, "check", untimed, "--level", "si,strong-si", "--json"); c.code != 1 || strings.Count(c.out, `"verdict":"violated"`) != 2 { // the lost update is none of a late transaction
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	c := isohound(t, "check", path, "--level", "si", "--certify", "--json")
	if all := c.outcomes(t); c.code != 2 || len(all) != 1 || all[0].Verdict != verdict.Unknown || all[0].Certified || !strings.Contains(all[0].Reason, "whose snapshot is of an earlier window") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
}
