package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// apart spells the operations of a history, with the position of each value that ByVersion told apart.
func apart(h *history.History) string {
	var b strings.Builder
	for i := range h.Txns {
		for _, op := range h.Ops(&h.Txns[i]) {
			b.WriteString(" " + dsl.Op(h, op))
			if at := h.Commit(op.Value); at != 0 {
				fmt.Fprintf(&b, "#%d", at)
			}
		}
	}
	return strings.TrimSpace(b.String())
}

// TestByVersion: values are told apart where it matters which of several writers a read is from, and nowhere else.
func TestByVersion(t *testing.T) {
	const two = "s0 @1: w(x,1)\ns1 @2: w(x,1)\n"
	for _, tc := range []struct{ name, text, want string }{
		{"two writers", two + "s2 @3: r(x,1)@1 r(x,1)@2", "w(x,1)#1 w(x,1)#2 r(x,1)#1 r(x,1)#2"},
		{"one writer", "s0 @1: w(x,1)\ns2 @3: r(x,1)@1", "w(x,1) r(x,1)"},
		{"like the initial value", "initial x=1\ns0 @1: w(x,1)\ns2 @3: r(x,1)@1 \ns3 @4: r(x,1)@0", "w(x,1)#1 r(x,1)#1 r(x,1)"},
		{"of a position before the history", "initial x=1\ns0 @11: w(x,1)\ns2 @13: r(x,1)@5", "w(x,1)#11 r(x,1)"},
		{"a read without a version", two + "s2 @3: r(x,1)@1\ns3 @4: r(x,1)", "w(x,1) w(x,1) r(x,1) r(x,1)"},
		{"a read of one that aborted", two + "s2 @3: r(x,1)@1\ns3 @4: r(x,1) abort", "w(x,1)#1 w(x,1)#2 r(x,1)#1 r(x,1)"},
		{"a version in one that aborted", two + "s2 @3: r(x,1)@1\ns3 @4: r(x,1)@2 w(x,1) r(x,1) abort", "w(x,1)#1 w(x,1)#2 r(x,1)#1 r(x,1)#2 w(x,1) r(x,1)"},
		{"a failed comparison", two + "s2 @3: r(x,1)@1\ns3 @4: n(x,1)", "w(x,1) w(x,1) r(x,1) n(x,1)"},
		{"a writer without a position", two + "s2: w(x,1) unknown\ns3 @4: r(x,1)@2 \ns4 @6: r(x,1)@5", "w(x,1)#1 w(x,1)#2 w(x,1) r(x,1)#2 r(x,1)"},
		{"nobody has the position", two + "s4 @6: r(x,1)@5", "w(x,1) w(x,1) r(x,1)"},
		{"an aborted writer", "s0 @1: w(x,1)\ns1: w(x,1) abort\ns2 @3: r(x,1)@1", "w(x,1)#1 w(x,1) r(x,1)#1"},
		{"it wrote another value", "s0 @1: w(x,1)\ns1 @2: w(x,2)\ns2 @3: r(x,1)@2", "w(x,1) w(x,2) r(x,1)#2"},
		{"it wrote another key", "s0 @1: w(x,1)\ns1 @2: w(y,2)\ns2 @3: r(x,1)@2", "w(x,1) w(y,2) r(x,1)#2"},
		{"an intermediate value", "s0 @1: w(x,1) w(x,2)\ns2 @3: r(x,1)@1", "w(x,1) w(x,2) r(x,1)"},
		{"an intermediate value of one of two", "s0 @1: w(x,1) w(x,2)\ns1 @2: w(x,1)\ns2 @3: r(x,1)@1", "w(x,1)#1 w(x,2) w(x,1)#2 r(x,1)#1"},
		{"own writes", two + "s2 @3: r(x,1)@1 w(x,1) r(x,1) w(x,2) r(x,2)", "w(x,1)#1 w(x,1)#2 r(x,1)#1 w(x,1)#3 r(x,1)#3 w(x,2) r(x,2)"},
		{"deletions", "s0 @1: w(x,nil)\ns1 @2: w(x,nil)\ns2 @3: r(x,nil)@1", "w(x,nil) w(x,nil) r(x,nil)"},
		{"without positions", "s0: w(x,1)\ns1: w(x,1)\ns2: r(x,1)@1", "w(x,1) w(x,1) r(x,1)"},
		{"texts", "s0 @1: w(x,a)\ns1 @2: w(x,a)\ns2 @3: r(x,a)@1", "w(x,a)#1 w(x,a)#2 r(x,a)#1"},
	} {
		h := dsl.MustParse(tc.text)
		before := dsl.Format(h)
		x := h.AssumeOrder()
		if got := apart(x); got != tc.want {
			t.Errorf("%s: got %s\nwant %s", tc.name, got, tc.want)
		}
		if dsl.Format(x) != before || dsl.Format(h) != before || strings.Contains(apart(h), "#") {
			t.Errorf("%s: the text changed:\n%s\n%s", tc.name, before, dsl.Format(x))
		}
		// A copy with symbols of its own, and the way back.
		whole := make([]history.Part, len(x.Txns))
		for i := range whole {
			whole[i].Txn = int32(i)
			for n := range x.Txns[i].OpCount() {
				whole[i].Ops = append(whole[i].Ops, n)
			}
		}
		if got := apart(x.Extract(whole)); got != tc.want {
			t.Errorf("%s: a copy has %s\nwant %s", tc.name, got, tc.want)
		}
		if back := apart(x.WithClaims(nil)); strings.Contains(back, "#") {
			t.Errorf("%s: without claims it has %s", tc.name, back)
		}
	}
}

func BenchmarkByVersion(b *testing.B) {
	for name, duplicates := range map[string]float64{"unique": 0, "duplicates": 0.8} {
		h := synth.General(synth.GeneralConfig{Sessions: 20, Txns: 100_000, Ops: 8, Keys: 10_000, Reads: 0.5, Duplicates: duplicates, Values: 10, Claims: true, Versions: true})
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				h.ByVersion()
			}
		})
	}
}
