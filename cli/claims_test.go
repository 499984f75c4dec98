package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
)

// TestClaims: the order that an embedded database claims is an execution of the level that it promises. Where the order
// of the commits need not be one, only the verdict counts.
func TestClaims(t *testing.T) {
	for _, tc := range []struct{ driver, isolation, levels, workloads string }{
		{"badger", "serializable", "ser", "mini,general,append"}, // its scans have phantoms
		{"badger", "DetectConflicts=false", "pc", "mini,general"},
		{"bbolt", "serializable", "sser,strong-si", "mini,general,scan"},
		{"sqlite", "deferred", "sser", "mini,general,scan"},
		{"sqlite", "immediate, journal_mode=DELETE", "sser,si", "mini,skew"},
		{"sim", "serializable", "sser,strong-si", "mini,general,skew"},
		{"sim", "snapshot isolation", "strong-si", "mini,general,scan"},
		{"sim", "serializable snapshot isolation", "strong-si", "mini,scan"},
	} {
		for workload := range strings.SplitSeq(tc.workloads, ",") {
			for lvl := range strings.SplitSeq(tc.levels, ",") { // one by one: a satisfied level implies others
				args := []string{"run", "--driver", tc.driver, "--isolation", tc.isolation, "--workload", workload, "--check", lvl,
					"--sessions", "10", "--txns", "100", "--seed", "3", "--claims", "require", "--json", "--quiet"}
				if workload == "mini" {
					args = append(args, "-p", "think=500us") // else its transactions hardly overlap
				}
				c := isohound(t, args...)
				o := c.outcomes(t)
				if c.code != 0 || len(o) != 1 || o[0].Verdict != verdict.Satisfied || !o[0].Certified {
					t.Errorf("%+v, %s, %s: exit code %d: %+v %s", tc, workload, lvl, c.code, o, c.msg)
				} else if o[0].Engine != "replay" || o[0].Claim == nil || !o[0].Claim.Fits || o[0].Claim.Positions == "" {
					t.Errorf("%+v, %s, %s: by %s, claim %+v", tc, workload, lvl, o[0].Engine, o[0].Claim)
				}
			}
		}
	}
}

// TestLies: a wrong claim is found, and changes neither the verdict nor the exit code.
func TestLies(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c := isohound(t, "run", "--driver", "sim", "--dsn", "sim://?lies=0.1", "--isolation", "serializable", "--check", "ser", "--sessions", "10", "--txns", "100",
		"--seed", "3", "--out", dir, "--plain", "--no-progress")
	const words = "the order that the database claims (numbers of commits) is no execution at ser: "
	if c.code != 0 || !strings.Contains(c.out, "ser satisfied") || !strings.Contains(c.out, words) || !strings.Contains(c.out, "sim says that") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	if !strings.Contains(c.msg, "lies=0.1") || strings.Contains(c.msg, "--claims") {
		t.Errorf("the command that repeats the run is not right: %s", c.msg)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || !strings.Contains(string(page), "The order that the database claims (numbers of commits) is no execution at ser: ") {
		t.Errorf("the report does not say it: %v", err)
	}
	file := filepath.Join(dir, "history.jsonl")
	for _, tc := range []struct {
		args   string
		engine string
		want   verdict.Verdict
		claim  bool
	}{
		{"", "linear", verdict.Satisfied, true},
		{"--versions ignore", "linear", verdict.Satisfied, false},
		{"--engine replay", "replay", verdict.Unknown, true},
		{"--engine polygraph", "polygraph", verdict.Satisfied, false},
	} {
		c := isohound(t, append([]string{"check", file, "--level", "ser", "--certify", "--json"}, strings.Fields(tc.args)...)...)
		o := c.outcomes(t)
		if len(o) != 1 || o[0].Verdict != tc.want || o[0].Engine != tc.engine || (o[0].Claim != nil) != tc.claim {
			t.Errorf("%s: %+v %s", tc.args, o, c.msg)
		} else if tc.claim && (o[0].Claim.Fits || o[0].Claim.Misfits == 0 || len(o[0].Claim.Txns) == 0) {
			t.Errorf("%s: the claim is %+v", tc.args, o[0].Claim)
		}
	}
	// Converted, the claims stay where the format can hold them.
	for name, want := range map[string]string{"again.jsonl": "is no execution at ser", "h.txt": "is no execution at ser", "h.edn": ""} {
		out := filepath.Join(dir, name)
		args := []string{"convert", file, out}
		if name == "h.txt" {
			args = append(args, "--to", "dsl")
		} else if name == "h.edn" {
			args = append(args, "--lossy")
		}
		c := isohound(t, args...)
		if c.code != 0 || (want == "") != strings.Contains(c.msg, "the order that the database claims is left out") {
			t.Errorf("%s: exit code %d: %s", name, c.code, c.msg)
		}
		if c := isohound(t, "check", out, "--level", "ser"); want != "" && !strings.Contains(c.out, want) {
			t.Errorf("%s: %s%s", name, c.out, c.msg)
		}
	}
}

// TestClaimBelowSnapshots: at a level that does not ask for snapshots, an order that gives none is no misfit of the level.
func TestClaimBelowSnapshots(t *testing.T) {
	file := write(t, "h.txt", "s0 T0 @1: w(x,1) w(y,1)\ns1 T1 @2: r(x,0) r(y,1) w(z,1)\n")
	for lvl, want := range map[string]string{
		"rc": "is no execution at pc, which rc does not ask for: the database says that",
		"pc": "is no execution at pc: the database says that",
	} {
		if c := isohound(t, "check", file, "--level", lvl); !strings.Contains(c.out, want) {
			t.Errorf("%s: exit code %d: %s%s", lvl, c.code, c.out, c.msg)
		}
	}
	o := isohound(t, "check", file, "--level", "rc", "--json").outcomes(t)
	if len(o) != 1 || o[0].Verdict != verdict.Satisfied || o[0].Claim == nil || o[0].Claim.Tried != "pc" {
		t.Errorf("%+v", o)
	}
}

// TestAssume: with --versions assume, lies of sim are violations that rest on them, the report says so, and the commands
// that repeat it have the flag. True claims change nothing. Without claims nothing is assumed.
func TestAssume(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c := isohound(t, "run", "--driver", "sim", "--dsn", "sim://?lies=0.1", "--isolation", "serializable", "--workload", "general", "--check", "ser,si", "--sessions", "10", "--txns", "100",
		"--seed", "3", "--out", dir, "--plain", "--no-progress", "--certify", "--versions", "assume")
	const words = "this rests on the order of versions that the database claims (numbers of commits)"
	if c.code != int(exitViolated) || !strings.Contains(c.out, "ser violated, if the claimed order is true") || strings.Contains(c.out, "breaks the promise") || !strings.Contains(c.out, words) || !strings.Contains(c.msg, "--versions assume") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	for name, want := range map[string]string{"report.html": words, "repro/README.md": "--versions assume"} {
		const legend = "The number after @ is that of the commit which wrote what was read"
		if page, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(page), want) || !strings.Contains(string(page), legend) {
			t.Errorf("%s does not say it: %v", name, err)
		}
	}
	file := filepath.Join(dir, "history.jsonl")
	for _, tc := range []struct {
		args  string
		want  verdict.Verdict
		rests bool
	}{
		{"--level ser --versions assume", verdict.Violated, true},
		{"--level ser --versions hint", verdict.Satisfied, false},
		{"--level rc --versions assume", verdict.Unknown, false},
	} {
		c := isohound(t, append([]string{"check", file, "--certify", "--json"}, strings.Fields(tc.args)...)...)
		o := c.outcomes(t)
		if len(o) != 1 || o[0].Verdict != tc.want || (o[0].Assumes != nil) != strings.Contains(tc.args, "assume") ||
			o[0].Assumes != nil && (o[0].Assumes.Rests != tc.rests || o[0].Assumes.Placed == 0 || o[0].Assumes.Placed > o[0].Assumes.Versions) {
			t.Errorf("%s: %+v %s", tc.args, o, c.msg)
		}
		if tc.rests && len(o) == 1 && (o[0].Anomalies[0].Counterexample == nil || !o[0].Certified) {
			t.Errorf("%s: no counterexample, or no proof: %+v", tc.args, o[0])
		}
	}
	if c := isohound(t, "explain", file, "--level", "ser", "--versions", "assume"); !strings.Contains(c.out, words) {
		t.Errorf("explain: exit code %d: %s%s", c.code, c.out, c.msg)
	}
	for driver, want := range map[string]string{"bbolt": "an execution keeps the order of versions that the database claims"} {
		c := isohound(t, "run", "--driver", driver, "--workload", "general", "--check", "ser", "--sessions", "6", "--txns", "60", "--seed", "3", "--versions", "assume", "--plain", "--quiet", "--out", filepath.Join(t.TempDir(), "run"))
		if c.code != 0 || !strings.Contains(c.out, want) {
			t.Errorf("%s: exit code %d: %s%s", driver, c.code, c.out, c.msg)
		}
	}
	plain := write(t, "plain.txt", fine)
	if c := isohound(t, "check", plain, "--level", "ser,rc", "--versions", "assume"); c.code != 0 || strings.Count(c.out, "nothing was assumed") != 2 {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
}

// TestAssumedSnapshots: with --versions assume, snapshots of sim that are lies, or that go back in a session, are violations;
// those that are true change nothing. A session that goes back in time is one although its reads show nothing. The text, the
// JSON and the picture say what it rests on, and the counterexample by itself is judged alike.
func TestAssumedSnapshots(t *testing.T) {
	for _, tc := range []struct {
		isolation, dsn, level string
		want                  verdict.Verdict
		lies                  bool
	}{
		{"snapshot isolation", "sim://", "strong-si", verdict.Satisfied, false},
		{"serializable snapshot isolation", "sim://", "strong-si", verdict.Satisfied, false},
		{"snapshot isolation, replicas", "sim://", "si", verdict.Satisfied, false},
		{"snapshot isolation", "sim://?lies=0.2", "si", verdict.Violated, true},
		{"snapshot isolation, replicas", "sim://?off=session-order", "si", verdict.Violated, false},
		{"snapshot isolation", "sim://?off=monotonic-reads", "si", verdict.Violated, false},
	} {
		c := isohound(t, "run", "--driver", "sim", "--dsn", tc.dsn, "--isolation", tc.isolation, "--workload", "general", "--check", tc.level, "--sessions", "6", "--txns", "100",
			"--seed", "3", "--no-progress", "--quiet", "--json", "--certify", "--versions", "assume")
		o := c.outcomes(t)
		if len(o) != 1 || o[0].Verdict != tc.want || !o[0].Certified || o[0].Assumes == nil || o[0].Assumes.Snapshots < 300 || tc.lies && !o[0].Assumes.Rests {
			t.Errorf("%+v: exit code %d: %+v %s", tc, c.code, o, c.msg)
		}
	}
	for name, tc := range map[string]struct{ history, says, shows string }{
		"positions": {"s0 T0 @5<4: w(x,1) r(u,0)\ns0 T1 @9<4: r(y,0) w(z,1)\ns1 T2 @10<9: r(z,1) w(u,1)", "the database says that the snapshot of T1, up to 4, lacks T0 (commit 5), which wrote x = 1", "snapshot 4, commit 9"},
		"sets":      {"s0 T0 $5 {5:5:}: w(x,1) r(u,0)\ns0 T1 $6 {5:6:5}: r(y,0) w(z,1)\ns1 T2 $7 {7:7:}: r(z,1) w(u,1)", "the database says that the snapshot of T1 (5:6:5) lacks T0 (database transaction 5), which wrote x = 1", "snapshot 5:6:5"},
	} {
		path, why := write(t, name+".txt", tc.history), filepath.Join(t.TempDir(), "why")
		c := isohound(t, "explain", path, "--level", "si", "--versions", "assume", "--out", why)
		out := filepath.Join(why, "1-ClaimedSnapshot")
		for _, want := range []string{"si violated, if the claimed snapshots are true", "3 snapshots", tc.says, tc.shows, "ClaimedSnapshot"} {
			if c.code != int(exitViolated) || !strings.Contains(c.out, want) {
				t.Errorf("%s: exit code %d, it does not say %q: %s%s", name, c.code, want, c.out, c.msg)
			}
		}
		if svg, err := os.ReadFile(filepath.Join(out, "graph.svg")); err != nil || !strings.Contains(string(svg), `class="edge NV"`) {
			t.Errorf("%s: the picture does not show it: %v", name, err)
		}
		for _, file := range []string{path, filepath.Join(out, "minimal.txt"), filepath.Join(out, "minimal.jsonl")} {
			for versions, want := range map[string]verdict.Verdict{"assume": verdict.Violated, "hint": verdict.Satisfied} {
				o := isohound(t, "check", file, "--level", "si,ser", "--versions", versions, "--certify", "--json").outcomes(t)
				if len(o) != 2 || o[0].Verdict != want || !o[0].Certified || o[1].Verdict != verdict.Satisfied || want == verdict.Violated && !o[0].Assumes.OnSnapshots {
					t.Errorf("%s, %s: %+v", file, versions, o)
				}
			}
		}
	}
}

// TestClaimsFlags: off records nothing, require is an error where the database tells nothing.
func TestClaimsFlags(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c := isohound(t, "run", "--driver", "bbolt", "--claims", "off", "--sessions", "4", "--txns", "20", "--out", dir, "--plain", "--no-progress")
	text, err := os.ReadFile(filepath.Join(dir, "history.jsonl"))
	if err != nil || c.code != 0 && c.code != int(exitVacuous) || strings.Contains(string(text), `"commit":`) || strings.Contains(string(text), `"positions"`) || strings.Contains(c.out, "claims (") || !strings.Contains(c.msg, "--claims off") {
		t.Errorf("exit code %d, %v: %s%s", c.code, err, c.out, c.msg)
	}
	for want, args := range map[string][]string{
		"does not tell in which order transactions committed; drivers that tell it: badger": {"--driver", "cassandra", "--workload", "lwt", "--dsn", "cassandra://127.0.0.1/x", "--claims", "require"},
		"no driver tells where it placed lightweight transactions":                          {"--workload", "lwt", "--claims", "require"},
		"expected auto, log, off or require":                                                {"--claims", "some"},
		`unknown --versions "trust"`:                                                        {"--versions", "trust"},
		"the linear engine cannot assume the order":                                         {"--versions", "assume", "--engine", "linear"},
		"the replay engine needs the order":                                                 {"--versions", "ignore", "--engine", "replay"},
	} {
		if c := isohound(t, append([]string{"run"}, args...)...); c.code != int(exitUsage) || !strings.Contains(c.msg, want) {
			t.Errorf("%v: exit code %d: %s", args, c.code, c.msg)
		}
	}
	for _, d := range drivers.All() {
		if info := d.Info(); info.Embedded && !strings.Contains(isohound(t, "drivers", info.Name).out, string(drivers.Positions)) {
			t.Errorf("isohound drivers does not say that %s tells positions", info.Name)
		}
	}
}

// TestVersionsOfReads: which commit wrote what a read returned is recorded, of keys and of rows, and decides what values do not.
func TestVersionsOfReads(t *testing.T) {
	for _, tc := range []struct{ driver, isolation, lvl, workload string }{
		{"badger", "serializable", "ser", "ycsbt -p duplicates=100% -p values=2 -p think=500us"},
		{"badger", "DetectConflicts=false", "pc", "ycsbt -p duplicates=100% -p values=2 -p think=500us"},
		{"sim", "snapshot isolation", "si", "ycsbt -p duplicates=100% -p values=2 -p think=500us"},
		{"sim", "serializable", "ser", "scan -p think=500us"},
	} {
		args := []string{"run", "--driver", tc.driver, "--isolation", tc.isolation, "--check", tc.lvl, "--sessions", "8", "--txns", "60", "--keys", "20",
			"--seed", "3", "--versions", "assume", "--certify", "--json", "--quiet", "--workload"}
		c := isohound(t, append(args, strings.Fields(tc.workload)...)...)
		o := c.outcomes(t)
		if c.code != 0 || len(o) != 1 || o[0].Verdict != verdict.Satisfied || o[0].Claim == nil || !o[0].Claim.Fits || o[0].Assumes == nil || o[0].Assumes.Reads < 50 {
			t.Errorf("%+v: exit code %d: %+v %s", tc, c.code, o, c.msg)
		}
	}

	// Both writers gave x the same value. The version tells from which of them T3 read, and that T3 read a key
	// that it also wrote after T2 had overwritten it.
	file := filepath.Join(t.TempDir(), "h.txt")
	text := "s0 T1 @1: w(x,1)\ns1 T2 @2: w(x,1)\ns2 T3 @3: r(x,1)@1 w(x,2)\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := isohound(t, "check", file, "--level", "ser", "--certify")
	const misfit = "the database says that what T1 (commit 1) wrote to x came before T2 (commit 2), and T3 (commit 3) read x = 1 (version 1), which T2 had overwritten"
	if c.code != 0 || !strings.Contains(c.out, "ser satisfied") || !strings.Contains(c.out, misfit) {
		t.Errorf("hint: exit code %d: %s%s", c.code, c.out, c.msg)
	}
	c = isohound(t, "check", file, "--level", "ser,si", "--versions", "assume", "--certify")
	for _, want := range []string{"ser violated, if the claimed order is true", "si violated, if the claimed order is true",
		"with 3 of 3 versions in it, and the version that it says one read had", "T3 read x = 1 (version 1)", "r(x,1)@1 w(x,2)"} {
		if !strings.Contains(c.out, want) {
			t.Errorf("assume: %q is not in\n%s%s", want, c.out, c.msg)
		}
	}
	if c.code != 1 {
		t.Errorf("assume: exit code %d", c.code)
	}
}

// TestAssumedReachability: claimed snapshots, whose edges lead through points, do not take reachability from the engine.
func TestAssumedReachability(t *testing.T) {
	c := isohound(t, "check", write(t, "h.txt", "s0 T1 @1: w(x,1)\ns1 T2 @<0: w(x,2)\n"), "--level", "si", "--versions", "assume", "--accel", "bitset")
	if c.code != 0 || strings.Contains(c.msg, "no backend") || !strings.Contains(c.out, "reachability: bitset") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
}
