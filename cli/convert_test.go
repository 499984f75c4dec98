package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/file"
)

// TestConvertFormats: a history keeps its verdict in every format, and check detects the format.
func TestConvertFormats(t *testing.T) {
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		text string
		want verdict.Verdict
	}{
		"good": {"s1 T1: r(1,0) w(1,5)\ns2 T2: r(1,5) w(1,6)\n", verdict.Satisfied},
		"bad":  {"s1 T1: r(1,0) w(1,5)\ns2 T2: r(1,0) w(1,6)\n", verdict.Violated},
	} {
		from := write(t, name+".txt", tc.text)
		for _, f := range file.Formats {
			out := filepath.Join(dir, name+"-"+string(f))
			args := []string{"convert", from, out, "--to", string(f)}
			if f == file.Elle || f == file.ElleJSON { // in these formats keys begin absent
				args = append(args, "--lossy")
			}
			c := isohound(t, args...)
			txns := 2
			if f == file.Awdit { // an additional transaction writes the initial value
				txns = 3
			}
			if c.code != 0 || c.out != "" || strings.Contains(c.msg, "1 initial value and a mark") != (txns == 3) {
				t.Fatalf("%s: exit code %d: %s", f, c.code, c.msg)
			}
			c = isohound(t, "check", out, "--level", "ser", "--json")
			if o := c.outcomes(t); len(o) != 1 || o[0].Verdict != tc.want || o[0].Txns != txns {
				t.Errorf("%s as %s: %+v %s", name, f, o, c.msg)
			}
			if c := isohound(t, "check", out, "--level", "ser", "--format", string(f)); c.code != map[verdict.Verdict]int{verdict.Satisfied: 0, verdict.Violated: 1}[tc.want] {
				t.Errorf("%s as %s: exit code %d", name, f, c.code)
			}
		}
	}
}

// TestConvertNamed: who names the file as one of another format is told that it is native.
func TestConvertNamed(t *testing.T) {
	from, dir := write(t, "h.txt", fine), t.TempDir()
	for name, noted := range map[string]bool{"a.txt": true, "a.json.zst": true, "a.jsonl": false, "a.jsonl.zst": false, "a.zst": false, "a": false} {
		c := isohound(t, "convert", from, filepath.Join(dir, name))
		if c.code != 0 || strings.Contains(c.msg, name+" is in the format native; --to names another one") != noted {
			t.Errorf("%s: exit code %d: %s", name, c.code, c.msg)
		}
	}
	if c := isohound(t, "convert", from, filepath.Join(dir, "b.txt"), "--to", "native"); c.code != 0 || c.msg != "" {
		t.Errorf("as asked for: exit code %d: %s", c.code, c.msg)
	}
}

// TestConvertLossy: a lossy conversion is refused, with the transaction and the remedy; if it is
// allowed, the losses are listed. A refused conversion leaves nothing.
func TestConvertLossy(t *testing.T) {
	dir := t.TempDir()
	h := write(t, "h.txt", "initial nil\nopen\ns1 T4 [1,2]: r(k1,nil) w(k1,abc)\ns2 T5 [1,3]: r(k1,abc) w(k1,7) unknown\ns3 T6 [4,5]: r(k1,7) r(k2,9) abort\n")
	for _, f := range []string{"dbcop", "dbcop-json", "cobra", "cobra-uv", "text", "awdit", "elle", "elle-json"} {
		out := filepath.Join(dir, f)
		c := isohound(t, "convert", h, out, "--to", f)
		if c.code != 64 || !strings.Contains(c.msg, "the format "+f+" cannot carry this: ") || !strings.Contains(c.msg, "transaction ") ||
			!strings.Contains(c.msg, "the recording was cut off") || !strings.Contains(c.msg, ". Nothing was written; convert to native, or use --lossy") || strings.Count(c.msg, "\n") != 1 {
			t.Errorf("%s: exit code %d: %s", f, c.code, c.msg)
		}
		if _, err := os.Stat(out); !os.IsNotExist(err) {
			t.Errorf("%s: something is left: %v", f, err)
		}
		c = isohound(t, "convert", h, out, "--to", f, "--lossy")
		if c.code != 0 || !strings.Contains(c.msg, "lost: the recording was cut off: ") {
			t.Errorf("%s: exit code %d: %s", f, c.code, c.msg)
		}
		if c := isohound(t, "check", out, "--level", "ser"); c.code != 0 && c.code != 2 {
			t.Errorf("%s: exit code %d: %s%s", f, c.code, c.out, c.msg)
		}
	}
	aborted := write(t, "aborted.txt", "s1: w(1,5) abort\n")
	if c := isohound(t, "convert", aborted, filepath.Join(dir, "none"), "--to", "awdit", "--lossy"); c.code != 64 || !strings.Contains(c.msg, "the format awdit cannot carry any of the transactions") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
	c := isohound(t, "convert", h, filepath.Join(dir, "more.bincode"), "--lossy")
	want := `lost: the recording was cut off: the written history counts as complete
lost: 1 read has no known writer, first transaction 6: left out
lost: 3 transactions have times, first transaction 4: left out, so that levels with real time cannot be checked
lost: 1 key begins with a value other than 0, first transaction 4: their initial value is written as 0
lost: 1 value such as "abc" cannot stand in the file, first transaction 4: numbered
`
	for _, line := range strings.Split(want, "\n") {
		if !strings.Contains(c.msg, line) {
			t.Errorf("%q is missing from\n%s", line, c.msg)
		}
	}
	if !strings.Contains(c.msg, "lost: 1 transaction of unknown outcome was not read from, first transaction 5: written as aborted") ||
		!strings.Contains(c.msg, `note: keys are numbered: "k1" is 1, …, "k2" is 2`) {
		t.Errorf("%s", c.msg)
	}
}

// TestConvertClocks: times of several clocks do not become an order of real time. A format that says what they are keeps
// them; another one is refused, or loses them.
func TestConvertClocks(t *testing.T) {
	dir := t.TempDir()
	h := write(t, "h.jsonl", `{"isohound":3,"clock":"monotonic ns","no_common_clock":true,"initial":null}
{"txn":1,"session":1,"begin":1000,"end":2000,"status":"committed","ops":[["w",["x",0],1]]}
{"txn":2,"session":2,"begin":10,"end":20,"status":"committed","ops":[["r",0,1]]}
{"closed":{"transactions":2}}
`)
	for _, f := range file.Formats {
		out := filepath.Join(dir, string(f))
		keeps := f == file.Native || f == file.DSL
		c := isohound(t, "convert", h, out, "--to", string(f))
		if (c.code == 0) != keeps || !keeps && (c.code != 64 || !strings.Contains(c.msg, "2 transactions have times")) {
			t.Errorf("%s: exit code %d: %s", f, c.code, c.msg)
		}
		why := "needs one clock"
		if !keeps {
			why = "needs the begin and end"
			if c := isohound(t, "convert", h, out, "--to", string(f), "--lossy"); c.code != 0 || !strings.Contains(c.msg, "lost: 2 transactions have times") {
				t.Errorf("%s: exit code %d: %s", f, c.code, c.msg)
			}
		}
		for _, lvl := range []string{"sser", "strong-si"} {
			if c := isohound(t, "check", out, "--level", lvl); c.code != 2 || !strings.Contains(c.out, why) {
				t.Errorf("%s, %s: exit code %d: %s%s", f, lvl, c.code, c.out, c.msg)
			}
		}
		if c := isohound(t, "check", out, "--level", "ser"); c.code != 0 {
			t.Errorf("%s: exit code %d: %s%s", f, c.code, c.out, c.msg)
		}
	}
}

// TestConvertOut: the format follows from the name, and conversions into folders that are not
// empty, and onto a full device, fail.
func TestConvertOut(t *testing.T) {
	dir := t.TempDir()
	in := write(t, "h.txt", "s1 T1: r(1,0) w(1,5)\n")
	if c := isohound(t, "convert", in, filepath.Join(dir, "h.edn"), "--lossy"); c.code != 0 {
		t.Fatal(c.msg)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "h.edn")); !strings.HasPrefix(string(b), "{:index 0, :real-time false, :type :invoke") {
		t.Errorf("%s", b)
	}
	if c := isohound(t, "convert", in, dir, "--to", "cobra"); c.code != 74 || !strings.Contains(c.msg, "is not empty") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
	if c := isohound(t, "convert", in, filepath.Join(dir, "no", "where"), "--to", "cobra"); c.code != 74 {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
	for _, f := range file.Formats {
		if !file.Folder(f) {
			if c := isohound(t, "convert", in, "/dev/full", "--to", string(f), "--lossy"); c.code != 74 {
				t.Errorf("%s: exit code %d: %s", f, c.code, c.msg)
			}
		}
	}
}

// TestTimeoutWhileReading: the time limit also ends a reader that must read the whole file
// before the first transaction.
func TestTimeoutWhileReading(t *testing.T) {
	var b strings.Builder
	for i := range 400000 {
		fmt.Fprintf(&b, "{:process 1 :type :ok :value [[:append 1 %d]]}\n", i)
	}
	path := write(t, "h.edn", b.String())
	c := isohound(t, "check", path, "--level", "ser", "--timeout", "20ms", "--json")
	if o := c.outcomes(t); c.code != 2 || len(o) != 1 || !strings.Contains(o[0].Reason, "ran out while the history was read") {
		t.Errorf("exit code %d: %+v %s", c.code, o, c.msg)
	}
}

// TestNotUnderstood: operations that a reader left out make the verdict unknown, also after a
// conversion to native. Other formats cannot record this.
func TestNotUnderstood(t *testing.T) {
	from := write(t, "bank.edn", `{:time 1 :process 0 :type :ok :f :txn :value [[:w :x 1]]}
{:time 2 :process 0 :type :ok :f :transfer :value {:from 1 :to 2}}
`)
	const line = "1 operation was not understood and left out (1 :transfer)"
	native := filepath.Join(t.TempDir(), "bank.jsonl")
	if c := isohound(t, "convert", from, native); c.code != 0 || !strings.Contains(c.msg, "note: "+line) {
		t.Fatalf("exit code %d: %s", c.code, c.msg)
	}
	for _, path := range []string{from, native} {
		if c := isohound(t, "check", path, "--level", "ser,si", "--certify"); c.code != 2 || strings.Count(c.out, line) != 2 {
			t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
		}
		if c := isohound(t, "convert", path, filepath.Join(t.TempDir(), "out"), "--to", "text", "--lossy"); c.code != 0 || !strings.Contains(c.msg, "lost: "+line) {
			t.Errorf("exit code %d: %s", c.code, c.msg)
		}
	}
	none := write(t, "set.edn", "{:process 0 :type :ok :f :add :value 1}\n")
	if c := isohound(t, "check", none, "--level", "ser"); c.code != 2 || !strings.Contains(c.out, "1 operation was not understood and left out (1 :add), so the verdict is unknown") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	if c := isohound(t, "check", write(t, "empty", ""), "--level", "ser"); c.code != 65 || !strings.Contains(c.msg, "the file is empty") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
}
