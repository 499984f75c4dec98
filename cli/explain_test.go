package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/results"
)

const writeSkew = "s1 T1 [0,5]: r(x,0) r(y,0) w(x,1)\ns2 T2 [2,7]: r(x,0) r(y,0) w(y,1)\n"

// TestStandingInCheck: a violated verdict reports which levels are violated with it, in one line
// and in JSON, unless the user switches that off; a satisfied verdict does not.
func TestStandingInCheck(t *testing.T) {
	path := write(t, "skew.txt", writeSkew)
	c := isohound(t, "check", path, "--level", "ser,si")
	if c.code != 1 || strings.Count(c.out, "violates ser-noso, and so every stronger level; satisfies strong-si") != 1 {
		t.Errorf("exit %d\n%s%s", c.code, c.out, c.msg)
	}
	for _, engine := range []string{"auto", "polygraph", "baseline"} {
		c = isohound(t, "check", path, "--level", "ser,si", "--json", "--engine", engine)
		var first, second results.Outcome
		d := json.NewDecoder(strings.NewReader(c.out))
		if err := d.Decode(&first); err != nil {
			t.Fatal(err)
		}
		if err := d.Decode(&second); err != nil {
			t.Fatal(err)
		}
		if s := first.Standing; s == nil || !slices.Equal(s.Not, []string{"ser-noso"}) || !slices.Equal(s.AlsoNot, []string{"ser", "sser"}) || !slices.Equal(s.Holds, []string{"strong-si"}) {
			t.Errorf("%s: %+v", engine, s)
		}
		if a := first.Anomalies; len(a) != 1 || a[0].Name != "WriteSkew" || a[0].Counterexample == nil || !a[0].Counterexample.Minimal {
			t.Errorf("%s: %+v", engine, a)
		}
		if second.Verdict != verdict.Satisfied || second.Standing != nil {
			t.Errorf("%s: %+v", engine, second)
		}
	}
	c = isohound(t, "check", path, "--level", "ser", "--explain-timeout", "0")
	if c.code != 1 || strings.Contains(c.out, "satisfies") || !strings.Contains(c.out, "WriteSkew") {
		t.Errorf("exit %d\n%s%s", c.code, c.out, c.msg)
	}
}

// TestExplain: the written counterexample has the same verdict, and the folder is not
// overwritten.
func TestExplain(t *testing.T) {
	path := write(t, "skew.txt", writeSkew+"s3 T3 [8,9]: r(x,1) r(z,0)\ns3 T4 [10,11]: r(z,0) w(z,1)\n")
	out := filepath.Join(t.TempDir(), "why")
	c := isohound(t, "explain", path, "--level", "ser", "--out", out)
	if c.code != 1 || !strings.Contains(c.out, "T1 -RW-> T2: T1 read y = 0, the initial value; T2 overwrote that: it wrote 1.") || !strings.Contains(c.msg, "written: ") {
		t.Fatalf("exit %d\n%s%s", c.code, c.out, c.msg)
	}
	dir := filepath.Join(out, "1-WriteSkew")
	for name, want := range map[string]string{
		"minimal.txt": "s1 T1 [0,5]: r(y,0) w(x,1)\ns2 T2 [2,7]: r(x,0) w(y,1)\n", "graph.svg": "RW x = 0", "graph.dot": `"T1" -> "T2"`, "timeline.svg": "session 2", "explanation.txt": "WriteSkew",
	} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %v\n%s", name, err, b)
		}
	}
	for _, name := range []string{"minimal.txt", "minimal.jsonl"} {
		for lvl, code := range map[string]int{"ser": 1, "si": 0} {
			if c := isohound(t, "check", filepath.Join(dir, name), "--level", lvl, "--certify"); c.code != code {
				t.Errorf("%s, %s: exit %d\n%s%s", name, lvl, c.code, c.out, c.msg)
			}
		}
	}
	if c := isohound(t, "explain", path, "--level", "ser", "--out", out); c.code != 74 || !strings.Contains(c.msg, "is not empty; name a new folder") {
		t.Errorf("exit %d: %s", c.code, c.msg)
	}
	if c := isohound(t, "explain", path, "--level", "si"); c.code != 0 || !strings.Contains(c.out, "satisfied") {
		t.Errorf("exit %d: %s%s", c.code, c.out, c.msg)
	}
	if c := isohound(t, "explain", path, "--level", "ser", "--engine", "baseline", "-q"); c.code != 1 || !strings.Contains(c.out, "WriteSkew (write-skew, G2-item)") {
		t.Errorf("exit %d: %s%s", c.code, c.out, c.msg)
	}
	for _, args := range [][]string{{"explain"}, {"explain", path}, {"explain", path, "--level", "xyzzy"}, {"explain", path, "--level", "ser", "--explain-timeout", "0"}, {"check", path, "--level", "ser", "--explain-timeout", "-1s"}} {
		if c := isohound(t, args...); c.code != 64 {
			t.Errorf("%v: exit %d: %s", args, c.code, c.msg)
		}
	}
}

// TestLevelsTogether: outcomes are in the order in which the levels were given, and a level
// whose verdict follows from another one says so.
func TestLevelsTogether(t *testing.T) {
	serial := write(t, "serial.txt", "s1 [0,1]: r(x,0) w(x,1)\ns2 [2,3]: r(x,1) w(x,2)\n")
	untimed := write(t, "lost.txt", "s1: r(x,0) w(x,1)\ns2: r(x,0) w(x,2)\n")
	for _, tc := range []struct {
		path, levels string
		code         int
		want         []string // verdict, then what it follows from
	}{
		{serial, "ser,si,sser,ser-noso", 0, []string{"satisfied sser", "satisfied sser", "satisfied ", "satisfied sser"}},
		{write(t, "skew.txt", writeSkew), "si,ser,strong-si,sser", 1, []string{"satisfied strong-si", "violated ", "satisfied ", "violated "}},
		{untimed, "sser,si", 1, []string{"violated ser", "violated "}},
		{untimed, "strong-si", 1, []string{"violated si"}},
		{write(t, "fine.txt", "s1: r(x,0) w(x,1)\ns2: r(x,1) w(x,2)\n"), "strong-si", 2, []string{"unknown "}},
	} {
		c := isohound(t, "check", tc.path, "--level", tc.levels, "--certify", "--json")
		got := c.outcomes(t)
		if c.code != tc.code || len(got) != len(tc.want) {
			t.Fatalf("%s at %s: exit code %d, %+v", tc.path, tc.levels, c.code, got)
		}
		for n, o := range got {
			if asked := strings.Split(tc.levels, ",")[n]; o.Level != asked || o.Verdict.String()+" "+o.FollowsFrom != tc.want[n] || o.Certified != (o.Verdict != verdict.Unknown) {
				t.Errorf("%s at %s: %+v", tc.path, asked, o)
			}
			if o.Verdict == verdict.Violated && (o.Standing == nil || len(o.Anomalies) == 0 || o.Anomalies[0].Counterexample == nil) {
				t.Errorf("%s at %s: not explained: %+v", tc.path, o.Level, o)
			}
		}
	}
	if c := isohound(t, "check", untimed, "--level", "sser,si"); strings.Count(c.out, "\n  follows from ser\n") != 1 {
		t.Errorf("%s%s", c.out, c.msg)
	}
}

// TestExplainKeys: check reads what explain writes, for any keys and values, and they stay the
// same.
func TestExplainKeys(t *testing.T) {
	for _, key := range []string{`""`, `"a b"`, `"stock(1,17).level"`, `")"`, `"a#=\"[1]"`, `"\n"`, `"\u0001"`, `"\u007f"`, `"nil"`, `"7"`, `"\ud800"`} {
		path := write(t, "h.jsonl", `{"isohound":1,"initial":`+key+"}\n"+
			`{"txn":1,"session":1,"status":"committed","ops":[["r",`+key+","+key+`],["w",`+key+`,1.5]]}`+"\n"+
			`{"txn":2,"session":2,"status":"committed","ops":[["r",`+key+","+key+`],["w",`+key+`,"1.5"]]}`+"\n"+`{"closed":{"reason":"complete","txns":2}}`+"\n")
		out := filepath.Join(t.TempDir(), "why")
		if c := isohound(t, "explain", path, "--level", "si", "--out", out); c.code != 1 {
			t.Fatalf("%s: exit %d: %s%s", key, c.code, c.out, c.msg)
		}
		for _, name := range []string{"minimal.txt", "minimal.jsonl"} {
			from := filepath.Join(out, "1-LostUpdate", name)
			if c := isohound(t, "check", from, "--level", "si"); c.code != 1 {
				t.Errorf("%s, %s: exit %d: %s%s", key, name, c.code, c.out, c.msg)
			}
			if c := isohound(t, "convert", from, "-", "--to", "native", "--in-full"); !strings.Contains(c.out, `["r",`+key+","+key+`],["w",`+key+`,1.5]`) || !strings.Contains(c.out, `"1.5"`) {
				t.Errorf("%s, %s: %s%s", key, name, c.out, c.msg)
			}
		}
	}
}

// TestExplainCannotWrite: if a file cannot be written, the verdict is told once, with the error of that file, and no part of the
// explanation stays. Here the path of one file is longer than Linux allows, and the others' are not.
func TestExplainCannotWrite(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it needs the PATH_MAX of Linux")
	}
	skew := write(t, "skew.txt", "s1: r(x,0) r(y,0) w(x,1)\ns2: r(x,0) r(y,0) w(y,2)\n")
	const longest = 4095
	out := t.TempDir()
	length := longest - len("/1-WriteSkew/minimal.txt")
	for length-len(out) > 400 {
		out += "/" + strings.Repeat("d", 200)
	}
	out += "/" + strings.Repeat("d", (length-len(out))/2-1)
	out += "/" + strings.Repeat("d", length-len(out)-1)
	c := isohound(t, "explain", skew, "--level", "ser", "--out", out)
	if c.code != int(exitViolated) || strings.Count(c.out, "ser violated") != 1 || strings.Count(c.msg, "\n") != 1 ||
		!strings.Contains(c.msg, "1-WriteSkew/") || !strings.HasSuffix(c.msg, ": file name too long\n") {
		t.Errorf("exit %d: %s%s", c.code, c.out, c.msg)
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("the folder stays: %v", err)
	}
}
