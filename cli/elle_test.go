package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// minimalOf explains a history and returns the folder of its first anomaly.
func minimalOf(t *testing.T, path, level string) (c call, dir string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "why")
	c = isohound(t, "explain", path, "--level", level, "--out", out)
	folders, err := filepath.Glob(filepath.Join(out, "1-*"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("%v, %v\n%s%s", folders, err, c.out, c.msg)
	}
	return c, folders[0]
}

// TestExplainLists: where lists show what an append followed, the words say whose read shows it, that transaction is listed,
// and minimal.txt tells inferred reads apart.
func TestExplainLists(t *testing.T) {
	for name, tc := range map[string]struct{ text, words, listed, comment string }{
		"p5": {`{:type :ok, :f :txn, :value [[:append :x 1] [:append :x 2]], :process 0}
{:type :ok, :f :txn, :value [[:r :x [2]]], :process 1}`,
			"T0 (session 0) appended 2 to an empty x (the list that T1 read begins with 2) after it had itself written 1: it must see its own write.",
			"w(x,1) inferred r(x,nil) w(x,2)\n      T1      session 1    committed  r(x,2)\n",
			"inferred: T0 appended 2 to an empty x (the list that T1 read begins with 2).\n"},
		"p1": {`{:type :ok, :f :txn, :value [[:append :x 1]], :process 0}
{:type :ok, :f :txn, :value [[:r :x [9 1]]], :process 1}`,
			"T0 (session 0) appended 1 to x = 9 (the list that T1 read has 1 directly behind 9), a value that nobody wrote.",
			"inferred r(x,9) w(x,1)\n      T1      session 1    committed  r(x,1)\n",
			"inferred: T0 appended 1 to x = 9 (the list that T1 read has 1 directly behind 9).\n"},
		"k25": {`{:type :ok :f :txn :process 0 :value [[:append :x 1] [:r :x [1 1]]]}`,
			"T0 (session 0) appended 1 to x = 1 (the list that it read has 1 directly behind 1) before it wrote that value itself",
			"inferred r(x,nil) inferred r(x,1) w(x,1) r(x,1)\n",
			"inferred: T0 appended 1 to x = 1 (the list that it read has 1 directly behind 1).\n"},
		"lost": {`{:type :ok :f :txn :process 0 :value [[:r :x nil] [:append :x 1]]}
{:type :ok :f :txn :process 1 :value [[:r :x nil] [:append :x 2] [:r :x [2]]]}
{:type :ok :f :txn :process 2 :value [[:r :x [1]]]}`,
			"T0 (session 0) and T1 (session 1) both read x absent, the initial value, and both overwrote it",
			"r(x,nil) w(x,1)\n      T1      session 1    committed  r(x,nil) w(x,2) r(x,2)\n", ""},
		"one read, one inferred": {`{:type :ok :f :txn :process 0 :value [[:r :x nil] [:append :x 1]]}
{:type :ok :f :txn :process 1 :value [[:append :x 2]]}
{:type :ok :f :txn :process 2 :value [[:r :x [2]]]}`,
			"T0 (session 0) read x absent. T1 (session 1) appended 2 to an empty x (the list that T2 read begins with 2). Both overwrote that version",
			"inferred r(x,nil) w(x,2)\n      T2      session 2    committed  r(x,2)\n",
			"inferred: T1 appended 2 to an empty x (the list that T2 read begins with 2).\n"},
		"an append that overwrites what was read": {`{:type :ok :f :txn :process 0 :value [[:append :x 1]]}
{:type :ok :f :txn :process 1 :value [[:append :x 2] [:append :y 1]]}
{:type :ok :f :txn :process 2 :value [[:r :y [1]] [:r :x [1]]]}
{:type :ok :f :txn :process 3 :value [[:r :x [1 2]]]}`,
			"T2 -RW-> T1: T2 read x = 1, which T0 wrote; T1 appended 2 to x = 1 (the list that T3 read has 2 directly behind 1).",
			"      T3      session 3    committed  r(x,2)\n",
			"inferred: T1 appended 2 to x = 1 (the list that T3 read has 2 directly behind 1).\n"},
	} {
		c, dir := minimalOf(t, write(t, "h.edn", tc.text), "ser")
		for _, want := range []string{tc.words, tc.listed} {
			if !strings.Contains(c.out, want) {
				t.Errorf("%s: no %q in\n%s", name, want, c.out)
			}
		}
		if strings.Contains(c.out, "This alone") && strings.Contains(c.out[strings.Index(c.out, "This alone"):], "undecided") {
			t.Errorf("%s: a part is undecided at levels at which parts of lists are not judged:\n%s", name, c.out)
		}
		minimal := content(t, filepath.Join(dir, "minimal.txt"))
		if !strings.HasPrefix(minimal, "# minimal.jsonl is the one to check") || !strings.Contains(minimal, tc.comment) || (tc.comment == "") == strings.Contains(minimal, "inferred:") {
			t.Errorf("%s: minimal.txt is\n%s", name, minimal)
		}
		for _, file := range []string{"minimal.txt", "minimal.jsonl"} {
			if c := isohound(t, "check", filepath.Join(dir, file), "--level", "ser"); c.code != 1 {
				t.Errorf("%s, %s: exit %d\n%s%s", name, file, c.code, c.out, c.msg)
			}
		}
	}
}

// TestExplainNativeLists: a native file does not say which reads before appends are inferred, and neither do the words.
func TestExplainNativeLists(t *testing.T) {
	native := filepath.Join(t.TempDir(), "h.jsonl")
	if c := isohound(t, "convert", write(t, "h.edn", `{:type :ok, :f :txn, :value [[:append :x 1]], :process 0}
{:type :ok, :f :txn, :value [[:r :x [9 1]]], :process 1}`), native); c.code != 0 {
		t.Fatal(c.msg)
	}
	c, dir := minimalOf(t, native, "ser")
	if want := "read x = 9 or appended 1 to that, a value that nobody wrote."; !strings.Contains(c.out, want) {
		t.Errorf("no %q in\n%s", want, c.out)
	}
	if text := content(t, filepath.Join(dir, "minimal.txt")); !strings.Contains(text, "may be inferred") {
		t.Error(text)
	}
}

// TestExplainListsBelow: below snapshot isolation there is no counterexample for lists. The reason is told, and no empty
// folder is left.
func TestExplainListsBelow(t *testing.T) {
	path := write(t, "h.edn", `{:type :ok :f :txn :process 0 :value [[:append :x 1]]}
{:type :ok :f :txn :process 0 :value [[:r :x nil] [:append :y 1]]}
{:type :ok :f :txn :process 1 :value [[:r :x [1]] [:r :y [1]]]}`)
	out := filepath.Join(t.TempDir(), "why")
	for _, made := range []bool{false, true} {
		if made {
			if err := os.Mkdir(out, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		c := isohound(t, "explain", path, "--level", "ra", "--out", out)
		if c.code != 1 || !strings.Contains(c.msg, "nothing is written: at ra anomalies of lists with append are not made minimal") || strings.Contains(c.msg, "in time") {
			t.Errorf("exit %d\n%s%s", c.code, c.out, c.msg)
		}
		if _, err := os.Stat(out); os.IsNotExist(err) == made {
			t.Errorf("made %v: the folder: %v", made, err)
		}
	}
}

// TestMinimalOfScans: minimal.txt does not show what one statement did. It says so, and names the file that does.
func TestMinimalOfScans(t *testing.T) {
	path := write(t, "h.jsonl", `{"isohound": 1, "initial": null, "schema": [{"name": "t", "key": [{"name": "k", "type": "int"}], "groups": [{"columns": [{"name": "a", "type": "int"}, {"name": "b", "type": "int"}]}]}]}
{"initial": [["t(1)", "2,11"]]}
{"txn": 1, "session": 1, "status": "committed", "ops": [["w", "t(1)", "1,12"], ["w", "t(1)", "1,13"]]}
{"txn": 2, "session": 1, "status": "committed", "ops": [["w", "t(1)", "0,14"]], "preds": [{"kind": "update", "table": "t", "where": [["a", "between", [2, 3]]], "ops": [0, 0]}]}
{"txn": 3, "session": 1, "status": "committed", "ops": [["w", "t(1)", "1,15"]], "preds": [{"kind": "read", "table": "t", "where": [["b", ">=", 13], ["k", "=", 1]], "ops": [0, 0]}]}
{"closed": {"reason": "complete", "txns": 3}}
`)
	_, dir := minimalOf(t, path, "mr")
	if text := content(t, filepath.Join(dir, "minimal.txt")); !strings.HasPrefix(text, "# minimal.jsonl is the one to check: ") {
		t.Error(text)
	}
	if c := isohound(t, "check", filepath.Join(dir, "minimal.jsonl"), "--level", "mr"); c.code != 1 {
		t.Errorf("exit %d\n%s%s", c.code, c.out, c.msg)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
