//go:build !front

package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
)

// TestBadInput: each mistake has its exit code and one clear line with the place or the remedy.
func TestBadInput(t *testing.T) {
	torn := write(t, "torn.jsonl", "{\"isohound\":1,\"initial\":0}\n{\"txn\":1,\"session\":1,\"status\":\"committed\",\"ops\":[[\"r\",\"x\",0]]}\n{\"txn\":2,\"ses")
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"bogus"}, 64, `unknown command "bogus"; isohound --help lists the commands`},
		{[]string{"chek", "--help"}, 64, `unknown command "chek"; did you mean check? isohound --help lists`},
		{[]string{"help", "bogus"}, 64, `unknown command "bogus"`},
		{[]string{"run", "--bogus"}, 64, "unknown flag: --bogus"},
		{[]string{"run", "--duraton", "3s"}, 64, "unknown flag: --duraton; did you mean --duration?"},
		{[]string{"completion", "foo"}, 64, `unknown shell "foo"; known are bash, fish, powershell, zsh`},
		{[]string{"completion", "bash", "foo"}, 64, "expected no argument"},
		{[]string{"run", "--claims", "log"}, 64, "has no log that tells in which order transactions committed; drivers with one: postgres"},
		{[]string{"run", "extra"}, 64, "flags only"},
		{[]string{"run", "--sessions", "x"}, 64, `isohound: --sessions: expected a whole number, not "x"`},
		{[]string{"run", "--skew=1.x"}, 64, `isohound: --skew: expected a number, not "1.x"`},
		{[]string{"run", "--duration", "3"}, 64, `isohound: --duration: expected a time such as 30s, not "3"`},
		{[]string{"run", "-q=7"}, 64, `isohound: --quiet: expected true or false, not "7"`},
		{[]string{"run", "--driver", "nope"}, 64, "known are badger, bbolt, sim, sqlite, cassandra, cockroach, dgraph, etcd, firebird, mariadb, mongo, postgres, redis, tidb, yugabyte"},
		{[]string{"run", "--driver", "postgres"}, 64, "needs --dsn, for example postgres://"},
		{[]string{"run", "--driver", "postgres", "--dsn", "garbage"}, 64, "postgres: --dsn: cannot be read"},
		{[]string{"run", "--driver", "mariadb", "--dsn", "garbage"}, 64, "mariadb: --dsn:"},
		{[]string{"run", "--driver", "postgres", "--dsn", "postgres://me:pw@127.0.0.1:1/x"}, 69, "postgres: cannot use the server: 127.0.0.1:1"},
		{[]string{"gen", "--driver", "mariadb", "--dsn", "mariadb://me@127.0.0.1:1/", "--history", "h"}, 69, "mariadb: cannot use the server: dial tcp 127.0.0.1:1"},
		{[]string{"run", "--isolation", "bogus"}, 64, `it has "serializable", "DetectConflicts=false"`},
		{[]string{"run", "--driver", "mongo", "--dsn", "mongodb://127.0.0.1:1", "--isolation", "linearizable, majority"}, 64, `isolation "linearizable, majority" of mongo is for lightweight transactions`},
		{[]string{"run", "--expect", "vacuous"}, 64, "--expect vacuous: expected satisfied or violated"},
		{[]string{"check", torn, "--level", "ser", "--expect", "x"}, 64, "--expect x: expected satisfied or violated"},
		{[]string{"run", "--check", "repeatable read"}, 64, "is not the same everywhere"},
		{[]string{"run", "--check", "foo"}, 64, "known are ser, si, ser-noso, si-noso, sser, strong-si, lin"},
		{[]string{"run", "-p", "foo=1"}, 64, `workload mini has no parameter "foo"; it has shapes`},
		{[]string{"run", "--workload", "nope"}, 64, `unknown workload "nope"`},
		{[]string{"run", "--workload", "minni"}, 64, `; did you mean "mini"?`},
		{[]string{"run", "--driver", "badgr"}, 64, `; did you mean "badger"?`},
		{[]string{"run", "--dist", "normal"}, 64, "known are uniform, zipfian, hotspot, exponential, latest"},
		{[]string{"run", "--skew", "2", "--dist", "hotspot"}, 64, "skew"},
		{[]string{"run", "--keys", "0"}, 64, "--keys must be from 1 to"},
		{[]string{"run", "--txns", "0"}, 64, "--txns must be at least 1"},
		{[]string{"run", "--rate", "-1"}, 64, "must be finite and not negative"},
		{[]string{"run", "--rate", "nan"}, 64, "must be finite and not negative"},
		{[]string{"run", "--dist", "exponential", "--skew", "1e-6"}, 64, "must be from 0.05"},
		{[]string{"run", "--check-timeout", "-1s"}, 64, "--check-timeout must not be negative"},
		{[]string{"check", torn, "--level", "ser", "--timeout", "-1s"}, 64, "--timeout must not be negative"},
		{[]string{"drivers", "a", "b"}, 64, "at most the name of a driver"},
		{[]string{"run", "--max-memory", "lots"}, 64, "expected a size such as 2GiB"},
		{[]string{"run", "--engine", "warp"}, 64, `unknown engine "warp"`},
		{[]string{"run", "--out", "/proc/isohound"}, 74, "--out"},
		{[]string{"gen"}, 64, "gen needs --history"},
		{[]string{"gen", "--history", "/nowhere/h.jsonl"}, 74, "/nowhere/h.jsonl"},
		{[]string{"gen", "--history", torn}, 74, "exists; histories are not overwritten"},
		{[]string{"check"}, 64, "at least one file"},
		{[]string{"check", torn}, 64, "check needs --level; known are"},
		{[]string{"check", torn, "--level", "repeatable read"}, 64, "is not the same everywhere"},
		{[]string{"check", torn, "--level", "ser", "--format", "xml"}, 64, "known are auto, native, dbcop, dbcop-json, cobra"},
		{[]string{"check", torn, "--level", "ser", "--pipeline", "fast"}, 64, "unknown pipeline \"fast\"; known are default, paper, cobra"},
		{[]string{"check", torn, "--level", "ser", "--pipeline", "paper,+speed"}, 64, "unknown part \"speed\" of a pipeline; known are eager, pruning"},
		{[]string{"check", torn, "--level", "ser", "--pipeline", "paper", "--engine", "linear"}, 64, "a pipeline configures the polygraph engine; leave out"},
		{[]string{"check", "/nowhere", "--level", "ser"}, 65, "open /nowhere: no such file"},
		{[]string{"check", t.TempDir(), "--level", "ser"}, 65, "this is a folder"},
		{[]string{"check", write(t, "empty", ""), "--level", "ser"}, 65, "the file is empty"},
		{[]string{"check", write(t, "bad.txt", "s1 r(x,0)\n"), "--level", "ser"}, 65, "bad.txt:1: expected a colon"},
		{[]string{"check", write(t, "dup.txt", "s1 T1: r(x,0)\ns2 T1: r(x,0)\n"), "--level", "ser"}, 65, "dup.txt:2: transaction id 1 occurs twice"},
		{[]string{"check", write(t, "long.jsonl", "{\"isohound\":1}\n"+strings.Repeat("x", 65<<20)), "--level", "ser"}, 65, "long.jsonl:2: line is longer than 64 MiB"},
		{[]string{"check", torn, "--level", "ser", "--format", "dbcop"}, 65, "torn.jsonl"},
		{[]string{"check", write(t, "lwt.txt", fine), "--level", "lin"}, 0, ""},
		{[]string{"check", write(t, "blind.txt", "s1 T5: w(x,1)\n"), "--level", "ser", "--engine", "linear"}, 2, "transaction 5 (session 1) is not a mini-transaction"},
		{[]string{"check", write(t, "untimed.txt", "s1 T5: r(x,0)\n"), "--level", "sser"}, 2, "needs the begin and end of transactions"},
		{[]string{"check", torn, "--level", "ser"}, 0, "line 3 is incomplete"},
		{[]string{"report", t.TempDir()}, 65, "is not the folder of a run"},
		{[]string{"report"}, 64, "the folder of a run"},
		{[]string{"convert", torn}, 64, "a file to read and a file to write"},
		{[]string{"convert", torn, "-", "--to", "xml"}, 64, "--to: unknown format \"xml\"; known are auto, native"},
		{[]string{"convert", torn, "-", "--to", "cobra"}, 64, "a folder cannot be written to standard output"},
		{[]string{"drivers", "nope"}, 64, "unknown driver"},
		{[]string{"workloads", "nope"}, 64, "unknown workload"},
	} {
		c := isohound(t, tc.args...)
		all := c.out + c.msg
		if c.code != tc.code || !strings.Contains(all, tc.want) {
			t.Errorf("isohound %s: exit code %d, want %d and %q\n%s", strings.Join(tc.args, " "), c.code, tc.code, tc.want, all)
		}
		if strings.Count(c.msg, "\n") > 1 {
			t.Errorf("isohound %s: more than one line:\n%s", strings.Join(tc.args, " "), c.msg)
		}
		if strings.Contains(all, ":pw@") {
			t.Errorf("a password is shown: %s", all)
		}
	}
}

// TestPrecedence: over several files and levels the first of 1, 70, 74, 69, 65, 2, 3, 0 is the
// exit code. A bad file does not prevent others from being judged.
func TestPrecedence(t *testing.T) {
	good, bad := write(t, "good.txt", fine), write(t, "bad.txt", lostUpdate)
	broken, odd := write(t, "broken.txt", "nonsense"), write(t, "odd.txt", "s1 T5: w(x,5) abort\n")
	for _, tc := range []struct {
		files []string
		code  int
		lines int
	}{
		{[]string{good}, 0, 1}, {[]string{good, odd}, 2, 2}, {[]string{good, odd, broken}, 65, 2}, {[]string{broken, odd, bad, good}, 1, 3}, {[]string{bad}, 1, 1},
	} {
		c := isohound(t, append([]string{"check", "--level", "ser", "--json"}, tc.files...)...)
		if got := len(c.outcomes(t)); c.code != tc.code || got != tc.lines {
			t.Errorf("%v: exit code %d and %d lines, want %d and %d", tc.files, c.code, got, tc.code, tc.lines)
		}
	}
	order := []exitCode{1, 70, 74, 141, 69, 65, 130, 2, 3, 0}
	for i, a := range order {
		for j, b := range order {
			if got := worse(a, b); got != order[min(i, j)] {
				t.Errorf("%d and %d make %d", a, b, got)
			}
		}
	}
}

// TestJSON: the keys that scripts rely on exist, and standard output has nothing else.
func TestJSON(t *testing.T) {
	path := write(t, "bad.txt", lostUpdate)
	c := isohound(t, "check", path, "--level", "si,ser", "--json", "--certify")
	lines := strings.Split(strings.TrimSpace(c.out), "\n")
	if len(lines) != 2 || c.code != 1 {
		t.Fatalf("exit code %d, %d lines:\n%s", c.code, len(lines), c.out)
	}
	var o map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &o); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"path", "level", "verdict", "engine", "certified", "sessions", "txns", "committed", "aborted", "unknown_outcome", "ops",
		"anomalies", "stages", "parse_seconds", "check_seconds", "explain_seconds", "peak_rss_mb", "seed"} {
		if _, ok := o[key]; !ok {
			t.Errorf("key %s is missing", key)
		}
	}
	if o["path"] != path || o["level"] != "si" || o["verdict"] != "violated" || o["engine"] != "linear" || o["certified"] != true || o["txns"] != 2.0 {
		t.Errorf("%v", o)
	}
	a := o["anomalies"].([]any)[0].(map[string]any)
	for _, key := range []string{"name", "names", "txns", "cycle", "text"} {
		if _, ok := a[key]; !ok {
			t.Errorf("key %s of an anomaly is missing", key)
		}
	}
	// Empty lists are lists, not null.
	c = isohound(t, "check", write(t, "good.txt", fine), "--level", "ser", "--json")
	if !strings.Contains(c.out, `"anomalies":[]`) || strings.Contains(c.out, "null") {
		t.Errorf("%s", c.out)
	}
}

// TestPipeline: the polygraph engine's configuration can be set, and is reported.
// TestReaderEnded: a filter ends silently when nobody reads its output any more. A violation that was found before stays one.
func TestReaderEnded(t *testing.T) {
	path, bad := write(t, "fine.txt", fine), write(t, "bad.txt", lostUpdate)
	for _, tc := range []struct {
		args []string
		code int
	}{
		{[]string{"scenarios"}, 141}, {[]string{"convert", path, "-", "--to", "dsl"}, 141}, {[]string{"convert", path, "-", "--to", "native"}, 141},
		{[]string{"check", path, "--level", "ser"}, 141}, {[]string{"check", bad, "--level", "ser", "--json"}, 1},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		c := command(t, tc.args...)
		var msg bytes.Buffer
		c.Stdout, c.Stderr = w, &msg
		_ = c.Run()
		w.Close()
		if got := c.ProcessState.ExitCode(); got != tc.code || msg.Len() > 0 {
			t.Errorf("%v: exit code %d, want %d: %s", tc.args, got, tc.code, msg.String())
		}
	}
}

func TestPipeline(t *testing.T) {
	path := write(t, "blind.txt", "s1: w(x,1) w(y,1)\ns2: w(x,2) w(y,2)\ns3: r(x,1) r(y,1)\ns4: r(x,2) r(y,2)\n")
	for _, text := range []string{"default", "paper", "paper,-pruning,+combine", "cobra"} {
		for _, lvl := range []string{"ser", "si"} {
			c := isohound(t, "check", path, "--level", lvl, "--json", "--certify", "--pipeline", text)
			o := c.outcomes(t)[0]
			if c.code != 0 || o.Engine != "polygraph" || o.Search == nil || (o.Search.Pipeline == "") != (text == "default") ||
				(o.Search.ConstraintsBefore > 0) != (text != "default") || !o.Certified {
				t.Errorf("%s: exit code %d, %+v, %+v", text, c.code, o, o.Search)
			}
		}
	}
	if c := isohound(t, "check", "--help"); !strings.Contains(c.out, "paper      the pipeline of the VeriStrong paper: eager, pruning, cycles, order, coalesce") {
		t.Errorf("%s", c.out)
	}
}

// TestLimits: exceeded limits of time and memory give the verdict unknown.
func TestLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.jsonl.zst")
	if c := isohound(t, "gen", "--txns", "10000", "--history", path, "--no-progress"); c.code != 0 {
		t.Fatal(c.msg)
	}
	for _, args := range [][]string{{"--timeout", "1ms"}, {"--max-memory", "8MB"}} {
		c := isohound(t, append([]string{"check", path, "--level", "ser,si", "--json"}, args...)...)
		for _, o := range c.outcomes(t) {
			if c.code != 2 || o.Verdict != verdict.Unknown || !strings.Contains(o.Reason, "ran out") {
				t.Errorf("%v: exit code %d, %s: %s", args, c.code, o.Verdict, o.Reason)
			}
		}
	}
	if c := isohound(t, "explain", path, "--level", "ser", "--max-memory", "8MB"); c.code != 2 || !strings.Contains(c.out, "ran out") {
		t.Errorf("explain: exit code %d, %s%s", c.code, c.out, c.msg)
	}
	for _, none := range []string{"0", "none"} {
		if c := isohound(t, "check", path, "--level", "ser", "--max-memory", none); c.code != 0 {
			t.Errorf("--max-memory %s: exit code %d, %s%s", none, c.code, c.out, c.msg)
		}
	}
}

// TestConvert: a conversion loses nothing.
func TestConvert(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	if c := isohound(t, "gen", "--txns", "50", "--rate", "20000", "--history", file("a.jsonl"), "--no-progress", "--seed", "9"); c.code != 0 {
		t.Fatal(c.msg)
	}
	for _, args := range [][]string{{"a.jsonl", "b.jsonl.zst"}, {"b.jsonl.zst", "c.jsonl"}, {"c.jsonl", "d.jsonl"}, {"a.jsonl", "a.txt", "--to", "dsl"}, {"d.jsonl", "d.txt", "--to", "dsl"},
		{"a.jsonl", "a.full", "--in-full"}, {"d.jsonl", "d.full", "--in-full"}, {"d.full", "e.jsonl"}} {
		if c := isohound(t, append([]string{"convert", file(args[0]), file(args[1])}, args[2:]...)...); c.code != 0 {
			t.Fatalf("%v: %s", args, c.msg)
		}
	}
	read := func(name string) string {
		b, err := os.ReadFile(file(name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, pair := range [][2]string{{"c.jsonl", "d.jsonl"}, {"c.jsonl", "e.jsonl"}, {"a.full", "d.full"}, {"a.txt", "d.txt"}} {
		if read(pair[0]) != read(pair[1]) {
			t.Errorf("%s and %s differ", pair[0], pair[1])
		}
	}
	// The recorder's intents are not part of the history; everything else stays.
	if text := read("a.full"); strings.Contains(text, `"intent"`) || strings.Count(text, `"session":`) != strings.Count(text, `"txn":`) {
		t.Error("a line refers to another one")
	}
	if c := isohound(t, "convert", file("a.jsonl"), "-", "--to", "dsl", "--in-full"); c.code != int(exitUsage) || !strings.Contains(c.msg, "--in-full") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
	if !strings.Contains(read("c.jsonl"), `"due":`) || !strings.Contains(read("c.jsonl"), `"seed":9`) {
		t.Error("due times or the seed are lost")
	}
	c := isohound(t, "check", file("a.jsonl"), file("b.jsonl.zst"), file("d.jsonl"), file("a.txt"), "--level", "ser", "--json")
	for _, o := range c.outcomes(t) {
		if o.Txns != c.outcomes(t)[0].Txns || o.Verdict != verdict.Satisfied {
			t.Errorf("%+v", o)
		}
	}
}

// TestRepeat: the last line of a run repeats it, with the same plan, and hides
// the password.
func TestRepeat(t *testing.T) {
	c := isohound(t, "run", "--txns", "100", "--sessions", "4", "--dist", "zipfian", "--skew", "0.7", "-p", "rollback=3%", "--no-progress")
	lines := strings.Split(strings.TrimSpace(c.msg), "\n")
	repeat, ok := strings.CutPrefix(lines[len(lines)-1], "repeat: isohound ")
	if !ok || !strings.Contains(c.msg, "seed ") {
		t.Fatalf("the last line is %q", lines[len(lines)-1])
	}
	again := isohound(t, append(strings.Fields(repeat), "--no-progress")...)
	lines = strings.Split(strings.TrimSpace(again.msg), "\n")
	if again.code != c.code || lines[len(lines)-1] != "repeat: isohound "+repeat {
		t.Errorf("exit code %d, then %q\nwant %q", again.code, lines[len(lines)-1], repeat)
	}
	for _, want := range []string{"--skew 0.7", "-p rollback=3%", "--dist zipfian", "--sessions 4", "--seed "} {
		if !strings.Contains(repeat, want) {
			t.Errorf("%q lacks %s", repeat, want)
		}
	}
	if got := commandLine("a", "b c", "it's", "x=y", ""); got != `a 'b c' 'it'\''s' x=y ''` {
		t.Errorf("quoted as %s", got)
	}
	engine, err := drivers.Find("postgres")
	if err != nil {
		t.Fatal(err)
	}
	s := &settings{engine: engine, driver: "postgres", dsns: []string{"postgres://me:secret@h/x", "host=g user=me password=secret", "postgres://"}, seed: 1}
	line := strings.Join(s.arguments(false), " ")
	if strings.Contains(line, "secret") || !strings.Contains(line, "--dsn postgres://me:xxxxx@h/x --dsn host=g user=me password=xxxxx --dsn postgres:// ") {
		t.Errorf("%s", line)
	}
}

// TestVacuous: a run that tested nothing does not pass.
func TestVacuous(t *testing.T) {
	for _, args := range [][]string{{"--sessions", "1"}, {"--txns", "1", "--sessions", "2"}, {"--sessions", "20", "--keys", "1000000", "--txns", "20"}} {
		c := isohound(t, append([]string{"run", "--json", "--no-progress"}, args...)...)
		if o := c.outcomes(t); c.code != 3 || o[0].Verdict != verdict.Vacuous || o[0].Reason == "" {
			t.Errorf("%v: exit code %d: %s", args, c.code, c.out)
		}
	}
}

// TestOut: an existing run folder is not changed.
func TestOut(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	if c := isohound(t, "run", "--txns", "100", "--out", out, "--no-progress"); c.code != 0 {
		t.Fatal(c.msg)
	}
	before, err := os.ReadFile(filepath.Join(out, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	c := isohound(t, "run", "--txns", "100", "--out", out, "--no-progress")
	if after, _ := os.ReadFile(filepath.Join(out, "config.json")); c.code != 74 || !strings.Contains(c.msg, "holds a run already") || string(after) != string(before) {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
	// Nor is one that lost its configuration.
	if err := os.Remove(filepath.Join(out, "config.json")); err != nil {
		t.Fatal(err)
	}
	c = isohound(t, "run", "--txns", "100", "--out", out, "--no-progress")
	if _, err := os.Stat(filepath.Join(out, "config.json")); c.code != 74 || !strings.Contains(c.msg, "holds a run already") || !os.IsNotExist(err) {
		t.Errorf("exit code %d, %v: %s", c.code, err, c.msg)
	}
}

// TestNothingElseIsTouched: a run does not change files in the user's own folder, even if they
// have the names of a run's files. An incomplete conversion is removed only if it is a regular
// file.
func TestNothingElseIsTouched(t *testing.T) {
	c := command(t, "run", "--txns", "200", "--no-progress")
	if err := os.WriteFile(filepath.Join(c.Dir, "config.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := finish(t, c); got.code != 0 {
		t.Errorf("exit code %d: %s", got.code, got.msg)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	bad := write(t, "bad.jsonl", "{\"isohound\":1}\nx\nx\n")
	if got := isohound(t, "convert", bad, pipe); got.code != 65 {
		t.Errorf("exit code %d: %s", got.code, got.msg)
	}
	if _, err := os.Lstat(pipe); err != nil {
		t.Error("a pipe is gone:", err)
	}
}

// TestLists: drivers and workloads are listed with what a user needs to know.
func TestLists(t *testing.T) {
	c := isohound(t, "drivers")
	for _, want := range []string{"badger", "postgres", "mariadb", `"repeatable read"`, "promises si", "promises ryw and mr, lin for lightweight", "what the server's settings say", "https://www.postgresql.org/docs/", "phantoms"} {
		if !strings.Contains(c.out, want) {
			t.Errorf("drivers lacks %q", want)
		}
	}
	c = isohound(t, "workloads", "mini")
	for _, want := range []string{"mini", "Definition 8", "-p shapes=all", "-p birth=0"} {
		if !strings.Contains(c.out, want) {
			t.Errorf("workloads lacks %q", want)
		}
	}
	for _, name := range []string{"run", "gen", "check"} {
		help := isohound(t, name, "--help").out
		flags := map[string][]string{
			"run": {"driver", "dsn", "isolation", "check", "workload", "sessions", "txns", "keys", "dist", "skew", "seed", "rate", "duration",
				"call-timeout", "check-timeout", "max-memory", "out", "json", "certify", "quiet", "no-progress", "param"},
			"gen":   {"driver", "history", "seed", "rate"},
			"check": {"level", "format", "engine", "timeout", "max-memory", "certify", "json"},
		}[name]
		if missing := slices.DeleteFunc(flags, func(f string) bool { return strings.Contains(help, "--"+f) }); len(missing) > 0 {
			t.Errorf("%s lacks %v", name, missing)
		}
	}
}
