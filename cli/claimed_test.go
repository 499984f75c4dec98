package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/results"
)

// TestClaimed: --check claimed, the default, works at every isolation of every embedded driver, and the
// drivers keep what they promise.
func TestClaimed(t *testing.T) {
	for _, d := range drivers.All() {
		info := d.Info()
		if !info.Embedded {
			continue
		}
		for _, iso := range info.Isolations {
			t.Run(info.Name+" "+iso.Name, func(t *testing.T) {
				for workload, promise := range map[string]string{"mini": iso.Promises, "lwt": iso.Lightweight} {
					args := []string{"run", "--driver", info.Name, "--isolation", iso.Name, "--workload", workload, "--sessions", "8", "--txns", "100", "--seed", "1", "--json", "--quiet"}
					if workload == "mini" { // so that transactions overlap on a fast machine, too
						args = append(args, "-p", "think=500us")
					}
					c := isohound(t, args...)
					all := c.outcomes(t)
					if c.code != 0 || len(all) != strings.Count(promise, ",")+1 {
						t.Errorf("%s: exit code %d, %d outcomes: %s%s", workload, c.code, len(all), c.out, c.msg)
					}
					for _, o := range all {
						if !strings.Contains(","+promise+",", ","+o.Level+",") || o.Promised == nil || !*o.Promised || o.Verdict != verdict.Satisfied || !o.Certified {
							t.Errorf("%s: %s %s, promised %v, certified %v, instead of %s", workload, o.Level, o.Verdict, o.Promised, o.Certified, promise)
						}
					}
				}
			})
		}
	}
}

// TestHeld: weak isolations of real databases keep what they promise, and break more than that, which
// is said to be not promised.
func TestHeld(t *testing.T) {
	for _, tc := range []struct {
		driver, isolation string
		promised          string // it has to hold
		more              string // holds, too, in this workload, whose writes return nothing
		violated          string
		dsn               func(*testing.T) string
	}{
		{"postgres", "read committed", "rc", "ryw,mr", "ra,cc,si", postgresDSN},
		{"mariadb", "read committed", "rc", "ryw,mr", "ra,cc,si", mariadbDSN},
		{"mariadb", "repeatable read, innodb_snapshot_isolation=OFF", "ryw,mr", "rc,cc,pc", "si,si-noso", mariadbDSN},
		{"redis", "no WATCH", "rc", "ryw,mr", "ra,cc,si", redisDSN},
		{"sqlite", "read uncommitted", "ru", "", "rc,ryw,si", nil},
		{"badger", "DetectConflicts=false", "pc", "", "si,si-noso", nil},
	} {
		t.Run(tc.driver+" "+tc.isolation, func(t *testing.T) {
			out := ""
			want := map[string]verdict.Verdict{}
			var levels []string
			for names, v := range map[string]verdict.Verdict{tc.promised + "," + tc.more: verdict.Satisfied, tc.violated: verdict.Violated} {
				for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' }) {
					want[name], levels = v, append(levels, name)
				}
			}
			args := []string{"run", "--driver", tc.driver, "--isolation", tc.isolation, "--keys", "20", "--txns", "200", "-p", "rollback=20%", "--check", strings.Join(levels, ","), "--json", "--quiet"}
			if tc.dsn != nil {
				args = append(args, "--dsn", tc.dsn(t))
			}
			var c call
			var all []results.Outcome
			missed := func(o results.Outcome) bool {
				return o.Verdict == verdict.Satisfied && want[o.Level] == verdict.Violated
			}
			for try := 1; try == 1 || try <= 6 && slices.ContainsFunc(all, missed); try++ { // how sessions overlap is a matter of timing
				out = filepath.Join(t.TempDir(), "run")
				c = isohound(t, append(args, "--seed", strconv.Itoa(try), "--out", out)...)
				all = c.outcomes(t)
			}
			if c.code != int(exitViolated) || c.msg != "" || len(all) != len(want) {
				t.Errorf("exit code %d, %d outcomes: %s", c.code, len(all), c.msg)
			}
			for _, o := range all {
				promised := strings.Contains(","+tc.promised+",", ","+o.Level+",")
				if o.Verdict != want[o.Level] || !o.Certified || o.Promised == nil || *o.Promised != promised {
					t.Errorf("%s: %s, not %s; certified %v, promised %v (%s)", o.Level, o.Verdict, want[o.Level], o.Certified, o.Promised, o.Reason)
				}
			}
			run, err := results.Load(out)
			if err != nil {
				t.Fatal(err)
			}
			if run.Words() != "violated, not promised" || run.Config.PromisedBy == "" {
				t.Errorf("%s; promised by %q", run.Words(), run.Config.PromisedBy)
			}
			readme, err := os.ReadFile(filepath.Join(out, results.ReproFolder, "README.md"))
			if err != nil || !strings.Contains(string(readme), "not promised: a violation is documented behaviour") || strings.Contains(string(readme), "a bug to report") {
				t.Errorf("%v: %s", err, readme)
			}
		})
	}
}

// TestClaimedAndMore: claimed can be one of several levels. If all that are checked are satisfied and weak, the
// run says which levels its history satisfies.
func TestClaimedAndMore(t *testing.T) {
	run := func(check string) []results.Outcome {
		return isohound(t, "run", "--driver", "badger", "--isolation", "DetectConflicts=false", "--keys", "5", "--seed", "1", "--json", "--quiet", "--check", check).outcomes(t)
	}
	all := run("ser,Claimed")
	if len(all) != 2 || all[0].Level != "ser" || all[0].Verdict != verdict.Violated || *all[0].Promised || all[1].Level != "pc" || all[1].Verdict != verdict.Satisfied || !*all[1].Promised {
		t.Errorf("%+v", all)
	}
	all = run("claimed")
	if len(all) != 1 || all[0].Standing == nil || !slices.Contains(all[0].Standing.Holds, "pc") || !slices.Contains(all[0].Standing.Not, "psi") || !slices.Contains(all[0].Standing.AlsoNot, "ser") {
		t.Errorf("%+v", all)
	}
	all = run("rc,ra")
	if len(all) != 2 || all[0].Standing == nil || all[1].Standing == nil || !slices.Equal(all[0].Standing.Holds, []string{"pc"}) {
		t.Errorf("%+v", all)
	}
	if c := isohound(t, "run", "--driver", "badger", "--check", "claimed,nothing"); c.code != int(exitUsage) || !strings.Contains(c.msg, `unknown level "nothing"`) {
		t.Errorf("%d: %s", c.code, c.msg)
	}
}

// TestExpect: with --expect violated a violation is success, and its absence is not.
func TestExpect(t *testing.T) {
	good, bad, odd := write(t, "good.txt", fine), write(t, "bad.txt", lostUpdate), write(t, "odd.txt", "s1 T5: w(x,5) abort\n")
	for _, tc := range []struct {
		args []string
		code exitCode
	}{
		{[]string{"check", bad, "--level", "ser"}, exitViolated},
		{[]string{"check", bad, "--level", "ser", "--expect", "satisfied"}, exitViolated},
		{[]string{"check", bad, "--level", "serializable,si", "--expect", "violated"}, exitSatisfied},
		{[]string{"check", bad, good, "--level", "ser", "--expect", "violated"}, exitViolated},
		{[]string{"check", bad, odd, "--level", "ser", "--expect", "violated"}, exitUnknown},
		{[]string{"run", "--driver", "badger", "--isolation", "DetectConflicts=false", "--check", "snapshot-isolation", "--keys", "5", "--expect", "violated"}, exitSatisfied},
		{[]string{"run", "--driver", "badger", "--check", "read-committed,Read_Atomic", "--txns", "50", "--expect", "violated"}, exitViolated},
		{[]string{"run", "--driver", "badger", "--check", "read-committed,Read_Atomic", "--txns", "50"}, exitSatisfied},
		{[]string{"run", "--driver", "sim", "--isolation", "snapshot isolation", "--check", "si,parallel-si,cc", "--txns", "100"}, exitSatisfied},
	} {
		if c := isohound(t, tc.args...); c.code != int(tc.code) {
			t.Errorf("isohound %s: exit code %d, want %d\n%s%s", strings.Join(tc.args, " "), c.code, tc.code, c.out, c.msg)
		}
	}
	c := isohound(t, "run", "--driver", "badger", "--isolation", "DetectConflicts=false", "--check", "si", "--keys", "5")
	if c.code != int(exitViolated) || !strings.Contains(c.out, ": si violated, not promised") {
		t.Errorf("exit code %d: %s", c.code, c.out)
	}
}

// TestInvariantsPromised: a broken invariant is a failure only where a serial level is promised or named.
func TestInvariantsPromised(t *testing.T) {
	for _, tc := range []struct {
		isolation, dsn string
		more           []string
		code           exitCode
		words          string
	}{
		{"snapshot isolation", "", nil, exitSatisfied, "invariant on call does not hold, and is not promised, since no serial level is: shift"},
		{"snapshot isolation", "", []string{"--check", "ser"}, exitViolated, "invariant on call does not hold, and is not promised, since no serial level is: shift"},
		{"serializable snapshot isolation", "sim://?off=dangerous-structure", nil, exitViolated, "invariant on call does not hold: shift"},
	} {
		var c call
		for seed := 5; seed < 15 && !strings.Contains(c.msg, tc.words); seed++ { // whether anybody is left on call is luck
			args := []string{"run", "--driver", "sim", "--isolation", tc.isolation, "--workload", "skew", "-p", "patterns=oncall", "--txns", "100", "--seed", fmt.Sprint(seed), "--quiet"}
			if tc.dsn != "" {
				args = append(args, "--dsn", tc.dsn)
			}
			c = isohound(t, append(args, tc.more...)...)
		}
		if c.code != int(tc.code) || !strings.Contains(c.msg, tc.words) {
			t.Errorf("%s%v: exit code %d, want %d and %q: %s%s", tc.isolation, tc.more, c.code, tc.code, tc.words, c.out, c.msg)
		}
	}
}
