package explain_test

import (
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// TestCycleNames has one or more cycles for each row of the table, and for the similar shapes of
// each.
func TestCycleNames(t *testing.T) {
	for _, tc := range []struct{ text, cycle, want string }{
		{"s1 T1: r(x,0) w(x,1)\ns2 T2: r(x,0) w(x,2)", "1 RW x=0 2, 2 RW x=0 1", "LostUpdate lost-update G-single"},
		{"s1 T1: r(x,0) w(x,1)\ns2 T2: w(x,2)\ns3 T3: r(x,1)", "1 RW x=0 2, 2 WW x=2 1", "LostUpdate lost-update G-single"},
		{"s1 T1: r(x,0) w(y,1)\ns2 T2: w(x,2) w(y,2)", "1 RW x=0 2, 2 WW y=2 1", "G-single"},
		{"s1 T1: r(x,0) r(y,0) w(x,1)\ns2 T2: r(x,0) r(y,0) w(y,1)", "1 RW y=0 2, 2 RW x=0 1", "WriteSkew write-skew G2-item"},
		{"s1 T1: r(x,0) w(x,2)\ns2 T2: r(x,2) w(x,1)", "1 RW x=0 2, 2 RW x=2 1", "G2-item"},
		{"s1 T1: w(x,1)\ns1 T2: r(x,0)", "1 SO 2, 2 RW x=0 1", "SessionGuaranteeViolation G-single-process"},
		{"s1 T1: w(x,1) w(y,1)\ns2 T2: w(x,2) w(y,2)\ns3 T3: r(x,2) r(y,1)", "2 WR x=2 3, 3 RW y=1 2", "NonMonotonicRead FracturedRead G-single"},
		{"s2 T2: w(x,2) w(y,2)\ns3 T3: r(x,2) r(y,0)", "2 WR x=2 3, 3 RW y=0 2", "FracturedRead NonMonotonicRead G-single"},
		{"s2 T2: w(x,2) w(y,2)\ns3 T3: r(y,0) r(x,2)", "2 WR x=2 3, 3 RW y=0 2", "FracturedRead G-single"},
		{"s1 T1: w(x,1)\ns2 T2: r(x,1) w(y,1)\ns3 T3: r(y,1) r(x,0)", "1 WR x=1 2, 2 WR y=1 3, 3 RW x=0 1", "CausalityViolation G-single"},
		{"s1 T1: w(x,1)\ns2 T2: r(x,1)\ns2 T3: r(x,0)", "1 WR x=1 2, 2 SO 3, 3 RW x=0 1", "CausalityViolation G-single-process"},
		{"s1 T1 [0,1]: w(x,1)\ns2 T2 [2,3]: r(x,1)\ns3 T3 [4,5]: r(x,0)", "1 WR x=1 2, 2 RT 3, 3 RW x=0 1", "G-single-realtime"},
		{"s1 T1: w(x,1)\ns2 T2: w(y,1)\ns3 T3: r(x,1) r(y,0)\ns4 T4: r(x,0) r(y,1)", "1 WR x=1 3, 3 RW y=0 2, 2 WR y=1 4, 4 RW x=0 1", "LongFork long-fork G-nonadjacent"},
		{"s1 T1: w(x,1)\ns1 T3: r(y,0)\ns2 T2: w(y,1)\ns2 T4: r(x,0)", "1 SO 3, 3 RW y=0 2, 2 SO 4, 4 RW x=0 1", "LongFork long-fork G-nonadjacent-process"},
		{"s1 T1 [0,1]: w(x,1)\ns2 T2 [0,1]: w(y,1)\ns3 T3 [2,3]: r(y,0)\ns4 T4 [2,3]: r(x,0)", "1 RT 3, 3 RW y=0 2, 2 RT 4, 4 RW x=0 1", "G-nonadjacent-realtime"},
		{"s1 T1: w(x,1) r(y,0)\ns2 T2: r(x,1) r(z,0)\ns3 T3: w(z,1) w(y,1)", "1 WR x=1 2, 2 RW z=0 3, 3 RW y=1 1", "G2-item"},
		{"s1 T1: w(x,1) w(y,1)\ns2 T2: w(x,2) w(y,2)", "1 WW x=1 2, 2 WW y=2 1", "G-single"},
		{"s1 T1: r(y,2) w(x,1) w(y,1)\ns2 T2: r(x,1) w(x,2) w(y,2)", "1 WW x=1 2, 2 WW y=2 1", "G0"},
		{"s1 T1: r(x,2) w(x,1)\ns1 T2: w(x,2)", "1 SO 2, 2 WW x=2 1", "G0-process"},
		{"s1 T1: w(x,1)\ns1 T2: w(x,2)", "1 SO 2, 2 WW x=2 1", "G-single-process"},
		{"s1 T1 [0,1]: r(x,2) w(x,1)\ns2 T2 [2,3]: w(x,2)", "1 RT 2, 2 WW x=2 1", "G0-realtime"},
		{"s1 T1: r(x,2) w(x,1)\ns2 T2: r(x,1) w(x,2)", "1 WR x=1 2, 2 WR x=2 1", "G0 G1c"},
		{"s1 T1: w(x,1) r(y,2)\ns2 T2: r(x,1) w(y,2)", "1 WR x=1 2, 2 WR y=2 1", "G1c"},
		{"s1 T1: r(x,2)\ns1 T2: w(x,2)", "1 SO 2, 2 WR x=2 1", "G1c-process"},
		{"s1 T1: w(x,1) w(y,1)\ns2 T2: w(x,2) r(y,1)", "1 WR y=1 2, 2 WW x=2 1", "G-single"},
		{"s1 T1: r(x,2) w(x,1) w(y,1)\ns2 T2: w(x,2) r(y,1)", "1 WR y=1 2, 2 WW x=2 1", "G1c"},
	} {
		h := dsl.MustParse(tc.text)
		if got := strings.Join(explain.Classify(h, cycle(t, h, tc.cycle), nil), " "); got != tc.want {
			t.Errorf("%q, %s: named %s, want %s", tc.text, tc.cycle, got, tc.want)
		}
	}
}

// TestFracturedWrites has two writers that each come first on one key, because one transaction read
// a write of each.
func TestFracturedWrites(t *testing.T) {
	h := dsl.MustParse("s1 T1: w(x,1) w(y,1)\ns2 T2: w(x,2) w(y,2)\ns3 T3: r(x,1) r(y,2)")
	c := cycle(t, h, "2 WW x=2 1, 1 WW y=1 2")
	forced := map[int]verdict.OpRef{0: {Txn: 2}, 1: {Txn: 2, Op: 1}}
	if got := strings.Join(explain.Classify(h, c, forced), " "); got != "FracturedRead G-single" {
		t.Errorf("named %s", got)
	}
}

// cycle reads edges between transactions named by their ids.
func cycle(t *testing.T, h *history.History, text string) []verdict.Edge {
	t.Helper()
	kinds := map[string]verdict.EdgeKind{"SO": verdict.SO, "RT": verdict.RT, "WR": verdict.WR, "WW": verdict.WW, "RW": verdict.RW}
	at := func(id string) int32 {
		for i := range h.Txns {
			if h.Txns[i].ID == int64(id[0]-'0') {
				return int32(i)
			}
		}
		t.Fatalf("no T%s", id)
		return 0
	}
	var out []verdict.Edge
	for _, part := range strings.Split(text, ", ") {
		words := strings.Fields(part)
		e := verdict.Edge{From: at(words[0]), To: at(words[len(words)-1]), Kind: kinds[words[1]]}
		if len(words) == 4 {
			e.Key, e.Value = h.Key(words[2][:1]), h.Int(int64(words[2][2]-'0'))
		}
		out = append(out, e)
	}
	return out
}

// TestKindNames checks that every kind of anomaly that is not a cycle has names.
func TestKindNames(t *testing.T) {
	h := dsl.MustParse("s1 T1: w(x,1) abort\ns2 T2: r(x,1) w(x,2)\ns3 T3: r(x,1)")
	op := func(i int32) verdict.OpRef { return verdict.OpRef{Txn: i} }
	rw := []verdict.Edge{{From: 1, To: 2, Kind: verdict.RW}, {From: 2, To: 1, Kind: verdict.RW}}
	for kind, want := range map[verdict.Kind]string{
		verdict.ThinAirRead: "ThinAirRead", verdict.FutureRead: "FutureRead future-read internal",
		verdict.NotMyLastWrite: "NotMyLastWrite internal", verdict.NotMyOwnWrite: "NotMyOwnWrite internal",
		verdict.IntermediateRead: "IntermediateRead G1b", verdict.NonRepeatableReads: "NonRepeatableReads internal",
		verdict.Divergence: "LostUpdate lost-update G-single", verdict.DoubleInsert: "DoubleInsert",
		verdict.ImpossibleFailure: "ImpossibleFailure", verdict.Contradiction: "Contradiction",
	} {
		a := verdict.Anomaly{Kind: kind, Txns: []int32{0, 2}, Ops: []verdict.OpRef{op(0), op(2)}}
		if kind == verdict.Divergence {
			a.Cycle = rw
		}
		explain.Fill(h, 1, &a)
		if got := strings.Join(a.Names, " "); got != want {
			t.Errorf("kind %d: named %s, want %s", kind, got, want)
		}
	}
	for reader, want := range map[int32]string{1: "AbortedRead G1a dirty-update", 2: "AbortedRead G1a"} {
		a := verdict.Anomaly{Kind: verdict.AbortedRead, Txns: []int32{0, reader}, Ops: []verdict.OpRef{op(0), op(reader)}}
		explain.Fill(h, 1, &a)
		if got := strings.Join(a.Names, " "); got != want {
			t.Errorf("aborted read by %d: named %s, want %s", reader, got, want)
		}
	}
}

// TestSkews checks that no name is given that snapshot isolation forbids if the history satisfies
// snapshot isolation.
func TestSkews(t *testing.T) {
	for names, want := range map[string]string{
		"WriteSkew write-skew G2-item":               "WriteSkew write-skew G2-item",
		"CausalityViolation G-single":                "G2-item",
		"LostUpdate lost-update G-single":            "G2-item",
		"LongFork long-fork G-nonadjacent":           "G2-item",
		"SessionGuaranteeViolation G-single-process": "G2-item-process",
	} {
		if got := strings.Join(explain.Skews(strings.Fields(names)), " "); got != want {
			t.Errorf("%s: %s, want %s", names, got, want)
		}
	}
}
