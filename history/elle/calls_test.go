package elle_test

import (
	"context"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/dsl"
)

// TestCalls: reads, writes and compare-and-sets of one register.
func TestCalls(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       string
		out        string // what was left out
	}{
		{"a register", `
{:process 0 :type :invoke :f :read :value nil}
{:process 1 :type :invoke :f :write :value 3}
{:process 0 :type :ok :f :read :value nil}
{:process 1 :type :ok :f :write :value 3}
{:process 2 :type :invoke :f :cas :value [3 4]}
{:process 2 :type :ok :f :cas :value [3 4]}`,
			"s0 T2 [1000000000,3000000000]: r(register,nil)\ns1 T3 [2000000000,4000000000]: w(register,3)\ns2 T5 [5000000000,6000000000]: r(register,3) w(register,4)\n", ""},
		{"times of their own", `
{:time 5 :process 0 :type :invoke :f :read :value nil}
{:time 9 :process 0 :type :ok :f :read :value nil}`, "s0 T1 [5,9]: r(register,nil)\n", ""},
		{"failed and unknown", `
{:time 1 :process 0 :type :invoke :f :cas :value [3 4]}
{:time 2 :process 0 :type :fail :f :cas :value [3 4]}
{:time 3 :process 0 :type :invoke :f :write :value 7}
{:time 4 :process 0 :type :fail :f :write :value :timed-out}
{:time 5 :process 0 :type :invoke :f :read :value nil}
{:time 6 :process 0 :type :fail :f :read :value nil}
{:time 7 :process 1 :type :invoke :f :cas :value [3 4]}
{:time 8 :process 1 :type :info :f :cas :value :timed-out}
{:time 9 :process 2 :type :invoke :f :cas :value [5 nil]}
{:time 10 :process 3 :type :invoke :f :read}
`, "s0 T1 [1,2]: w(register,4) abort\ns0 T3 [3,4]: w(register,7) abort\ns0 T5 [5,6]: abort\ns1 T7 [7,?]: r(register,3) w(register,4) unknown\n" +
			"s2 T8 [9,?]: r(register,5) w(register,nil) unknown\ns3 T9 [10,?]: unknown\n", ""},
		{"outcomes that do not repeat what was asked", `
{:time 1 :process 0 :type :invoke :f :write :value 7}
{:time 2 :process 0 :type :ok :f :write :value nil}
{:time 3 :process 0 :type :invoke :f :cas :value [7 8]}
{:time 4 :process 0 :type :ok :f :cas :value true}`,
			"s0 T1 [1,2]: w(register,7)\ns0 T3 [3,4]: r(register,7) w(register,8)\n", ""},
		{"outcomes by themselves", `
{:time 1 :process 0 :type :ok :f :write :value 7}
{:time 2 :process 0 :type :info :f :cas :value [7 8]}
{:time 3 :process 0 :type :fail :f :cas :value :why}`,
			"s0 T0 [?,1]: w(register,7)\ns0 T1: r(register,7) w(register,8) unknown\ns0 T2 [?,3]: abort\n", ""},
		{"independent keys", `
{:time 1 :process 0 :type :invoke :f :write :value [5 7]}
{:time 2 :process 0 :type :ok :f :write :value [5 7]}
{:time 3 :process 0 :type :invoke :f :read :value [5 nil]}
{:time 4 :process 0 :type :ok :f :read :value [5 7]}
{:time 5 :process 0 :type :invoke :f :cas :value [:a [7 8]]}
{:time 6 :process 0 :type :ok :f :cas :value [:a [7 8]]}`,
			"s0 T1 [1,2]: w(5,7)\ns0 T3 [3,4]: r(5,7)\ns0 T5 [5,6]: r(a,7) w(a,8)\n", ""},
		{"a mutex", `
{:time 1 :process 0 :type :invoke :f :acquire}
{:time 2 :process 0 :type :ok :f :acquire}
{:time 3 :process 0 :type :invoke :f :release}
{:time 4 :process 0 :type :ok :f :release}
{:time 5 :process 0 :type :invoke :f :release}
{:time 6 :process 0 :type :fail :f :release :error :not-held}`,
			"s0 T1 [1,2]: r(mutex,nil) w(mutex,:held)\ns0 T3 [3,4]: r(mutex,:held) w(mutex,nil)\ns0 T5 [5,6]: w(mutex,nil) abort\n", ""},
		{"no process, side by side", `
{:type :invoke :f :write :value [[:w 0 1]]}
{:type :invoke :f :write :value [[:w 0 2]]}
{:type :invoke :f :read :value [[:r 0 nil] [:r 1 nil]]}
{:type :ok :f :write :value [[:w 0 2]]}
{:type :ok :f :read :value [[:r 0 2] [:r 1 nil]]}
{:type :ok :f :write :value [[:w 0 1]]}
{:type :ok :f :write :value [[:w 0 3]]}`,
			"s-2 T3 [2000000000,4000000000]: w(0,2)\ns-3 T4 [3000000000,5000000000]: r(0,2) r(1,nil)\ns-1 T5 [1000000000,6000000000]: w(0,1)\ns-4 T6: w(0,3)\n", ""},
		{"processes with names", `
{:process :b :type :ok :value [[:w 0 1]]}
{:process "a" :type :ok :value [[:w 0 2]]}
{:process :b :type :ok :value [[:w 0 3]]}`,
			"s-1 T0: w(0,1)\ns-2 T1: w(0,2)\ns-1 T2: w(0,3)\n", ""},
		{"what is not understood", `
{:time 1 :process 0 :type :invoke :f :transfer :value {:from 1 :to 2 :amount 5}}
{:time 2 :process 0 :type :ok :f :transfer :value {:from 1 :to 2 :amount 5}}
{:time 3 :process 0 :type :invoke :f :transfer :value {:from 1 :to 2 :amount 5}}
{:time 4 :process 0 :type :fail :f :transfer :value {:from 1 :to 2 :amount 5}}
{:time 5 :process 0 :type :invoke :f :read}
{:time 6 :process 0 :type :ok :f :read :value {1 5, 2 15}}
{:time 7 :process 1 :type :invoke :f :add :value 3}
{:time 8 :process 2 :type :invoke :f :read :value nil}
{:time 9 :process 2 :type :ok :f :read :value [1 2]}
{:time 9 :process 2 :type :ok :f :read}
{:time 9 :process 2 :type :ok :value nil}
{:time 10 :process 2 :type :ok :f :read :value #{1}}
{:time 11 :process 3 :type :invoke :f :txn :value [[:w 1 1]]}
{:time 12 :process 3 :type :info :f :txn :value :timed-out}`,
			"open\ns3 T13 [11,?]: w(1,1) unknown\n", "7 operations were not understood and left out (4 :read, 1 without :f and value, 1 :add, 1 :transfer)"},
		{"what was not understood and failed", `
{:time 1 :process 0 :type :invoke :f :transfer :value {:from 1 :to 2 :amount 5}}
{:time 2 :process 0 :type :fail :f :transfer :value {:from 1 :to 2 :amount 5}}`, "", ""},
	} {
		h, err := read(tc.text, false)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if got := dsl.Format(h); got != "initial nil\n"+tc.want || h.LeftOut != tc.out {
			t.Errorf("%s: got\n%s%q\nwant\n%s%q", tc.name, got, h.LeftOut, tc.want, tc.out)
		}
	}
}

func TestCallErrors(t *testing.T) {
	for text, want := range map[string]string{
		"{:process :a :type :ok :value []}{:process -1 :type :ok :value []}":                                   "f at byte 65: process -1 has a negative number",
		"{:process :a :type :invoke :f :read}{:process :a :type :invoke :f :read}":                             "f at byte 71: process a invokes",
		"{:process 1 :type :invoke :f :cas :value [nil [1 2]]}{:process 1 :type :ok :f :cas :value [:k [1]]} ": "f at byte 52: the key of an operation",
	} {
		if _, err := read(text, false); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestRealTime: if operations have no times, their order is the order of time.
func TestRealTime(t *testing.T) {
	const stale = `{:process 0 :type :invoke :f :write :value 1}
{:process 0 :type :ok :f :write :value 1}
{:process 1 :type :invoke :f :read :value nil}
{:process 1 :type :ok :f :read :value nil}
`
	for text, want := range map[string]verdict.Verdict{
		stale: verdict.Violated,
		strings.Replace(stale, ":value 1}", ":value 1 :real-time false}", 1): verdict.Unknown,
	} {
		h, err := read(text, false)
		if err != nil {
			t.Fatal(err)
		}
		for lvl, want := range map[level.Level]verdict.Verdict{level.SER: verdict.Satisfied, level.SSER: want} {
			r, err := checker.Check(context.Background(), h, lvl, checker.Options{Certify: true})
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != want {
				t.Errorf("%s: %s, want %s\n%s", lvl, r.Verdict, want, text)
			}
		}
	}
}

// TestTable: rows of a table or of a log are operations; other lines are skipped.
func TestTable(t *testing.T) {
	const want = "initial nil\ns0 T2 [1000000000,3000000000]: r(register,nil)\ns1 T4 [2000000000,?]: r(register,4) w(register,3) unknown\n"
	for _, text := range []string{
		"0\t:invoke\t:read\tnil\n1\t:invoke\t:cas\t[4 3]\n0\t:ok\t:read\tnil\n:nemesis\t:info\t:start\t#<odd\n1\t:info\t:cas\t:timed-out\n",
		"INFO  jepsen.core - Worker 0 starting\nINFO  jepsen.util - 0\t:invoke\t:read\tnil\r\nINFO  jepsen.util - 1\t:invoke\t:cas\t[4 3]\n" +
			"INFO  jepsen.util - 0\t:ok\t:read\tnil\nINFO  jepsen.core - something {\n2024-01-01 10:00:00\tINFO\t[jepsen worker 1] jepsen.util: :nemesis\t:info\t:start\tnil\n" +
			"2024-01-01 10:00:00\tINFO\t[jepsen worker 1] jepsen.util: 1\t:info\t:cas\t[4 3]\t:timeout",
	} {
		h, err := read(text, false)
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		if got := dsl.Format(h); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	if _, err := read("0\t:invoke\t:read\tnil\n0\t:ok\t:read\t#<odd\n", false); err == nil || !strings.HasPrefix(err.Error(), "f:2: ") {
		t.Errorf("%v", err)
	}
	if _, err := read("0\t:invoke\t:read\tnil\n0\t:ok\t:read\t"+strings.Repeat("1", 2<<20), false); err == nil || !strings.Contains(err.Error(), "line of a table") {
		t.Errorf("%v", err)
	}
}
