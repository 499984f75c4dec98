package file_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/internal/randhist"
)

// zeros makes a small history whose few values are mostly the initial ones, 0 and
// absence, written and read again.
func zeros(rng *rand.Rand) *history.History {
	sym := history.NewSymbols()
	values := []history.Value{sym.Int(0), history.Absent, sym.Int(1), sym.Int(2)}
	sym.DefaultInitial = values[rng.IntN(3)]
	keys := []history.Key{sym.Key("7"), sym.Key("9")}
	if rng.IntN(2) == 0 {
		sym.SetInitial(keys[0], values[rng.IntN(3)])
	}
	few := 2 + rng.IntN(3)
	now := map[history.Key]history.Value{keys[0]: sym.Initial(keys[0]), keys[1]: sym.Initial(keys[1])}
	b := history.NewBuilder(history.Header{}, sym, 0)
	for id := range 2 + rng.Int64N(6) {
		rec := history.Record{ID: id + 1, Session: 1 + rng.Int64N(3), Status: history.Committed, Begin: history.NoTime, End: history.NoTime}
		if rng.IntN(8) == 0 {
			rec.Status = history.Aborted
		}
		for range 1 + rng.IntN(3) {
			k := keys[rng.IntN(2)]
			op := history.Op{Kind: history.Write, Key: k, Value: values[rng.IntN(few)]}
			switch rng.IntN(5) {
			case 0:
				op.Kind = history.Read
			case 1, 2:
				op.Kind, op.Value = history.Read, now[k]
			}
			if op.Kind == history.Write && rec.Status == history.Committed {
				now[k] = op.Value
			}
			rec.Ops = append(rec.Ops, op)
		}
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	return b.Done(true, nil)
}

// TestVerdictsStay: no format changes a verdict, whatever the initial values are and even if
// they are written again. Values and absent keys may be renamed.
func TestVerdictsStay(t *testing.T) {
	levels, err := level.ParseList("ser,si,ser-noso,si-noso")
	if err != nil {
		t.Fatal(err)
	}
	judge := func(h *history.History) (out []verdict.Verdict) {
		for _, l := range levels {
			r, err := checker.Check(context.Background(), h, l, checker.Options{})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, r.Verdict)
		}
		return out
	}
	rng := rand.New(rand.NewPCG(9, 7))
	counts := map[verdict.Verdict]int{}
	for range max(150, randhist.Count(t, 150)/100) { // each is written in every format
		h := zeros(rng)
		want := judge(h)
		for _, v := range want {
			counts[v]++
		}
		for _, f := range file.Formats {
			fits, losses := fitted(t, h, f)
			if file.Folder(f) && len(losses) > 0 || len(fits.Txns) == 0 {
				continue // reads with several possible writers are left out
			}
			got, err := file.Load(context.Background(), write(t, fits, f), f, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range judge(got) {
				if v != want[i] {
					t.Fatalf("%s: %s is %s, and was %s; got\n%sof\n%s", f, levels[i], v, want[i], dsl.Format(got), dsl.Format(h))
				}
			}
		}
	}
	if counts[verdict.Satisfied] < 100 || counts[verdict.Violated] < 100 {
		t.Errorf("verdicts: %v; too few say anything", counts)
	}
	t.Logf("%v", counts)
}

// TestVerdictsOfFiles: verdicts on files in other tools' formats that a reader once read
// wrongly.
func TestVerdictsOfFiles(t *testing.T) {
	for _, tc := range []struct {
		name   string
		format file.Format
		text   string
		want   string // at ser, si and sser
	}{
		{"a lost update of a value that the file loads", file.Text,
			"w(0,0,0,0)\nr(0,0,1,1)\nw(0,1,1,1)\nr(0,0,2,2)\nw(0,2,2,2)\n", "violated violated unknown"},
		{"the same of a value that was there", file.Text,
			"r(0,0,1,1)\nw(0,1,1,1)\nr(0,0,2,2)\nw(0,2,2,2)\n", "violated violated unknown"},
		{"one of two reads is from a second 0", file.Text,
			"r(0,0,1,1)\nw(0,1,1,1)\nw(0,0,0,0)\nr(0,0,2,2)\nw(0,2,2,2)\n", "satisfied satisfied unknown"},
		{"a 0 that comes after another value is a second one", file.Text,
			"w(0,7,3,3)\nw(0,0,0,0)\nr(0,0,1,1)\nw(0,1,1,1)\nr(0,0,2,2)\nw(0,2,2,2)\n", "satisfied satisfied unknown"},
		{"a read of 0 behind a newer value in the session that loaded", file.Text,
			"w(0,0,0,0)\nw(1,0,0,0)\nw(0,1,1,1)\nr(0,1,0,2)\nw(1,1,0,2)\nr(1,1,2,3)\nr(0,0,2,3)\n", "violated violated unknown"},
		{"write skew of keys that the file loads", file.Text,
			"w(1,0,0,0)\nw(2,0,0,0)\nr(1,0,1,1)\nw(2,5,1,1)\nr(2,0,2,2)\nw(1,6,2,2)\n", "violated satisfied unknown"},
		{"a lost update", file.Awdit,
			"w 0 0\n=\nr 0 0\nw 0 1\n=\nr 0 0\nw 0 2\n", "violated violated unknown"},
		{"a read without a writer", file.Awdit, "r 0 0\n", "violated violated unknown"},
		{"a reader of a value that comes before its writer", file.Awdit,
			"r 1 1\n-\nw 0 0\n=\nr 0 0\n-\nw 1 1\n", "violated violated unknown"},
		{"reads of what others wrote", file.Awdit, "w 0 0\nw 1 1\n=\nr 0 0\nw 0 2\n=\nr 0 2\nr 1 1\n", "satisfied satisfied unknown"},
		{"a lost update of a version that the file loads", file.DbcopJSON,
			`[[{"events":[["w",1,0]],"committed":true}],[{"events":[["r",1,0],["w",1,1]],"committed":true}],[{"events":[["r",1,0],["w",1,2]],"committed":true}]]`, "violated violated unknown"},
		{"a lost update of the initial version", file.DbcopJSON,
			`[[{"events":[["r",1,null],["w",1,1]],"committed":true}],[{"events":[["r",1,0],["w",1,2]],"committed":true}]]`, "violated violated unknown"},
		{"absence, then a 0 that the file writes", file.DbcopJSON,
			`[[{"events":[["r",1,null],["w",1,0]],"committed":true}],[{"events":[["r",1,0],["w",1,2]],"committed":true}]]`, "satisfied satisfied unknown"},
		{"absence behind the 0 that the file writes", file.DbcopJSON,
			`[[{"events":[["w",1,0]],"committed":true},{"events":[["r",1,null]],"committed":true}]]`, "violated violated unknown"},
		{"a stale read of a register", file.Elle, "{:process 0 :type :invoke :f :write :value 1}{:process 0 :type :ok :f :write :value 1}" +
			"{:process 1 :type :invoke :f :read :value nil}{:process 1 :type :ok :f :read :value nil}", "satisfied satisfied violated"},
		{"two compare-and-sets of one value", file.Elle, "{:process 0 :type :invoke :f :cas :value [nil 1]}{:process 1 :type :invoke :f :cas :value [nil 2]}" +
			"{:process 0 :type :ok :f :cas :value [nil 1]}{:process 1 :type :ok :f :cas :value [nil 2]}", "violated violated violated"},
		{"one of them failed", file.Elle, "{:process 0 :type :invoke :f :cas :value [nil 1]}{:process 1 :type :invoke :f :cas :value [nil 2]}" +
			"{:process 0 :type :ok :f :cas :value [nil 1]}{:process 1 :type :fail :f :cas :value [nil 2]}", "satisfied satisfied satisfied"},
		{"one of them failed, and was read", file.Elle, "{:process 1 :type :invoke :f :cas :value [nil 2]}{:process 1 :type :fail :f :cas :value [nil 2]}" +
			"{:process 0 :type :invoke :f :read :value nil}{:process 0 :type :ok :f :read :value 2}", "violated violated violated"},
		{"one of unknown outcome, which was read", file.Elle, "0\t:invoke\t:write\t1\n0\t:ok\t:write\t1\n1\t:invoke\t:cas\t[5 2]\n1\t:info\t:cas\t:timed-out\n" +
			"2\t:invoke\t:read\tnil\n2\t:ok\t:read\t2\n", "violated violated violated"},
		{"a mutex held twice", file.Elle, "{:process 0 :type :invoke :f :acquire}{:process 0 :type :ok :f :acquire}" +
			"{:process 1 :type :invoke :f :acquire}{:process 1 :type :ok :f :acquire}", "violated violated violated"},
		{"a long fork without processes", file.Elle, "[{:type :invoke :f :write :value [[:w 0 1]]}{:type :ok :f :write :value [[:w 0 1]]}{:type :invoke :f :write :value [[:w 1 1]]}{:type :ok :f :write :value [[:w 1 1]]}" +
			"{:type :invoke :f :read :value [[:r 0 nil] [:r 1 nil]]}{:type :ok :f :read :value [[:r 0 1] [:r 1 nil]]}{:type :invoke :f :read :value [[:r 1 nil] [:r 0 nil]]}{:type :ok :f :read :value [[:r 1 1] [:r 0 nil]]}]", "violated violated violated"},
		{"accounts of a bank", file.Elle, "{:process 0 :type :invoke :f :read}{:process 0 :type :ok :f :read :value {0 10, 1 10}}", "unknown unknown unknown"},
		{"a lost update beside what is not understood", file.ElleJSON, `[{"process":0,"type":"ok","f":"txn","value":[["r","x",null],["w","x",1]]},{"process":1,"type":"ok","f":"txn","value":[["r","x",null],["w","x",2]]},` +
			`{"process":2,"type":"ok","f":"reset","value":"x"}]`, "unknown unknown unknown"},
		{"nothing at all", file.ElleJSON, "[]", "unknown unknown unknown"},
		{"nothing but a comment", file.DSL, "# nothing", "unknown unknown unknown"},
	} {
		h, err := file.Load(context.Background(), "-", tc.format, strings.NewReader(tc.text))
		if err != nil {
			t.Errorf("%s, %s: %v", tc.format, tc.name, err)
			continue
		}
		got := ""
		for _, l := range []level.Level{level.SER, level.SI, level.SSER} {
			r, err := checker.Check(context.Background(), h, l, checker.Options{Certify: true})
			if err != nil {
				t.Fatal(err)
			}
			got += " " + r.Verdict.String()
		}
		if got[1:] != tc.want {
			t.Errorf("%s, %s: %s, want %s", tc.format, tc.name, got[1:], tc.want)
		}
	}
}
