package elle_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/elle"
)

func read(text string, json bool) (*history.History, error) {
	return history.Load(context.Background(), elle.NewReader(strings.NewReader(text), "f", json))
}

func TestRegisters(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		json       bool
		want       string
	}{
		{"stream", `
; Jepsen writes a map a line
{:index 0, :time 10, :process 0, :type :invoke, :f :txn, :value [[:r :x nil] [:w :y "a"]]}
{:index 1 :time 12 :process 1 :type :invoke :f :txn :value [[:w 5 2]]}
{:index 2 :time 20 :process 0 :type :ok :f :txn :value [[:r :x nil] [:w :y "a"]] :extra {:a #{1 2}}}
{:index 3 :time 25 :process 1 :type :fail :f :txn :value [[:w 5 2]] :error [:conflict "x"]}
`, false, "initial nil\ns0 T2 [10,20]: r(x,nil) w(y,a)\ns1 T3 [12,25]: w(5,2) abort\n"},
		{"vector and tags", `[#jepsen.history.Op{:process 3 :type :ok :value ((:r x 1) (:w :y true))}, #_ {:type :bad}]`,
			false, "initial nil\ns3 T0: r(x,1) w(y,true)\n"},
		{"JSON", `[{"index":7,"time":5,"process":0,"type":"invoke","f":"txn","value":[["w","x",2],["r","y",null]]},
{"index":8,"time":9,"process":0,"type":"ok","f":"txn","value":[["w","x",2],["r","y",-3]]}]`,
			true, "initial nil\ns0 T8 [5,9]: w(x,2) r(y,-3)\n"},
		{"reads of unknown and aborted are not known", `
{:process 0 :type :invoke :f :txn :value [[:r 1 nil] [:w 1 1]] :real-time false}
{:process 0 :type :info :f :txn :value [[:r 1 7] [:w 1 1]] :error :timeout}
{:process 0 :type :invoke :f :txn :value [[:r 1 nil]]}
{:process 0 :type :fail :f :txn :value [[:r 1 5]]}
{:process 4 :type :invoke :f :txn :value [[:w 2 1] [:r 1 nil]]}
`, false, "initial nil\ns0 T1: w(1,1) unknown\ns0 T3: abort\ns4 T4: w(2,1) unknown\n"},
		{"values chosen after the invocation, fields of no meaning twice", `
{:process 0 :type :invoke :f :txn :value [[:w 1 nil] [:r 1 nil]] :time 1 :note 1 :note 2}
{:process 0 :type :ok :f :txn :value [[:w 1 7] [:r 1 7]] :time 2}
`, false, "initial nil\ns0 T1 [1,2]: w(1,7) r(1,7)\n"},
		{"other operations", `
{:process :nemesis :type :info :f :kill :value ["n1" "n2"]}
{:process :nemesis :type :info :f :kill :value {"n1" :killed}}
{:process 1 :type :ok :f :txn :value []}
{:process 1 :type :invoke :f :read :value nil}
{:process 1 :type :ok :f :read :value [1 2]}
`, false, "initial nil\nopen\ns1 T2:\n"},
		{"scalars", `{:process 1 :type :ok :value [[:w 1 :kw] [:w 2 1/2] [:w 3 7N] [:w 4 1.50] [:w 5 \a] [:w 6 9223372036854775808]]}`,
			false, "initial nil\ns1 T0: w(1,:kw) w(2,1/2) w(3,7) w(4,1.50) w(5,a) w(6,9223372036854775808)\n"},
		{"empty", "", false, "initial nil\n"},
	} {
		h, err := read(tc.text, tc.json)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if got := dsl.Format(h); got != tc.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}

// TestLists: what lists become, and whether that is serializable.
func TestLists(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       string
		ok         bool
	}{
		{"an order", `
{:process 0 :type :ok :value [[:append :x 1]]}
{:process 1 :type :ok :value [[:r :x [1]] [:append :x 2]]}
{:process 2 :type :ok :value [[:r :x [1 2]] [:r :y []] [:r :z nil]]}`,
			"s0 T0: r(x,nil) w(x,1)\ns1 T1: r(x,1) w(x,2)\ns2 T2: r(x,2) r(y,nil) r(z,nil)\n", true},
		{"own reads", `
{:process 0 :type :ok :value [[:append :x 1] [:append :x 2] [:r :x [1 2]] [:append :x 3] [:r :x [1 2 3]]]}`,
			"s0 T0: r(x,nil) w(x,1) w(x,2) r(x,2) w(x,3) r(x,3)\n", true},
		{"a blind append", `
{:process 0 :type :ok :value [[:append :x 1]]}
{:process 1 :type :ok :value [[:append :x 2]]}
{:process 2 :type :ok :value [[:r :x [1]]]}`,
			"s0 T0: r(x,nil) w(x,1)\ns1 T1: w(x,2)\ns2 T2: r(x,1)\n", true},
		{"unknown and aborted appends", `
{:process 0 :type :info :value [[:append :x 1]]}
{:process 1 :type :ok :value [[:append :x 2]]}
{:process 2 :type :fail :value [[:append :x 3]]}
{:process 2 :type :ok :value [[:r :x [1 2]]]}`,
			"s0 T0: r(x,nil) w(x,1) unknown\ns1 T1: r(x,1) w(x,2)\ns2 T2: w(x,3) abort\ns2 T3: r(x,2)\n", true},
		{"an aborted append is read", `
{:process 2 :type :fail :value [[:append :x 3]]}
{:process 2 :type :ok :value [[:r :x [3]]]}`,
			"s2 T0: w(x,3) abort\ns2 T1: r(x,3)\n", false},
		{"a lost update", `
{:process 0 :type :ok :value [[:r :x nil] [:append :x 1]]}
{:process 1 :type :ok :value [[:r :x nil] [:append :x 2]]}
{:process 2 :type :ok :value [[:r :x [1 2]]]}`,
			"s0 T0: r(x,nil) w(x,1)\ns1 T1: r(x,nil) r(x,1) w(x,2)\ns2 T2: r(x,2)\n", false},
		{"lists that disagree", `
{:process 0 :type :ok :value [[:append :x 1]]}
{:process 1 :type :ok :value [[:append :x 2]]}
{:process 2 :type :ok :value [[:r :x [1 2]]]}
{:process 3 :type :ok :value [[:r :x [2 1]]]}`,
			"s0 T0: r(x,nil) r(x,2) w(x,1)\ns1 T1: r(x,1) r(x,nil) w(x,2)\ns2 T2: r(x,2)\ns3 T3: r(x,1)\n", false},
		{"an element twice in a list", `
{:process 0 :type :ok :value [[:append :x 1]]}
{:process 1 :type :ok :value [[:r :x [1 1]]]}`,
			"s0 T0: r(x,nil) r(x,1) w(x,1)\ns1 T1: r(x,1)\n", false},
		{"an element of nobody", `
{:process 0 :type :ok :value [[:append :x 1]]}
{:process 1 :type :ok :value [[:r :x [9 1]]]}`,
			"s0 T0: r(x,9) w(x,1)\ns1 T1: r(x,1)\n", false},
		{"retried after an abort", `
{:process 0 :type :fail :value [[:append :x 1]]}
{:process 0 :type :ok :value [[:append :x 1]]}
{:process 1 :type :ok :value [[:r :x [1]]]}`,
			"s0 T0: w(x,1) abort\ns0 T1: r(x,nil) w(x,1)\ns1 T2: r(x,1)\n", true},
		{"transactions before the first append stream, in order", `
{:process 0 :type :ok :value [[:r :x nil]]}
{:process 0 :type :invoke :value [[:append :x 1]]}
{:process 1 :type :ok :value [[:append :y 2]]}
{:process 1 :type :ok :value [[:r :x [1]]]}`,
			"s0 T0: r(x,nil)\ns1 T2: w(y,2)\ns1 T3: r(x,1)\ns0 T1 [2000000000,?]: r(x,nil) w(x,1) unknown\n", true},
	} {
		h, err := read(tc.text, false)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if got := dsl.Format(h); got != "initial nil\n"+tc.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tc.name, got, tc.want)
		}
		r, err := checker.Check(context.Background(), h, ser(t), checker.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if (r.Verdict == verdict.Violated) == tc.ok && r.Verdict != verdict.Unknown {
			t.Errorf("%s: %s", tc.name, r.Verdict)
		}
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"{:process 1 :type :ok :value [[:r :x 1]":                                                            "f at byte 39: the file ends in the middle",
		"\n{:process 1 :type :ok\n:value [[:r :x 1]]}\n{:process 1}":                                         "f:4: an operation has no :type",
		"{:process 1 :type :maybe}":                                                                          "f at byte 24: the :type of an operation is",
		"{:process 1 :type :invoke}\n{:process 1 :type :invoke}":                                             "f:2: process 1 invokes",
		"{:process 1 :type :ok :f :txn :value 5}":                                                            "f at byte 38: the value of a transaction is not",
		"{:process 1 :type :ok :f :txn :value [[:inc :x 5]]}":                                                "f at byte 50: the value of a transaction contains inc",
		"{:process 1 :type :ok :value [[:r :x 5] [:inc :x 5]]}":                                              "f at byte 52: the value of a transaction contains inc",
		"{:process 1 :type :ok :value [[:r :x]]}":                                                            "f at byte 36: the value of a micro-operation",
		"{:process 1 :type :ok :value [[:r]]}":                                                               "f at byte 33: the key of an operation",
		"{:process 1 :type :ok :value [[:r :x 1 2]]}":                                                        "f at byte 39: a micro-operation has more",
		"{:process 1 :type :ok :value [[:w :x [1]]]}":                                                        "f at byte 37: the value of a micro-operation",
		"{:process 1 :type :ok :value [[:append :x nil]]}":                                                   "f at byte 42: nil is appended",
		"{:process 1 :type :ok :value [[:r :x [1 nil]]]}":                                                    "f at byte 40: a list has nil",
		"{:process 1 :type :ok :value [[:w :x 1] [:append :x 2]]}":                                           "f at byte 55: key x is used as a list",
		"{:process 1 :type :ok :value [[:w :x :a] [:w :y \":a\"]]}":                                          "f at byte 48: value :a occurs in two types",
		"{:process 1 :type :ok :value [[:w :x \"1/2\"] [:w :y 1/2]]}":                                        "f at byte 51: value 1/2 occurs in two types",
		"{:process 1 :type :ok :value [[:w :x 1] [:r \"x\" 2]]}":                                             "f at byte 44: key x occurs in two types",
		"{:process 1 :type :ok :value [[:append :x 2]]}{:process 1 :type :info :value [[:append :x 2]]}":     "f at byte 93: element 2 is appended to key x twice, by operations 0 and 1",
		"{:process 1 :index 5 :type :ok :value []}{:index 5 :process 1 :type :ok :value []}":                 "f at byte 81: transaction id 5 occurs twice",
		"{:process 1 :index x}":                                                                              "f at byte 19: the index of an operation",
		"5":                                                                                                  "f at byte 0: expected a map",
		"[{:process 1 :type :ok}] 5":                                                                         "f at byte 25: there is data after",
		"{:process 1 :type :invoke :value [[:w 1 1]]}{:process 1 :type :ok}":                                 "f at byte 65: an :ok operation has no value",
		"{:process 1 :type :invoke :value [[:w 1 1]]}{:process 1 :type :ok :f :read :value nil}":             "f at byte 85: an operation is invoked as a transaction",
		"{:a " + strings.Repeat("[", 100):                                                                    "f at byte 67: forms are nested more than 64 deep",
		"{:process 1 :time 9 :type :invoke}{:process 1 :time 5 :type :ok :value []}":                         "f at byte 73: transaction 1 ends at 5",
		"{:process 1 :type :invoke :value [[:r :x nil] [:w 1 1]]}\n{:process 1 :type :ok :value [[:w 1 1]]}": "f:2: an :ok operation has other micro-operations",
		"{:process 1 :type :invoke :value [[:w 1 1]]}\n{:process 1 :type :ok :value [[:w 1 2]]}":             "f:2: an :ok operation has other micro-operations",
		"{:process 1 :type :invoke :value [[:r 1 nil]]}\n{:process 1 :type :ok :value [[:r 2 1]]}":           "f:2: an :ok operation has other micro-operations",
		"{:process 1 :type :invoke :value [[:append 1 1]]}\n{:process 1 :type :ok :value [[:w 1 1]]}":        "f:2: an :ok operation has other micro-operations",
		"{:process 1 :type :invoke :value [[:w 1 1]] :type :ok}":                                             "f at byte 44: an operation has :type twice",
		"{:process 1\n:type :ok :value []\n:process 2}":                                                      "f:3: an operation has :process twice",
	} {
		_, err := read(text, false)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.100q: %v, want %q", text, err, want)
		}
	}
}

const jepsen = `{:index 0, :time 1, :process 0, :type :invoke, :f :txn, :value [[:append :x 1] [:r :y nil]]}
{:index 1, :time 2, :process 0, :type :ok, :f :txn, :value [[:append :x 1] [:r :y [5 "b"]]]}
{:index 2, :time 3, :process 1, :type :info, :f :txn, :value [[:append :y 5]], :error "t"}
`

// TestCut: a file that was cut inside an operation is an error with its position.
func TestCut(t *testing.T) {
	for n := range jepsen {
		_, err := read(jepsen[:n], false)
		whole := strings.TrimSuffix(jepsen[:n], "\n")
		if complete := whole == "" || strings.HasSuffix(whole, "}"); (err == nil) != complete {
			t.Errorf("cut at %d: %v", n, err)
		}
		if _, err := read("["+jepsen[:n], false); err == nil || !strings.HasPrefix(err.Error(), "f") {
			t.Errorf("vector cut at %d: %v", n, err)
		}
	}
}

// TestOrder: operations are written in the order of their times. At the same time, begins come
// before ends.
func TestOrder(t *testing.T) {
	h := dsl.MustParse("initial nil\ns1 T1 [1,5]: w(x,1)\ns2 T2 [2,?]: w(x,2) unknown\ns1 T3 [5,9]: r(x,1) w(y,text)\ns3 T4 [5,6]: abort")
	var b bytes.Buffer
	if err := elle.Write(&b, h, false); err != nil {
		t.Fatal(err)
	}
	want := `{:index 0, :time 1, :type :invoke, :process 1, :f :txn, :value [[:w, "x", 1]]}
{:index 1, :time 2, :type :invoke, :process 2, :f :txn, :value [[:w, "x", 2]]}
{:index 2, :type :info, :process 2, :f :txn, :value [[:w, "x", 2]]}
{:index 3, :time 5, :type :invoke, :process 3, :f :txn, :value []}
{:index 4, :time 5, :type :ok, :process 1, :f :txn, :value [[:w, "x", 1]]}
{:index 5, :time 5, :type :invoke, :process 1, :f :txn, :value [[:r, "x", nil], [:w, "y", "text"]]}
{:index 6, :time 6, :type :fail, :process 3, :f :txn, :value []}
{:index 7, :time 9, :type :ok, :process 1, :f :txn, :value [[:r, "x", 1], [:w, "y", "text"]]}
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// FuzzRead: any input gives a history or an error, and takes memory in proportion to its size.
// What was read is the same after it was written and read again.
func FuzzRead(f *testing.F) {
	f.Add([]byte(jepsen), false)
	f.Add([]byte(`[{"index":7,"process":0,"type":"ok","f":"txn","value":[["w","x",2],["r","y",null]]}]`), true)
	f.Add([]byte("{:type :invoke :f :cas :value [1 2]}{:type :ok :f :cas :value [1 2]}{:process :a :type :ok :f :read :value [:k 3]}"), false)
	f.Add([]byte("INFO  jepsen.util - 0\t:invoke\t:cas\t[4 3]\n0\t:ok\t:cas\t[4 3]\n"), false)
	f.Add([]byte(`[{"type":"ok","f":"transfer","process":0,"value":{"a":null}},{"type":"ok","f":"read","process":null,"value":null}]`), true)
	f.Add([]byte(`[#a{:process 0 :type :info :value [(:r 1 nil) [:w 2 -7.5]]}] ; x`), false)
	f.Fuzz(func(t *testing.T, data []byte, json bool) {
		h, err := read(string(data), json)
		if err != nil {
			return
		}
		if 4*len(h.AllOps()) > len(data)+4 {
			t.Errorf("%d operations from %d bytes", len(h.AllOps()), len(data))
		}
		for i := range h.Txns {
			if h.Txns[i].Status != history.Committed {
				return // their appends may have become reads
			}
		}
		var b bytes.Buffer
		if err := elle.Write(&b, h, json); err != nil {
			t.Fatal(err)
		}
		if _, err := read(b.String(), json); err != nil {
			t.Fatalf("%q was written as %q: %v", data, b.String(), err)
		}
	})
}

func ser(t *testing.T) level.Level {
	t.Helper()
	all, err := level.ParseList("ser")
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}
